package historytest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/spill"
)

// bodies are what text encodings, JSON and databases tend to change.
var bodies = map[string]string{
	"empty":           "",
	"NUL":             "a\x00b\x00",
	"only NUL":        "\x00",
	"invalid UTF-8":   "\xff\xfe \xc3 \xed\xa0\x80 end",
	"CRLF":            "a\r\nb\r\n",
	"line separators": "a\u2028b\u2029c",
	"markup":          `<a href="x">&amp;</a> <>&`,
	"JSON":            "{ \"b\": 1.0,\t\"a\": 1e3, \"a\": \"\\u003c\" }\n",
	"a JSON string":   `"quoted"`,
	"a number":        "12345678901234567890",
	"a date":          "2026-11-29 10:00:00",
	"BOM":             "\ufefftext",
	"emoji":           "\U0001f600\U0001f1e9\U0001f1ea",
	"controls":        "\x1b[31m\x07\x08\r\x7f",
	"blanks":          "  \n\t ",
}

// testBodies puts each of them wherever bytes are stored.
func testBodies(t *testing.T, s history.Store) {
	for name, body := range bodies {
		c := begin(t, s, "c-"+strings.ReplaceAll(name, " ", "-"))
		want := []byte(body)
		c.turn, c.seq, c.epoch, c.pos, c.head = 1, 1, 1, 1, body
		a := history.Append{
			Now:       start,
			Messages:  []history.Message{{Seq: 1, Turn: 1, Role: body, Codec: body, Body: want}},
			Epoch:     &history.Epoch{N: 1, Dialect: body, Reason: body, Head: want, Tail: want, Fingerprint: want},
			Fragments: []history.Fragment{{Epoch: 1, Pos: 1, Seq: 1, Encoder: body, Bytes: want}},
			Events:    []history.Event{{Kind: body, Data: want}},
		}
		c.must(s.BeginTurn(c.ctx(), c.l, history.Begin{Turn: 1, Key: body, Append: a}))
		o := c.opening("x", "y")
		o.Key = body
		o.Calls[0].Args, o.Calls[0].Tool, o.Calls[0].ProviderID = want, body, body
		c.must(s.OpenRound(c.ctx(), c.l, o))
		cl := c.closing(2)
		r := c.result(1, body)
		r.Result.Structured, r.Result.Notes = want, want
		cl.Settled = []history.Settled{r, c.result(2, "another")}
		cl.Shown[1] = history.Shown{ID: cl.Shown[1].ID, Text: want}
		c.must(s.CloseRound(c.ctx(), c.l, cl))

		got := read(t, s, c.id())
		for what, b := range map[string][]byte{
			"message": got.Messages[0].Body, "head": got.Epochs[0].Head, "tail": got.Epochs[0].Tail, "fingerprint": got.Epochs[0].Fingerprint,
			"fragment": got.Fragments[0].Bytes, "event": got.Events[0].Data, "args": got.Calls[0].Args, "whole": got.Results[0].Whole,
			"structured": got.Results[0].Structured, "notes": got.Results[0].Notes, "shown as the same": got.Results[0].Shown,
			"shown": got.Results[1].Shown,
		} {
			if b == nil || !bytes.Equal(b, want) {
				t.Errorf("%s: %s is %q (nil: %t), want %q", name, what, b, b == nil, want)
			}
		}
		for what, text := range map[string]string{
			"role": got.Messages[0].Role, "codec": got.Messages[0].Codec, "dialect": got.Epochs[0].Dialect, "reason": got.Epochs[0].Reason,
			"encoder": got.Fragments[0].Encoder, "kind": got.Events[0].Kind, "tool": got.Calls[0].Tool, "tool of the result": got.Results[0].Tool,
			"provider's id": got.Calls[0].ProviderID, "turn's key": got.Turns[0].Key, "round's key": got.Rounds[0].Key,
		} {
			if text != body {
				t.Errorf("%s: %s is %q, want %q", name, what, text, body)
			}
		}
		sound(t, s, c.id())
	}
}

func testLarge(t *testing.T, s history.Store) {
	const size = 10 << 20
	random := make([]byte, size)
	src := rand.NewChaCha8([32]byte{1})
	if _, err := src.Read(random); err != nil {
		t.Fatal(err)
	}
	c := begin(t, s, "c1")
	c.turn++
	a := history.Append{Now: start}
	c.open(&a, "[")
	c.add(&a, "user", string(random), string(random), 0)
	c.must(s.BeginTurn(c.ctx(), c.l, history.Begin{Turn: 1, Append: a}))
	c.whole(string(random))
	got := read(t, s, "c1")
	for what, b := range map[string][]byte{
		"message": got.Messages[0].Body, "fragment": got.Fragments[0].Bytes, "whole": got.Results[0].Whole, "shown": got.Results[0].Shown,
	} {
		if !bytes.Equal(b, random) {
			t.Errorf("%s of %d bytes came back as %d others", what, size, len(b))
		}
	}
	sound(t, s, "c1")
}

// testFigures: what a result says of its whole text is computed, or must be true.
func testFigures(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	c.say("", "hello")
	c.must(s.OpenRound(c.ctx(), c.l, c.opening("a", "b")))
	text := "zwei\nZeilen für \xff"
	for name, change := range map[string]func(*history.Result){
		"bytes":           func(r *history.Result) { r.Bytes = 1 },
		"lines":           func(r *history.Result) { r.Lines = 3 },
		"characters":      func(r *history.Result) { r.Chars = 18 },
		"hash":            func(r *history.Result) { r.SHA256 = [32]byte{1} },
		"no whole at all": func(r *history.Result) { r.Whole = nil },
		"another file":    func(r *history.Result) { r.Spill = &spill.Ref{Name: "n", File: "f", Complete: true} },
		"a file's lines": func(r *history.Result) {
			r.Whole, r.Spill, r.Lines = nil, &spill.Ref{Name: "n", File: "f", Complete: true}, 3
		},
		"a file's own sum": func(r *history.Result) {
			r.Whole, r.Spill, r.SHA256 = nil, &spill.Ref{Name: "n", Complete: true}, [32]byte{1}
		},
	} {
		bad := c.result(1, text)
		change(&bad.Result)
		if _, err := s.SettleCalls(c.ctx(), c.l, []history.Settled{bad}, nil); !errors.Is(err, history.ErrConflict) {
			t.Errorf("wrong %s: %v, want ErrConflict", name, err)
		}
	}
	full := c.result(2, text)
	full.Result.Bytes, full.Result.Lines, full.Result.Chars = 18, 2, 17
	full.Result.SHA256 = sha256.Sum256([]byte(text))
	c.must(s.SettleCalls(c.ctx(), c.l, []history.Settled{c.result(1, text), full}, nil))
	results, err := s.ResultsOf(c.ctx(), "c1", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Bytes != 18 || r.Lines != 2 || r.Chars != 17 || r.SHA256 != full.Result.SHA256 {
			t.Errorf("%s has %d bytes, %d lines, %d characters, hash %x", r.ID, r.Bytes, r.Lines, r.Chars, r.SHA256)
		}
	}
}

// testSpills keeps wholes as files: on arrival, and only when the round is closed.
func testSpills(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	c.say("", "hello")
	c.must(s.OpenRound(c.ctx(), c.l, c.opening("a", "b", "c")))
	keep := func(index int, ext, text string) spill.Ref {
		t.Helper()
		w, err := s.Spills().Create(c.ctx(), spill.Name{
			Conversation: "c1", Result: fmt.Sprintf("r1-%d", index), Tool: "tool", Fence: c.l.Fence, Ext: ext,
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		ref, err := w.Commit()
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	long := strings.Repeat("a line of text\n", 20_000) + "the end"
	arrived, payload, closed := keep(1, "", long), keep(1, ".png", "\x89PNG"), keep(2, "", "kept at the close")
	first := c.result(1, "")
	first.Result.Whole, first.Result.Spill, first.Payloads = nil, &arrived, []spill.Ref{payload}
	c.must(s.SettleCalls(c.ctx(), c.l, []history.Settled{first, c.result(2, "kept at the close")}, nil))
	before := read(t, s, "c1")
	closing := func(change func(*history.Closing)) error {
		keep := *c
		cl := c.closing(3)
		cl.Settled = []history.Settled{c.result(3, "inline")}
		cl.Shown[0] = history.Shown{ID: cl.Shown[0].ID, Text: []byte("a preview")}
		cl.Shown[1] = history.Shown{ID: cl.Shown[1].ID, Text: []byte("kept…"), Spill: &closed}
		change(&cl)
		_, err := s.CloseRound(c.ctx(), c.l, cl)
		if err != nil {
			*c = keep
		}
		return err
	}
	for name, change := range map[string]func(*history.Closing){
		"a file as the same text": func(cl *history.Closing) { cl.Shown[0] = history.Shown{ID: cl.Shown[0].ID, Same: true} },
		"a second file":           func(cl *history.Closing) { cl.Shown[0].Spill = &closed },
		"a name that is taken":    func(cl *history.Closing) { cl.Shown[1].Spill = &payload },
		"a file of another text":  func(cl *history.Closing) { cl.Shown[2] = history.Shown{ID: cl.Shown[2].ID, Spill: &closed} },
	} {
		if err := closing(change); !errors.Is(err, history.ErrConflict) {
			t.Errorf("%s: %v, want ErrConflict", name, err)
		}
	}
	same(t, "what is stored", before, read(t, s, "c1"))
	if err := closing(func(*history.Closing) {}); err != nil {
		t.Fatal(err)
	}
	got := read(t, s, "c1")
	same(t, "spills", []spill.Ref{payload, arrived, closed}, got.Spills)
	same(t, "the lines of a file", int64(20_001), got.Results[0].Spill.Index.Lines)
	wants := []struct {
		spill        *spill.Ref
		whole, shown string
		same         bool
	}{{&arrived, "", "a preview", false}, {&closed, "kept at the close", "kept…", false}, {nil, "inline", "inline", true}}
	for i, want := range wants {
		r := got.Results[i]
		same(t, r.ID.String()+" spill", want.spill, r.Spill)
		if string(r.Whole) != want.whole || (r.Whole == nil) != (i == 0) || string(r.Shown) != want.shown || r.Same != want.same {
			t.Errorf("%s: whole %q, shown %q, same %t, want %+v", r.ID, r.Whole, r.Shown, r.Same, want)
		}
	}
	sound(t, s, "c1")
}
