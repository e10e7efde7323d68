package cases

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// textCases are what becomes of bytes that are no text, or not quite: topics stream-utf8-split,
// lone-surrogate, invalid-bytes and nul-bytes.
func textCases() map[string]runner {
	return map[string]runner{
		"C004": splitCharacter,
		"C005": cutCharacter,
		"C007": loneEscape,
		"C009": escapedPair,
		"C010": dirtyFailures,
		"C011": otherEncoding,
		"C012": hostCodepage,
		"C015": nulBytes,
	}
}

// flow is the input of kind stream.
type flow struct {
	Kind   string   `json:"kind"`
	Chunks []string `json:"stdout_chunks_b64"`
	Exit   int      `json:"exit"`
}

func (f flow) pieces(t *testing.T) (pieces [][]byte) {
	t.Helper()
	for _, c := range f.Chunks {
		pieces = append(pieces, unbase64(t, c))
	}
	return pieces
}

func splitCharacter(t *testing.T, c field) {
	in := inputOf[flow](t, c)
	w := newWorld(t, prints("sh", in.pieces(t), in.Exit))
	a := w.call("sh", "{}")
	const want = "\u2264\n[exit 0]"
	if a.text != want || a.whole != want {
		t.Errorf("shown %q, kept %q, want %q", a.text, a.whole, want)
	}
	nothingBeside(t, w)
	// A command that writes these pieces.
	w = withShell(t)
	if a := w.run(printed(in.pieces(t), in.Exit)); a.text != want || a.whole != want {
		t.Errorf("of a command: shown %q, kept %q, want %q", a.text, a.whole, want)
	}
	nothingBeside(t, w)
}

// nothingBeside holds that no file lies beside the texts: nothing had to be kept as it came.
func nothingBeside(t *testing.T, w *world) {
	t.Helper()
	w.look(func(s *sqlite.Store) {
		refs, err := s.SpillsOf(t.Context(), talk)
		if err != nil || len(refs) > 0 {
			t.Errorf("files are kept: %v, %v", refs, err)
		}
	})
}

func cutCharacter(t *testing.T, c field) {
	in := inputOf[flow](t, c)
	w := newWorld(t, prints("sh", in.pieces(t), in.Exit))
	a := w.call("sh", "{}")
	want := "ok \ufffd[exit 0]\n[1 character could not be decoded and stands as U+FFFD; the bytes as they came: tool-results/r1-1-sh.raw]"
	if d := cmp.Diff(want, a.text); d != "" {
		t.Errorf("shown (-want +got):\n%s", d)
	}
	if got := w.kept("tool-results/r1-1-sh.raw"); got != "ok \xe4\xbd" {
		t.Errorf("the bytes as they came: %q", got)
	}
	// What the text names can be read.
	page := w.call("workspace--read", `{"path":"tool-results/r1-1-sh.raw"}`)
	if _, body := pageOf(t, page); !strings.HasPrefix(body, "1\tok \ufffd") {
		t.Errorf("the page of the raw file: %q", page.text)
	}
}

func loneEscape(t *testing.T, c field) {
	in := inputOf[rawJSON](t, c)
	if len(loneEscapes(in.Text)) != 1 {
		t.Fatalf("the case has no half of a pair: %s", in.Text)
	}
	const want = `{"out":"ok \ufffd"}`
	w := newWorld(t, gives("raw", tool.JSON(json.RawMessage(in.Text))), inTurn("go", []tool.Result{tool.Value(decoded(t, in.Text))}))
	// The same way every time: three rounds, each in a process of its own. That they repeat is the means.
	w.config.Calls.Loops = agent.IgnoreLoops
	var sums [][32]byte
	for range 3 {
		got := w.round(asks("", "raw", "{}"), asks("", "go", in.Text))
		if got[0].text != want || got[0].whole != want {
			t.Errorf("raw JSON: shown %q, kept %q, want %q", got[0].text, got[0].whole, want)
		}
		// A value that encoding/json has read has the character itself.
		if want := "{\"out\":\"ok \ufffd\"}"; got[1].text != want || got[1].whole != want {
			t.Errorf("a decoded value: shown %q, kept %q, want %q", got[1].text, got[1].whole, want)
		}
		sums = append(sums, got[0].row.SHA256)
		if string(got[1].call.Args) != in.Text {
			t.Errorf("the arguments are stored as %q, the model wrote %q", got[1].call.Args, in.Text)
		}
	}
	if sums[0] != sums[1] || sums[1] != sums[2] {
		t.Error("the hashes of equal results differ")
	}
	// Arguments on the wire are by the same rule.
	if got := string(argsOf(t, w.last(), "go")[0]); got != want {
		t.Errorf("the arguments on the wire: %q, want %q", got, want)
	}
}

func decoded(t *testing.T, text string) map[string]string {
	t.Helper()
	var v map[string]string
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// argsOf gives the arguments of every call of a tool as they stand in a body.
func argsOf(t *testing.T, body []byte, name string) (all []json.RawMessage) {
	t.Helper()
	for _, m := range parseBody(t, body).Messages {
		for _, b := range m.Content {
			if b.Type == "call" && b.Tool == name {
				all = append(all, b.Args)
			}
		}
	}
	return all
}

func escapedPair(t *testing.T, c field) {
	in := inputOf[rawJSON](t, c)
	const cocktail = "print('\U0001F378')"
	heard := ""
	run, err := tool.Func("run", "Run code.", func(_ context.Context, in struct {
		Code string `json:"code"`
	},
	) (string, error) {
		heard = in.Code
		return "ran", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, gives("raw", tool.JSON(json.RawMessage(in.Text))), run, gives("value", tool.Value(decoded(t, in.Text))))
	got := w.round(asks("", "raw", "{}"), asks("", "run", in.Text), asks("", "value", "{}"))
	// Raw JSON stays as it was written (results.md §2); whoever reads it reads one character.
	if got[0].text != in.Text || decoded(t, got[0].text)["code"] != cocktail {
		t.Errorf("raw JSON: shown %q", got[0].text)
	}
	if heard != cocktail {
		t.Errorf("the tool was given %q, want %q", heard, cocktail)
	}
	if want := `{"code":"` + cocktail + `"}`; got[2].text != want {
		t.Errorf("a value: shown %q, want %q", got[2].text, want)
	}
	if args := string(argsOf(t, w.last(), "run")[0]); args != in.Text {
		t.Errorf("the arguments on the wire: %q, want those of the model, %q", args, in.Text)
	}
}

func dirtyFailures(t *testing.T, c field) {
	events := story(t, c, "call", "result", "call", "result")
	const want = "bad \ufffd text"
	// In a Go string half a pair is its three bytes, in raw JSON an escape: both lanes, the same text.
	half := strings.ReplaceAll(events[1].Text, `\ud835`, "\xed\xa0\xb5")
	if half == events[1].Text || events[1].Text != events[3].Text {
		t.Fatalf("the results are %q and %q", events[1].Text, events[3].Text)
	}
	raw := tool.JSON(json.RawMessage(`"` + events[1].Text + `"`))
	raw.IsError = true
	w := newWorld(t, gives("sh", tool.Error(half)), gives("raw", raw))
	var all []answer
	for _, name := range []string{"sh", "sh", "raw"} {
		all = append(all, w.call(name, "{}"))
	}
	for _, a := range all {
		if a.text != want || a.whole != want || !a.isError {
			t.Errorf("%s: shown %q, kept %q, error %v, want %q as an error", a.call.Tool, a.text, a.whole, a.isError, want)
		}
		if a.row.SHA256 != all[0].row.SHA256 {
			t.Errorf("%s: equal failures have unequal hashes", a.row.ID)
		}
	}
}

func otherEncoding(t *testing.T, c field) {
	raw := inputOf[blob](t, c).bytes(t)
	// The rule: each byte that belongs to no character is one U+FFFD. Of b3 c9 b9 a6 the two in the middle
	// happen to be a character.
	const text = "\ufffd\u0279\ufffd: PID 123\r\n"
	note := func(id, name string) string {
		return "[2 characters could not be decoded and stand as U+FFFD; the bytes as they came: tool-results/" + id + "-" + name + ".raw]"
	}
	w := newWorld(t, gives("bytes", tool.Result{Data: raw}), prints("sh", [][]byte{raw[:1], raw[1:]}, 0), gives("text", tool.Text(string(raw))))
	got := w.round(asks("", "bytes", "{}"), asks("", "sh", "{}"), asks("", "text", "{}"))
	for i, want := range []string{text + note("r1-1", "bytes"), text + "[exit 0]\n" + note("r1-2", "sh"), text} {
		if d := cmp.Diff(want, got[i].text); d != "" {
			t.Errorf("%s is shown (-want +got):\n%s", got[i].call.Tool, d)
		}
	}
	for _, path := range []string{"tool-results/r1-1-bytes.raw", "tool-results/r1-2-sh.raw"} {
		if kept := w.kept(path); kept != string(raw) {
			t.Errorf("%s has %q, want %q", path, kept, raw)
		}
	}
}

func hostCodepage(t *testing.T, c field) {
	in := inputOf[blob](t, c)
	if in.Codepage != 936 {
		t.Fatalf("codepage %d", in.Codepage)
	}
	raw := in.bytes(t)
	var bodies [][]byte
	for _, locale := range []string{"zh_CN.GBK", "C", "de_DE.ISO8859-1"} {
		w := newWorld(t)
		w.steps = []scripted.Step{{Calls: []scripted.Call{asks("", "bytes", "{}"), asks("", "stream", "{}")}}, {Text: "Done."}}
		w.child(job{Text: "Go on.", Tools: []jobTool{{Name: "bytes", Data: raw}, {Name: "stream", Data: raw, Stream: true}}},
			"LANG="+locale, "LC_ALL="+locale).done()
		body := w.last()
		bodies = append(bodies, body)
		var texts []string
		for _, b := range parseBody(t, body).Messages[2].Content {
			texts = append(texts, *b.Text)
		}
		if d := cmp.Diff([]string{"你好\n", "你好\n[exit 0]"}, texts); d != "" {
			t.Errorf("under %s (-want +got):\n%s", locale, d)
		}
		nothingBeside(t, w)
	}
	if string(bodies[0]) != string(bodies[1]) || string(bodies[1]) != string(bodies[2]) {
		t.Error("the host's locale changes what is sent")
	}
}

func nulBytes(t *testing.T, c field) {
	events := story(t, c, "call", "result_bytes", "reload")
	raw := unbase64(t, events[1].B64)
	const shown = "\u2400\x01log"
	w := newWorld(t, gives("sh", tool.Result{Data: raw}))
	first := w.call("sh", "{}")
	if first.text != shown || first.whole != string(raw) {
		t.Errorf("shown %q, kept %q, want %q and %q", first.text, first.whole, shown, raw)
	}
	again := w.answer(first.row.ID) // read back by another process
	if d := cmp.Diff(first.row, again.row); d != "" {
		t.Errorf("the row after a reload:\n%s", d)
	}
	// A result that cannot be written is an error of the run, and nothing of it is sent.
	w.steps = append(w.steps, scripted.Step{Calls: []scripted.Call{asks("", "sh", "{}")}}, scripted.Step{Text: "Sorry."})
	sent := len(w.received())
	w.sql(`CREATE TRIGGER no_room BEFORE INSERT ON results BEGIN SELECT RAISE(ABORT, 'no room'); END`)
	w.process(func(a *agent.Agent, _ *sqlite.Store) {
		_, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Again."}).Collect()
		if err == nil || !strings.Contains(err.Error(), "no room") || !strings.Contains(err.Error(), "round 2") {
			t.Errorf("a result that cannot be written: %v", err)
		}
	})
	if n := len(w.received()); n != sent+1 {
		t.Errorf("%d requests were sent after the failure, want none", n-sent-1)
	}
	w.sql(`DROP TRIGGER no_room`)
	// The loop sees it: the call is answered as one whose outcome is unknown, and the turn goes on.
	w.process(func(a *agent.Agent, _ *sqlite.Store) {
		if out, err := a.Resume(t.Context(), talk).Collect(); err != nil || out.Text != "Sorry." {
			t.Errorf("resumed to %q, %v", out.Text, err)
		}
	})
	if a := w.answer(history.CallID{Round: 2, Index: 1}); !a.isError || !strings.Contains(a.text, "may have taken effect") {
		t.Errorf("the call whose result was not written is answered: %q", a.text)
	}
}
