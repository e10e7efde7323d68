package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/wire"
)

// seenBlock is what a simple reader makes of the events of one block.
type seenBlock struct {
	// start is the block as it started.
	start map[string]json.RawMessage
	// pieces are the JSON strings of each kind of delta, without their quotation marks, joined.
	pieces    map[string]string
	citations int
}

// FuzzAssemble feeds events, a line each. Whatever comes: no panic; an answer that is taken for whole
// holds every delta that came, and can be stored, sent back and stored again.
func FuzzAssemble(f *testing.F) {
	files, err := filepath.Glob("testdata/stream/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range a.Files {
			if part.Name == "events" {
				f.Add(part.Data)
			}
		}
	}
	f.Fuzz(assemble)
}

// FuzzAssembleBuilt does the same with events that are built from the bytes, so that most are taken.
func FuzzAssembleBuilt(f *testing.F) {
	f.Add([]byte{0, 1, 2, 40, 3, 7, 8, 9})
	f.Add([]byte("any bytes at all, for a start of many events"))
	f.Fuzz(func(t *testing.T, data []byte) { assemble(t, build(data)) })
}

// build makes events: each byte starts a block, ends one, or goes on with one.
func build(data []byte) []byte {
	starts := []string{
		`{"type":"text","text":""}`, `{"type":"text","text":"x","citations":[1]}`, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking"}`,
		`{"type":"tool_use","id":"1","name":"a","input":{}}`, `{"type":"tool_use","input":{"a":1}}`, `{"type":"server_tool_use","id":"1","name":"a","input":{}}`,
		`{"type":"redacted_thinking","data":"x"}`, `{"type":"new","text":"a\ud83d","input":null,"z":1.0}`,
	}
	pieces := []string{`a`, ` `, `\\`, `\"`, `{\"k\":`, `1}`, `\ud83d`, `\ude00`, `\uD800`, `\\\ud83d`, `é😀`, `\u0000`, ``}
	kinds := []string{
		`{"type":"text_delta","text":"%s"}`, `{"type":"thinking_delta","thinking":"%s"}`, `{"type":"signature_delta","signature":"%s"}`, `{"type":"input_json_delta","partial_json":"%s"}`,
		`{"type":"citations_delta","citation":{"t":"%s"}}`, `{"type":"new_delta","new":"%s"}`,
	}
	var out strings.Builder
	out.WriteString(`{"type":"message_start","message":{"content":[]}}` + "\n")
	blocks := 0
	for i, b := range data {
		switch n := int(b); {
		case n < 40:
			fmt.Fprintf(&out, `{"type":"content_block_start","index":%d,"content_block":%s}`+"\n", blocks, starts[n%len(starts)])
			blocks++
		case n < 50:
			fmt.Fprintf(&out, `{"type":"content_block_stop","index":%d}`+"\n", blocks-1)
		case n < 55:
			fmt.Fprintf(&out, `{"type":"ping"}`+"\n")
		default:
			kind := kinds[n%len(kinds)]
			if i%3 > 0 { // as a rule the kind that the block takes
				kind = kinds[i%2*3]
			}
			fmt.Fprintf(&out, `{"type":"content_block_delta","index":%d,"delta":`+kind+"}\n", max(blocks-1-n%2, 0), pieces[n/3%len(pieces)])
		}
	}
	out.WriteString(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n" + `{"type":"message_stop"}` + "\n")
	return []byte(out.String())
}

// assemble feeds the lines of data, each an event, and checks what comes of it.
func assemble(t *testing.T, data []byte) {
	m, err := New("claude-test", Config{APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	a := &assembler{model: m.model}
	var seen []*seenBlock
	var shown strings.Builder
	for line := range bytes.Lines(data) {
		event, err := m.event(a, wire.Event{Data: line})
		if err != nil {
			var typed *membrane.Error
			if !errors.As(err, &typed) {
				t.Fatalf("an error of another type: %v", err)
			}
			return
		}
		if d, ok := event.(membrane.TextDelta); ok {
			shown.WriteString(d.Text)
		}
		seen = see(t, seen, line)
		if a.ended {
			break
		}
	}
	if !a.ended {
		return
	}
	done, err := m.done(a, membrane.Request{Head: []byte(`{"messages":[`)})
	if err != nil {
		return
	}
	checkDone(t, m, done)
	if !utf8.Valid(data) {
		return // which bytes are replaced, and by how many, is no part of this
	}
	checkWhole(t, a, seen)
	text := done.Message.PlainText()
	// Open blocks may take turns, so only the order of what was shown can be another.
	one, two := []byte(shown.String()), []byte(text)
	slices.Sort(one)
	slices.Sort(two)
	if !strings.Contains(text, "\ufffd") && !bytes.Equal(one, two) {
		t.Errorf("shown %q, kept %q", &shown, text)
	}
}

// see reads an event that the assembler has taken.
func see(t *testing.T, seen []*seenBlock, line []byte) []*seenBlock {
	var e struct {
		Type  string
		Index *int
		Block map[string]json.RawMessage `json:"content_block"`
		Delta map[string]json.RawMessage
	}
	if json.Unmarshal(line, &e) != nil || e.Index == nil {
		return seen
	}
	switch e.Type {
	case "content_block_start":
		return append(seen, &seenBlock{start: e.Block, pieces: map[string]string{}})
	case "content_block_delta":
		b := seen[*e.Index]
		var kind string
		_ = json.Unmarshal(e.Delta["type"], &kind)
		for _, k := range [][2]string{{"text_delta", "text"}, {"thinking_delta", "thinking"}, {"signature_delta", "signature"}, {"input_json_delta", "partial_json"}} {
			if kind == k[0] {
				piece := string(e.Delta[k[1]])
				b.pieces[kind] += piece[1 : len(piece)-1]
				return seen
			}
		}
		if kind != "citations_delta" {
			t.Errorf("a delta of type %q was taken", kind)
		}
		b.citations++
	}
	return seen
}

// checkWhole compares what the blocks hold with what the simple reader saw.
func checkWhole(t *testing.T, a *assembler, seen []*seenBlock) {
	t.Helper()
	if len(seen) != len(a.blocks) {
		t.Fatalf("%d blocks of %d", len(a.blocks), len(seen))
	}
	for i, s := range seen {
		all := a.blocks[i].whole()
		for kind, pieces := range s.pieces {
			key := strings.TrimSuffix(kind, "_delta")
			if start := string(s.start[key]); len(start) > 2 && start[0] == '"' {
				pieces = start[1:len(start)-1] + pieces
			}
			var want string
			if json.Unmarshal([]byte(`"`+pieces+`"`), &want) != nil {
				t.Fatalf("block %d: the pieces of %s are no string: %s", i, kind, pieces)
			}
			if kind == "input_json_delta" {
				if got := a.blocks[i].input.String(); got != want {
					t.Errorf("block %d: arguments %q, want %q", i, got, want)
				}
				continue
			}
			var got string
			_ = json.Unmarshal(object.Find(all, key), &got)
			if got != want {
				t.Errorf("block %d: %s %q, want %q", i, kind, got, want)
			}
		}
		var list []json.RawMessage
		_ = json.Unmarshal(object.Find(all, "citations"), &list)
		if s.citations > len(list) {
			t.Errorf("block %d: %d citations of %d", i, len(list), s.citations)
		}
	}
}

// checkDone stores an answer, reads it back and encodes it again.
func checkDone(t *testing.T, m *Model, done membrane.Done) {
	t.Helper()
	if len(done.Fragment) > 0 && (!json.Valid(done.Fragment) || !utf8.Valid(done.Fragment)) {
		t.Errorf("the fragment is no JSON: %q", done.Fragment)
	}
	body, err := membrane.Encode(done.Message)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := membrane.Decode(membrane.Codec, body)
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.EncodeMessage(stored)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again, done.Fragment) {
		t.Errorf("stored and encoded again it is another answer:\n%s\n%s", done.Fragment, again)
	}
}
