package scripting_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weir-run/weir/scripting"
	"github.com/weir-run/weir/tool"
)

// children are the script processes of this one.
func children(t testing.TB) map[int]bool {
	t.Helper()
	all := map[int]bool{}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		list, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if err != nil {
			continue // the thread is gone
		}
		for _, word := range strings.Fields(string(list)) {
			var pid int
			if _, err := fmt.Sscan(word, &pid); err != nil {
				t.Fatal(err)
			}
			all[pid] = true
		}
	}
	return all
}

// A process that is killed from outside is an error result with the output so far, and the next script
// runs. What waits for its use may be killed too.
func TestKilledFromOutside(t *testing.T) {
	s := sandbox(t, scripting.Limits{})
	started := make(chan struct{}, 1)
	var once sync.Once
	f := &fake{tools: answers{"hang": func(ctx context.Context, _ json.RawMessage) tool.Result {
		once.Do(func() { close(started) })
		<-ctx.Done()
		return tool.Text("")
	}}}
	go func() {
		<-started
		for pid := range children(t) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}()
	got, isError := run(t, s, f, `console.log("so far"); await tools.hang()`)
	if want := "so far\n[stopped: its process was ended from outside (killed)]"; got != want || !isError {
		t.Errorf("got %q (error %v), want %q", got, isError, want)
	}
	if got, _ := run(t, s, f, `return 1`); got != "1" {
		t.Errorf("the next script gives %q", got)
	}
}

// Processes do not pile up: each runs one script, and closing ends those that wait.
func TestProcessesAreThrownAway(t *testing.T) {
	before := children(t)
	s, err := scripting.New(scripting.Config{})
	if err != nil {
		t.Fatal(err)
	}
	// Those of other tests may go meanwhile.
	own := func() int {
		n := 0
		for pid := range children(t) {
			if !before[pid] {
				n++
			}
		}
		return n
	}
	if n := own(); n != 0 {
		t.Errorf("%d processes before the first script", n)
	}
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			ctx := tool.WithCall(t.Context(), tool.Running{Conversation: fmt.Sprint(i)})
			if got, _ := shown(t)(s.Tool().Run(ctx, tool.Call{Args: call(t, `return 1`)})); got != "1" {
				t.Errorf("got %q", got)
			}
		})
	}
	group.Wait()
	within(t, 10*time.Second, "at most two processes wait", func() bool { return own() <= 2 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	within(t, 10*time.Second, "no process is left", func() bool { return own() == 0 })
}
