package result_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

// awkward are strings that get quoted, escaped, trimmed or repaired where somebody is careless.
var awkward = []string{
	"hello\nworld", `"quoted"`, `\u0041 \n`, "<b>&amp;</b>", " lead and trail \n\n", "\ttab\r\n", "{\"a\":1}", "[]", "null", "\"",
	"\u2028\u2029", "\ufeff", "\ufffd", "😀\u200d", "a\x00b\x1b[1m\x7f", "[image: image/png, 8B, tool-results/r3-1-x.png]", "   ", "\n\n",
	"[1 character could not be decoded and stands as U+FFFD]", strings.Repeat("long ", 10_000), "Hernán 你好",
}

// TestLaw01Verbatim: a string reaches everybody as its own text, on every lane that a string can take.
func TestLaw01Verbatim(t *testing.T) {
	t.Parallel()
	type out string
	lanes := map[string]func(string) tool.Result{
		"string":         tool.Text,
		"value":          func(s string) tool.Result { return tool.Value(s) },
		"named string":   func(s string) tool.Result { return tool.Value(out(s)) },
		"pointer":        func(s string) tool.Result { return tool.Value(&s) },
		"data as it is":  func(s string) tool.Result { return tool.Result{Data: out(s)} },
		"bytes":          func(s string) tool.Result { return tool.Value([]byte("\xef\xbb\xbf" + s)) },
		"text block":     func(s string) tool.Result { return tool.Blocks(tool.Content{Type: "text", Text: s}) },
		"JSON string":    func(s string) tool.Result { return tool.JSON(quote(s)) },
		"error":          tool.Error,
		"error's data":   func(s string) tool.Result { return tool.Result{IsError: true, Data: s} },
		"unmarked error": func(s string) tool.Result { return tool.Result{Error: s} },
		"page":           tool.Page,
		"spool's tail":   func(s string) tool.Result { return tool.Result{Data: tool.Spooled{Tail: s}} },
	}
	for name, lane := range lanes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range awkward {
				r := lane(s)
				if diff := cmp.Diff(s, result.Text(r)); diff != "" {
					t.Errorf("Text of %.40q (-want +got):\n%s", s, diff)
				}
				w := result.Convert(r, base)
				if diff := cmp.Diff(s, w.Text); diff != "" {
					t.Errorf("Convert of %.40q (-want +got):\n%s", s, diff)
				}
				if shown, _ := w.Model(false); shown != strings.ReplaceAll(s, "\x00", "\u2400") {
					t.Errorf("the model reads %.60q for %.40q", shown, s)
				}
			}
		})
	}
	t.Run("blocks around an image", func(t *testing.T) {
		t.Parallel()
		for _, s := range awkward {
			w := result.Convert(tool.Blocks(tool.Content{Type: "text", Text: s}, tool.Content{Type: "image", Data: picture(8)}), base)
			if text, ok := strings.CutSuffix(w.Text, "\n[image: image/png, 8B, "+base+".png]"); !ok || text != s {
				t.Errorf("text of %.40q: %.80q", s, w.Text)
			}
			if parts := w.Native(false); parts[0].Text != strings.ReplaceAll(s, "\x00", "\u2400") {
				t.Errorf("native text of %.40q: %.80q", s, parts[0].Text)
			}
		}
	})
}

// quote makes a JSON string of s.
func quote(s string) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return raw
}

// TestLaw08WholeOrLabelled holds that JSON stays JSON, in the whole and in the model's text, or is text that says what
// is missing from it.
func TestLaw08WholeOrLabelled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		data  any
		shown string // where it differs from the whole
	}{
		{"value", map[string]any{"b": []any{1, "x"}, "a": nil}, ""},
		{"raw", json.RawMessage(`{"a" : "\ud83d", "a" : 1e400, "b" : "<` + "\xff" + `>"}`), ""},
		{"bytes inside", struct{ A []byte }{picture(1200)}, `{"A":"[base64: image/png, ~1KB, ` + base + `.png]"}`},
		{"deep", json.RawMessage(strings.Repeat("[", canon.MaxDepth) + strings.Repeat("]", canon.MaxDepth)), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := result.Convert(tool.Result{Data: c.data}, base)
			shown, _ := w.Model(true)
			if w.JSON {
				if !json.Valid([]byte(w.Text)) {
					t.Errorf("the whole is no JSON: %.200s", w.Text)
				}
				if !json.Valid([]byte(shown)) {
					t.Errorf("the model's text is no JSON: %.200s", shown)
				}
			}
			want := c.shown
			if want == "" {
				want = w.Text
			}
			if w.JSON && shown != want {
				t.Errorf("the model reads %.200q, want %.200q", shown, want)
			}
		})
	}
	t.Run("what is replaced says so", func(t *testing.T) {
		t.Parallel()
		w := result.Convert(tool.Result{Data: []byte("{\"a\":\"\xff\"}")}, base)
		want := "{\"a\":\"\ufffd\"}\n" + result.RawNote(1, base+".raw")
		if diff := cmp.Diff(want, w.Text); diff != "" || w.JSON {
			t.Errorf("JSON %v, text (-want +got):\n%s", w.JSON, diff)
		}
	})
	t.Run("a claim that is cut says how much", func(t *testing.T) {
		t.Parallel()
		got := result.Text(tool.Blocks(tool.Content{Type: "resource_link", Name: strings.Repeat("n", 207)}))
		if want := "[resource link: " + strings.Repeat("n", 200) + "… (7 more); not fetched]"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestLaw09Deterministic: the same result gives the same bytes, each time and on all goroutines at once.
func TestLaw09Deterministic(t *testing.T) {
	t.Parallel()
	large := map[string]any{}
	for i := range 200 {
		large[fmt.Sprintf("key %d", i*7919%200)] = map[string]any{"b": i, "a": picture(i), "c": math.Sqrt(float64(i))}
	}
	results := []tool.Result{
		{Data: large},
		tool.Blocks(tool.Content{Type: "image", Data: picture(2000)}, tool.Content{Type: "audio", Data: []byte("fLaC")}, tool.Content{Type: "x", Text: "t"}),
		{Data: []byte("\xff\xfe\x3d\xd8")},
		{Data: cyclic()},
		{Data: badMarshaler{panics: true}},
		// Two identical dirty failures are one and the same text (case C010).
		tool.Error("bad \xed\xa0\xb5 text"),
		tool.Text("0%\r1%\r2%\x1b[m\x00"),
	}
	type view struct {
		Whole result.Whole
		Shown string
		Spans []result.Span
		Parts []result.Part
	}
	look := func(r tool.Result) view {
		w := result.Convert(r, base)
		shown, spans := w.Model(true)
		return view{w, shown, spans, w.Native(true)}
	}
	for i, r := range results {
		want := look(r)
		var g sync.WaitGroup
		for range 4 {
			g.Go(func() {
				for range 10 {
					if diff := cmp.Diff(want, look(r)); diff != "" {
						t.Errorf("result %d differs (-first +later):\n%.2000s", i, diff)
					}
				}
			})
		}
		g.Wait()
		if got := result.Text(tool.Text(want.Whole.Text)); got != want.Whole.Text {
			t.Errorf("result %d: the text of its text differs: %.200q", i, got)
		}
	}
}
