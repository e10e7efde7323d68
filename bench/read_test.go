package bench

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
	"github.com/weir-run/weir/workspace"
)

const logLine = "2026-11-29T10:00:00Z INFO a line of a log, request 12345 took 17 ms\n"

// keepLog keeps a log of so many bytes as the result of a call, and gives its file.
func keepLog(b *testing.B, s *sqlite.Store, size int) (file string, lines int64) {
	b.Helper()
	ctx := context.Background()
	piece := []byte(strings.Repeat(logLine, 1000))
	log, err := tool.Func("log", "", func(ctx context.Context, _ struct{}) (tool.Result, error) {
		running, _ := tool.CallFrom(ctx)
		out := running.Spool()
		for range size / len(piece) {
			if _, err := out.Write(piece); err != nil {
				return tool.Result{}, err
			}
		}
		return tool.Result{Data: tool.Spooled{}}, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	settled, err := round.Settle(ctx, s, round.Request{Conversation: "c1", Calls: []tool.Call{{Name: "log"}}}, round.Config{Tools: []tool.Tool{log}})
	if err != nil {
		b.Fatal(err)
	}
	refs, err := s.SpillsOf(ctx, "c1")
	if err != nil || len(refs) != 1 || settled.Results[0].Path == "" {
		b.Fatalf("kept %d files: %+v, %v", len(refs), settled, err)
	}
	return filepath.Join(s.Dir(), "tool-results", filepath.FromSlash(refs[0].File)), settled.Results[0].Lines
}

// BenchmarkRead200Lines is P7: a page of 200 lines from the middle of a stored result, as a model reads it,
// against sed as a process on the same file. The cost of a page should not depend on the size.
func BenchmarkRead200Lines(b *testing.B) {
	for _, of := range []struct {
		mb   int
		goal float64
	}{{1, 0}, {100, 0.01}} {
		b.Run(fmt.Sprintf("MB=%d", of.mb), func(b *testing.B) {
			s := open(b, b.TempDir(), sqlite.Normal)
			file, lines := keepLog(b, s, of.mb<<20)
			w, err := workspace.New(workspace.Config{Stored: workspace.Results(s, s.Spills())})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			from := lines / 2
			req := workspace.ReadRequest{Conversation: "c1", Path: "tool-results/r1-1-log.txt", Offset: from, Limit: 200}
			page := func() error {
				p, err := w.Read(context.Background(), req)
				if n := strings.Count(p.Text, "INFO a line of a log"); err == nil && n != 200 {
					return fmt.Errorf("the page has %d lines:\n%s", n, p.Text)
				}
				return err
			}
			script := fmt.Sprintf("%d,%dp;%dq", from, from+199, from+199)
			sed := func() error {
				cmd := exec.CommandContext(b.Context(), "sed", "-n", script, file)
				out, err := cmd.StdoutPipe()
				if err != nil {
					return err
				}
				if err := cmd.Start(); err != nil {
					return err
				}
				if n, err := io.Copy(io.Discard, out); err != nil || n != int64(200*len(logLine)) {
					return fmt.Errorf("sed printed %d bytes, %v", n, err)
				}
				return cmd.Wait()
			}
			compare(b, of.goal, side{do: page}, side{do: sed})
		})
	}
}
