package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// labCommand runs a lab's command until stop is called, which gives its status.
func labCommand(t *testing.T, errs io.Writer, args ...string) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	a := &app{in: strings.NewReader(""), out: &pool{}, err: errs, env: func(string) string { return "" }}
	done := make(chan int, 1)
	go func() { done <- a.run(ctx, append([]string{"--dir", t.TempDir(), "mcp", "lab"}, args...)) }()
	return func() int {
		cancel()
		select {
		case status := <-done:
			return status
		case <-time.After(20 * time.Second):
			t.Fatal("the lab did not end")
			return -1
		}
	}
}

// shake sends the handshake as a host with this Host header, origin and token would, and gives the status.
func shake(t *testing.T, url, host, origin, token string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(shakeHands))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Origin": origin, "Authorization": token,
	} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode
}

// On the loopback the lab takes who addresses it by a loopback name and comes from no page; with --allow-host
// it says that the port becomes public, and wants a token.
func TestLabServeHTTP(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-the-test"
	for name, c := range map[string]struct {
		args []string
		// statuses of: nobody's token under a loopback name, a page of another origin, the tunnel's name
		// without and with the token.
		want    [4]int
		warning string
	}{
		"loopback":            {nil, [4]int{200, 403, 403, 403}, ""},
		"loopback with token": {[]string{"--token", token}, [4]int{401, 403, 403, 403}, ""},
		"tunnel":              {[]string{"--allow-host", "lab.example.com", "--token", token}, [4]int{401, 403, 401, 200}, "becomes public"},
		"tunnel, token made":  {[]string{"--allow-host", "lab.example.com"}, [4]int{401, 403, 401, 401}, "bearer token: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			errs := &pool{}
			stop := labCommand(t, errs, append([]string{"serve", "--http", "127.0.0.1:0"}, c.args...)...)
			url := awaitLine(t, errs, `serving MCP on (http://\S+/mcp)\n`)
			got := [4]int{
				shake(t, url, "", "", ""), shake(t, url, "", "https://evil.example", "Bearer "+token),
				shake(t, url, "lab.example.com", "", ""), shake(t, url, "lab.example.com", "", "Bearer "+token),
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if status := stop(); status != statusDone {
				t.Errorf("status %d", status)
			}
			if !strings.Contains(errs.String(), c.warning) || c.warning == "" && strings.Contains(errs.String(), "public") {
				t.Errorf("stderr: %s", errs.String())
			}
		})
	}
}

// Where other machines can reach it, the lab wants a token also under a loopback name.
func TestLabServeEverywhere(t *testing.T) {
	t.Parallel()
	errs := &pool{}
	stop := labCommand(t, errs, "serve", "--http", "0.0.0.0:0")
	defer stop()
	url := awaitLine(t, errs, `serving MCP on (http://\S+/mcp)\n`)
	token := awaitLine(t, errs, `bearer token: ([a-z0-9]{20,})\n`)
	awaitLine(t, errs, `(can be reached from other machines)`)
	if without, with := shake(t, url, "localhost", "", ""), shake(t, url, "localhost", "", "Bearer "+token); without != 401 || with != 200 {
		t.Errorf("without a token: %d, with it: %d", without, with)
	}
}

// A record over HTTP tells of what was let in and what was not, and ends with the column.
func TestLabRecordHTTP(t *testing.T) {
	t.Parallel()
	errs, out := &pool{}, filepath.Join(t.TempDir(), "record.txt")
	stop := labCommand(t, errs, "record", "--http", "127.0.0.1:0", "--out", out)
	url := awaitLine(t, errs, `serving MCP on (http://\S+/mcp)\n`)
	shake(t, url, "evil.example", "", "")
	shake(t, url, "", "", "")
	if status := stop(); status != statusDone {
		t.Errorf("status %d: %s", status, errs.String())
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want := "HTTP POST  answered with 403 Forbidden\n" +
		"initialize  client \"x 1\", revision 2025-11-25, capabilities {}\n" +
		"\n| tool | called | what x 1 showed its model |\n"
	if !strings.HasPrefix(string(raw), want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, string(raw)))
	}
}

// The published observations, cell by cell, as the command prints them for programs.
func TestLabHostsJSON(t *testing.T) {
	t.Parallel()
	const (
		says    = "Widget costs $9.99 and is currently out of stock."
		other   = "Widget costs $25.00 and is in stock."
		bad     = "Widget costs twenty-five dollars, in stock: yes"
		object  = `{"name":"Widget","price":9.99,"in_stock":false}`
		malform = `{"price":"twenty-five dollars","in_stock":"yes"}`
	)
	type cell struct {
		Shown, Value string
		Code         int
	}
	text := func(s string) cell { return cell{"text", s, 0} }
	structured := func(s string) cell { return cell{"json", s, 0} }
	// tool → claude-desktop, claude.ai, claude-code, and what of the inspector's.
	want := map[string][4]cell{
		"no_schema__text_only":                        {text(says), text(says), text(says), {Shown: "text"}},
		"no_schema__structured_only":                  {structured(object), structured(object), structured(object), {Shown: "json"}},
		"no_schema__text_and_structured":              {text(says), text(says), structured(object), {Shown: "both"}},
		"with_schema__text_and_structured_matching":   {text(says), text(says), structured(object), {Shown: "both"}},
		"with_schema__structured_only_no_text":        {structured(object), structured(object), structured(object), {Shown: "json"}},
		"with_schema__text_and_structured_mismatched": {text(other), text(other), structured(object), {Shown: "both"}},
		"with_schema__structured_violates_schema":     {text(bad), text(bad), structured(malform), {Shown: "error", Code: -32602}},
		"with_schema__structured_missing":             {text(says), text(says), text(says), {Shown: "error", Code: -32600}},
	}
	out := &pool{}
	a := &app{in: strings.NewReader(""), out: out, err: &pool{}, env: func(string) string { return "" }}
	args := []string{"mcp", "lab", "hosts", "--json"}
	hosts := []string{"claude-desktop", "claude.ai", "claude-code", "inspector"}
	for _, h := range hosts {
		args = append(args, "--host", h)
	}
	if status := a.run(t.Context(), args); status != statusDone {
		t.Fatalf("status %d", status)
	}
	var cells []struct {
		Tool, Host string
		cell
	}
	if err := json.Unmarshal([]byte(out.String()), &cells); err != nil {
		t.Fatal(err)
	}
	got := map[string][4]cell{}
	for _, c := range cells {
		row := got[c.Tool]
		for i, h := range hosts {
			switch {
			case c.Host != h:
			case h != "inspector":
				row[i] = c.cell
			default:
				row[i] = cell{Shown: c.Shown, Code: c.Code}
				for _, word := range []string{`"name"`, "/price: expected number", "/in_stock: expected boolean"} {
					if c.Code == -32602 && !strings.Contains(c.Value, word) {
						t.Errorf("the refusal does not say %s: %s", word, c.Value)
					}
				}
			}
		}
		got[c.Tool] = row
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
