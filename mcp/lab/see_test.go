package lab_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/mcp/lab"
)

// The observations that were published on 2026-08-11, cell by cell: the eight tools and the four hosts.
func TestThePublishedObservations(t *testing.T) {
	const (
		says     = "Widget costs $9.99 and is currently out of stock."
		other    = "Widget costs $25.00 and is in stock."
		bad      = "Widget costs twenty-five dollars, in stock: yes"
		object   = `{"name":"Widget","price":9.99,"in_stock":false}`
		malform  = `{"price":"twenty-five dollars","in_stock":"yes"}`
		refused  = "-32602"
		missing  = "-32600"
		together = "both"
	)
	// tool → inspector, Claude Desktop, claude.ai, Claude Code.
	want := map[string][4]string{
		"no_schema__text_only":                        {"text", says, says, says},
		"no_schema__structured_only":                  {"json", object, object, object},
		"no_schema__text_and_structured":              {together, says, says, object},
		"with_schema__text_and_structured_matching":   {together, says, says, object},
		"with_schema__structured_only_no_text":        {"json", object, object, object},
		"with_schema__text_and_structured_mismatched": {together, other, other, object},
		"with_schema__structured_violates_schema":     {refused, bad, bad, malform},
		"with_schema__structured_missing":             {missing, says, says, says},
	}
	hosts := []string{"inspector", "claude-desktop", "claude.ai", "claude-code"}
	cells := lab.Table(lab.Matrix(), lab.Hosts(), nil)
	got := map[string][4]string{}
	for _, c := range cells {
		for i, h := range hosts {
			if c.Host != h {
				continue
			}
			row := got[c.Tool]
			switch {
			case i > 0:
				row[i] = c.Value
				if isJSON := strings.HasPrefix(c.Value, "{"); isJSON != (c.Shown == "json") || c.Code != 0 {
					t.Errorf("%s, %s: shown as %s, code %d: %s", c.Tool, h, c.Shown, c.Code, c.Value)
				}
			case c.Code != 0:
				row[i] = fmt.Sprint(c.Code)
			default:
				row[i] = c.Shown
			}
			got[c.Tool] = row
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-observed +computed):\n%s", d)
	}
}

// The reference client names all three violations, and what is missing.
func TestTheReferenceClientNamesAllViolations(t *testing.T) {
	h, ok := lab.Preset("inspector")
	if !ok {
		t.Fatal("there is no inspector")
	}
	tools, _ := lab.Find(lab.Matrix(), []string{"with_schema__structured_violates_schema", "with_schema__structured_missing"})
	cells := lab.Table(tools, []lab.Host{h}, nil)
	for _, word := range []string{"name", "price", "in_stock", "number", "boolean", "-32602"} {
		if !strings.Contains(cells[0].Value, word) {
			t.Errorf("the refusal does not say %q: %s", word, cells[0].Value)
		}
	}
	if !strings.Contains(cells[1].Value, "-32600") || cells[1].Shown != lab.ShownError {
		t.Errorf("the refusal of a missing part: %+v", cells[1])
	}
}

// Every known host and every variant, as it is computed today.
func TestGoldenTable(t *testing.T) {
	golden(t, "testdata/hosts.md", []byte(lab.Markdown(lab.Table(lab.All(), lab.Hosts(), nil))))
	raw, err := lab.JSON(lab.Table(lab.Matrix(), lab.Hosts(), nil))
	if err != nil {
		t.Fatal(err)
	}
	var cells []map[string]any
	if err := json.Unmarshal(raw, &cells); err != nil || len(cells) != 8*len(lab.Hosts()) {
		t.Errorf("%d cells, %v", len(cells), err)
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run the test with -update", err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}
