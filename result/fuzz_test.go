package result_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

// literals are the numbers of a JSON text as they are written, and its keys in order.
func literals(t *testing.T, raw []byte) []string {
	t.Helper()
	var out []string
	for l := canon.NewLexer(raw); ; {
		tok, err := l.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case tok.Key:
			key, _ := canon.Unquote(tok.Raw)
			out = append(out, "key "+key)
		case tok.Kind == '0':
			out = append(out, string(tok.Raw))
		}
	}
}

// FuzzText sends one input through every lane: what comes out is valid, and what was valid is unchanged.
func FuzzText(f *testing.F) {
	for _, s := range awkward {
		f.Add([]byte(s))
	}
	for _, s := range []string{
		"\xff\xfe\x3d\xd8", "\xfe\xff\xd8", "\xef\xbb\xbf\xff", "\xed\xa0\xbd\xed\xb8\x80", `{"a":1e2,"a":-0,"b":"\ud83d"}`, `"\ud83d\ude00"`,
		` [1.0, {"x" : "\u0000"}] `, `{"b":` + "\"\xff\"}", strings.Repeat("Ab1+", 300), `{"v":"` + strings.Repeat(`Ab1\/`, 300) + `"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s := string(in)
		results := []tool.Result{
			tool.Text(s), tool.Error(s), tool.JSON(in),
			{Data: in},
			{Data: map[string]string{s: s}},
			{Data: []any{in, s}},
			{Error: s},
			{Structured: in},
			{Data: json.Number(s)},
			tool.Value(s), tool.Page(s),
			tool.Blocks(
				tool.Content{Type: "text", Text: s, Name: s}, tool.Content{Type: "image", MIMEType: s, Data: in, URI: s},
				tool.Content{Type: s, Raw: in, Data: in}, tool.Content{Type: "resource", URI: s, Text: s},
				tool.Content{Type: "resource_link", URI: s, Name: s, MIMEType: s}, tool.Content{Type: "audio", Data: in},
			),
		}
		for i, r := range results {
			w := result.Convert(r, base)
			if i != len(results)-1 && w.Replaced == 0 && w.Text != result.Text(r) {
				t.Fatalf("lane %d: Text %q, Convert %q", i, result.Text(r), w.Text)
			}
			for _, plain := range []bool{false, true} {
				shown, spans := w.Model(plain)
				checkText(t, w.Text, false)
				checkText(t, shown, true)
				for _, p := range spans {
					if got := shown[p.Start:p.End]; !strings.HasPrefix(got, "[") || !strings.HasSuffix(got, "]") {
						t.Fatalf("lane %d: span %v is %q", i, p, got)
					}
				}
				for _, p := range w.Native(plain) {
					checkText(t, p.Text, true)
				}
				if w.JSON && !canon.Valid([]byte(shown)) {
					t.Fatalf("lane %d: the model's text is no JSON: %q", i, shown)
				}
			}
			if w.Structured != nil && !json.Valid(w.Structured) {
				t.Fatalf("lane %d: structured %q", i, w.Structured)
			}
			if (r.Structured == nil) != (w.Structured == nil) {
				t.Fatalf("lane %d: structured was made or lost", i)
			}
		}
		if utf8.Valid(in) && result.Text(tool.Text(s)) != s {
			t.Fatalf("a valid string was changed: %q", s)
		}
		if canon.Valid(in) && canon.Kind(in) != "string" {
			checkJSON(t, in, result.Text(tool.JSON(in)))
		}
	})
}

// checkText holds what every text keeps to; a model's has no NUL.
func checkText(t *testing.T, s string, model bool) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Fatalf("%q is no UTF-8", s)
	}
	if model && strings.Contains(s, "\x00") {
		t.Fatalf("%q has a NUL", s)
	}
}

// checkJSON holds that JSON is the same value with the same keys and digits in the same order, and the
// same bytes when it was clean.
func checkJSON(t *testing.T, in []byte, got string) {
	t.Helper()
	if !canon.Equal(in, []byte(got)) {
		t.Fatalf("%q became another value: %q", in, got)
	}
	want, have := literals(t, in), literals(t, []byte(got))
	if strings.Join(want, "\n") != strings.Join(have, "\n") {
		t.Fatalf("keys and digits of %q became those of %q", in, got)
	}
	if utf8.Valid(in) && !bytes.Contains(bytes.ToLower(in), []byte(`\ud`)) && got != string(in) {
		t.Fatalf("%q was changed to %q", in, got)
	}
}

// FuzzBytes holds that bytes are kept whole whenever the text is not exactly them.
func FuzzBytes(f *testing.F) {
	for _, s := range []string{"", "a", "\xff", "\xef\xbb\xbfa", "\xff\xfea\x00", "\xfe\xff\xd8\x3d\xde\x00x", "\xed\xa0\x80"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		w := result.Convert(tool.Result{Data: in}, base)
		checkText(t, w.Text, false)
		if w.Raw == nil && w.Text != string(in) {
			t.Fatalf("%q became %q and was not kept", in, w.Text)
		}
		if w.Raw != nil && !bytes.Equal(w.Raw, in) {
			t.Fatalf("%q was kept as %q", in, w.Raw)
		}
		text, noted := strings.CutSuffix(w.Text, result.RawNote(w.Replaced, base+".raw"))
		if noted != (w.Replaced > 0) {
			t.Fatalf("%d replaced, and the text ends in %q", w.Replaced, w.Text)
		}
		if n := strings.Count(text, "\ufffd"); n < w.Replaced {
			t.Fatalf("%d replaced, but %d U+FFFD in %q", w.Replaced, n, text)
		}
	})
}
