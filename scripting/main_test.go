package scripting_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weir-run/weir/scripting"
	"github.com/weir-run/weir/tool"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "hostile" {
		hostile(os.Args[2])
		os.Exit(0)
	}
	scripting.Main()
	os.Exit(m.Run())
}

// answers are what the tools of a test do.
type answers map[string]func(ctx context.Context, args json.RawMessage) tool.Result

// fake stands for the runtime around a running call.
type fake struct {
	tools  answers
	stored map[string]tool.Whole

	mu     sync.Mutex
	called []string
	// fails is what every call ends with.
	fails error
}

// text makes a whole result of a text.
func text(id, name, text string) tool.Whole {
	return tool.Whole{
		Stored: tool.Stored{
			ID: id, Tool: name, Round: 1, Bytes: int64(len(text)), Chars: int64(utf8.RuneCountInString(text)),
			Lines: int64(strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1),
		},
		Text: strings.NewReader(text), Close: func() error { return nil },
	}
}

func (f *fake) Do(ctx context.Context, name string, args json.RawMessage) (tool.Whole, error) {
	return f.Begin(ctx, name, args)()
}

func (f *fake) Begin(ctx context.Context, name string, args json.RawMessage) func() (tool.Whole, error) {
	f.mu.Lock()
	f.called = append(f.called, name+" "+string(args))
	id := fmt.Sprintf("r2-1.%d", len(f.called))
	f.mu.Unlock()
	return func() (tool.Whole, error) {
		if f.fails != nil {
			return tool.Whole{}, f.fails
		}
		run := f.tools[name]
		if run == nil {
			w := text(id, name, fmt.Sprintf("there is no tool named %q", name))
			w.IsError = true
			return w, nil
		}
		r := run(ctx, args)
		if err := ctx.Err(); err != nil {
			return tool.Whole{}, err
		}
		data, _ := r.Data.(string)
		w := text(id, name, data+r.Error)
		w.IsError, w.Structured = r.IsError, r.Structured
		return w, nil
	}
}

func (f *fake) Results(context.Context) ([]tool.Stored, error) {
	var all []tool.Stored
	for _, w := range f.stored {
		all = append(all, w.Stored)
	}
	slices.SortFunc(all, func(a, b tool.Stored) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

func (f *fake) Result(_ context.Context, id string) (tool.Whole, error) {
	w, ok := f.stored[id]
	if !ok {
		return tool.Whole{}, fmt.Errorf("there is no result %q: %w", id, tool.ErrNoResult)
	}
	return w, nil
}

func (f *fake) calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.called)
}

// sandbox makes what runs scripts.
func sandbox(t testing.TB, limits scripting.Limits) *scripting.Scripting {
	t.Helper()
	s, err := scripting.New(scripting.Config{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// call is the JSON of a call's arguments.
func call(t testing.TB, code string, more ...any) json.RawMessage {
	t.Helper()
	args := map[string]any{"code": code}
	for i := 0; i+1 < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// in is the context of a running call.
func in(ctx context.Context, f *fake) context.Context {
	r := tool.Running{Conversation: "c", Round: 2, Result: "r2-1", Attempt: 1, Key: "c/r2-1"}
	if f != nil {
		r.Dispatch = f
		for name := range f.tools {
			r.Offered = append(r.Offered, name)
		}
		r.Offered = append(r.Offered, scripting.Name)
		slices.Sort(r.Offered)
	}
	return tool.WithCall(ctx, r)
}

// run runs one script and gives its text and whether it is an error result.
func run(t testing.TB, s *scripting.Scripting, f *fake, code string, more ...any) (string, bool) {
	t.Helper()
	return shown(t)(s.Tool().Run(in(t.Context(), f), tool.Call{Name: scripting.Name, Args: call(t, code, more...)}))
}

// shown is the text of a result and whether it is an error result.
func shown(t testing.TB) func(tool.Result, error) (string, bool) {
	return func(r tool.Result, err error) (string, bool) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if r.IsError && r.Data == nil {
			return r.Error, true
		}
		return r.Data.(string), r.IsError
	}
}

// within waits for something to become true.
func within(t testing.TB, limit time.Duration, what string, yes func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !yes(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// big is a stored text that is never in memory as a whole: numbered lines.
type big struct{ lines int64 }

// bigLine is the length of one of its lines, newline included.
const bigLine = 16

func (b big) ReadAt(p []byte, at int64) (int, error) {
	n := 0
	for n < len(p) {
		line := (at + int64(n)) / bigLine
		if line >= b.lines {
			return n, io.EOF
		}
		row := fmt.Appendf(nil, "row %011d\n", line+1)
		n += copy(p[n:], row[(at+int64(n))%bigLine:])
	}
	return n, nil
}

func (b big) whole(id string) tool.Whole {
	size := b.lines * bigLine
	return tool.Whole{
		Stored: tool.Stored{ID: id, Tool: "big", Round: 1, Bytes: size, Chars: size, Lines: b.lines},
		Text:   b, Close: func() error { return nil },
	}
}

// spool is a place for output.
type spool struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *spool) Chars() int64 { return int64(utf8.RuneCountInString(s.String())) }

func (s *spool) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

var errBroken = errors.New("the store is broken")
