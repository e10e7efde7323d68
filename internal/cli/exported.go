package cli

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/membrane"
)

// exportFormat counts the changes of what an export means; a new member is none.
const exportFormat = 1

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
