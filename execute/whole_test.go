package execute_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/spill"
	"github.com/weir-run/weir/tool"
)

var offered = []string{"workspace--grep", "workspace--read"}

var name = spill.Name{Conversation: "c", Result: "r3-1", Tool: "grep", Fence: 7}

func convert(r tool.Result, traits tool.Traits) execute.Whole {
	return execute.Convert(execute.Prepared{Tool: tool.Tool{Traits: traits}}, r, "tool-results/r3-1-grep")
}

func store(t *testing.T) spill.Store {
	t.Helper()
	dir, err := spill.NewDir(t.TempDir(), spill.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// The cap is counted in characters of the text itself: at the cap it stays, one more and it spills, and
// neither bytes nor an encoded form count.
func TestTheCapCountsCharactersOfTheText(t *testing.T) {
	for label, c := range map[string]struct {
		text string
		keep bool
	}{
		"at the cap":         {strings.Repeat("x", 1000), false},
		"one more":           {strings.Repeat("x", 1001), true},
		"bytes do not count": {strings.Repeat("語", 1000), false},
		"escapes neither":    {strings.Repeat("\"\n", 500), false},
		"control characters": {strings.Repeat("\x01", 1000), false},
		"empty":              {"", false},
	} {
		t.Run(label, func(t *testing.T) {
			w := convert(tool.Text(c.text), tool.Traits{})
			if w.MustKeep(1000) != c.keep {
				t.Errorf("must be kept: %v, want %v", !c.keep, c.keep)
			}
			if shown := w.Fit(1000, offered); !c.keep && (shown.Text != c.text || !shown.Same) {
				t.Errorf("a text that fits is not shown as it is: %.60q", shown.Text)
			}
		})
	}
}

// What is not shown as it is must be kept first, whatever its length.
func TestLaw04CleanedTextIsKeptWholeHoweverShort(t *testing.T) {
	for label, w := range map[string]execute.Whole{
		"NUL":      convert(tool.Text("a\x00b"), tool.Traits{}),
		"terminal": convert(tool.Text("\x1b[1mbold\x1b[0m"), tool.Traits{PlainTerminal: true}),
		"base64":   convert(tool.JSON(json.RawMessage(`{"d":"`+strings.Repeat("iVBORw0KGgoA", 200)+`"}`)), tool.Traits{}),
	} {
		t.Run(label, func(t *testing.T) {
			if !w.MustKeep(24000) {
				t.Fatalf("%q is shown cleaned and was not kept", w.Text)
			}
			if shown := w.Fit(24000, offered); shown.Same || shown.Text == w.Text {
				t.Errorf("it is shown as it is: %.60q", shown.Text)
			}
		})
	}
}

// What is fitted after a restart is what would have been fitted without one.
func TestRestoredResultsFitToTheSameBytes(t *testing.T) {
	big := strings.Repeat("a line of some output\n", 5000)
	for label, c := range map[string]struct {
		result tool.Result
		traits tool.Traits
	}{
		"short":    {tool.Text("short"), tool.Traits{}},
		"long":     {tool.Text(big), tool.Traits{}},
		"json":     {tool.Value(map[string]any{"a": strings.Repeat("x", 30000), "b": []int{1, 2}}), tool.Traits{}},
		"nul":      {tool.Text("a\x00" + big), tool.Traits{}},
		"terminal": {tool.Text(strings.Repeat("\x1b[1mx\x1b[0m 5%\r 6%\n", 3000)), tool.Traits{PlainTerminal: true}},
		"error":    {tool.Error(big), tool.Traits{}},
		"image":    {tool.Blocks(tool.Content{Type: "text", Text: big}, tool.Content{Type: "image", MIMEType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}), tool.Traits{}},
		"base64":   {tool.JSON(json.RawMessage(`{"d":"` + strings.Repeat("iVBORw0KGgoA", 200) + `"}`)), tool.Traits{}},
		"end turn": {tool.Result{Data: "bye", EndTurn: true}, tool.Traits{}},
	} {
		t.Run(label, func(t *testing.T) {
			w := convert(c.result, c.traits)
			if w.MustKeep(2000) {
				w.Keep(t.Context(), store(t), name)
			}
			again, _, err := execute.Restore(w.Text, nil, w.Notes(nil), w.IsError, w.Kept)
			if err != nil {
				t.Fatal(err)
			}
			want, got := w.Fit(2000, offered), again.Fit(2000, offered)
			if !reflect.DeepEqual(want, got) {
				t.Errorf("before the restart:\n%.300s\nafter it:\n%.300s", want.Text, got.Text)
			}
			if again.EndTurn != w.EndTurn || again.IsError != w.IsError {
				t.Error("end of turn or error are lost")
			}
			if n := utf8.RuneCountInString(got.Text); n > 2000 || n != got.Chars {
				t.Errorf("%d characters, said to be %d, in a room of 2000", n, got.Chars)
			}
		})
	}
}

// A result that cannot be kept says so and names no file.
func TestLaw04WhatWasNotKeptIsNotPointedAt(t *testing.T) {
	w := convert(tool.Text(strings.Repeat("row\n", 20000)), tool.Traits{})
	w.Keep(t.Context(), full{}, name)
	shown := w.Fit(2000, offered)
	if w.Kept != nil || w.Unkept == "" {
		t.Fatalf("kept %v, reason %q", w.Kept, w.Unkept)
	}
	if !strings.Contains(shown.Text, "no space left on device") || strings.Contains(shown.Text, "tool-results/") || strings.Contains(shown.Text, "workspace--read") {
		t.Errorf("the notice: %s", shown.Text)
	}
}

// full is a disk without room.
type full struct{ spill.Store }

func (full) Create(context.Context, spill.Name) (spill.Writer, error) {
	return nil, &errFull{}
}

type errFull struct{}

func (*errFull) Error() string { return "create the file: " + syscall.ENOSPC.Error() }
func (*errFull) Unwrap() error { return syscall.ENOSPC }

func TestRestoreRefusesDamagedNotes(t *testing.T) {
	for _, notes := range []string{"{", `{"marks":[{"at":5,"len":99}]}`, `{"marks":[{"at":-1,"len":1}]}`} {
		if _, _, err := execute.Restore("text", nil, []byte(notes), false, nil); err == nil {
			t.Errorf("%s: no error", notes)
		}
	}
}
