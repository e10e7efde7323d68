package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/tool"
)

func open(t *testing.T, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir, sqlite.Config{Synchronous: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func serve(t *testing.T, store history.Store, cfg server.Config) *server.Server {
	t.Helper()
	s, err := server.New(store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.WithoutCancel(t.Context())) })
	return s
}

// sound fails when what is stored does not hold together.
func sound(t *testing.T, store history.Store) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	all, err := store.Conversations(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		problems, err := history.Verify(ctx, store, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("%s: %v", c.ID, p)
		}
	}
}

// wire is a client that writes and reads lines, so that nothing stands between a test and the bytes.
type wire struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
	done  chan error
	id    int
}

func connect(t *testing.T, s *server.Server) *wire {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	w := &wire{t: t, in: inW, lines: make(chan string, 4096), done: make(chan error, 1)}
	go func() {
		err := s.ServeStdio(context.WithoutCancel(t.Context()), inR, outW)
		_ = outW.Close()
		w.done <- err
	}()
	go func() {
		defer close(w.lines)
		r := bufio.NewReader(outR)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			w.lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	t.Cleanup(func() { _ = inW.Close() })
	return w
}

// shake makes the handshake of a revision.
func shake(t *testing.T, s *server.Server, revision string) *wire {
	t.Helper()
	w := connect(t, s)
	w.send(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"` + revision +
		`","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	if got := w.next(); !strings.Contains(got, `"protocolVersion":"`+revision+`"`) {
		t.Fatalf("handshake answered %s", got)
	}
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return w
}

func (w *wire) send(line string) {
	w.t.Helper()
	if _, err := io.WriteString(w.in, line+"\n"); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) next() string {
	w.t.Helper()
	return w.within(30 * time.Second)
}

func (w *wire) within(limit time.Duration) string {
	w.t.Helper()
	select {
	case line, ok := <-w.lines:
		if !ok {
			w.t.Fatal("the server closed its side")
		}
		return line
	case <-time.After(limit):
		w.t.Fatalf("no answer within %s", limit)
	}
	return ""
}

// ask sends a call without waiting for its answer, and gives its id.
func (w *wire) ask(name, args string) int {
	w.t.Helper()
	w.id++
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, w.id, name, args))
	return w.id
}

// answer is what is read of an answer. Raw is the line.
type answer struct {
	ID     json.RawMessage
	Error  *struct{ Message string }
	Result struct {
		Content           []struct{ Type, Text, Data, MIMEType string }
		StructuredContent json.RawMessage
		IsError           bool
		Meta              metas `json:"_meta"`
	}
	raw string
}

// metas are the members of _meta; those that are no text as their JSON.
type metas map[string]string

func (m *metas) UnmarshalJSON(raw []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	*m = metas{}
	for k, v := range all {
		var text string
		if json.Unmarshal(v, &text) != nil {
			text = string(v)
		}
		(*m)[k] = text
	}
	return nil
}

// text is the text of all text blocks.
func (a answer) text() string {
	var all []string
	for _, c := range a.Result.Content {
		if c.Type == "text" {
			all = append(all, c.Text)
		}
	}
	return strings.Join(all, "\n")
}

func read(t *testing.T, line string) answer {
	t.Helper()
	a := answer{raw: line}
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return a
}

// call makes a call and gives its answer.
func (w *wire) call(name, args string) answer {
	w.t.Helper()
	w.ask(name, args)
	return read(w.t, w.next())
}

// leave closes the client's side and waits for the server.
func (w *wire) leave() {
	w.t.Helper()
	_ = w.in.Close()
	select {
	case err := <-w.done:
		if err != nil {
			w.t.Errorf("the server ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		w.t.Fatal("the server did not end within 30 s")
	}
}

// gives is a tool whose result is always the same.
func gives(name string, r tool.Result) tool.Tool {
	return does(name, func(context.Context, tool.Call) (tool.Result, error) { return r, nil })
}

func does(name string, run tool.Handler) tool.Tool {
	return tool.Tool{Name: name, Description: "A tool of the test.", Schema: []byte(`{"type":"object"}`), Run: run}
}

// revisions are all that the server speaks with a handshake.
var revisions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
