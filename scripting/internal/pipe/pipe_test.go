package pipe

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/tool"
)

func TestFramesArriveAsTheyWereSent(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 50_000)
	var b bytes.Buffer
	w := NewWriter(&b)
	for _, err := range []error{
		w.Send(KindHello, 0, Greeting{Protocol: 1, Weir: "v1", Build: "b"}, nil),
		w.Send(KindPrint, 0, nil, []byte("a\x00\xff\n")),
		w.Send(KindPrint, 7, nil, []byte(long)),
		w.Stream(KindAnswer, 1<<31, Reply{Large: true}, []byte("{}"), strings.NewReader(long), int64(len(long))),
		w.Send(KindDone, 0, nil, nil),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r := NewReader(&b, MaxFromScript)
	want := []Frame{
		{Kind: KindHello, Head: json.RawMessage(`{"Protocol":1,"Weir":"v1","Build":"b"}`)},
		{Kind: KindPrint, Text: []byte("a\x00\xff\n")},
		{Kind: KindPrint, ID: 7, Text: []byte(long)},
		{Kind: KindAnswer, ID: 1 << 31, Head: json.RawMessage(`{"Of":{},"Large":true}`), Text: []byte("{}" + long)},
		{Kind: KindDone},
	}
	for i, f := range want {
		got, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(f, got); d != "" {
			t.Errorf("frame %d (-want +got):\n%s", i, d)
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v, want io.EOF", err)
	}
}

// A text that turns out shorter than it was said to be breaks the conversation; nothing is made up.
func TestStreamThatEndsEarly(t *testing.T) {
	t.Parallel()
	w := NewWriter(io.Discard)
	if err := w.Stream(KindAnswer, 1, nil, nil, strings.NewReader("short"), 10); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want io.ErrUnexpectedEOF", err)
	}
}

// header makes the beginning of a frame.
func header(kind byte, head, text uint32) []byte {
	b := make([]byte, headerSize)
	b[0] = kind
	binary.BigEndian.PutUint32(b[5:], head)
	binary.BigEndian.PutUint32(b[9:], text)
	return b
}

func TestHostileFrames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		sent []byte
		want error
	}{
		{"nothing", nil, io.EOF},
		{"half a header", header(3, 0, 9)[:6], io.ErrUnexpectedEOF},
		{"no text", header(3, 0, 9), io.ErrUnexpectedEOF},
		{"no long text", header(3, 0, 5<<20), io.ErrUnexpectedEOF},
		{"half a head", append(header(3, 9, 0), "{"...), io.ErrUnexpectedEOF},
		{"kind 0", header(0, 0, 0), ErrFrame},
		{"kind 200", header(200, 0, 0), ErrFrame},
		{"too long", header(3, 0, MaxFromScript+1), ErrLong},
		{"too long in sum", header(3, 1<<32-1, 1<<32-1), ErrLong},
		{"text", []byte("panic: something went wrong\n"), ErrFrame},
	} {
		if _, err := NewReader(bytes.NewReader(c.sent), MaxFromScript).Next(); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

// A length that is only claimed costs no memory.
func TestClaimedLengthCostsNothing(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 50 {
		_, _ = NewReader(bytes.NewReader(header(3, 0, 1<<30-1)), 1<<30).Next()
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 20<<20 {
		t.Errorf("50 frames of a gigabyte that never came took %d bytes", took)
	}
}

func TestSkipToMagic(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, sent, noise string
		fails             bool
	}{
		{name: "at once", sent: Magic + "x"},
		{name: "after noise", sent: "init says hello\n" + Magic + "x", noise: "init says hello\n"},
		{name: "half of it first", sent: Magic[:5] + Magic + "x", noise: Magic[:5]},
		{name: "never", sent: "usage: something", noise: "usage: something", fails: true},
		{name: "too late", sent: strings.Repeat("n", MaxNoise) + Magic, noise: strings.Repeat("n", MaxNoise), fails: true},
	} {
		r := NewReader(strings.NewReader(c.sent), 10)
		noise, err := r.SkipToMagic()
		if string(noise) != c.noise || (err != nil) != c.fails {
			t.Errorf("%s: got %.40q, %v", c.name, noise, err)
		}
	}
}

// FuzzReader: whatever comes, reading ends, keeps to its bound, and what was read can be said again.
func FuzzReader(f *testing.F) {
	f.Add(header(3, 0, 9))
	f.Add(append(header(4, 2, 3), "{}abc"...))
	f.Add(append(header(9, 1<<31, 1<<31), "x"...))
	f.Add([]byte(Magic))
	f.Fuzz(func(t *testing.T, sent []byte) {
		const most = 1 << 16
		r := NewReader(bytes.NewReader(sent), most)
		var again bytes.Buffer
		w := NewWriter(&again)
		for {
			frame, err := r.Next()
			if err != nil {
				break
			}
			if len(frame.Head)+len(frame.Text) > most {
				t.Fatalf("a frame of %d bytes", len(frame.Head)+len(frame.Text))
			}
			if !json.Valid(frame.Head) {
				return
			}
			if err := w.Send(frame.Kind, frame.ID, frame.Head, frame.Text); err != nil {
				t.Fatal(err)
			}
		}
		for r := NewReader(&again, 8*most); ; {
			if _, err := r.Next(); err != nil {
				if !errors.Is(err, io.EOF) {
					t.Fatalf("what was sent cannot be read: %v", err)
				}
				return
			}
		}
	})
}

// program answers a client as a program would.
func program(t *testing.T, serve func(w *Writer, f Frame)) *Client {
	t.Helper()
	requests, to := io.Pipe()
	answers, from := io.Pipe()
	c := NewClient(NewWriter(to))
	go func() {
		w := NewWriter(from)
		for r := NewReader(requests, MaxFromScript); ; {
			f, err := r.Next()
			if err != nil {
				return
			}
			serve(w, f)
		}
	}()
	go func() {
		for r := NewReader(answers, MaxFromProgram); ; {
			f, err := r.Next()
			if err != nil {
				return
			}
			c.Take(f)
		}
	}()
	t.Cleanup(func() { _ = to.Close(); _ = from.Close() })
	return c
}

func TestClientAsksAndIsAnswered(t *testing.T) {
	t.Parallel()
	stored := tool.Stored{ID: "r1-1", Tool: "t", Args: []byte("no JSON"), Round: 1, Bytes: 4, Chars: 4, Lines: 1, IsError: true, Path: "p"}
	c := program(t, func(w *Writer, f Frame) {
		var q Request
		_ = f.Into(&q)
		var err error
		switch f.Kind {
		case KindCall:
			err = w.Stream(KindAnswer, f.ID, Reply{Of: Pack(stored), HasStructured: true, Structured: 4}, []byte("null"), strings.NewReader("text"), 4)
		case KindList:
			err = w.Send(KindAnswer, f.ID, Reply{List: []Stored{Pack(stored)}}, nil)
		case KindRead:
			err = w.Send(KindAnswer, f.ID, Reply{}, []byte("lines"))
		default:
			err = w.Send(KindAnswer, f.ID, Reply{Error: "there is no " + q.ID}, nil)
		}
		if err != nil {
			t.Error(err)
		}
	})
	a, err := c.Call(t.Context(), "t", json.RawMessage(`{}`))
	if err != nil || a.Text != "text" || string(a.Structured) != "null" {
		t.Errorf("call: %+v %v", a, err)
	}
	if d := cmp.Diff(stored, a.Stored); d != "" {
		t.Errorf("call (-want +got):\n%s", d)
	}
	list, err := c.List(t.Context())
	if d := cmp.Diff([]tool.Stored{stored}, list); d != "" || err != nil {
		t.Errorf("list: %v (-want +got):\n%s", err, d)
	}
	if text, err := c.Read(t.Context(), "r1-1", 1, 2); text != "lines" || err != nil {
		t.Errorf("read: %q %v", text, err)
	}
	if _, err := c.Get(t.Context(), "r9-9"); err == nil || err.Error() != "there is no r9-9" {
		t.Errorf("get: %v", err)
	}
	if _, err := c.Grep(t.Context(), "r9-9", "x", ""); err == nil {
		t.Error("grep: no error")
	}
	long, err := c.Call(t.Context(), "t", json.RawMessage(strings.Repeat(" ", maxArgs+1)))
	if err != nil || !long.IsError || !strings.Contains(long.Text, "arguments have") {
		t.Errorf("long arguments: %+v %v", long, err)
	}
}

// An answer that comes after its asker has gone goes nowhere.
func TestLateAnswerGoesNowhere(t *testing.T) {
	t.Parallel()
	asked := make(chan uint32, 2)
	c := program(t, func(_ *Writer, f Frame) { asked <- f.ID })
	ctx, stop := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := c.Get(ctx, "r1-1")
		gone <- err
	}()
	id := <-asked
	stop()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := len(c.waiting); n != 0 {
		t.Errorf("%d wait for what nobody asks for any more", n)
	}
	c.Take(Frame{Kind: KindAnswer, ID: id})
	c.Take(Frame{Kind: KindAnswer, ID: 12345})
}

// What is printed goes in pieces that end between two characters, nothing is lost.
func TestPrintInPieces(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	NewClient(NewWriter(&b)).Print(strings.Repeat("aä€😀", 30_000))
	var all []byte
	for r := NewReader(&b, MaxFromScript); ; {
		f, err := r.Next()
		if err != nil {
			break
		}
		if len(f.Text) > Piece || !utf8.Valid(f.Text) {
			t.Errorf("a piece of %d bytes, valid: %v", len(f.Text), utf8.Valid(f.Text))
		}
		all = append(all, f.Text...)
	}
	if string(all) != strings.Repeat("aä€😀", 30_000) {
		t.Errorf("%d bytes came", len(all))
	}
}
