package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// fingerprint is what a head means, as one hash for each thing that can change, so that a difference
// can name its reason. It does not depend on the bytes that an encoder writes.
type fingerprint struct {
	Dialect  string `json:"dialect"`
	Model    string `json:"model"`
	System   string `json:"system"`
	Tools    string `json:"tools"`
	Settings string `json:"settings"`
}

// The reasons of an epoch.
const (
	reasonStart    = "start"
	reasonDialect  = "dialect"
	reasonModel    = "model"
	reasonSystem   = "system"
	reasonTools    = "tools"
	reasonSettings = "settings"
)

// head is what this agent would send with these tools.
func (a *Agent) head(offered []tool.Tool) (membrane.Head, fingerprint, error) {
	h := membrane.Head{System: a.cfg.System, MaxTokens: a.cfg.MaxTokens}
	for _, t := range offered {
		h.Tools = append(h.Tools, membrane.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	tools, err := canon.Marshal(h.Tools)
	if err != nil {
		return h, fingerprint{}, fmt.Errorf("hash the tools: %w", err)
	}
	parameters := []any{h.MaxTokens, h.Settings}
	if tuned, ok := a.model.(membrane.Tuned); ok {
		if own := tuned.Settings(); len(own) > 0 { // nothing else changes what was stored before
			parameters = append(parameters, own)
		}
	}
	settings, err := canon.Marshal(parameters)
	if err != nil {
		return h, fingerprint{}, fmt.Errorf("hash the settings: %w", err)
	}
	return h, fingerprint{
		Dialect: a.model.Dialect(), Model: a.model.Name(),
		System: hash([]byte(h.System)), Tools: hash(tools), Settings: hash(settings),
	}, nil
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// differs says why a stored head cannot be kept; empty when it can.
func (f fingerprint) differs(stored []byte) string {
	var old fingerprint
	if json.Unmarshal(stored, &old) != nil {
		return reasonSettings
	}
	switch {
	case old.Dialect != f.Dialect:
		return reasonDialect
	case old.Model != f.Model:
		return reasonModel
	case old.System != f.System:
		return reasonSystem
	case old.Tools != f.Tools:
		return reasonTools
	case old.Settings != f.Settings:
		return reasonSettings
	}
	return ""
}

// ensureHead opens an epoch in the plan when the stored head cannot be kept, and says so in an event.
func (d *drive) ensureHead(ctx context.Context, p *plan) error {
	h, meant, err := d.a.head(d.offer.tools)
	if err != nil {
		return err
	}
	reason := reasonStart
	if p.next.epoch.N > 0 {
		reason = meant.differs(p.next.epoch.Fingerprint)
		if reason == "" || d.a.cfg.KeepHead && reason != reasonDialect && reason != reasonModel {
			return nil
		}
	}
	envelope, err := d.a.model.EncodeHead(h)
	if err != nil {
		return fmt.Errorf("make the head for %s: %w", d.a.model.Name(), err)
	}
	mark, err := canon.Marshal(meant)
	if err != nil {
		return fmt.Errorf("hash the head: %w", err)
	}
	next := history.Epoch{
		N: p.next.epoch.N + 1, Dialect: d.a.model.Dialect(), Reason: reason,
		Head: envelope.Head, Tail: envelope.Tail, Fingerprint: mark,
	}
	if err := d.base(ctx, p, &next); err != nil {
		return err
	}
	p.append.Epoch = &next
	p.append.Events = append(p.append.Events, event(kindEpochOpened, EpochOpened{
		Epoch: next.N, Reason: reason, Bytes: int64(len(next.Head) + len(p.next.messages)), Notes: notesOf(d.a.model, h),
	}))
	return nil
}

// maxNotes is how many notes of a head are told.
const maxNotes = 50

// notesOf are what the model says of the tools of a head.
func notesOf(m membrane.Model, h membrane.Head) []string {
	noting, ok := m.(membrane.Noting)
	if !ok {
		return nil
	}
	notes := noting.Notes(h)
	if len(notes) > maxNotes {
		notes = append(notes[:maxNotes:maxNotes], fmt.Sprintf("and %d more", len(notes)-maxNotes))
	}
	return notes
}

// neutral reads a stored message back; the content of a results message is its rows.
func (d *drive) neutral(ctx context.Context, m history.Message) (membrane.Message, error) {
	if m.Damaged() {
		return membrane.Message{}, fmt.Errorf("read message %d of %s: %w", m.Seq, d.conversation, history.ErrCorrupt)
	}
	if m.Role != string(membrane.Results) {
		neutral, err := membrane.Decode(m.Codec, m.Body)
		if err != nil {
			return neutral, fmt.Errorf("read message %d of %s: %w", m.Seq, d.conversation, err)
		}
		return neutral, nil
	}
	calls, err := d.a.store.CallsOf(ctx, d.conversation, m.Round)
	if err != nil {
		return membrane.Message{}, fmt.Errorf("read the calls of round %d of %s: %w", m.Round, d.conversation, err)
	}
	neutral := membrane.Message{Role: membrane.Results}
	for _, c := range calls {
		if c.ID.Sub > 0 {
			continue
		}
		r, err := d.a.store.ResultOf(ctx, d.conversation, c.ID)
		if err != nil {
			return neutral, fmt.Errorf("read result %s of %s: %w", c.ID, d.conversation, err)
		}
		text := r.Shown
		if r.Same {
			text = r.Whole
		}
		one := membrane.Result{CallID: c.ProviderID, Tool: c.Tool, Text: string(text), IsError: r.IsError}
		images, err := round.Images(ctx, d.a.store, d.conversation, r)
		if err != nil {
			return neutral, fmt.Errorf("read the images of %s of %s: %w", c.ID, d.conversation, err)
		}
		for _, p := range images {
			one.Images = append(one.Images, membrane.Block{Type: membrane.Image, MIMEType: p.MIMEType, Data: p.Data})
		}
		neutral.Results = append(neutral.Results, one)
	}
	return neutral, nil
}

// event makes a record event. Its data are the program's own, so they always marshal.
func event(kind string, data any) history.Event {
	raw, err := canon.Marshal(data)
	if err != nil {
		raw = []byte("{}")
	}
	return history.Event{Kind: kind, Data: raw}
}
