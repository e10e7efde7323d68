package round

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/spill"
)

// The kinds of record events of a round.
const (
	// EventSettled reports that the whole result of a call is durable.
	EventSettled = "call_settled"
	// EventClosed reports that what the model is shown is stored.
	EventClosed = "round_closed"
	// EventUnkept reports that a result could not be kept whole, and why.
	EventUnkept = "result_not_kept"
	// EventPanic reports the stack of a tool that panicked.
	EventPanic = "tool_panicked"
)

// whole makes the whole result of a call, with its files durable, ready to be stored.
func (w *work) whole(c *call, ran execute.Ran) {
	w.convert(c, ran)
	c.outcome = history.Outcome(ran.Outcome)
	if ran.Fatal != nil {
		c.fatal = ran.Fatal
	}
}

// convert turns what a body gave into a whole result and its row. What is over its cap, or is not shown
// as it is, is kept as a file first.
func (w *work) convert(c *call, ran execute.Ran) {
	name := w.name(c)
	base := ""
	if file, err := name.Base(); err == nil {
		base = spill.Mount + "/" + strings.TrimSuffix(file, ".txt")
	}
	var whole execute.Whole
	ran.Result = w.redacted(c, ran.Result)
	if spool := c.spool.Load(); spool != nil {
		whole = execute.ConvertSpooled(c.prepared, ran.Result, spool, w.cap(c))
	} else {
		whole = execute.Convert(c.prepared, ran.Result, base)
		if err := whole.KeepFiles(w.durable, w.settler.store.Spills(), name); err != nil {
			// Nothing may point at a file that is not there.
			whole = execute.Convert(c.prepared, ran.Result, "")
			whole.Unkept = spill.Reason(err)
			whole.Text += fmt.Sprintf("\n[What is named here beside the text was NOT kept: %s]", whole.Unkept)
		}
	}
	if whole.MustKeep(w.capOf(c, whole)) {
		whole.Keep(w.durable, w.settler.store.Spills(), name)
	}
	c.whole, c.stack = &whole, ran.Stack
	c.record = w.row(c, ran)
}

// name is the file name of a call's result.
func (w *work) name(c *call) spill.Name {
	return spill.Name{
		Conversation: w.request.Conversation, Result: c.id.String(), Tool: c.prepared.Call.Name, Fence: w.lease.Fence,
	}
}

// row is the record of a whole result.
func (w *work) row(c *call, ran execute.Ran) history.Result {
	figures, sum := c.whole.Figures()
	r := history.Result{
		ID: c.id, Tool: c.prepared.Call.Name, Spill: c.whole.Kept, Structured: c.whole.Structured,
		IsError: c.whole.IsError, Notes: c.whole.Notes(ran.Fatal), Duration: ran.Duration,
		Bytes: figures.Bytes, Lines: figures.Lines, Chars: figures.Chars, SHA256: sum,
		Tokens: c.whole.Tokens(),
	}
	if c.whole.Kept == nil {
		r.Whole = []byte(c.whole.Text)
	}
	return r
}

// store makes whole results durable, in one commit.
func (w *work) store(batch []*call) error {
	batch = w.unstored(batch)
	if len(batch) == 0 {
		return nil // these wait
	}
	settled, events := w.settledRows(batch)
	receipt, err := w.settler.store.SettleCalls(w.durable, w.lease, settled, events)
	if err != nil {
		w.superseded(err, batch)
		return err
	}
	w.settler.notify(receipt.Events)
	return nil
}

// unstored gives the calls that have a whole result which is not stored yet.
func (w *work) unstored(calls []*call) []*call {
	var some []*call
	for _, c := range calls {
		if !c.stored && c.whole != nil {
			some = append(some, c)
		}
	}
	return some
}

// settledRows gives the rows and the events of whole results, which count as stored from now on.
func (w *work) settledRows(batch []*call) ([]history.Settled, []history.Event) {
	var settled []history.Settled
	var events []history.Event
	now := w.settler.cfg.Now()
	for _, c := range batch {
		c.stored = true
		settled = append(settled, history.Settled{Result: c.record, Outcome: c.outcome, Payloads: c.whole.Files, Now: now})
		events = append(events, w.reports(c)...)
	}
	return settled, events
}

// report is the data of [EventSettled].
type report struct {
	Result     string `json:"result"`
	Tool       string `json:"tool"`
	Outcome    string `json:"outcome"`
	IsError    bool   `json:"is_error,omitempty"`
	Bytes      int64  `json:"bytes"`
	Lines      int64  `json:"lines"`
	Chars      int64  `json:"chars"`
	Path       string `json:"path,omitempty"`
	DurationMS int64  `json:"duration_ms"`
}

// trouble is the data of [EventUnkept] and [EventPanic].
type trouble struct {
	Result string `json:"result"`
	Tool   string `json:"tool"`
	Reason string `json:"reason,omitempty"`
	Stack  string `json:"stack,omitempty"`
}

// reports are the events of one settled call.
func (w *work) reports(c *call) []history.Event {
	settled := report{
		Result: c.id.String(), Tool: c.record.Tool, Outcome: string(c.outcome), IsError: c.record.IsError,
		Bytes: c.record.Bytes, Lines: c.record.Lines, Chars: c.record.Chars, DurationMS: c.record.Duration.Milliseconds(),
	}
	if c.record.Spill != nil {
		settled.Path = c.record.Spill.Path()
	}
	events := []history.Event{event(EventSettled, settled)}
	if c.whole.Unkept != "" {
		w.settler.cfg.Logger.Warn("a result was not kept whole", "result", c.id.String(), "tool", c.record.Tool, "reason", c.whole.Unkept)
		events = append(events, event(EventUnkept, trouble{Result: c.id.String(), Tool: c.record.Tool, Reason: c.whole.Unkept}))
	}
	if c.stack != "" {
		events = append(events, event(EventPanic, trouble{Result: c.id.String(), Tool: c.record.Tool, Stack: c.stack}))
	}
	return events
}

// event makes a record event. Its data are the program's own, so they always marshal.
func event(kind string, data any) history.Event {
	raw, err := canon.Marshal(data)
	if err != nil {
		raw = []byte("{}")
	}
	return history.Event{Kind: kind, Data: raw}
}

// maxHold is the largest text that is read back into memory to be fitted, in bytes.
const maxHold = 64 << 20

// restore makes the whole of a stored result again, so that it can be fitted.
func (w *work) restore(c *call) error {
	text, ends, err := w.text(c)
	if err != nil {
		return err
	}
	whole, notes, err := execute.Restore(text, ends, c.record.Notes, c.record.IsError, c.record.Spill)
	if err != nil {
		return fmt.Errorf("%s: %w", c.id, err)
	}
	whole.Structured = c.record.Structured
	if notes.Fatal != "" {
		c.fatal = errors.New(notes.Fatal)
	}
	c.whole = &whole
	c.images, err = Images(w.durable, w.settler.store, w.request.Conversation, c.record)
	return err
}

// text reads the whole text of a stored result, or its ends when it is too long to hold.
func (w *work) text(c *call) (string, *spill.Excerpt, error) {
	if c.record.Spill == nil {
		return string(c.record.Whole), nil, nil
	}
	spills, ref := w.settler.store.Spills(), *c.record.Spill
	if ref.Index.Bytes > maxHold {
		ends, err := spill.Load(w.durable, spills, ref, w.cap(c))
		if err != nil {
			return "", nil, fmt.Errorf("read the ends of %s: %w", c.id, err)
		}
		return "", &ends, nil
	}
	f, err := spills.Open(w.durable, ref.File)
	if err != nil {
		return "", nil, fmt.Errorf("open the whole of %s: %w", c.id, err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		return "", nil, fmt.Errorf("read the whole of %s: %w", c.id, err)
	}
	return string(text), nil, nil
}
