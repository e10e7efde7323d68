package result_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

// encoded is a UTF-16 code unit by itself in the bytes that UTF-8 would have for it, surrogates too.
func encoded(unit int) string {
	switch {
	case unit < 0x80:
		return string([]byte{byte(unit)})
	case unit < 0x800:
		return string([]byte{0xC0 | byte(unit>>6), 0x80 | byte(unit&0x3F)})
	default:
		return string([]byte{0xE0 | byte(unit>>12), 0x80 | byte(unit>>6&0x3F), 0x80 | byte(unit&0x3F)})
	}
}

// TestEveryCodeUnit sends each of the 65,536 code units through every lane. A surrogate by itself becomes
// one U+FFFD, everything else arrives as it is, and what leaves is always valid.
func TestEveryCodeUnit(t *testing.T) {
	t.Parallel()
	img := tool.Content{Type: "image", Data: picture(8)}
	const placeholder = "\n[image: image/png, 8B, " + base + ".png]"
	for unit := range 1 << 16 {
		in := "a" + encoded(unit) + "z"
		char := string(rune(unit))
		if unit >= 0xD800 && unit < 0xE000 {
			char = "\ufffd"
		}
		want := "a" + char + "z"
		lanes := []struct {
			name string
			r    tool.Result
			want string
		}{
			{"string", tool.Text(in), want},
			{"error", tool.Error(in), want},
			{"text block", tool.Blocks(tool.Content{Type: "text", Text: in}), want},
			{"text block and image", tool.Blocks(tool.Content{Type: "text", Text: in}, img), want + placeholder},
			{"text resource", tool.Blocks(tool.Content{Type: "resource", Text: in}), "[resource]\n" + want},
			{"escape in a JSON string", tool.JSON(json.RawMessage(fmt.Sprintf(`"a\u%04xz"`, unit))), want},
		}
		for _, l := range lanes {
			w := result.Convert(l.r, base)
			if w.Text != l.want {
				t.Fatalf("U+%04X as %s: %q, want %q", unit, l.name, w.Text, l.want)
			}
			for _, p := range w.Native(false) {
				if p.Image == nil && p.Text != strings.ReplaceAll(want, "\x00", "\u2400") {
					t.Fatalf("U+%04X as native %s: %q, want %q", unit, l.name, p.Text, want)
				}
			}
		}

		// Inside JSON the value counts: one character between a and z.
		escape := fmt.Sprintf(`{"k\u%04x":["a\u%04Xz"]}`, unit, unit)
		inside := []struct {
			name string
			r    tool.Result
		}{
			{"string in a value", tool.Result{Data: map[string][]string{"k" + encoded(unit): {in}}}},
			{"string in a value, at once", tool.Value(struct{ K []string }{[]string{in}})},
			{"escape in raw JSON", tool.JSON(json.RawMessage(escape))},
			{"escape in an unknown block", tool.Blocks(tool.Content{Type: "x", Raw: json.RawMessage(escape)})},
			{"structured", tool.Result{Structured: json.RawMessage(escape), Data: json.RawMessage("0")}},
		}
		for _, l := range inside {
			w := result.Convert(l.r, base)
			text := w.Text[max(strings.IndexByte(w.Text, '{'), 0):]
			if w.Structured != nil {
				text = string(w.Structured)
			}
			if !utf8.ValidString(text) || !json.Valid([]byte(text)) {
				t.Fatalf("U+%04X as %s: not valid: %q", unit, l.name, text)
			}
			quoted := text[strings.LastIndexByte(text, '[')+1 : strings.LastIndexByte(text, ']')]
			if got, ok := canon.Unquote([]byte(quoted)); unit != '[' && unit != ']' && (!ok || got != want) {
				t.Fatalf("U+%04X as %s: %q holds %q, want %q", unit, l.name, text, got, want)
			}
			if char == "\ufffd" && strings.Contains(strings.ToLower(text), fmt.Sprintf(`\u%04x`, unit)) && unit != 0xFFFD {
				t.Fatalf("U+%04X as %s: the escape is still there: %s", unit, l.name, text)
			}
		}
	}
}

// TestPairsStay holds that a pair is one character and, in raw JSON, stays as it was written.
func TestPairsStay(t *testing.T) {
	t.Parallel()
	const raw = `{"a":"\ud83c\udf78","b":"\uD83C\uDF78","c":"🍸"}`
	for name, c := range map[string]struct {
		r    tool.Result
		want string
	}{
		"character":      {tool.Text("🍸"), "🍸"},
		"encoded halves": {tool.Text("\xed\xa0\xbc\xed\xbd\xb8"), "🍸"},
		"raw JSON":       {tool.JSON(json.RawMessage(raw)), raw},
		"JSON string":    {tool.JSON(json.RawMessage(`"\ud83c\udf78"`)), "🍸"},
		"halves swapped": {tool.JSON(json.RawMessage(`["\udf78\ud83c"]`)), `["\ufffd\ufffd"]`},
		"two first ones": {tool.JSON(json.RawMessage(`["\ud83c\ud83c\udf78"]`)), `["\ufffd\ud83c\udf78"]`},
		"half, then not": {tool.JSON(json.RawMessage(`["\ud83c\\udf78"]`)), `["\ufffd\\udf78"]`},
		"value":          {tool.Value(map[string]string{"a": "🍸"}), `{"a":"🍸"}`},
		"apart in blocks": {
			tool.Blocks(tool.Content{Type: "text", Text: "\xed\xa0\xbc"}, tool.Content{Type: "text", Text: "\xed\xbd\xb8"}), "\ufffd\n\ufffd",
		},
	} {
		if got := result.Text(c.r); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
