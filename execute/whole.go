package execute

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/lines"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/spill"
	"github.com/weir-run/weir/tool"
)

// Whole is what one call gave: its whole text with what belongs to it, and where it is kept.
type Whole struct {
	result.Whole
	// Plain asks for the terminal's output to be cleaned in the model's text.
	Plain bool
	// Kept is the file that holds the whole text; nil when there is none.
	Kept *spill.Ref
	// Files are the payloads and the raw original that were kept beside it.
	Files []spill.Ref
	// Unkept says why the whole could not be kept; empty when it was, or did not have to be.
	Unkept string
	// Ends are the first and the last of a text that is too long to hold; then Text is empty and Kept
	// is set, or Unkept says why not.
	Ends *spill.Excerpt
}

// Convert turns what a body gave into its whole text. base is where the result's files are addressed,
// such as "tool-results/r3-1-grep".
func Convert(p Prepared, r tool.Result, base string) Whole {
	return Whole{Whole: result.Convert(r, base), Plain: p.Tool.PlainTerminal}
}

// Figures are the true size of the whole text and its hash.
func (w Whole) Figures() (lines.Index, [32]byte) {
	if w.Kept != nil {
		return w.Kept.Index, w.Kept.SHA256
	}
	return lines.Of([]byte(w.Text)), sha256.Sum256([]byte(w.Text))
}

// MustKeep reports whether the whole has to be kept as a file before the model is shown what fits into
// room: it is over the room, or the model's text is not all of it.
func (w Whole) MustKeep(room int) bool {
	if w.Kept != nil || w.Page || w.Ends != nil {
		return false
	}
	shown, _ := w.Model(w.Plain)
	return shown != w.Text || utf8.RuneCountInString(shown) > room
}

// Inline is how many characters would be shown in this room.
func (w Whole) Inline(room int) int {
	if w.Ends != nil {
		return room
	}
	shown, _ := w.Model(w.Plain)
	n := utf8.RuneCountInString(shown)
	if w.Page {
		return n
	}
	return min(n, room)
}

// Keep writes the whole text to a file, durable before it returns. A store that refuses it is no error:
// Unkept then says why, and the run goes on.
func (w *Whole) Keep(ctx context.Context, store spill.Store, n spill.Name) {
	ref, err := keep(ctx, store, n, strings.NewReader(w.Text))
	if err != nil {
		w.Unkept = reason(err)
		return
	}
	w.Kept = &ref
}

// KeepFiles writes the payloads and the raw original. When one of them cannot be kept, no placeholder
// may name a file, so the caller converts again without a base; the error says why.
func (w *Whole) KeepFiles(ctx context.Context, store spill.Store, n spill.Name) error {
	for _, p := range w.Payloads {
		n.Ext, n.Part = p.Ext, p.Part
		ref, err := keep(ctx, store, n, strings.NewReader(string(p.Data)))
		if err != nil {
			return err
		}
		w.Files = append(w.Files, ref)
	}
	if w.Raw == nil {
		return nil
	}
	n.Ext, n.Part = ".raw", 0
	ref, err := keep(ctx, store, n, strings.NewReader(string(w.Raw)))
	if err != nil {
		return err
	}
	w.Files = append(w.Files, ref)
	return nil
}

func keep(ctx context.Context, store spill.Store, n spill.Name, from io.Reader) (spill.Ref, error) {
	f, err := store.Create(ctx, n)
	if err != nil {
		return spill.Ref{}, err
	}
	if _, err := io.Copy(f, from); err != nil {
		return spill.Ref{}, errors.Join(err, f.Abort())
	}
	return f.Commit()
}

// reason is why something was not kept, in one line of at most 200 characters.
func reason(err error) string {
	r := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "\uFFFD")), " "))
	if len(r) > 200 {
		r = append(r[:199], '…')
	}
	return string(r)
}

// Notes are what a whole result needs beside its text to be fitted again after a restart.
type Notes struct {
	Plain   bool          `json:"plain,omitempty"`
	JSON    bool          `json:"json,omitempty"`
	Page    bool          `json:"page,omitempty"`
	EndTurn bool          `json:"end_turn,omitempty"`
	Fatal   string        `json:"fatal,omitempty"`
	Unkept  string        `json:"unkept,omitempty"`
	Marks   []result.Mark `json:"marks,omitempty"`
}

// Notes gives the notes of a whole result; nil when there is nothing to note.
func (w Whole) Notes(fatal error) []byte {
	n := Notes{Plain: w.Plain, JSON: w.JSON, Page: w.Page, EndTurn: w.EndTurn, Unkept: w.Unkept, Marks: w.Marks}
	if fatal != nil {
		n.Fatal = fatal.Error()
	}
	raw, err := json.Marshal(n)
	if err != nil || string(raw) == "{}" {
		return nil
	}
	return raw
}

// Restore makes a whole result again from its stored text and notes. ends are given instead of the
// text when it is too long to hold.
func Restore(text string, ends *spill.Excerpt, notes []byte, isError bool, kept *spill.Ref) (Whole, Notes, error) {
	var n Notes
	if len(notes) > 0 {
		if err := json.Unmarshal(notes, &n); err != nil {
			return Whole{}, n, fmt.Errorf("read the notes of a result: %w", err)
		}
	}
	w := Whole{Plain: n.Plain, Kept: kept, Unkept: n.Unkept, Ends: ends}
	w.Text, w.JSON, w.Page, w.EndTurn, w.IsError = text, n.JSON, n.Page, n.EndTurn, isError
	for _, m := range n.Marks {
		if m.At < 0 || m.Len < 0 || m.At+m.Len > len(text) {
			return w, n, fmt.Errorf("read the notes of a result: a mark lies outside of the text")
		}
	}
	w.Marks = n.Marks
	return w, n, nil
}
