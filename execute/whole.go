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

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/internal/lines"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/spill"
	"github.com/weir-run/weir/tokens"
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
	w := Whole{Whole: result.Convert(r, base), Plain: p.Tool.PlainTerminal}
	if w.Page && utf8.RuneCountInString(w.Text) > MaxPage {
		w.Page = false // it is no page, whatever made it; it is capped like anything else
	}
	return w
}

// MaxPage is the longest page of a stored result, in characters.
const MaxPage = 20_000

// ConvertSpooled turns what a body wrote to its spool, and then gave, into its whole text: the output as
// it came, then the tail. A body that failed, or gave something else, has that behind its output, so that
// neither hides the other.
//
// Of output that is over the cap and could not be kept both ends are all there is: they are the whole
// then, with a notice that says so.
func ConvertSpooled(p Prepared, r tool.Result, s *spill.Spool, room int) Whole {
	tail := ""
	if given, ok := r.Data.(tool.Spooled); ok && r.Error == "" {
		tail = given.Tail
	} else if tail = result.Text(r); tail != "" && s.Chars() > 0 {
		tail = "\n" + tail
	}
	tail, _ = canon.CleanUTF8(tail)
	took := s.Finish(tail)
	w := Whole{Plain: p.Tool.PlainTerminal, Kept: took.Ref}
	w.IsError, w.EndTurn, w.Structured, w.Replaced = r.IsError, r.EndTurn, r.Structured, int(took.Replaced)
	if took.Raw != nil {
		w.Files = append(w.Files, *took.Raw)
	}
	switch {
	case took.Err != nil:
		w.Unkept = spill.Reason(took.Err)
		w.Text = spill.Preview(took.Excerpt, room, spill.Notice{Reason: w.Unkept})
	case took.Ref != nil:
		w.Ends = &took.Excerpt
	default:
		w.Text = took.Excerpt.Head
	}
	return w
}

// Tokens estimates the tokens of the whole text. Of one that is not at hand the ends stand for the rest.
func (w Whole) Tokens() int64 {
	if w.Ends == nil {
		return int64(tokens.Estimate(w.Text))
	}
	part := int64(len(w.Ends.Head) + len(w.Ends.Tail))
	if part == 0 {
		return 0
	}
	return int64(tokens.Estimate(w.Ends.Head)+tokens.Estimate(w.Ends.Tail)) * w.Ends.Bytes / part
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
		w.Unkept = spill.Reason(err)
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

// ReadNotes reads the notes of a stored result.
func ReadNotes(notes []byte) (Notes, error) {
	var n Notes
	if len(notes) > 0 {
		if err := json.Unmarshal(notes, &n); err != nil {
			return n, fmt.Errorf("read the notes of a result: %w", err)
		}
	}
	return n, nil
}

// Restore makes a whole result again from its stored text and notes. ends are given instead of the
// text when it is too long to hold.
func Restore(text string, ends *spill.Excerpt, notes []byte, isError bool, kept *spill.Ref) (Whole, Notes, error) {
	n, err := ReadNotes(notes)
	if err != nil {
		return Whole{}, n, err
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
