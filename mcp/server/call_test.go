package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/tool"
)

type storeReader interface {
	history.Reader
}

func resultOf(t *testing.T, store history.Reader, conversation, id string) history.Result {
	t.Helper()
	parsed, err := history.ParseCallID(id)
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.ResultOf(context.WithoutCancel(t.Context()), conversation, parsed)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// calls gives the calls of the newest conversation as "id tool outcome".
func calls(t *testing.T, store history.Reader) []string {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	all, err := store.Conversations(ctx, 1)
	if err != nil || len(all) == 0 {
		t.Fatal("no conversation", err)
	}
	rows, err := store.CallsOf(ctx, all[0].ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range rows {
		out = append(out, fmt.Sprintf("%s %s %s", c.ID, c.Tool, c.Outcome))
	}
	return out
}

// Wrong arguments are told all at once, as a result; only a tool that is not there is an error of the protocol.
func TestWrongArgumentsAreAResult(t *testing.T) {
	t.Parallel()
	store := open(t, t.TempDir())
	w := shake(t, serve(t, store, server.Config{}), "2025-11-25")
	a := w.call("workspace--read", `{"path":5,"limit":"many","extra":true}`)
	for _, word := range []string{"/path: expected string, received number", "/limit", `"extra"`} {
		if !a.Result.IsError || !strings.Contains(a.text(), word) {
			t.Errorf("%q does not say %q", a.text(), word)
		}
	}
	for _, args := range []string{`[]`, `"text"`, `7`} {
		if a := w.call("workspace--read", args); !a.Result.IsError {
			t.Errorf("arguments %s came back as %s", args, a.raw)
		}
	}
	w.send(`{"jsonrpc":"2.0","id":90,"method":"tools/call","params":{"name":"results--list"}}`)
	if a := read(t, w.next()); a.Result.IsError || !strings.Contains(a.text(), "4 stored results") {
		t.Errorf("without arguments: %s", a.raw)
	}
	w.send(`{"jsonrpc":"2.0","id":91,"method":"tools/call","params":{"name":"nope","arguments":{}}}`)
	if a := read(t, w.next()); a.Error == nil || !strings.Contains(a.Error.Message, "nope") {
		t.Errorf("an unknown tool: %s", a.raw)
	}
	w.leave()
	sound(t, store)
}

// The arguments are stored as the client wrote them.
func TestArgumentsAreStoredAsTheyCame(t *testing.T) {
	t.Parallel()
	args := `{"z":9007199254740993, "a":"<&> \u003c","z2":1e400}`
	store := open(t, t.TempDir())
	var got string
	w := shake(t, serve(t, store, server.Config{Tools: []tool.Tool{does("args", func(_ context.Context, c tool.Call) (tool.Result, error) {
		got = string(c.Args)
		return tool.Text("ok"), nil
	})}}), "2025-11-25")
	w.call("args", args)
	all, _ := store.Conversations(t.Context(), 1)
	rows, err := store.CallsOf(t.Context(), all[0].ID, 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{args, args}, []string{got, string(rows[0].Args)}); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A tool that panics, fails or ends its process's patience costs one call.
func TestWhatFailsCostsOneCall(t *testing.T) {
	t.Parallel()
	store := open(t, t.TempDir())
	w := shake(t, serve(t, store, server.Config{Timeout: 50 * time.Millisecond, Grace: 20 * time.Millisecond, Tools: []tool.Tool{
		does("panics", func(context.Context, tool.Call) (tool.Result, error) { panic("of a test") }),
		does("fails", func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, errors.New("broke") }),
		does("fatal", func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{}, tool.Fatal(errors.New("stop"))
		}),
		does("hangs", func(context.Context, tool.Call) (tool.Result, error) { select {} }),
		gives("cycle", tool.Result{Data: make(chan int)}),
	}}), "2025-11-25")
	for name, word := range map[string]string{
		"panics": "panicked: of a test", "fails": "broke", "fatal": "stop", "hangs": "longer than its limit of 50ms", "cycle": "could not be converted",
	} {
		if a := w.call(name, `{}`); !a.Result.IsError || !strings.Contains(a.text(), word) {
			t.Errorf("%s came as %s", name, a.raw)
		}
	}
	if a := w.call("results--list", `{}`); a.Result.IsError {
		t.Errorf("after them: %s", a.raw)
	}
	w.leave()
	sound(t, store)
}

// A long call keeps no other waiting: each is a round of its own.
func TestALongCallKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	begun, let := make(chan struct{}), make(chan struct{})
	store := open(t, t.TempDir())
	w := shake(t, serve(t, store, server.Config{Tools: []tool.Tool{does("slow", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		close(begun)
		<-let
		return tool.Text("slow"), nil
	})}}), "2025-11-25")
	slow := w.ask("slow", `{}`)
	<-begun
	if a := w.call("results--list", `{}`); a.Result.Meta["weir/result"] != "r2-1" {
		t.Errorf("the short call came as %s", a.raw)
	}
	close(let)
	if a := read(t, w.next()); string(a.ID) != fmt.Sprint(slow) || a.text() != "slow" || a.Result.Meta["weir/result"] != "r1-1" {
		t.Errorf("the long call came as %s", a.raw)
	}
	w.leave()
	sound(t, store)
}

// A thousand calls at once all get their own result.
func TestAThousandCallsAtOnce(t *testing.T) {
	t.Parallel()
	const n = 1000
	store := open(t, t.TempDir())
	w := shake(t, serve(t, store, server.Config{Tools: []tool.Tool{does("echo", func(_ context.Context, c tool.Call) (tool.Result, error) {
		return tool.Text(string(c.Args)), nil
	})}}), "2025-11-25")
	for i := 1; i <= n; i++ {
		w.ask("echo", fmt.Sprintf(`{"n":%d}`, i))
	}
	seen, rounds := map[string]bool{}, map[string]bool{}
	for range n {
		a := read(t, w.next())
		if a.text() != `{"n":`+string(a.ID)+`}` {
			t.Fatalf("call %s got %q", a.ID, a.text())
		}
		seen[string(a.ID)], rounds[a.Result.Meta["weir/result"]] = true, true
	}
	if len(seen) != n || len(rounds) != n {
		t.Errorf("%d answers in %d rounds, want %d", len(seen), len(rounds), n)
	}
	w.leave()
	sound(t, store)
}

// A cancel reaches the tool; what came of it is stored.
func TestACancelReachesTheTool(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}), make(chan struct{})
	store := open(t, t.TempDir())
	w := shake(t, serve(t, store, server.Config{Tools: []tool.Tool{does("waits", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		close(begun)
		<-ctx.Done()
		close(ended)
		return tool.Result{}, ctx.Err()
	})}}), "2025-11-25")
	id := w.ask("waits", `{}`)
	<-begun
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"test"}}`, id))
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the tool was not cancelled")
	}
	w.leave()
	if d := cmp.Diff([]string{"r1-1 waits cancelled"}, calls(t, store)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	sound(t, store)
}

// A client that goes away in the middle of a call leaves a result behind, which is also written where
// somebody still reads.
func TestTheResultOfAClientThatLeftIsStored(t *testing.T) {
	t.Parallel()
	begun, let := make(chan struct{}), make(chan struct{})
	store := open(t, t.TempDir())
	w := shake(t, serve(t, store, server.Config{Tools: []tool.Tool{does("slow", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		close(begun)
		select {
		case <-let:
			return tool.Text("kept"), nil
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
	})}}), "2025-11-25")
	w.ask("slow", `{}`)
	<-begun
	_ = w.in.Close()
	time.Sleep(50 * time.Millisecond)
	close(let)
	if a := read(t, w.next()); a.text() != "kept" {
		t.Errorf("it was answered with %s", a.raw)
	}
	w.leave()
	if got := stored(t, store, "r1-1"); got != "kept" {
		t.Errorf("stored is %q", got)
	}
	sound(t, store)
}

// Close lets calls end for a while and then stops them; each has its result, and none is taken any more.
func TestCloseStopsWhatRunsOn(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	store := open(t, t.TempDir())
	s := serve(t, store, server.Config{Drain: 30 * time.Millisecond, Grace: 20 * time.Millisecond, Tools: []tool.Tool{
		does("hangs", func(context.Context, tool.Call) (tool.Result, error) {
			close(begun)
			select {}
		}),
	}})
	w := shake(t, s, "2025-11-25")
	w.ask("hangs", `{}`)
	<-begun
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := read(t, w.next()); !a.Result.IsError || !strings.Contains(a.text(), "cancelled") {
		t.Errorf("the call came as %s", a.raw)
	}
	if a := w.call("results--list", `{}`); a.Error == nil || !strings.Contains(a.Error.Message, "stopping") {
		t.Errorf("a call after the end came as %s", a.raw)
	}
	w.leave()
	sound(t, store)
}

// Progress is told to those who asked, with numbers that grow.
func TestProgressIsToldToWhoAsked(t *testing.T) {
	t.Parallel()
	w := shake(t, serve(t, open(t, t.TempDir()), server.Config{Tools: []tool.Tool{does("reports", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		tool.Report(ctx, "half")
		tool.Report(ctx, "done")
		return tool.Text("ok"), nil
	})}}), "2025-11-25")
	if a := w.call("reports", `{}`); a.text() != "ok" {
		t.Errorf("without a token: %s", a.raw)
	}
	w.send(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"reports","arguments":{},"_meta":{"progressToken":"p<1>"}}}`)
	want := []string{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p<1>","message":"half","progress":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p<1>","message":"done","progress":2}}`,
		`"text":"ok"`,
	}
	for _, w2 := range want {
		if got := w.next(); !strings.Contains(got, w2) {
			t.Errorf("got %s, want %s", got, w2)
		}
	}
}

// Two processes' clients at one store have conversations of their own.
func TestAClientReachesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	store := open(t, t.TempDir())
	s := serve(t, store, server.Config{Tools: []tool.Tool{gives("secret", tool.Text("of the first"))}})
	one, two := shake(t, s, "2025-11-25"), shake(t, s, "2025-11-25")
	one.call("secret", `{}`)
	for _, args := range []string{`{"path":"tool-results/r1-1-secret.txt"}`, `{"path":"tool-results/../r1-1-secret.txt"}`} {
		if a := two.call("workspace--read", args); !a.Result.IsError || strings.Contains(a.text(), "of the first") {
			t.Errorf("%s gave %s", args, a.raw)
		}
	}
	if a := two.call("workspace--grep", `{"pattern":"first"}`); strings.Contains(a.text(), "of the first") {
		t.Errorf("grep gave %s", a.raw)
	}
	if a := one.call("workspace--read", `{"path":"tool-results/r1-1-secret.txt"}`); !strings.Contains(a.text(), "of the first") {
		t.Errorf("its own is %s", a.raw)
	}
}

// A conversation that somebody else drives is said to be so, in one line, and the call is not run.
func TestAStoreThatIsGoneIsAnErrorOfTheServer(t *testing.T) {
	t.Parallel()
	store := open(t, t.TempDir())
	ran := false
	w := shake(t, serve(t, store, server.Config{Tools: []tool.Tool{does("runs", func(context.Context, tool.Call) (tool.Result, error) {
		ran = true
		return tool.Text(""), nil
	})}}), "2025-11-25")
	w.call("results--list", `{}`)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	a := w.call("runs", `{}`)
	if a.Error == nil || ran || strings.Contains(a.Error.Message, "\n") {
		t.Errorf("it came as %s, ran %v", a.raw, ran)
	}
}

// Many clients come and go at once.
func TestManyClients(t *testing.T) {
	t.Parallel()
	store := open(t, t.TempDir())
	s := serve(t, store, server.Config{Tools: []tool.Tool{gives("t", tool.Text("x"))}})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			in, out := io.Pipe()
			go func() {
				_, _ = io.WriteString(out, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`+"\n"+
					`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+
					`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{}}}`+"\n")
				_ = out.Close()
			}()
			var got strings.Builder
			if err := s.ServeStdio(t.Context(), in, &got); err != nil || !strings.Contains(got.String(), `"text":"x"`) {
				t.Errorf("%v: %s", err, got.String())
			}
		})
	}
	wg.Wait()
	sound(t, store)
}

// A fault of the server itself costs one request, not the process.
func TestAPanicOfTheServerCostsOneRequest(t *testing.T) {
	t.Parallel()
	broken := make(chan struct{}, 1)
	broken <- struct{}{}
	w := shake(t, serve(t, open(t, t.TempDir()), server.Config{Now: func() time.Time {
		select {
		case <-broken:
			panic("of a test")
		default:
			return time.Now()
		}
	}}), "2025-11-25")
	if a := w.call("results--list", `{}`); a.Error == nil || strings.Contains(a.raw, "of a test") {
		t.Errorf("it came as %s", a.raw)
	}
	if a := w.call("results--list", `{}`); a.Error != nil || a.Result.IsError {
		t.Errorf("the next one came as %s", a.raw)
	}
}

// A client whose process died reads nothing any more: what fails to be written stops nothing else.
func TestAClientThatDied(t *testing.T) {
	t.Parallel()
	begun, one, two := make(chan string, 2), make(chan struct{}), make(chan struct{})
	wait := func(let chan struct{}) tool.Handler {
		return func(ctx context.Context, c tool.Call) (tool.Result, error) {
			begun <- c.Name
			select {
			case <-let:
				return tool.Text("kept"), nil
			case <-ctx.Done():
				return tool.Result{}, ctx.Err()
			}
		}
	}
	store := open(t, t.TempDir())
	s := serve(t, store, server.Config{Tools: []tool.Tool{does("one", wait(one)), does("two", wait(two))}})
	in, feed := io.Pipe()
	read, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(context.WithoutCancel(t.Context()), in, out) }()
	go func() { _, _ = bufio.NewReader(read).ReadString('\n') }()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"two","arguments":{}}}`,
	} {
		if _, err := io.WriteString(feed, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	<-begun
	<-begun
	_, _ = feed.Close(), read.Close()
	time.Sleep(50 * time.Millisecond) // until it was seen
	close(one)
	time.Sleep(100 * time.Millisecond) // until writing the first answer has failed
	close(two)
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the server did not end")
	}
	for _, c := range calls(t, store) {
		if !strings.HasSuffix(c, " done") {
			t.Errorf("a call is %s", c)
		}
	}
	sound(t, store)
}

// A conversation that was taken over meanwhile, and is free again, is taken again: the call is not lost.
func TestAConversationThatWasTakenOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, other := open(t, dir), open(t, dir)
	w := shake(t, serve(t, store, server.Config{}), "2025-11-25")
	w.call("results--list", `{}`)
	all, err := other.Conversations(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := other.TakeLease(t.Context(), history.Take{
		Conversation: all[0].ID, Run: "other", TakeOver: true, Now: time.Now().Add(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	if a := w.call("results--list", `{}`); a.Error == nil || !strings.Contains(a.Error.Message, "another process") {
		t.Errorf("while another has it: %s", a.raw)
	}
	if err := other.ReleaseLease(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	if a := w.call("results--list", `{}`); a.Result.Meta["weir/result"] != "r2-1" {
		t.Errorf("when it is free again: %s", a.raw)
	}
	w.leave()
	sound(t, other)
}
