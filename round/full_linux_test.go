package round_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// A disk that is really full, with the spill folder alone on a small file system: the run goes on, the
// notice says what was not kept and why, and no half file is left behind.
func TestLaw04AFullDisk(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "tool-results")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=1m,mode=0700")
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skip("mounting a small file system needs root")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	s := openAt(t, dir)
	defer func() { _ = s.Close() }()
	stream := body("stream", tool.Traits{}, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		running, _ := tool.CallFrom(ctx)
		for range 3000 {
			if _, err := running.Spool().Write([]byte(strings.Repeat("x", 1023) + "\n")); err != nil {
				return tool.Result{}, err
			}
		}
		return tool.Result{Data: tool.Spooled{Tail: "the end"}}, nil
	})
	got := settle(t, s, round.Request{Calls: []tool.Call{{Name: "big"}, {Name: "small"}, {Name: "stream"}}}, round.Config{
		Parallel: 1, // one after the other, so that what fits has its room
		Tools:    []tool.Tool{says("big", strings.Repeat("row of text\n", 300_000)), says("small", strings.Repeat("row\n", 10_000)), stream},
	})
	for i, kept := range []bool{false, true, false} {
		r := got.Results[i]
		if said := strings.Contains(r.Text, "NOT kept"); said == kept {
			t.Errorf("%s: kept %v, the notice: %.900s", r.ID, kept, r.Text)
		}
		if !kept && (!strings.Contains(r.Text, "no space left") || strings.Contains(r.Text, "tool-results/r1")) {
			t.Errorf("%s: the notice: %.900s", r.ID, r.Text)
		}
		if (r.Path != "") != kept {
			t.Errorf("%s: path %q", r.ID, r.Path)
		}
	}
	if !strings.HasSuffix(got.Results[2].Text, "the end") {
		t.Error("the end of what was streamed is not shown")
	}
	left, err := os.ReadDir(filepath.Join(folder, "c"))
	if err != nil || len(left) != 1 {
		t.Errorf("%d files are left, want the one that fits: %v", len(left), err)
	}
	if problems, err := history.Verify(t.Context(), s, "c"); err != nil || len(problems) > 0 {
		t.Errorf("verify: %v %v", problems, err)
	}
}
