package lab

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/mcp/client"
)

// What of two channels differs.
func TestDifferences(t *testing.T) {
	for _, c := range []struct{ name, text, structured, want string }{
		{"spellings of one number", "It is 1,000 or 9.990.", `{"a":1e3,"b":9.99}`, ""},
		{"a dash is no sign", "from -3", `{"n":3}`, ""},
		{"zeros", "0.00 of 0", `{"n":0}`, ""},
		{"truth values are not compared", "in stock", `{"a":true,"b":null}`, ""},
		{"a number in a string", "since 2026-09-30", `{"since":"2026-09-30"}`, ""},
		{"case", "WIDGET", `{"name":"widget"}`, ""},
		{"a number of the text's own", "7 of 9", `{"n":7}`, "the text says 9, which the structured content does not"},
		{"other JSON", `{"a":"y","b":"x"}`, `{"a":"x","b":"y"}`, "the text is JSON that differs from the structured content"},
		{"another order", `{"b":"y","a":"x"}`, `{"a":"x","b":"y"}`, ""},
		{"an escaped pointer", "-", `{"a/b":{"~":"x"}}`, `the text does not say "x", which is the structured content's /a~1b/~0`},
		{"beyond what can be compared", "1e999999999", `{"n":1e999999999}`, ""},
		{"no text", " ", `{"n":7}`, ""},
	} {
		raw, err := json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": c.text}}, "structuredContent": json.RawMessage(c.structured)})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, strings.Join(differences(client.Receive(raw)), "; ")); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
	many := `[1,2,3,4,5,6,7,8,9,10,11]`
	got := differences(client.Receive([]byte(`{"content":[{"type":"text","text":"none"}],"structuredContent":` + many + `}`)))
	if len(got) != maxDifferences+1 || got[maxDifferences] != "and 3 more" {
		t.Errorf("%q", got)
	}
}

// Whatever a server sends is judged, in bounded time.
func FuzzJudge(f *testing.F) {
	for _, t := range All() {
		if len(t.Result) < 10_000 {
			f.Add([]byte(t.Result))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := client.Receive(raw)
		verdict, detail := judge(r, client.Check(r, json.RawMessage(widgetSchema)))
		if verdict == "" || verdict != Agree && len(detail) == 0 {
			t.Errorf("%q: %s, %q", raw, verdict, detail)
		}
		for _, h := range Hosts() {
			see("x", h, r, client.Verdict{}, func(s string) int { return len(s) })
		}
	})
}
