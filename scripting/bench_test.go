package scripting_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/scripting"
	"github.com/weir-run/weir/tool"
)

// ping is a runtime whose tools answer at once with a result of 1 KB.
func ping() *fake {
	kilobyte := strings.Repeat("0123456789abcde\n", 64)
	return &fake{tools: answers{"t": func(context.Context, json.RawMessage) tool.Result { return tool.Text(kilobyte) }}}
}

// BenchmarkFirstOutput is the time from the call to the first output of a script: in a process that is
// ready, in one that is started for it, and, to compare, that of a whole node process.
func BenchmarkFirstOutput(b *testing.B) {
	args := call(b, `console.log("x"); await sleep(60000)`)
	first := func(b *testing.B, s *scripting.Scripting) {
		b.Helper()
		printed := make(chan struct{}, 1)
		ctx, stop := context.WithCancel(b.Context())
		r := tool.Running{Progress: func(string) {
			select {
			case printed <- struct{}{}:
			default:
			}
		}}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = s.Tool().Run(tool.WithCall(ctx, r), tool.Call{Args: args})
		}()
		<-printed
		b.StopTimer()
		stop()
		<-done
	}
	b.Run("warm", func(b *testing.B) {
		s := sandbox(b, scripting.Limits{})
		run(b, s, nil, "return 1")
		for b.Loop() {
			b.StopTimer()
			time.Sleep(150 * time.Millisecond) // the next process is made ready
			b.StartTimer()
			first(b, s)
			b.StartTimer()
		}
	})
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			s := sandbox(b, scripting.Limits{})
			b.StartTimer()
			first(b, s)
			_ = s.Close()
			time.Sleep(100 * time.Millisecond)
			b.StartTimer()
		}
	})
	b.Run("node", func(b *testing.B) {
		node, err := exec.LookPath("node")
		if err != nil {
			b.Skip("there is no node to compare with")
		}
		for b.Loop() {
			if out, err := exec.CommandContext(b.Context(), node, "-e", `console.log("x")`).CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
}

// BenchmarkInnerCall is one call of a tool with a result of 1 KB from a script, one after the other:
// through the pipe, and in this process.
func BenchmarkInnerCall(b *testing.B) {
	for _, c := range []struct {
		name string
		make func(scripting.Config) (*scripting.Scripting, error)
	}{{"pipe", scripting.New}, {"inprocess", scripting.InProcess}} {
		b.Run(c.name, func(b *testing.B) {
			s, err := c.make(scripting.Config{Limits: scripting.Limits{Calls: 1_000_000}})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			const calls = 2000
			f := ping()
			args := call(b, `for (let i = 0; i < args; i++) await tools.t({}); return args`, "args", calls)
			for b.Loop() {
				if got, isError := shown(b)(s.Tool().Run(in(b.Context(), f), tool.Call{Args: args})); isError || got != "2000" {
					b.Fatal(got)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/calls, "µs/call")
		})
	}
}
