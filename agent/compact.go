package agent

import (
	"fmt"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/spill"
	"github.com/weir-run/weir/tokens"
)

// When and how far a conversation is compacted, in percent of the model's context. The step is large, so
// that the prompt cache breaks rarely.
const (
	// CompactAt is how full the context may get.
	CompactAt = 80
	// CompactTo is how full it is afterwards, at most, where that can be reached.
	CompactTo = 50
)

const reasonCompaction = "compaction"

// size estimates the tokens of the next request: what the provider counted last, and what came since.
func (d *drive) size() int64 {
	if d.counted.bytes == 0 {
		return int64(tokens.Estimate(string(d.replay.epoch.Head))) + int64(tokens.Estimate(string(d.replay.messages)))
	}
	since := d.replay.messages[min(d.counted.bytes, len(d.replay.messages)):]
	return d.counted.tokens + int64(tokens.Estimate(string(since)))
}

// counted is what the provider counted of a request that was answered, its answer included.
type counted struct {
	bytes  int
	tokens int64
}

// full reports whether the next request would fill too much of the model's context.
func (d *drive) full() bool {
	w := d.a.cfg.Window
	return w > 0 && d.size() > w*CompactAt/100
}

// room is what the model's context leaves each of the calls of an answer, in tokens, with a tenth of it kept
// for what comes after; at least a third of it, since what is older can be compacted. 0 means no limit.
func (d *drive) room(p *plan, calls int) int {
	w := d.a.cfg.Window
	if w <= 0 {
		return 0
	}
	left := w - w/10 - d.size() - int64(tokens.Estimate(string(p.next.messages[len(d.replay.messages):])))
	return int(max(left, w/3) * 3 / 4 / int64(calls)) // on the wire a text is longer: its line breaks are escaped
}

// part is one fragment of an epoch while it is being compacted.
type part struct {
	message history.Message
	bytes   []byte
	tokens  int64
}

// compact opens an epoch in which old results are references to what is stored. When that is not enough,
// the model sums up what came before, and only the end stays as it was. Earlier epochs stay readable.
//
// overflow says that the model has refused the conversation as too long: then it cannot be asked to sum it
// up either, and what came before is left out with a mark that says so.
func (d *drive) compact(overflow bool) error {
	window := d.a.cfg.Window
	if window == 0 {
		window = d.size()
	}
	target := window * CompactTo / 100
	parts, err := d.parts()
	if err != nil {
		return err
	}
	shortened, total, err := d.refer(parts, target)
	if err != nil {
		return err
	}
	if shortened {
		if err := d.openCompacted(parts, nil); err != nil {
			return err
		}
	}
	if shortened && total <= target {
		return nil
	}
	if overflow {
		if shortened {
			return nil // asked again as it is now; the next refusal leaves more out
		}
		return d.replaceStart(parts, target, "They were too long to be summed up.")
	}
	return d.sumUp(parts, target)
}

// parts reads the fragments of the epoch with their messages.
func (d *drive) parts() ([]part, error) {
	messages, err := d.a.store.Messages(d.durable, d.conversation, 0)
	if err != nil {
		return nil, fmt.Errorf("read the messages of %s: %w", d.conversation, err)
	}
	bySeq := map[int64]history.Message{}
	for _, m := range messages {
		bySeq[m.Seq] = m
	}
	var parts []part
	err = d.a.store.Fragments(d.durable, d.conversation, d.replay.epoch.N, 0, func(f history.Fragment) error {
		b := append([]byte{}, f.Bytes...)
		parts = append(parts, part{message: bySeq[f.Seq], bytes: b, tokens: int64(tokens.Estimate(string(b)))})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the fragments of %s: %w", d.conversation, err)
	}
	return parts, nil
}

// refer replaces results by references, oldest first, until the target is reached. The last round stays,
// and nothing is replaced by something longer.
func (d *drive) refer(parts []part, target int64) (bool, int64, error) {
	total := int64(tokens.Estimate(string(d.replay.epoch.Head)))
	last := 0
	for i, p := range parts {
		total += p.tokens
		if p.message.Role == string(membrane.Results) {
			last = i
		}
	}
	shortened := false
	for i := range parts {
		p := &parts[i]
		if total <= target || p.message.Role != string(membrane.Results) || i == last {
			continue
		}
		m, err := d.references(p.message)
		if err != nil {
			return false, 0, err
		}
		b, err := d.a.model.EncodeMessage(m)
		if err != nil {
			return false, 0, fmt.Errorf("encode message %d of %s: %w", p.message.Seq, d.conversation, err)
		}
		if len(b) >= len(p.bytes) {
			continue
		}
		shorter := int64(tokens.Estimate(string(b)))
		total += shorter - p.tokens
		p.bytes, p.tokens, shortened = b, shorter, true
	}
	return shortened, total, nil
}

// references is a results message in which each result is one line that says where it is stored.
func (d *drive) references(row history.Message) (membrane.Message, error) {
	m, err := d.neutral(d.durable, row)
	if err != nil {
		return m, err
	}
	rows, err := d.a.store.ResultsOf(d.durable, d.conversation, row.Round)
	if err != nil {
		return m, fmt.Errorf("read the results of round %d of %s: %w", row.Round, d.conversation, err)
	}
	i := 0
	for _, r := range rows {
		if r.ID.Sub > 0 || i >= len(m.Results) {
			continue
		}
		m.Results[i].Text = reference(r)
		m.Results[i].Images = nil
		i++
	}
	return m, nil
}

// leftOut begins a reference.
const leftOut = "[Left out to save room: "

func reference(r history.Result) string {
	path := r.ID.String()
	if name, err := (spill.Name{Result: r.ID.String(), Tool: r.Tool}).Base(); err == nil {
		path = spill.Mount + "/" + name
	}
	return fmt.Sprintf(leftOut+"%s, %d characters in %d lines, stored whole as %s]", r.ID, r.Chars, r.Lines, path)
}

// openCompacted opens an epoch of these parts behind the same head. The request that was announced is
// not sent; a new one is announced for the new epoch. extra is a message that comes first.
func (d *drive) openCompacted(parts []part, extra *membrane.Message) error {
	p := d.replay.begin()
	old := p.next
	epoch := old.epoch
	epoch.N, epoch.Reason, epoch.Base, epoch.BaseCount = old.epoch.N+1, reasonCompaction, 0, 0
	p.outcome("not_sent", history.Usage{}, 0)
	p.next = replay{epoch: epoch, seq: old.seq, request: old.request}
	p.append.Epoch = &epoch
	if extra != nil {
		if err := d.add(p, *extra, history.Message{Turn: d.turn.N}, nil); err != nil {
			return err
		}
	}
	for _, x := range parts {
		p.fragment(x.message.Seq, d.a.model.Encoder(), x.bytes)
	}
	p.append.Events = append(p.append.Events, event(kindEpochOpened, EpochOpened{
		Epoch: epoch.N, Reason: reasonCompaction, Bytes: int64(len(epoch.Head) + len(p.next.messages)),
	}))
	p.intent()
	d.counted = counted{}
	return d.put(p)
}

// put stores a plan that belongs to no round.
func (d *drive) put(p *plan) error {
	p.append.Now = d.a.cfg.Now()
	receipt, err := d.a.store.Append(d.durable, d.held.Lease(), p.append)
	if err != nil {
		return fmt.Errorf("write to %s: %w", d.conversation, err)
	}
	d.replay.commit(p)
	d.emit(receipt)
	return nil
}

// summaryPrompt asks for the summary that takes the place of what is left out.
const summaryPrompt = `The conversation has become too long to go on with. Sum it up for yourself, in at most 800 words: ` +
	`what the user wants, in the user's own words; what was found out, with the ids of the results that it stands in (such as r3-1); ` +
	`what was decided and done; what is left to do. Call no tool. Your summary takes the place of everything before it.`

// sumUp asks the model for a summary and opens an epoch of the summary and the end of the conversation.
func (d *drive) sumUp(parts []part, target int64) error {
	p := d.replay.begin()
	if err := d.add(p, membrane.UserText(summaryPrompt), history.Message{Turn: d.turn.N}, nil); err != nil {
		return err
	}
	p.outcome("not_sent", history.Usage{}, 0)
	p.intent()
	if err := d.put(p); err != nil {
		return err
	}
	done, err := d.ask()
	if err != nil || d.turn.State == history.TurnEnded {
		return err
	}
	text := done.Message.PlainText()
	if text == "" || len(done.Message.Calls()) > 0 {
		text = "No summary could be made."
	}
	p = d.replay.begin()
	p.outcome("ok", usage(done.Usage), done.latency)
	d.turn.Tokens += done.Usage.Out
	if err := d.put(p); err != nil {
		return err
	}
	return d.replaceStart(parts, target, text)
}

// replaceStart opens an epoch of a text that stands for the start of the conversation, and its end.
func (d *drive) replaceStart(parts []part, target int64, text string) error {
	kept := ending(parts, target/2)
	summary := membrane.UserText(fmt.Sprintf("[Summary of the %d messages before this one; every result is still stored below %s/.]\n%s",
		len(parts)-len(kept), spill.Mount, text))
	return d.openCompacted(kept, &summary)
}

// ending is the end of a conversation that stays as it was: as much as fits, at least the last message,
// and never results without the message that called.
func ending(parts []part, room int64) []part {
	from := len(parts)
	for i := len(parts) - 1; i >= 0; i-- {
		room -= parts[i].tokens
		if room < 0 && from < len(parts) {
			break
		}
		if parts[i].message.Role != string(membrane.Results) {
			from = i
		}
	}
	return parts[from:]
}
