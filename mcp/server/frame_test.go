package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/tool"
)

// What is no message is answered with an error, and the connection goes on.
func TestHostileFrames(t *testing.T) {
	t.Parallel()
	store := open(t, t.TempDir())
	w := shake(t, serve(t, store, server.Config{Tools: []tool.Tool{gives("t", tool.Text("alive"))}}), "2025-11-25")
	for name, c := range map[string]struct {
		line string
		code int
	}{
		"garbage":  {"GET / HTTP/1.1", -32700},
		"cut":      {`{"jsonrpc":"2.0","id":1,`, -32700},
		"invalid":  {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}", -32700},
		"nul":      {"{\"jsonrpc\":\"2.0\",\x00}", -32700},
		"nothing":  {`{}`, -32600},
		"scalar":   {`7`, -32600},
		"null":     {`null`, -32600},
		"deep":     {strings.Repeat("[", 100_000), -32700},
		"batch":    {`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, -32600},
		"version":  {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600},
		"no batch": {`[]`, -32600},
	} {
		w.send(c.line)
		if got, want := w.next(), fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,`, c.code); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %.200s, want %s…", name, got, want)
		}
	}
	for _, quiet := range []string{"", "   ", "\r", `{"jsonrpc":"2.0","id":5,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/none"}`} {
		w.send(quiet)
	}
	for _, broken := range []string{
		`{"jsonrpc":"2.0","id":"a","method":"tools/call"}`, `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":[]}`,
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":7}}`, `{"jsonrpc":"2.0","id":"a","method":"nope"}`,
	} {
		w.send(broken)
		if a := read(t, w.next()); a.Error == nil {
			t.Errorf("%s came back as %s", broken, a.raw)
		}
	}
	if a := w.call("t", `{}`); a.text() != "alive" {
		t.Errorf("after them: %s", a.raw)
	}
	w.leave()
	sound(t, store)
}

// A line over the limit costs no memory and no connection.
func TestAFrameOverTheLimit(t *testing.T) {
	t.Parallel()
	w := shake(t, serve(t, open(t, t.TempDir()), server.Config{Tools: []tool.Tool{gives("t", tool.Text("alive"))}}), "2025-11-25")
	go func() {
		piece := bytes.Repeat([]byte("x"), 1<<20)
		for n := 0; n <= server.MaxFrame; n += len(piece) {
			if _, err := w.in.Write(piece); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w.in, "\n")
	}()
	if got := w.next(); !strings.Contains(got, "longer than 67108864 bytes") {
		t.Errorf("got %.200s", got)
	}
	if a := w.call("t", `{}`); a.text() != "alive" {
		t.Errorf("after it: %s", a.raw)
	}
}

// The revisions that have batches answer one with one array.
func TestABatchIsAnsweredWithAnArray(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2025-03-26", "2024-11-05"} {
		w := shake(t, serve(t, open(t, t.TempDir()), server.Config{Tools: []tool.Tool{gives("t", tool.Text("<one>"))}}), revision)
		w.send(`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}},` +
			`{"jsonrpc":"2.0","method":"notifications/none"},{"jsonrpc":"2.0","id":"1","method":"ping"}]`)
		var got []answer
		if line := w.next(); json.Unmarshal([]byte(line), &got) != nil || len(got) != 2 || !strings.Contains(line, `"text":"<one>"`) {
			t.Errorf("%s answered %s", revision, line)
		}
		for _, bad := range []string{`[7]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"}]`} {
			w.send(bad)
			if got := w.next(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`) {
				t.Errorf("%s: %s came back as %s", revision, bad, got)
			}
		}
		w.leave()
	}
}

// Every request has one answer, also those before the client's side was closed (G7).
func TestEveryRequestHasOneAnswer(t *testing.T) {
	t.Parallel()
	w := shake(t, serve(t, open(t, t.TempDir()), server.Config{Tools: []tool.Tool{gives("t", tool.Text("x"))}}), "2025-11-25")
	const n = 50
	for range n {
		w.ask("t", `{}`)
	}
	_ = w.in.Close()
	seen := map[string]int{}
	for line := range w.lines {
		seen[string(read(t, line).ID)]++
	}
	for id := 1; id <= n; id++ {
		if seen[fmt.Sprint(id)] != 1 {
			t.Errorf("request %d has %d answers", id, seen[fmt.Sprint(id)])
		}
	}
}

// A client that reads nothing holds up only itself, and the server ends.
func TestAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	s := serve(t, open(t, t.TempDir()), server.Config{Tools: []tool.Tool{gives("t", tool.Text(strings.Repeat("x", 20_000)))}, Drain: 50 * time.Millisecond})
	in, out := io.Pipe()
	_, blocked := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(ctx, in, blocked) }()
	_, _ = io.WriteString(out, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`+"\n")
	if a := shake(t, s, "2025-11-25").call("t", `{}`); len(a.text()) != 20_000 {
		t.Errorf("another client got %.100s", a.raw)
	}
	stop()
	_ = blocked.Close()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the server did not end")
	}
}

func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "[\n]", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "\xff\n\n{}\n",
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{"a":1e400}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
	} {
		f.Add([]byte(seed))
	}
	store := openFuzz(f)
	s, err := server.New(store, server.Config{Tools: []tool.Tool{gives("t", tool.Text("x"))}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		_ = s.ServeStdio(ctx, bytes.NewReader(append(in, '\n')), &out)
		if ctx.Err() != nil {
			t.Fatal("the server did not end")
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Fatalf("it wrote %q", line)
			}
		}
	})
}
