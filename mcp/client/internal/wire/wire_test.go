package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw  string
		want []Member
		ok   bool
	}{
		{`{}`, nil, true},
		{` {"a" : 1e400, "b":{"c":[1 , 2]},"a":"\ud83d" } `, []Member{{"a", json.RawMessage(`1e400`)}, {"b", json.RawMessage(`{"c":[1 , 2]}`)}, {"a", json.RawMessage(`"\ud83d"`)}}, true},
		{`[]`, nil, false},
		{`{"a":1}x`, []Member{{"a", json.RawMessage(`1`)}}, false},
		{`{"a"`, nil, false},
		{``, nil, false},
		{`null`, nil, false},
	} {
		got, ok := Members([]byte(c.raw))
		if diff := cmp.Diff([]any{c.want, c.ok}, []any{got, ok}); diff != "" {
			t.Errorf("%s: %s", c.raw, diff)
		}
	}
}

// TestFilter follows one request through a filter.
func TestFilter(t *testing.T) {
	t.Parallel()
	var f Filter
	var heard []string
	f.Changed = func(list string) { heard = append(heard, list) }
	e := &Exchange{
		Method: "tools/call", Token: "tok", Params: []Member{{"name", quote("x")}, {"arguments", json.RawMessage(`{"b":9007199254740993,"a":"<"}`)}},
		Progress: func(p json.RawMessage) { heard = append(heard, string(p)) },
	}
	ctx := With(context.Background(), e)
	if other := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}`; string(f.out(ctx, []byte(other))) != other || e.Sent() {
		t.Error("a message of another method was taken for the request")
	}
	sent := f.out(ctx, []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"v":"1"},"name":"x","arguments":{}}}`))
	want := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"v":"1","progressToken":"tok"},"name":"x","arguments":{"b":9007199254740993,"a":"<"}}}`
	if diff := cmp.Diff(want, string(sent)); diff != "" || !e.Sent() {
		t.Error(diff)
	}
	for _, c := range []struct{ in, out string }{
		{`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tok","progress":1}}`, ""},
		{`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"other"}}`, ""},
		{`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, ""},
		{`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		{`noise`, ""},
		{`{"level":"info"}`, ""},
		{`{"id":7,"level":"info"}`, ""},
		{`{"method":"x"}`, ""},
		{`{"half":`, ""},
		{``, ""},
		{`{"jsonrpc":"2.0","id":8,"result":{}}`, `{"jsonrpc":"2.0","id":8,"result":{}}`},
		{`[{"jsonrpc":"2.0","method":"notifications/message"},{"jsonrpc":"2.0","id":7,"result":{"z":1e400,"a":9007199254740993}}]`, `{"jsonrpc":"2.0","id":7,"result":{}}`},
		{`{"jsonrpc":"2.0","id":7,"result":{"late":1}}`, `{"jsonrpc":"2.0","id":7,"result":{"late":1}}`},
	} {
		if got := string(bytes.Join(f.in([]byte(c.in)), []byte(";"))); got != c.out {
			t.Errorf("%s: want %q, got %q", c.in, c.out, got)
		}
	}
	if a, ok := e.Answer(); !ok || string(a.Result) != `{"z":1e400,"a":9007199254740993}` {
		t.Errorf("the result is kept as %s", a.Result)
	}
	if diff := cmp.Diff([]string{`{"progressToken":"tok","progress":1}`, "tools"}, heard); diff != "" {
		t.Error(diff)
	}
	f.Done(e)
	f.in([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tok","progress":2}}`))
	if len(heard) != 2 {
		t.Errorf("progress is heard after the call: %v", heard)
	}
	if n, first := f.Noise(); n != 5 || first[0] != "noise" {
		t.Errorf("%d lines of noise, %v", n, first)
	}
}

// TestManyStarts has a line in which a message seems to begin very often.
func TestManyStarts(t *testing.T) {
	t.Parallel()
	var f Filter
	if got := f.in([]byte(strings.Repeat(`{"id"`, 1<<20))); got != nil {
		t.Errorf("%d messages", len(got))
	}
	if got := f.in([]byte(`log {"id": 1 {"jsonrpc":"2.0","id":1,"result":{}}`)); len(got) != 1 || string(got[0]) != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("%s", got)
	}
}

// TestFrames reads lines up to the limit and past it.
func TestFrames(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	long := func(before, behind string) io.Reader {
		return io.MultiReader(strings.NewReader(before), io.LimitReader(zeros{}, limit), strings.NewReader(behind+"\nnext\n"))
	}
	for _, c := range []struct {
		name, before, behind, id string
		noise                    bool
	}{
		{"id first", `{"jsonrpc":"2.0","id":5,"result":"`, `"}`, "5", false},
		{"id last", `{"result":{"a":"`, `"},"jsonrpc":"2.0","id":"q"}`, `"q"`, false},
		{"no id", `{"result":{"a":"`, `"}}`, "", false},
		{"an id in a text", `{"result":{"a":"`, `\"id\":5}"}}`, "", false},
		{"noise", `loading `, ``, "", true},
	} {
		f := newFrames(long(c.before, c.behind))
		f.limit = limit
		_, err := f.next()
		var tooLong *TooLong
		if !errors.As(err, &tooLong) {
			t.Fatalf("%s: %v", c.name, err)
		}
		if want := int64(len(c.before) + limit + len(c.behind)); tooLong.Bytes != want || string(tooLong.ID) != c.id || (tooLong.Noise != nil) != c.noise {
			t.Errorf("%s: %d bytes, want %d; id %s, want %s; noise %v", c.name, tooLong.Bytes, want, tooLong.ID, c.id, tooLong.Noise != nil)
		}
		if line, err := f.next(); err != nil || string(line) != "next" {
			t.Errorf("%s: the next line is %q (%v)", c.name, line, err)
		}
	}
	f := newFrames(strings.NewReader("a\n\nb"))
	for _, want := range []string{"a", "", "b"} {
		if line, err := f.next(); err != nil || string(line) != want {
			t.Errorf("want %q, got %q (%v)", want, line, err)
		}
	}
	if _, err := f.next(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
}

// zeros reads the digit 0 without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// TestEvents passes the messages of a stream of events through a filter.
func TestEvents(t *testing.T) {
	t.Parallel()
	in := ": hello\r\nid: 1\ndata:\n\nevent: message\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":3,\"result\":{}}\n\nevent: endpoint\ndata: /post\n\nid: 3\nretry: 5\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":4,\"result\":null}"
	out, err := io.ReadAll(&events{lines: bufio.NewReader(strings.NewReader(in)), filter: &Filter{}})
	want := ": hello\nid: 1\n\nevent: message\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":3,\"result\":{}}\n\nevent: endpoint\ndata: /post\n\nid: 3\nretry: 5\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":4,\"result\":null}\n\n"
	if diff := cmp.Diff(want, string(out)); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

// FuzzIn reads whatever a server may send: what is handed on is JSON, and an answer is kept as it came.
func FuzzIn(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, `[{}]`, `x{"jsonrpc":"2.0","id":1,"error":{}}`, `{"id":1`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var filter Filter
		e := &Exchange{Method: "m"}
		filter.out(With(context.Background(), e), []byte(`{"jsonrpc":"2.0","id":1,"method":"m"}`))
		for _, m := range filter.in(frame) {
			if !json.Valid(m) && json.Valid(frame) {
				t.Fatalf("%q became %q", frame, m)
			}
		}
		if a, ok := e.Answer(); ok && a.Result != nil && !bytes.Contains(frame, a.Result) {
			t.Fatalf("%q holds %q", frame, a.Result)
		}
		_, _ = io.ReadAll(&events{lines: bufio.NewReader(bytes.NewReader(frame)), filter: &filter})
		_ = fmt.Sprint(filter.Noise())
	})
}
