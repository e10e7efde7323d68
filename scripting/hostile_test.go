package scripting_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/scripting"
	"github.com/weir-run/weir/scripting/internal/pipe"
	"github.com/weir-run/weir/tool"
)

// hostile is a script process that was taken over: it greets, takes the script, and does harm.
func hostile(what string) {
	w, r := pipe.NewWriter(os.Stdout), pipe.NewReader(os.Stdin, pipe.MaxFromProgram)
	_, _ = os.Stdout.WriteString(pipe.Magic)
	if w.Send(pipe.KindHello, 0, pipe.Greeting{Protocol: pipe.Protocol, Weir: "(devel)"}, nil) != nil {
		return
	}
	if _, err := r.Next(); err != nil {
		return
	}
	_ = w.Send(pipe.KindPrint, 0, nil, []byte("so far\n"))
	switch what {
	case "garbage":
		_, _ = os.Stdout.WriteString(strings.Repeat("\xffgarbage", 1000))
	case "huge":
		_, _ = os.Stdout.Write([]byte{byte(pipe.KindPrint), 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff})
	case "half":
		_, _ = os.Stdout.Write([]byte{byte(pipe.KindPrint), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 'x'})
		return
	case "closes":
		_ = os.Stdout.Close()
	case "program's words":
		_ = w.Send(pipe.KindAnswer, 1, pipe.Reply{}, nil)
	case "no JSON":
		_ = w.Send(pipe.KindCall, 1, json.RawMessage(`"x"`), nil)
		_ = w.Send(pipe.KindDone, 0, json.RawMessage(`[]`), nil)
	case "asks without reading":
		for i := range uint32(1000) {
			if w.Send(pipe.KindGet, i, pipe.Request{ID: "r1-1"}, nil) != nil {
				return
			}
		}
	case "calls":
		for i := range uint32(100_000) {
			if w.Send(pipe.KindCall, i, pipe.Request{Name: "t"}, nil) != nil {
				return
			}
		}
	case "floods":
		for w.Send(pipe.KindPrint, 0, nil, []byte(strings.Repeat("flood\n", 10_000))) == nil {
			continue
		}
	case "ends and is gone":
		_ = w.Send(pipe.KindDone, 0, pipe.Ending{}, nil)
		return
	case "ends twice":
		_ = w.Send(pipe.KindDone, 0, pipe.Ending{}, nil)
		_ = w.Send(pipe.KindDone, 0, pipe.Ending{}, nil)
	}
	time.Sleep(time.Hour)
}

// TestHostileProcess: whatever a script's process does, this process stays, stays small, answers in time,
// and keeps the output so far.
func TestHostileProcess(t *testing.T) {
	t.Parallel()
	f := &fake{
		tools: answers{"t": func(context.Context, json.RawMessage) tool.Result { return tool.Text(strings.Repeat("x", 1000)) }},
		stored: map[string]tool.Whole{
			"r1-1": text("r1-1", "t", strings.Repeat("a long line of a stored result\n", 30_000)),
		},
	}
	for _, c := range []struct {
		what, want string
		fine       bool
	}{
		{"garbage", "not part of the protocol", false},
		{"huge", "not part of the protocol", false},
		{"half", "ended before the script did", false},
		{"closes", "closed its output", false},
		{"program's words", "not part of the protocol", false},
		{"no JSON", "not part of the protocol", false},
		{"asks without reading", byTime, false},
		{"calls", byCalls, false},
		{"floods", byOutput, false},
		{"nothing", byTime, false},
		{"ends twice", "so far", true},
		{"ends and is gone", "so far", true},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			s, err := scripting.New(scripting.Config{Command: []string{os.Args[0], "hostile", c.what}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			began := time.Now()
			ms := 20_000
			if c.want == byTime {
				ms = 700
			}
			got, isError := run(t, s, f, `return 1`, "timeout_ms", ms)
			if !strings.HasPrefix(got, "so far\n") || !strings.Contains(got, c.want) || isError == c.fine {
				t.Errorf("got %.200q (error %v), want %q", got, isError, c.want)
			}
			if took := time.Since(began); took > slack+15*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}
