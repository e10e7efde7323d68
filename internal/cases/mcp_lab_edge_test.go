package cases

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/mcp/lab"
)

// mcpLabEdges are the edge cases of MCP results that are decided by a host's policy, by their number, on the
// policies of known hosts.
func mcpLabEdges() map[string]item {
	return map[string]item{
		"34": mcpLabMismatch, "35": mcpLabImage, "36": mcpLabBulk, "37": mcpLabAudience, "38": mcpLabError, "39": mcpLabZeros,
		"40": mcpLabWrapped, "41": mcpLabEcho, "42": mcpLabCaps,
	}
}

// TestMCPLabEdge runs every item as a subtest of its number.
func TestMCPLabEdge(t *testing.T) {
	t.Parallel()
	runItems(t, mcpLabEdges())
}

// mcpLabSees gives what every known host shows of one of the lab's tools, by the host's name.
func mcpLabSees(t *testing.T, name string) map[string]lab.Cell {
	t.Helper()
	tools, unknown := lab.Find(lab.All(), []string{name})
	if len(unknown) > 0 {
		t.Fatalf("the lab has no tool %q", unknown)
	}
	return mcpLabShows(tools[0])
}

func mcpLabShows(tl lab.Tool) map[string]lab.Cell {
	cells := map[string]lab.Cell{}
	for _, c := range lab.Table([]lab.Tool{tl}, lab.Hosts(), utf8.RuneCountInString) {
		cells[c.Host] = c
	}
	return cells
}

// mcpLabGroups gives which hosts show a value, as "host host", by how it is shown and the value. The inspector
// shows everything and is left out.
func mcpLabGroups(cells map[string]lab.Cell) map[string]string {
	groups := map[string]string{}
	for _, host := range slices.Sorted(maps.Keys(cells)) {
		if c := cells[host]; host != "inspector" {
			key := c.Shown + ": " + c.Value
			groups[key] = strings.TrimSpace(groups[key] + " " + host)
		}
	}
	return groups
}

func mcpLabWant(t *testing.T, want, got map[string]string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// mcpLabMismatch: which of two truths a model is told depends on the host alone.
func mcpLabMismatch(t *testing.T) {
	cells := mcpLabSees(t, "with_schema__text_and_structured_mismatched")
	mcpLabWant(t, map[string]string{
		"text: Widget costs $25.00 and is in stock.":            "claude-desktop claude.ai crush gemini-cli goose",
		`json: {"name":"Widget","price":9.99,"in_stock":false}`: "adk-go claude-code codex opencode pydantic-ai vscode",
	}, mcpLabGroups(cells))
	if both := cells["inspector"]; both.Shown != lab.ShownBoth || !strings.Contains(both.Value, "$25.00") || !strings.Contains(both.Value, "9.99") {
		t.Errorf("the inspector: %+v", both)
	}
}

// mcpLabImage: structured content takes the place of an image, or only that of the text.
func mcpLabImage(t *testing.T) {
	const object, text, image = `{"name":"Widget","price":9.99,"in_stock":false}`, "Widget costs $9.99 and is currently out of stock.", "\n[image: image/png, 67B]"
	cells := mcpLabSees(t, "no_schema__text_image_and_structured")
	mcpLabWant(t, map[string]string{
		"json: " + object:         "adk-go claude-code codex opencode",
		"both: " + object + image: "vscode",
		"text: " + text + image:   "claude-desktop claude.ai pydantic-ai",
		"text: " + text:           "crush gemini-cli goose",
	}, mcpLabGroups(cells))
	if dropped := cells["claude-code"].Dropped; len(dropped) != 1 || !strings.Contains(dropped[0], "1 image") {
		t.Errorf("claude-code does not say that the image is lost: %q", dropped)
	}
}

// mcpLabBulk: base64 in structured content is text to every host that shows structured content, up to its cap.
func mcpLabBulk(t *testing.T) {
	cells := mcpLabSees(t, "no_schema__structured_base64")
	for host, most := range map[string]int{
		"claude-desktop": 20, "goose": 20, "crush": 20, "claude-code": 100, "codex": 10_100, "opencode": 50_100, "vscode": 120_031,
	} {
		if n := utf8.RuneCountInString(cells[host].Value); n > most || n < most/2 {
			t.Errorf("%s shows %d characters", host, n)
		}
	}
	if v := cells["claude-code"].Value; !strings.Contains(v, "saved to a file") {
		t.Errorf("claude-code: %.200s", v)
	}
	if v := cells["codex"].Value; !strings.Contains(v, "characters left out …]") || !strings.HasSuffix(v, `"}`) {
		t.Errorf("codex does not mark the cut in the middle: %.100s … %s", v, v[len(v)-100:])
	}
}

// mcpLabAudience: what is for the user alone is kept from the model by one host, which says so.
func mcpLabAudience(t *testing.T) {
	groups := mcpLabGroups(mcpLabSees(t, "no_schema__audience_user_only"))
	mcpLabWant(t, map[string]string{
		"text: For the model: out of stock.\nFor the user: sorry.":                                    "adk-go claude-code claude-desktop claude.ai codex crush gemini-cli goose opencode pydantic-ai",
		"text: For the model: out of stock.\n[1 of 2 blocks are for the user only and are not shown]": "vscode",
	}, groups)
}

// mcpLabError: what could be done about an error is lost on hosts that show its text alone.
func mcpLabError(t *testing.T) {
	cells := mcpLabSees(t, "no_schema__error_text_and_structured")
	dump := `{"content":[{"type":"text","text":"No widget has this name."}],"structuredContent":{"code":"not_found","hint":"list the widgets first"},"isError":true}`
	mcpLabWant(t, map[string]string{
		"text: No widget has this name.":                             "adk-go claude-code claude-desktop claude.ai crush goose opencode",
		`json: {"code":"not_found","hint":"list the widgets first"}`: "codex pydantic-ai vscode",
		"both: " + dump: "gemini-cli",
	}, mcpLabGroups(cells))
	if d := cells["claude-code"].Dropped; !slices.Contains(d, "the structured content") {
		t.Errorf("claude-code does not say what is lost: %q", d)
	}
}

// mcpLabZeros: an error beside an empty struct is refused by nobody, though the struct breaks the schema; hosts
// that prefer structured content show the zeros in the place of the error.
func mcpLabZeros(t *testing.T) {
	cells := mcpLabSees(t, "with_schema__error_structured_violates_schema")
	for host, c := range cells {
		if c.Code != 0 {
			t.Errorf("%s refuses an error with %d", host, c.Code)
		}
	}
	mcpLabWant(t, map[string]string{
		"text: No widget has this name.": "adk-go claude-code claude-desktop claude.ai crush goose opencode",
		`json: {"name":"","price":0}`:    "codex pydantic-ai vscode",
		`both: {"content":[{"type":"text","text":"No widget has this name."}],"structuredContent":{"name":"","price":0},"isError":true}`: "gemini-cli",
	}, mcpLabGroups(cells))
}

// mcpLabWrapped: a value in {"result": x} is shown as x by the host that takes it out, and as it came by the others.
func mcpLabWrapped(t *testing.T) {
	mcpLabWant(t, map[string]string{
		`json: {"result":"Widget"}`: "adk-go claude-code claude-desktop claude.ai codex opencode vscode",
		"json: Widget":              "pydantic-ai",
		"nothing: ":                 "crush gemini-cli goose",
	}, mcpLabGroups(mcpLabSees(t, "no_schema__structured_wrapped")))
}

// mcpLabEcho: a text that is the structured content in another order, indent and spelling, or the list inside it,
// agrees with it; one that differs in a value does not.
func mcpLabEcho(t *testing.T) {
	results := map[string]string{
		"order":    `{"content":[{"type":"text","text":"{\n  \"in_stock\": false,\n  \"price\": 9.990,\n  \"name\": \"Widget\"\n}"}],"structuredContent":{"name":"Widget","price":9.99,"in_stock":false}}`,
		"entities": `{"content":[{"type":"text","text":"[{\"name\": \"a\"}]"}],"structuredContent":{"entities":[{"name":"a"}]}}`,
		"elements": `{"content":[{"type":"text","text":"{\"name\": \"a\"}"},{"type":"text","text":"{\"name\": \"b\"}"}],"structuredContent":{"result":[{"name":"a"},{"name":"b"}]}}`,
		"value":    `{"content":[{"type":"text","text":"{\"name\": \"Widget\", \"price\": 25.00}"}],"structuredContent":{"name":"Widget","price":9.99}}`,
	}
	far := mcpServer(t, func(method string, params map[string]json.RawMessage) string {
		if method == "tools/list" {
			var all []string
			for _, name := range slices.Sorted(maps.Keys(results)) {
				all = append(all, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
			}
			return `{"tools":[` + strings.Join(all, ",") + `]}`
		}
		var name string
		if json.Unmarshal(params["name"], &name) != nil {
			return `{"content":[]}`
		}
		return results[name]
	})
	findings, err := lab.Probe(t.Context(), reached(t, client.Options{}, map[string]client.Server{"far": far}), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range findings {
		got[f.Tool] = f.Verdict
	}
	mcpLabWant(t, map[string]string{"order": lab.Agree, "entities": lab.Agree, "elements": lab.Agree, "value": lab.Disagree}, got)
}

// mcpLabCaps: exactly the cap is whole, one more is not; no character is cut in two, and what was cut is marked.
func mcpLabCaps(t *testing.T) {
	for _, c := range []struct {
		host string
		unit string
		most int
		mark string
	}{
		{"codex", "a", 10_000, "characters left out …]"},
		{"codex", "é", 10_000, "characters left out …]"},
		{"codex", "👩‍🚀", 3_333, "characters left out …]"}, // three code points each, so that the cut falls inside one
		{"claude-code", "a", 25_000, "saved to a file"},
		{"gemini-cli", "é", 40_000, "saved to a file"},
		{"claude.ai", "a", 150_000, "characters left out]"},
		{"goose", "a", 200_000, "saved to a file"},
		{"opencode", "a\n", 1_999, "characters left out]"},
	} {
		for _, over := range []bool{false, true} {
			text := strings.Repeat(c.unit, c.most)
			if over {
				text += c.unit + c.unit
			}
			raw, err := json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}})
			if err != nil {
				t.Fatal(err)
			}
			got := mcpLabShows(lab.Tool{Name: "long", Result: raw})[c.host].Value
			switch {
			case !over && got != text:
				t.Errorf("%s cuts %d × %q, which is its cap", c.host, c.most, c.unit)
			case over && (got == text || !strings.Contains(got, c.mark) || !utf8.ValidString(got)):
				t.Errorf("%s does not mark that it cuts %d × %q: %d characters", c.host, c.most+2, c.unit, utf8.RuneCountInString(got))
			}
		}
	}
}
