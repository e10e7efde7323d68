package cases

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/tool"
)

// terminalCases are what a terminal makes of control codes: topics ansi and cr-progress.
func terminalCases() map[string]runner {
	return map[string]runner{
		"C046": func(t *testing.T, c field) {
			out := inputOf[blob](t, c).bytes(t)
			// A line without an escape stays as it is, its blanks and its tab too.
			out = append(out, "  a plain\tline  \n"...)
			plain(t, out, "link ok end\n  a plain\tline  \n")
		},
		"C047": writtenEscapes,
		"C048": func(t *testing.T, c field) {
			// 44 frames: the first, the last and how many there were between them.
			plain(t, []byte(inputOf[output](t, c).build(t)), "Retrieving: 0% [… 42 redraws, then erased]\nRetrieving: 5%\n")
		},
		"C050": func(t *testing.T, c field) {
			plain(t, inputOf[blob](t, c).bytes(t), "Hello\nHello"+strings.Repeat("-", 15)+"\n")
		},
	}
}

// plain holds what becomes of a terminal's output under PlainTerminal, returned as bytes and streamed in
// pieces of every size up to 3: the model is shown want, the file has the bytes as they came. Without
// PlainTerminal the model is shown the output as it is: cleaning is asked for, never done unasked.
func plain(t *testing.T, out []byte, want string) {
	t.Helper()
	asked := tool.Traits{PlainTerminal: true}
	tools := []tool.Tool{gives("bytes", tool.Result{Data: out}, asked), gives("raw", tool.Result{Data: out})}
	status := "[exit 0]"
	for size := 1; size <= 3; size++ {
		var pieces [][]byte
		for p := out; len(p) > 0; p = p[min(size, len(p)):] {
			pieces = append(pieces, p[:min(size, len(p))])
		}
		tools = append(tools, prints("stream"+strings.Repeat("-", size), pieces, 0, asked))
	}
	w := newWorld(t, tools...)
	got := w.round(asks("", "bytes", "{}"), asks("", "raw", "{}"), asks("", "stream-", "{}"), asks("", "stream--", "{}"), asks("", "stream---", "{}"))
	for i, a := range got {
		shown, whole := want, string(out)
		switch {
		case a.call.Tool == "raw":
			shown = whole
		case i >= 2:
			shown, whole = shown+status, whole+status
		}
		if d := cmp.Diff(shown, a.text); d != "" {
			t.Errorf("%s is shown (-want +got):\n%s", a.call.Tool, d)
		}
		if d := cmp.Diff(whole, a.whole); d != "" {
			t.Errorf("%s is kept (-want +got):\n%s", a.call.Tool, d)
		}
		if kept := a.file != ""; kept != (shown != whole) {
			t.Errorf("%s has a file: %v", a.call.Tool, kept)
		}
	}
	if body := w.last(); bytes.Count(body, []byte(`\u001b`)) == 0 && bytes.IndexByte(out, 0x1b) >= 0 {
		t.Error("the raw output was cleaned without being asked to be")
	}
}

// writtenEscapes are escapes that the model itself wrote. The rule: they are kept, and the model is told
// how many there are and which.
func writtenEscapes(t *testing.T, c field) {
	in := inputOf[rawJSON](t, c)
	args := strings.Replace(in.Text, `"run.sh"`, `"project/run.sh"`, 1)
	const text = "\x1b[1m#!/bin/sh\x1b[0m\necho hi\n"
	w := newWorld(t)
	w.put("here", "")
	w.writable = true
	a := w.call("workspace--write", args)
	want := fmt.Sprintf("project/run.sh: written, a new file of %d bytes in 2 lines; 2 control characters were kept: U+001B\n", len(text))
	if d := cmp.Diff(want, a.text); d != "" || a.isError {
		t.Errorf("error %v (-want +got):\n%s", a.isError, d)
	}
	if got, err := os.ReadFile(filepath.Join(w.project, "run.sh")); err != nil || string(got) != text {
		t.Errorf("the file has %q, %v", got, err)
	}
	for where, got := range map[string]string{"stored": string(a.call.Args), "on the wire": string(argsOf(t, w.last(), "workspace--write")[0])} {
		if got != args {
			t.Errorf("the arguments %s are %s", where, got)
		}
	}
}
