package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
)

const question = "What does Shutdown wait for?"

// results reads everything that is stored of the only conversation in a folder, and verifies it.
func results(t *testing.T, dir string) (calls []history.Call, all []history.Result) {
	t.Helper()
	ctx := t.Context()
	store, err := sqlite.Open(ctx, dir, sqlite.Config{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	list, err := store.Conversations(ctx, 0)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d conversations, %v", len(list), err)
	}
	problems, err := history.Verify(ctx, store, list[0].ID)
	if err != nil || len(problems) > 0 {
		t.Fatalf("the store does not verify: %v, %v", problems, err)
	}
	if calls, err = store.CallsOf(ctx, list[0].ID, 0); err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		r, err := store.ResultOf(ctx, list[0].ID, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return calls, all
}

// TestTwice runs the program twice over one store. The second run has no go command to run: every round
// is given back as it is stored, and the request that follows them is the same, byte for byte.
func TestTwice(t *testing.T) {
	whole, err := exec.CommandContext(t.Context(), "go", "doc", "-all", "net/http").Output()
	if err != nil {
		t.Fatal(err)
	}
	var bodies [][]byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies = append(bodies, body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		stub(w, r)
	}))
	defer server.Close()
	dir := t.TempDir()
	run := func() string {
		text, err := ask(t.Context(), dir, "stub", question, option.WithBaseURL(server.URL), option.WithAPIKey("none"), option.WithMaxRetries(0))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}

	first := run()
	calls, stored := results(t, dir)
	if len(bodies) != 4 || len(calls) != 3 {
		t.Fatalf("%d requests and %d calls, want 4 and 3", len(bodies), len(calls))
	}
	if !strings.Contains(first, "func (s *Server) Shutdown") || !strings.Contains(first, "waiting indefinitely") {
		t.Errorf("the answer does not quote what was read back: %q", first)
	}

	t.Setenv("PATH", t.TempDir())
	second := run()
	again, storedAgain := results(t, dir)
	if d := cmp.Diff(first, second); d != "" {
		t.Errorf("the answer differs (-first +second):\n%s", d)
	}
	if len(bodies) != 5 || !bytes.Equal(bodies[3], bodies[4]) {
		t.Errorf("%d requests, the last two equal: %t; want 5 and true", len(bodies), bytes.Equal(bodies[3], bodies[len(bodies)-1]))
	}
	if d := cmp.Diff(calls, again) + cmp.Diff(stored, storedAgain); d != "" {
		t.Errorf("what is stored differs (-first +second):\n%s", d)
	}

	// The long result: whole on disk, both ends of it shown, and a page of it read back.
	kept, err := os.ReadFile(filepath.Join(dir, "tool-results", filepath.FromSlash(stored[0].Spill.File)))
	if err != nil || !bytes.Equal(kept, whole) {
		t.Errorf("the kept file is not the whole result: %d of %d bytes, %v", len(kept), len(whole), err)
	}
	if n := len([]rune(string(stored[0].Shown))); n > 24_000 || stored[0].Whole != nil {
		t.Errorf("%d characters are shown, %d bytes lie in the row", n, len(stored[0].Whole))
	}
	if stored[2].Tool != "workspace--read" || stored[2].Spill != nil || !bytes.Contains(stored[2].Whole, []byte("Shutdown gracefully")) {
		t.Errorf("the page that was read back: %s, %q", stored[2].Tool, stored[2].Whole)
	}
	for _, c := range calls {
		if c.Attempt != 1 || c.State != history.CallAnswered {
			t.Errorf("%s: attempt %d, state %s", c.ID, c.Attempt, c.State)
		}
	}
}

// TestArgumentsAreTakenAsTheyAre holds that the bytes of the arguments reach the store unchanged.
func TestArgumentsAreTakenAsTheyAre(t *testing.T) {
	const args = `{ "package" : "net\/http", "package": "io" , "n": 1.00 }`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		content := `{"type":"text","text":"done"}`
		if !bytes.Contains(body, []byte("tool_result")) {
			content = `{"type":"tool_use","id":"toolu_1","name":"go--doc","input":` + args + `}`
		}
		_, _ = io.WriteString(w, `{"id":"msg_1","type":"message","role":"assistant","content":[`+content+`],"stop_reason":"end_turn","usage":{}}`)
	}))
	defer server.Close()
	dir := t.TempDir()
	if _, err := ask(t.Context(), dir, "stub", question, option.WithBaseURL(server.URL), option.WithAPIKey("none")); err != nil {
		t.Fatal(err)
	}
	calls, stored := results(t, dir)
	if d := cmp.Diff(args, string(calls[0].Args)); d != "" {
		t.Errorf("arguments (-want +got):\n%s", d)
	}
	if !stored[0].IsError {
		t.Error("arguments with a member that the schema does not have are no error")
	}
}
