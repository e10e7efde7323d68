package cases

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// compactionCases are conversations that become too long: C064 of topic orphan-call, topics orphan-result
// and cache-prune. That every call of every request has its result, right behind it, the world holds by
// itself.
func compactionCases() map[string]runner {
	return map[string]runner{"C064": summaryKeepsPairs, "C071": droppedTogether, "C094": onlyCompacted}
}

// tooLong is a step that fails while the conversation still has something in it, says the summary when it is
// asked for one, and goes on as then says.
func tooLong(has string, then scripted.Step) scripted.Step {
	return scripted.Step{Play: func(seen scripted.Seen) (scripted.Step, error) {
		last := seen.Messages[len(seen.Messages)-1]
		switch {
		case strings.Contains(last.PlainText(), "Sum it up"):
			return scripted.Step{Text: "What came before, in short."}, nil
		case strings.Contains(string(seen.Body), has):
			return scripted.Step{Fail: &scripted.Failure{Kind: membrane.ContextTooLong, Text: "too long"}}, nil
		}
		return then, nil
	}}
}

func summaryKeepsPairs(t *testing.T, c field) {
	events := story(t, c, "call", "result", "summarise", "resume")
	if events[2].KeepLast != 1 {
		t.Fatalf("keep %d", events[2].KeepLast)
	}
	// The last message that could be kept alone is the result; how much room is left for the end of the
	// conversation depends on how long what came before is.
	for _, before := range []int{1000, 10_000} {
		for _, size := range []int{1, 100, 1200} {
			result := strings.Repeat(events[1].Text+" and more words\n", size)
			w := newWorld(t, gives("sh", tool.Text(result)))
			long := "The question. " + strings.Repeat("It is long. ", before)
			w.steps = []scripted.Step{{Text: "Fine."}}
			w.turn(long)
			out := w.turn("Go on.", scripted.Step{Calls: []scripted.Call{asks(events[0].id(), "sh", "{}")}}, tooLong("The question.", scripted.Step{Text: "Done."}))
			if out.Text != "Done." {
				t.Fatalf("%d, %d: ended as %q, %s", before, size, out.Text, out.Reason)
			}
			compacted(t, w, before, size)
			w.turn("And now?", scripted.Step{Text: "Done."}) // resumed by another process
			outline := parseBody(t, w.last()).outline()
			if n := strings.Count(strings.Join(outline, "\n"), "Summary of the"); n != 1 {
				t.Errorf("%d, %d: %d summaries in %v", before, size, n, outline)
			}
		}
	}
}

// compacted holds that a compaction happened and that the call is there with its result, or not at all.
func compacted(t *testing.T, w *world, what ...int) {
	t.Helper()
	w.look(func(s *sqlite.Store) {
		epochs, err := s.Epochs(t.Context(), talk)
		if err != nil || len(epochs) < 2 || epochs[len(epochs)-1].Reason != "compaction" {
			t.Errorf("%v: the epochs are %v, %v", what, epochs, err)
		}
	})
	outline := parseBody(t, w.last()).outline()
	if calls, results := slices.Contains(outline, "assistant c1"), slices.Contains(outline, "results c1"); calls != results {
		t.Errorf("%v: the call is there: %v, its result: %v: %v", what, calls, results, outline)
	}
}

func droppedTogether(t *testing.T, c field) {
	events := story(t, c, "call", "result", "user", "compact", "next_request")
	if events[3].Drop != 1 {
		t.Fatalf("drop %d", events[3].Drop)
	}
	w := newWorld(t, gives("sh", tool.Text(events[1].Text)))
	w.turn("The question. "+strings.Repeat("It is long. ", 2000), scripted.Step{Calls: []scripted.Call{asks(events[0].id(), "sh", "{}")}}, scripted.Step{Text: "Fine."})
	if out := w.turn(events[2].Text, tooLong("The question.", scripted.Step{Text: "Done."})); out.Text != "Done." {
		t.Fatalf("ended as %q, %s", out.Text, out.Reason)
	}
	compacted(t, w)
	outline := parseBody(t, w.last()).outline()
	if last := outline[len(outline)-1]; last != fmt.Sprintf("user %q", events[2].Text) {
		t.Errorf("the provider is asked %q", last)
	}
}

func onlyCompacted(t *testing.T, c field) {
	events := story(t, c, "call", "result_gen", "next_request", "prune", "next_request")
	long := join(events[1].Parts)
	w := newWorld(t, gives("sh", tool.Text(long)), gives("page", tool.Text("a page\n")))
	for range 3 {
		w.call("sh", "{}")
	}
	w.call("page", "{}")
	before := w.received()
	// Nothing is pruned on the way: up to here each request goes on where the one before it ended.
	for i := 1; i < len(before); i++ {
		a, b := split(t, before[i-1]), split(t, before[i])
		if !membrane.Prefixed(a, b) {
			t.Errorf("request %d does not go on where request %d ended", i+1, i)
		}
	}
	// Old results go only in a compaction, which is an epoch of its own that says so and what it costs. It
	// happens when the provider says that its context is full.
	w.steps = append(w.steps, scripted.Step{Play: func(seen scripted.Seen) (scripted.Step, error) {
		if len(seen.Body) > 60_000 {
			return scripted.Step{Fail: &scripted.Failure{Kind: membrane.ContextTooLong, Text: "too long"}}, nil
		}
		return scripted.Step{Calls: []scripted.Call{asks("", "workspace--read", `{"path":"tool-results/r1-1-sh.txt","char_offset":49990}`)}}, nil
	}}, scripted.Step{Text: "Done."})
	out := w.turn("Go on.")
	reasons, cost := opened(out)
	last := w.received()
	after := split(t, last[len(last)-2]) // the first one of the new epoch
	if want := int64(len(after.Head) + len(after.Messages)); !slices.Equal(reasons, []string{"compaction"}) || cost != want {
		t.Errorf("epochs %v cost %d bytes, want %d", reasons, cost, want)
	}
	if !bytes.Contains(after.Messages, []byte("[Left out to save room: r1-1, 50000 characters in 1 lines, stored whole as tool-results/r1-1-sh.txt]")) {
		t.Errorf("the result that was left out stands as: %.2000s", after.Messages)
	}
	// What was left out can still be read to its end, and the earlier epoch is as it was.
	messages := parseBody(t, w.last()).Messages
	if page := *messages[len(messages)-1].Content[0].Text; !strings.HasSuffix(page, "\n"+strings.Repeat("x", 10)) {
		t.Errorf("the page of what was left out: %q", page)
	}
	w.look(func(s *sqlite.Store) {
		got := fragments(t, s, 1)
		if want := string(split(t, last[len(last)-3]).Messages); got != want {
			t.Errorf("the first epoch has %d bytes and is not the %d that were sent of it", len(got), len(want))
		}
	})
}

// fragments joins what is stored of an epoch, as it goes on the wire.
func fragments(t *testing.T, s *sqlite.Store, epoch int) string {
	t.Helper()
	var all []byte
	err := s.Fragments(t.Context(), talk, epoch, 0, func(f history.Fragment) error {
		all = membrane.Joined([]byte("["), all, f.Bytes)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}
