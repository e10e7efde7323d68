package round

import (
	"unicode/utf8"

	"github.com/weir-run/weir/envelope"
	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/result"
)

// close fits every result into the room that it has and stores what the model is shown.
func (w *work) close() (Round, error) {
	closed := Round{N: w.n, Key: w.request.Key}
	for _, c := range w.calls {
		if c.whole == nil {
			if err := w.restore(c); err != nil {
				return closed, err
			}
		}
	}
	warning, looping := w.observe()
	closed.Loop = w.looped
	closing := history.Closing{Round: w.n}
	totals := summary{Round: w.n, Calls: len(w.calls)}
	for i, room := range w.rooms() {
		c := w.calls[i]
		said := ""
		if i == len(w.calls)-1 {
			said = warning // the last thing that the model reads
		}
		shown, err := w.fit(c, room, said)
		if err != nil {
			return closed, err
		}
		if !c.stored && c.whole.Kept != nil && c.record.Spill == nil {
			// It was kept only now and is stored only now: one row says both.
			c.record.Spill, c.record.Whole = c.whole.Kept, nil
		}
		entry := history.Shown{ID: c.id, Same: shown.Same, Text: []byte(shown.Text)}
		if c.record.Spill == nil {
			entry.Spill = c.whole.Kept
		}
		closing.Shown = append(closing.Shown, entry)
		totals.Shown += int64(shown.Chars)
		if c.whole.Kept != nil {
			totals.Spilled++
		}
		c.fitted = shown
		settled := w.settled(c, shown.Text)
		settled.Loop = said
		closed.Results = append(closed.Results, settled)
		closed.EndTurn = closed.EndTurn || c.whole.EndTurn
		if closed.Fatal == nil {
			closed.Fatal = c.fatal
		}
	}
	var err error
	var events []history.Event
	last := w.unstored(w.calls)
	closing.Settled, events = w.settledRows(last)
	if w.request.Seal != nil {
		if closing.Append, err = w.request.Seal(closed); err != nil {
			return closed, err
		}
	}
	closing.Append.Now = w.settler.cfg.Now()
	closing.Append.Events = append(append(append(events, looping...), closing.Append.Events...), event(EventClosed, totals))
	receipt, err := w.settler.store.CloseRound(w.durable, w.lease, closing)
	if err != nil {
		w.superseded(err, last)
		return closed, err
	}
	w.settler.notify(receipt.Events)
	return closed, nil
}

// summary is the data of [EventClosed].
type summary struct {
	Round   int   `json:"round"`
	Calls   int   `json:"calls"`
	Shown   int64 `json:"shown"`
	Spilled int   `json:"spilled,omitempty"`
}

// rooms gives each call the characters that it may show.
func (w *work) rooms() []int {
	if len(w.calls) == 1 {
		// Alone it shares the bound with nobody, and how long it is need not be found out twice.
		return []int{max(MinCap, min(w.capOf(w.calls[0], *w.calls[0].whole), w.settler.cfg.RoundChars))}
	}
	var sizes []inline
	for _, c := range w.calls {
		sizes = append(sizes, inline{chars: w.inline(c), page: c.whole.Page})
	}
	given := rooms(sizes, w.settler.cfg.RoundChars)
	for i, room := range given {
		if room == 0 {
			given[i] = w.capOf(w.calls[i], *w.calls[i].whole)
		}
	}
	return given
}

// inline is how many characters of a result would be shown if it were alone in its round.
func (w *work) inline(c *call) int {
	room := w.capOf(c, *c.whole)
	if c.whole.Fitted(c.prepared) {
		shown, err := c.whole.FitTo(c.prepared, room, w.settler.set.Names(), w.settler.cfg.Fit, envelope.Signals{})
		if err == nil {
			return min(room, shown.Chars)
		}
	}
	return c.whole.Inline(room)
}

// fit gives what is shown of a result. What is shortened only for the sake of the round is kept whole
// first, like everything else.
func (w *work) fit(c *call, room int, warning string) (execute.Shown, error) {
	if c.whole.Fitted(c.prepared) {
		return w.fitTo(c, room, warning)
	}
	if warning != "" {
		room = max(MinCap, room-utf8.RuneCountInString(warning)-3)
	}
	if c.whole.MustKeep(room) && c.whole.Unkept == "" {
		c.whole.Keep(w.durable, w.settler.store.Spills(), w.name(c))
		if c.whole.Unkept != "" {
			c.record.Notes = c.whole.Notes(c.fatal)
		}
	}
	shown := c.whole.Fit(room, w.settler.set.Names())
	if warning != "" {
		shown.Text += "\n[" + warning + "]"
		shown.Same, shown.Chars = false, utf8.RuneCountInString(shown.Text)
	}
	return shown, nil
}

// fitTo fits a result to the budget of its tool's policy. What is not shown whole is kept first, and then
// fitted again, so that its hint names where the whole is.
func (w *work) fitTo(c *call, room int, warning string) (execute.Shown, error) {
	signals := envelope.Signals{Loop: warning}
	offered := w.settler.set.Names()
	shown, err := c.whole.FitTo(c.prepared, room, offered, w.settler.cfg.Fit, signals)
	if err != nil || shown.Stage <= 1 || c.whole.Kept != nil || c.whole.Unkept != "" {
		return shown, err
	}
	c.whole.Keep(w.durable, w.settler.store.Spills(), w.name(c))
	if c.whole.Unkept != "" {
		c.record.Notes = c.whole.Notes(c.fatal)
	}
	return c.whole.FitTo(c.prepared, room, offered, w.settler.cfg.Fit, signals)
}

// settled is one call as it is given back.
func (w *work) settled(c *call, text string) Settled {
	s := Settled{
		ID: c.id, Call: c.prepared.Call, Text: text, IsError: c.record.IsError, Outcome: c.outcome,
		Structured: c.record.Structured, Fit: c.fitted, Chars: c.record.Chars, Lines: c.record.Lines, Bytes: c.record.Bytes,
	}
	if c.whole != nil {
		s.Images = images(c.whole.Whole)
	}
	s.Images = append(s.Images, c.images...)
	switch {
	case c.record.Spill != nil:
		s.Path = c.record.Spill.Path()
	case c.whole != nil && c.whole.Kept != nil:
		s.Path = c.whole.Kept.Path()
	}
	return s
}

// images are the payloads that stand in the text as images, each once, in order.
func images(w result.Whole) []result.Payload {
	var all []result.Payload
	seen := map[int]bool{}
	for _, m := range w.Marks {
		if m.Image && m.Payload < len(w.Payloads) && !seen[m.Payload] {
			seen[m.Payload] = true
			all = append(all, w.Payloads[m.Payload])
		}
	}
	return all
}
