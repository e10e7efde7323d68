// Package result makes any result text: total and deterministic.
//
// [Text] is the one conversion: every path that needs the text of a [tool.Result] takes it from here,
// and nothing else turns data into text. [Convert] gives the same text together with what does not fit
// into text: payloads, original bytes, the machine's view, and the places where something stands for
// bytes that are kept elsewhere. [Whole.Model] derives what a model is shown. Nothing here reads a
// clock, a file or the environment, and no input makes it panic.
package result

import (
	"encoding/json"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/tool"
)

// unknownError is the text of an error result that says nothing.
const unknownError = "unknown error"

// Text returns the text of a result, whole: what is stored, searched and handed to scripts. It is valid
// UTF-8, and a string that is valid already is returned as it is. Payloads stand in it as one-line
// placeholders that name no file; [Convert] knows the names. It never panics: a result that cannot be
// converted has the text that says so.
func Text(r tool.Result) string {
	if s, ok := r.Data.(string); ok && !r.IsError && s != "" {
		return valid(s)
	}
	return convert(r, "", false).Text
}

// Convert turns a result into text and what belongs to it. base is where the result's files will be
// addressed, without an extension, such as "tool-results/r3-1-grep"; placeholders name the payloads by
// it. With an empty base no file is named: that is the form for a result whose files were not kept.
func Convert(r tool.Result, base string) Whole {
	return convert(r, base, true)
}

// convert climbs the ladder: the error's text, the text of the data, what stands for no text. bulk asks
// for the base64 runs inside JSON, which only the model's text needs.
func convert(r tool.Result, base string, bulk bool) Whole {
	w := Whole{IsError: r.IsError, EndTurn: r.EndTurn, Page: r.IsPage(), Structured: structured(r.Structured)}
	if r.IsError && r.Error != "" {
		w.Text = valid(r.Error)
		return w
	}
	if err := w.data(r.Data, base, bulk); err != nil {
		w.IsError = true
		w.Text = valid(tool.Unconvertible(err).Error)
		return w
	}
	if w.Text == "" {
		switch {
		case r.Error != "":
			w.Text = valid(r.Error)
		case r.IsError:
			w.Text = unknownError
		}
	}
	return w
}

// data sets the text of the data and what belongs to it.
func (w *Whole) data(data any, base string, bulk bool) error {
	switch x := data.(type) {
	case nil:
	case string:
		w.Text = valid(x)
	case []tool.Content:
		w.blocks(x, base, bulk)
	case tool.Content:
		w.blocks([]tool.Content{x}, base, bulk)
	case []byte:
		w.bytes(x, base)
	case json.RawMessage:
		w.json(x, base, bulk)
	case tool.Spooled:
		// What was written to the spool is its owner's to read; the tail is what is here.
		w.Text = valid(x.Tail)
	default:
		raw, err := canon.Marshal(data)
		if err != nil {
			return err
		}
		if text, ok := canon.Unquote(raw); ok {
			w.Text = text
			return nil
		}
		w.setJSON(raw, base, bulk)
	}
	return nil
}

// json sets the text of raw JSON: its bytes as they are, except that a string at the root is decoded
// once and that what is no character is replaced. Bytes that are no JSON are text as they are.
func (w *Whole) json(raw []byte, base string, bulk bool) {
	if text, ok := canon.Unquote(raw); ok {
		w.Text = text
		return
	}
	if !canon.Valid(raw) {
		w.Text = valid(string(raw))
		return
	}
	raw, _ = canon.CleanJSON(raw)
	w.setJSON(raw, base, bulk)
}

// setJSON takes valid and clean JSON for the text.
func (w *Whole) setJSON(raw []byte, base string, bulk bool) {
	w.Text, w.JSON = string(raw), true
	if bulk {
		c := collector{base: base}
		w.Marks = c.bulk(w.Text, 0, nil)
		w.Payloads = c.payloads
	}
}

// structured returns the machine's view as JSON that every reader accepts; nil stays nil. What is no
// JSON becomes a JSON string of its text, so that it is still present and breaks nobody's document.
func structured(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	if !canon.Valid(raw) {
		quoted, err := canon.Marshal(string(raw))
		if err != nil {
			return json.RawMessage("null")
		}
		return quoted
	}
	raw, _ = canon.CleanJSON(raw)
	return raw
}

// valid returns s as valid UTF-8.
func valid(s string) string {
	s, _ = canon.CleanUTF8(s)
	return s
}
