package round_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// gigabyte is how much the child streams.
const gigabyte = 1 << 30

// TestMain runs this program as the child of a test that measures a whole process.
func TestMain(m *testing.M) {
	if dir := os.Getenv("WEIR_STREAM_DIR"); dir != "" {
		if err := streamGigabyte(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// streamGigabyte settles one call that writes a gigabyte and prints the process's peak memory.
func streamGigabyte(dir string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, dir, sqlite.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	line := []byte(strings.Repeat("0123456789abcdef", 4095) + "0123456789abcde\n")
	stream := tool.Tool{Name: "stream", Run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		running, _ := tool.CallFrom(ctx)
		for written := 0; written < gigabyte; written += len(line) {
			if _, err := running.Spool().Write(line); err != nil {
				return tool.Result{}, err
			}
		}
		return tool.Result{Data: tool.Spooled{}}, nil
	}}
	got, err := round.Settle(ctx, s, round.Request{Conversation: "c", Calls: []tool.Call{{Name: "stream"}}}, round.Config{Tools: []tool.Tool{stream}})
	if err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	var peak int
	for l := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(l, "VmHWM:"); ok {
			if _, err := fmt.Sscan(rest, &peak); err != nil {
				return err
			}
		}
	}
	fmt.Printf("bytes=%d lines=%d peak_kb=%d path=%s\n", got.Results[0].Bytes, got.Results[0].Lines, peak, got.Results[0].Path)
	return nil
}

// A gigabyte of output costs the memory of the cap: the whole process stays below 64 MB.
func TestLaw10AGigabyteStreamsThroughASmallProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes a gigabyte to the disk")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "WEIR_STREAM_DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var bytes, lines, peak int
	var path string
	if _, err := fmt.Sscanf(string(out), "bytes=%d lines=%d peak_kb=%d path=%s", &bytes, &lines, &peak, &path); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if bytes != gigabyte || lines != gigabyte>>16 || path == "" {
		t.Errorf("it kept %d bytes in %d lines as %q", bytes, lines, path)
	}
	if limit := 64 << 10; peak > limit && !raceEnabled {
		t.Errorf("the process grew to %d KB, the limit is %d KB", peak, limit)
	}
	t.Logf("peak %d KB", peak)
}
