package lab_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/mcp/lab"
	"github.com/weir-run/weir/mcp/server"
)

// TestMain is the lab over stdio when it is started as a child.
func TestMain(m *testing.M) {
	if os.Getenv("WEIR_LAB_CHILD") != "" {
		if err := lab.ServeStdio(context.Background(), lab.Protocol("test", lab.All(), nil), os.Stdin, os.Stdout, nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// ways gives a set of Weir's own client for each way in which the lab can be reached, by its name.
func ways(t *testing.T, tools []lab.Tool) map[string]*client.Set {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h, err := server.Mount(lab.Protocol("test", tools, nil), server.HTTPConfig{Open: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	all := map[string]*client.Set{}
	for name, config := range map[string]string{
		"stdio 2026-07-28":          fmt.Sprintf(`{"mcpServers":{"lab":{"command":%q,"env":{"WEIR_LAB_CHILD":"1"}}}}`, self),
		"stdio 2025-11-25":          fmt.Sprintf(`{"mcpServers":{"lab":{"command":%q,"env":{"WEIR_LAB_CHILD":"1"},"protocol":"2025-11-25"}}}`, self),
		"stateful HTTP 2025-11-25":  fmt.Sprintf(`{"mcpServers":{"lab":{"url":%q,"protocol":"2025-11-25"}}}`, web.URL+"/mcp"),
		"stateful HTTP 2025-06-18":  fmt.Sprintf(`{"mcpServers":{"lab":{"url":%q,"protocol":"2025-06-18"}}}`, web.URL+"/mcp"),
		"stateless HTTP 2026-07-28": fmt.Sprintf(`{"mcpServers":{"lab":{"url":%q}}}`, web.URL+"/mcp"),
	} {
		all[name] = connect(t, config)
	}
	return all
}

func connect(t *testing.T, config string) *client.Set {
	t.Helper()
	c, err := client.Parse([]byte(config), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	set, err := client.Connect(t.Context(), c, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	for _, s := range set.Servers() {
		if s.Err != nil {
			t.Fatal(s.Err)
		}
	}
	return set
}

// The bytes on the wire are those of the matrix, over every transport and revision; 2026-07-28 has its
// resultType in front and nothing else.
func TestTheMatrixOnTheWire(t *testing.T) {
	tools := lab.All()
	for name, set := range ways(t, tools) {
		t.Run(name, func(t *testing.T) {
			revision := set.Servers()[0].Protocol
			if !strings.HasSuffix(name, revision) {
				t.Errorf("it speaks %s", revision)
			}
			for _, tl := range tools {
				raw, refused, err := set.CallRaw(t.Context(), "lab", tl.Name, json.RawMessage(`{}`))
				if err != nil || refused != nil {
					t.Errorf("%s: %v, %v", tl.Name, err, refused)
					continue
				}
				want := string(tl.Result)
				if revision >= "2026-07-28" {
					want = `{"resultType":"complete",` + want[1:]
				}
				if string(raw) != want {
					t.Errorf("%s on the wire (-want +got):\n%s", tl.Name, cmp.Diff(clip(want), clip(string(raw))))
				}
			}
		})
	}
	var b strings.Builder
	for _, tl := range tools {
		sent := string(tl.Result)
		if len(sent) > 10_000 {
			sent = fmt.Sprintf("%d bytes, SHA-256 %x", len(sent), sha256.Sum256(tl.Result))
		}
		fmt.Fprintf(&b, "-- %s --\n%s\n%s\n", tl.Name, tl.Output, sent)
	}
	golden(t, "testdata/matrix.txt", []byte(b.String()))
}

func clip(s string) string { return s[:min(len(s), 400)] }

// What a probe says of the eight tools.
func TestProbeOfTheLab(t *testing.T) {
	set := ways(t, lab.Matrix())["stateless HTTP 2026-07-28"]
	findings, err := lab.Probe(t.Context(), set, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range findings {
		got[f.Tool] = f.Verdict
		if f.Verdict == lab.Violates && len(f.Detail) != 3 {
			t.Errorf("violations: %q", f.Detail)
		}
	}
	want := map[string]string{
		"no_schema__text_only":                        lab.Agree,
		"no_schema__structured_only":                  lab.Agree,
		"no_schema__text_and_structured":              lab.Agree,
		"with_schema__text_and_structured_matching":   lab.Agree,
		"with_schema__structured_only_no_text":        lab.Agree,
		"with_schema__text_and_structured_mismatched": lab.Disagree,
		"with_schema__structured_violates_schema":     lab.Violates,
		"with_schema__structured_missing":             lab.Missing,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := lab.Probe(t.Context(), set, []string{"nobody"}, nil); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a tool that is not there: %v", err)
	}
}

// A recorder tells who came and what was called, and leaves a column to fill in.
func TestRecorder(t *testing.T) {
	var out strings.Builder
	r := lab.NewRecorder(&out, lab.Matrix(), false)
	h, err := server.Mount(lab.Protocol("test", lab.Matrix(), r.Heard), server.HTTPConfig{Open: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	set := connect(t, fmt.Sprintf(`{"mcpServers":{"lab":{"url":%q,"protocol":"2025-11-25"}}}`, web.URL+"/mcp"))
	if _, _, err := set.CallRaw(t.Context(), "lab", "no_schema__text_only", json.RawMessage(`{}`)); err != nil {
		t.Fatal(err)
	}
	column := r.Column()
	for _, want := range []string{"initialize  client \"weir", "revision 2025-11-25", "tools/list", "tools/call  no_schema__text_only {}"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the record lacks %q:\n%s", want, out.String())
		}
	}
	if !strings.Contains(column, "| `no_schema__text_only` | 1 |") || !strings.Contains(column, "weir") || r.Err() != nil {
		t.Errorf("%v\n%s", r.Err(), column)
	}
}
