package cases

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// jsonCases are what becomes of JSON, and of text that is not to become it: topics double-encode,
// over-escape, html-escape, nan, dup-keys, key-order and empty-result.
func jsonCases() map[string]runner {
	return map[string]runner{
		"C028": textBlock,
		"C031": func(t *testing.T, c field) {
			in := inputOf[rawJSON](t, c)
			sameText(t, "## Title\nBody \"q\"", tool.JSON(json.RawMessage(in.Text)), tool.Value(json.RawMessage(in.Text)), tool.Value("## Title\nBody \"q\""))
		},
		"C034": func(t *testing.T, c field) {
			in := inputOf[rawJSON](t, c)
			body := sameText(t, in.Text, tool.JSON(json.RawMessage(in.Text)), tool.Value(decoded(t, in.Text)))
			if !bytes.Contains(body, []byte("Hernán")) || bytes.Contains(body, []byte(`\u00e1`)) {
				t.Errorf("the accent is not literal on the wire: %s", body)
			}
		},
		"C035": func(t *testing.T, c field) {
			in := inputOf[rawJSON](t, c)
			body := sameText(t, in.Text, tool.JSON(json.RawMessage(in.Text)), tool.Value(decoded(t, in.Text)), tool.Value(nested{decoded(t, in.Text)}))
			if !bytes.Contains(body, []byte("a < b && c > d { <-done }")) {
				t.Errorf("the code is not literal on the wire: %s", body)
			}
		},
		"C036": requestField,
		"C057": emptyResults,
		"C058": blankResults,
		"C086": func(t *testing.T, c field) {
			in := inputOf[rawJSON](t, c)
			sameText(t, in.Text, tool.JSON(json.RawMessage(in.Text)), tool.Value(json.RawMessage(in.Text)), tool.Value(&in.Text))
		},
		"C166": notANumber,
		"C168": duplicateKeys,
	}
}

// nested marshals itself with json.Marshal, as most such methods do: that turns the escapes of HTML on.
type nested struct{ v any }

func (n nested) MarshalJSON() ([]byte, error) { return json.Marshal(n.v) }

// sameText holds that every one of the results is shown and kept as this text, and gives the body that
// the provider received.
func sameText(t *testing.T, want string, results ...tool.Result) []byte {
	t.Helper()
	w := newWorld(t)
	var calls []scripted.Call
	for i, r := range results {
		name := fmt.Sprint("t", i+1)
		w.tools, calls = append(w.tools, gives(name, r)), append(calls, asks("", name, "{}"))
	}
	for _, a := range w.round(calls...) {
		if a.text != want || a.whole != want || a.file != "" || a.isError {
			t.Errorf("%s: shown %q, kept %q, error %v, want %q", a.call.Tool, a.text, a.whole, a.isError, want)
		}
	}
	return w.last()
}

// mcpResult is the input of kind mcp_result.
type mcpResult struct {
	Kind string `json:"kind"`
	Raw  string `json:"raw"`
}

// blocksOf makes content blocks of a result that has nothing but texts and images: for these there is
// only one reading, whoever converts them.
func blocksOf(t *testing.T, raw string) tool.Result {
	t.Helper()
	var in struct {
		Content []struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			MIMEType string `json:"mimeType"`
			Data     []byte `json:"data"`
		} `json:"content"`
	}
	strict(t, []byte(raw), &in)
	var blocks []tool.Content
	for _, b := range in.Content {
		if b.Type != "text" && b.Type != "image" {
			t.Fatalf("a block of type %s", b.Type)
		}
		blocks = append(blocks, tool.Content{Type: b.Type, Text: b.Text, MIMEType: b.MIMEType, Data: b.Data})
	}
	return tool.Blocks(blocks...)
}

func textBlock(t *testing.T, c field) {
	in := inputOf[mcpResult](t, c)
	sameText(t, "<f path=\"a.ts\">\nclass A {}\n</f>", blocksOf(t, in.Raw))
}

func requestField(t *testing.T, c field) {
	in := inputOf[struct {
		Kind string `json:"kind"`
		Text string `json:"text"`
	}](t, c)
	// Go escapes these two even when HTML escaping is off.
	text := in.Text + " \u2028 \u2029"
	var arguments string
	{
		quoted, err := json.Marshal(in.Text)
		if err != nil {
			t.Fatal(err)
		}
		arguments = `{"text":` + strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(quoted)) + `}`
	}
	w := newWorld(t, gives("nested", tool.Value(nested{map[string]string{"text": text}})))
	w.tools[0].Description = text
	w.config.System = text
	w.turn(text, scripted.Step{Text: text, Calls: []scripted.Call{asks("", "nested", arguments)}}, scripted.Step{Text: "Done."})
	body := string(w.last())
	// System text, description, question, answer, arguments, result.
	if n := strings.Count(body, in.Text); n != 6 {
		t.Errorf("the text stands literally %d times in the body, want 6: %s", n, body)
	}
	for _, escape := range []string{`\u003c`, `\u003e`, `\u0026`, `\u2028`, `\u2029`} {
		if strings.Contains(strings.ToLower(body), escape) {
			t.Errorf("the body has %s", escape)
		}
	}
}

func emptyResults(t *testing.T, c field) {
	in := inputOf[struct {
		Kind string   `json:"kind"`
		Raw  []string `json:"mcp_results_raw"`
	}](t, c)
	w := newWorld(t, gives("empty", blocksOf(t, in.Raw[0])), gives("image", blocksOf(t, in.Raw[1])))
	got := w.round(asks("", "empty", "{}"), asks("", "image", "{}"))
	for i, want := range []string{"", "[image: image/png, 8B, tool-results/r1-2-image.png]"} {
		if a := got[i]; a.text != want || a.whole != want || a.isError || a.call.Outcome != "done" {
			t.Errorf("shown %q, kept %q, error %v, outcome %s; want %q as a success", a.text, a.whole, a.isError, a.call.Outcome, want)
		}
	}
	const png = "\x89PNG\r\n\x1a\n"
	if data := w.kept("tool-results/r1-2-image.png"); data != png {
		t.Errorf("the image is kept as %q", data)
	}
	// A dialect that takes images in results is sent the image itself, beside the line that names it.
	messages := parseBody(t, w.last()).Messages
	if images := messages[len(messages)-1].Content[1].Images; len(images) != 1 || string(images[0].Data) != png {
		t.Errorf("the image on the wire: %v", images)
	}
}

func blankResults(t *testing.T, c field) {
	in := inputOf[struct {
		Kind  string   `json:"kind"`
		Texts []string `json:"texts"`
	}](t, c)
	for _, text := range in.Texts {
		sameText(t, text, tool.Text(text), tool.Result{Data: []byte(text)}, tool.Blocks(tool.Content{Type: "text", Text: text}))
	}
	// Nothing at all is the empty text, not a missing row.
	w := newWorld(t, gives("nil", tool.Result{}))
	if a := w.call("nil", "{}"); a.row.Whole == nil || a.text != "" || a.isError {
		t.Errorf("no data is stored as %v, shown %q, error %v", a.row.Whole, a.text, a.isError)
	}
}

func notANumber(t *testing.T, c field) {
	in := inputOf[mcpResult](t, c)
	const want = `{"mean": NaN, "max": Infinity}`
	// The same as raw JSON, which it is not: it stays the text that it is.
	sameText(t, want, blocksOf(t, in.Raw), tool.JSON(json.RawMessage(want)))
}

func duplicateKeys(t *testing.T, c field) {
	in := inputOf[rawJSON](t, c)
	sameText(t, in.Text, tool.JSON(json.RawMessage(in.Text)), tool.Text(in.Text))
	// A typed reading: arguments that a tool's function is given as a struct. Either of the two would be
	// a guess, so the call is refused and the model is told which key stands there twice.
	heard := ""
	decide, err := tool.Func("decide", "Decide.", func(_ context.Context, in struct {
		Effect string `json:"effect"`
	},
	) (string, error) {
		heard = in.Effect
		return "decided " + in.Effect, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, decide)
	a := w.call("decide", in.Text)
	if heard != "" || !a.isError || !strings.Contains(a.text, `"effect"`) && !strings.Contains(a.text, "/effect") {
		t.Errorf("arguments with a key twice: the tool was given %q, the model is shown %q, error %v", heard, a.text, a.isError)
	}
	if d := cmp.Diff(in.Text, string(a.call.Args)); d != "" {
		t.Errorf("the arguments as stored (-want +got):\n%s", d)
	}
	if got := string(argsOf(t, w.last(), "decide")[0]); got != in.Text {
		t.Errorf("the arguments on the wire: %s", got)
	}
}
