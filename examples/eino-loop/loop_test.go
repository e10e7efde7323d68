package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
)

// recorder is a model that keeps what it was sent.
type recorder struct {
	model.ToolCallingChatModel
	sent *[][]*schema.Message
}

func (r recorder) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	m, err := r.ToolCallingChatModel.WithTools(tools)
	return recorder{m, r.sent}, err
}

func (r recorder) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	*r.sent = append(*r.sent, append([]*schema.Message(nil), in...))
	return r.ToolCallingChatModel.Generate(ctx, in, opts...)
}

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
// is given back as it is stored, and the model is sent the same messages after them.
func TestTwice(t *testing.T) {
	whole, err := exec.CommandContext(t.Context(), "go", "doc", "-all", "net/http").Output()
	if err != nil {
		t.Fatal(err)
	}
	var sent [][]*schema.Message
	dir := t.TempDir()
	run := func() string {
		text, err := ask(t.Context(), dir, recorder{stub{}, &sent}, "What does Shutdown wait for?")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}

	first := run()
	calls, stored := results(t, dir)
	if len(sent) != 4 || len(calls) != 3 {
		t.Fatalf("%d requests and %d calls, want 4 and 3", len(sent), len(calls))
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
	if len(sent) != 5 {
		t.Fatalf("%d requests in both runs, want 5", len(sent))
	}
	if d := cmp.Diff(sent[3], sent[4]); d != "" {
		t.Errorf("the last request differs (-first +second):\n%s", d)
	}
	if d := cmp.Diff(calls, again) + cmp.Diff(stored, storedAgain); d != "" {
		t.Errorf("what is stored differs (-first +second):\n%s", d)
	}

	// The long result: whole on disk, both ends of it shown, and a page of it read back.
	kept, err := os.ReadFile(filepath.Join(dir, "tool-results", filepath.FromSlash(stored[0].Spill.File)))
	if err != nil || !bytes.HasPrefix(kept, whole) || !bytes.HasSuffix(kept, []byte("[exit 0]")) {
		t.Errorf("the kept file is not the whole output and its end: %d bytes of %d, %v", len(kept), len(whole), err)
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
