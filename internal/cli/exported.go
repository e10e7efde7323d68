package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/membrane"
)

// exportFormat counts the changes of what an export means; a new member is none.
const exportFormat = 1

// object is a JSON object in the order of its members.
type object []member

type member struct {
	name  string
	value any
}

// add appends a member, unless it is empty.
func (o *object) add(name string, value any) {
	switch v := value.(type) {
	case nil:
		return
	case string:
		if v == "" {
			return
		}
	case json.RawMessage:
		if len(v) == 0 {
			return
		}
	}
	*o = append(*o, member{name, value})
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := marshal(m.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", m.name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshal writes a value with < > & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// exporter writes a conversation as one JSON object, part by part: no two results are in memory together.
type exporter struct {
	store history.Store
	json  jsonStream
	whole bool
}

func (x *exporter) write(ctx context.Context, c history.Conversation) error {
	x.json.open()
	head := object{{"id", c.ID}, {"title", c.Title}, {"created_at", stamp(c.CreatedAt)}}
	head.add("parent", c.Parent)
	if c.Parent != "" {
		head.add("fork_round", c.ForkRound)
	}
	head.add("settings", asJSON(c.Settings))
	x.json.member("format", exportFormat)
	x.json.member("conversation", head)
	for _, part := range []struct {
		name  string
		write func(context.Context, string) error
	}{
		{"turns", x.turns},
		{"epochs", x.epochs},
		{"messages", x.messages},
		{"rounds", x.rounds},
		{"calls", x.calls},
		{"results", x.results},
		{"requests", x.requests},
		{"events", x.events},
		{"files", x.files},
	} {
		x.json.list(part.name)
		if err := part.write(ctx, c.ID); err != nil {
			return fmt.Errorf("its %s: %w", part.name, err)
		}
		x.json.endList()
	}
	x.json.close()
	return x.json.err
}

func (x *exporter) turns(ctx context.Context, id string) error {
	turns, err := x.store.TurnsOf(ctx, id)
	for _, t := range turns {
		o := object{{"turn", t.N}}
		o.add("key", t.Key)
		x.json.element(append(o, object{
			{"state", t.State},
			{"reason", t.Reason},
			{"rounds", t.Rounds},
			{"tokens_out", t.Tokens},
			{"first_message", t.FirstSeq},
			{"started_at", stamp(t.StartedAt)},
		}...))
	}
	return err
}

func (x *exporter) epochs(ctx context.Context, id string) error {
	epochs, err := x.store.Epochs(ctx, id)
	for _, e := range epochs {
		o := object{
			{"epoch", e.N},
			{"reason", e.Reason},
			{"dialect", e.Dialect},
			{"head", string(e.Head)},
			{"tail", string(e.Tail)},
			{"head_sha256", hexed(e.HeadSHA)},
			{"fingerprint", hex.EncodeToString(e.Fingerprint)},
		}
		if e.Base > 0 {
			o = append(o, object{{"base", e.Base}, {"base_count", e.BaseCount}}...)
		}
		x.json.element(o)
	}
	return err
}

func (x *exporter) messages(ctx context.Context, id string) error {
	messages, err := x.store.Messages(ctx, id, 0)
	for _, m := range messages {
		o := object{{"message", m.Seq}, {"turn", m.Turn}, {"role", m.Role}}
		if m.Round > 0 {
			o.add("round", m.Round)
		}
		o.add("codec", m.Codec)
		decoded, failed := membrane.Decode(m.Codec, m.Body)
		switch {
		case failed != nil: // another program's own, or damaged: verify tells
			o.add("body_base64", base64.StdEncoding.EncodeToString(m.Body))
		case m.Role != string(membrane.Results):
			blocks := make([]object, len(decoded.Blocks))
			for i, b := range decoded.Blocks {
				blocks[i] = exportedBlock(b)
			}
			o.add("blocks", blocks)
		}
		x.json.element(o)
	}
	return err
}

func exportedBlock(b membrane.Block) object {
	o := object{{"type", b.Type}}
	o.add("text", b.Text)
	o.add("call_id", b.CallID)
	o.add("tool", b.Tool)
	if b.Args != nil {
		o = append(o, exportedArgs(b.Args))
	}
	o.add("mime_type", b.MIMEType)
	o.add("data", base64.StdEncoding.EncodeToString(b.Data))
	o.add("raw", asJSON(b.Raw))
	return o
}

// exportedArgs gives arguments as a string that is exactly them, or as bytes where no JSON string can be.
func exportedArgs(args []byte) member {
	if !utf8.Valid(args) {
		return member{"args_base64", base64.StdEncoding.EncodeToString(args)}
	}
	return member{"args", string(args)}
}

func (x *exporter) rounds(ctx context.Context, id string) error {
	rounds, err := x.store.RoundsOf(ctx, id)
	for _, r := range rounds {
		o := object{{"round", r.N}, {"turn", r.Turn}}
		o.add("key", r.Key)
		o = append(o, member{"closed", r.Closed})
		if r.Seq > 0 {
			o.add("message", r.Seq)
		}
		if r.ResultsSeq > 0 {
			o.add("results_message", r.ResultsSeq)
		}
		x.json.element(append(o, member{"calls", r.Calls}))
	}
	return err
}

func (x *exporter) calls(ctx context.Context, id string) error {
	rounds, err := x.store.RoundsOf(ctx, id)
	if err != nil {
		return err
	}
	for _, r := range rounds {
		calls, err := x.store.CallsOf(ctx, id, r.N)
		if err != nil {
			return err
		}
		approvals, err := x.store.ApprovalsOf(ctx, id, r.N)
		if err != nil {
			return err
		}
		for _, c := range calls {
			x.json.element(exportedCall(c, approvals))
		}
	}
	return nil
}

func exportedCall(c history.Call, approvals []history.Approval) object {
	o := object{{"result", c.ID.String()}}
	o.add("provider_id", c.ProviderID)
	o = append(o, member{"tool", c.Tool}, exportedArgs(c.Args), member{"state", c.State}, member{"outcome", c.Outcome}, member{"attempt", c.Attempt})
	o.add("created_at", stamp(c.Created))
	o.add("started_at", stamp(c.Started))
	o.add("settled_at", stamp(c.Settled))
	for _, q := range approvals {
		if q.ID != c.ID {
			continue
		}
		asked := object{{"state", q.State}}
		asked.add("reason", q.Reason)
		asked.add("asked_at", stamp(q.Asked))
		asked.add("answered_at", stamp(q.Answered))
		o.add("approval", asked)
	}
	return o
}

func (x *exporter) results(ctx context.Context, id string) error {
	results, err := x.store.ResultsOf(ctx, id, 0)
	if err != nil {
		return err
	}
	for _, row := range results {
		r, err := x.store.ResultOf(ctx, id, row.ID)
		if err != nil {
			return err
		}
		o := object{
			{"result", r.ID.String()},
			{"tool", r.Tool},
			{"is_error", r.IsError},
			{"bytes", r.Bytes},
			{"lines", r.Lines},
			{"chars", r.Chars},
			{"tokens", r.Tokens},
			{"sha256", hexed(r.SHA256)},
			{"duration_ms", r.Duration.Milliseconds()},
		}
		if r.Spill != nil {
			o.add("path", r.Spill.Path())
		}
		o.add("structured", asJSON(r.Structured))
		o.add("notes", asJSON(r.Notes))
		o = append(o, member{"same", r.Same})
		if r.Shown != nil && !r.Same {
			o = append(o, member{"shown_text", string(r.Shown)})
		}
		switch {
		case r.Spill == nil:
			x.json.element(append(o, member{"text", string(r.Whole)}))
		case !x.whole:
			x.json.element(o)
		default:
			f, err := x.store.Spills().Open(ctx, r.Spill.File)
			if err != nil {
				return fmt.Errorf("%s: %w", r.ID, err)
			}
			x.json.elementWith(o, "text", io.NewSectionReader(f, 0, f.Size()))
			if err := f.Close(); err != nil {
				return fmt.Errorf("%s: %w", r.ID, err)
			}
		}
	}
	return nil
}

func (x *exporter) requests(ctx context.Context, id string) error {
	requests, err := x.store.Requests(ctx, id)
	for _, r := range requests {
		x.json.element(object{
			{"request", r.N},
			{"epoch", r.Epoch},
			{"fragments", r.LastPos},
			{"outcome", r.Outcome},
			{"bytes", r.TotalBytes},
			{"message_bytes", r.MessageBytes},
			{"head_sha256", hexed(r.HeadSHA)},
			{"chain", hexed(r.Chain)},
			{"tokens", spent{r.Usage.In, r.Usage.Out, r.Usage.CacheRead, r.Usage.CacheWrite}},
			{"latency_ms", r.Latency.Milliseconds()},
		})
	}
	return err
}

func (x *exporter) events(ctx context.Context, id string) error {
	events, err := x.store.Events(ctx, id, 0)
	for _, e := range events {
		x.json.element(object{{"event", e.Seq}, {"kind", e.Kind}, {"data", asJSON(e.Data)}})
	}
	return err
}

func (x *exporter) files(ctx context.Context, id string) error {
	files, err := x.store.SpillsOf(ctx, id)
	for _, f := range files {
		x.json.element(object{
			{"path", f.Path()},
			{"bytes", f.Index.Bytes},
			{"lines", f.Index.Lines},
			{"chars", f.Index.Chars},
			{"sha256", hexed(f.SHA256)},
			{"complete", f.Complete},
		})
	}
	return err
}

// asJSON gives stored JSON as it is; nil for none, and a string for what is no JSON.
func asJSON(b []byte) any {
	switch {
	case len(b) == 0:
		return nil
	case !utf8.Valid(b) || !json.Valid(b):
		return string(b)
	}
	return json.RawMessage(b)
}

// jsonStream writes one object with lists, a member and an element at a time. The first error stays.
type jsonStream struct {
	w   *bufio.Writer
	err error
	// within and listed say that something stands before the next member or element.
	within, listed bool
}

func (s *jsonStream) text(t string) {
	if s.err == nil {
		_, s.err = s.w.WriteString(t)
	}
}

func (s *jsonStream) open()  { s.text("{") }
func (s *jsonStream) close() { s.text("\n}\n") }

func (s *jsonStream) name(name string) {
	if s.within {
		s.text(",")
	}
	s.within = true
	s.text("\n  \"" + name + "\": ")
}

func (s *jsonStream) member(name string, value any) {
	s.name(name)
	s.value(value, "  ")
}

func (s *jsonStream) list(name string) {
	s.name(name)
	s.text("[")
	s.listed = false
}

func (s *jsonStream) endList() {
	if s.listed {
		s.text("\n  ")
	}
	s.text("]")
}

func (s *jsonStream) element(value any) {
	if s.listed {
		s.text(",")
	}
	s.listed = true
	s.text("\n    ")
	s.value(value, "    ")
}

// value writes a value over several lines, each behind the prefix.
func (s *jsonStream) value(value any, prefix string) {
	if s.err != nil {
		return
	}
	b, err := marshal(value)
	if err != nil {
		s.err = err
		return
	}
	var out bytes.Buffer
	if s.err = json.Indent(&out, b, prefix, "  "); s.err == nil {
		s.text(out.String())
	}
}

// elementWith writes an element whose last member is a text that is read piece by piece.
func (s *jsonStream) elementWith(o object, name string, from io.Reader) {
	const mark = "the text" // stands for itself while the rest is laid out
	before := s.w
	var b bytes.Buffer
	s.w = bufio.NewWriter(&b)
	s.element(append(o, member{name, mark}))
	if s.err == nil {
		s.err = s.w.Flush()
	}
	s.w = before
	quotedMark := `"` + mark + `"`
	i := bytes.LastIndex(b.Bytes(), []byte(quotedMark))
	if s.err != nil || i < 0 {
		return
	}
	s.text(b.String()[:i])
	s.quote(from)
	s.text(b.String()[i+len(quotedMark):])
}

// quote writes a text as a JSON string.
func (s *jsonStream) quote(from io.Reader) {
	s.text(`"`)
	buf := make([]byte, 32<<10)
	kept := 0
	for s.err == nil {
		n, err := from.Read(buf[kept:])
		have := buf[:kept+n]
		kept = 0
		if err == nil {
			kept = unfinished(have)
		} else if !errors.Is(err, io.EOF) {
			s.err = err
			return
		}
		b, failed := marshal(string(have[:len(have)-kept]))
		if failed != nil {
			s.err = failed
			return
		}
		s.text(string(b[1 : len(b)-1]))
		copy(buf, have[len(have)-kept:])
		if err != nil {
			break
		}
	}
	s.text(`"`)
}

// unfinished is how many bytes at the end of a piece are the beginning of a character.
func unfinished(b []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(b)); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
