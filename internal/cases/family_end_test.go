package cases

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// familyEnds are the items of families G and H: what has an end, and what is empty.
func familyEnds() map[string]item {
	return map[string]item{
		"G01": timeIsUp, "G02": cancelIsBounded, "G05": idleAndAbsolute,
		"H01": emptyStaysEmpty, "H02": stopWithoutACall, "H03": noEmptyTurn, "H04": noContentAtAll,
	}
}

func timeIsUp(t *testing.T) {
	hangs := func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}
	w := quick(t, handler("own", hangs, tool.Traits{Timeout: 30 * time.Millisecond}), handler("default", hangs), gives("fine", tool.Text("fine")))
	w.config.Calls.Timeout = 50 * time.Millisecond
	got := w.all()
	for i, want := range []string{"own was stopped: it ran longer than its limit of 30ms.", "default was stopped: it ran longer than its limit of 50ms.", "fine"} {
		if a := got[i]; !strings.HasPrefix(a.text, want) || a.isError != (i < 2) {
			t.Errorf("%s: %q, error %v", a.call.Tool, a.text, a.isError)
		}
	}
	if execute.DefaultTimeout <= 0 || execute.DefaultTimeout > 10*time.Minute {
		t.Errorf("a call without a limit of its own may take %s", execute.DefaultTimeout)
	}
}

func cancelIsBounded(t *testing.T) {
	w := quick(t)
	if took, _ := deaf(t, w, "deaf"); took > soon {
		t.Errorf("a cancel returned after %s while the call heard nothing", took)
	}
}

func idleAndAbsolute(t *testing.T) {
	w := quick(t,
		handler("idle", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}, tool.Traits{Idle: 40 * time.Millisecond, Timeout: time.Minute}),
		handler("busy", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			for ctx.Err() == nil {
				tool.Report(ctx, "still at it")
				time.Sleep(time.Millisecond)
			}
			return tool.Result{}, ctx.Err()
		}, tool.Traits{Idle: 5 * time.Second, Timeout: 300 * time.Millisecond}))
	got := w.all()
	for i, want := range []string{"idle was stopped: it reported no progress for 40ms.", "busy was stopped: it ran longer than its limit of 300ms."} {
		if !strings.HasPrefix(got[i].text, want) || !got[i].isError {
			t.Errorf("%q, want %q", got[i].text, want)
		}
	}
	if strings.Contains(got[1].text, "progress") || strings.Contains(got[0].text, "limit") {
		t.Errorf("the two limits are not told apart: %q and %q", got[0].text, got[1].text)
	}
}

func emptyStaysEmpty(t *testing.T) {
	w := quick(t, gives("t", tool.Text("")), gives("blank", tool.Text(" \n")))
	w.round(asks("a", "t", "{}"), asks("b", "blank", "{}"))
	live := split(t, w.last()).Messages
	w.turn("More.", scripted.Step{Text: "Fine."})
	if got := split(t, w.last()).Messages; !strings.HasPrefix(string(got), string(live)) {
		t.Error("replayed are other bytes")
	}
	if d := cmp.Diff([]string{"a=", "b= \n"}, textsOf(w.shown())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// textsOf gives results as id=text.
func textsOf(blocks []wireBlock) (all []string) {
	for _, b := range blocks {
		all = append(all, b.ID+"="+*b.Text)
	}
	return all
}

func stopWithoutACall(t *testing.T) {
	for _, text := range []string{"", "I call a tool."} {
		w := quick(t)
		out := w.turn("Go on.", scripted.Step{Text: text, Stop: membrane.StopCalls})
		if out.Reason != "the model stopped to call a tool, without a call" || len(w.received()) != 1 {
			t.Errorf("%q: ended as %q after %d requests", text, out.Reason, len(w.received()))
		}
		if out := w.turn("More.", scripted.Step{Text: "Fine."}); out.Text != "Fine." {
			t.Errorf("%q: the next turn ended as %q", text, out.Text)
		}
	}
}

func noEmptyTurn(t *testing.T) {
	w := quick(t)
	w.steps = []scripted.Step{{Text: "Fine."}}
	nothing := func(m *scripted.Model) membrane.Model {
		return otherModel{Model: m, stream: func(context.Context, membrane.Request) stream {
			return func(yield func(membrane.Event, error) bool) {
				yield(membrane.Done{Message: membrane.Message{Role: membrane.Assistant}, Stop: membrane.StopEnd}, nil)
			}
		}}
	}
	w.with(nothing, func(a *agent.Agent, _ *sqlite.Store) {
		if out, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Go on."}).Collect(); err != nil || out.Reason != "done" {
			t.Fatalf("ended as %q, %v", out.Reason, err)
		}
	})
	w.turn("More.")
	for i, m := range parseBody(t, w.last()).Messages {
		if len(m.Content) == 0 {
			t.Errorf("message %d (%s) is sent empty", i+1, m.Role)
		}
	}
	if d := cmp.Diff([]string{`user "Go on."`, `user "More."`}, parseBody(t, w.last()).outline()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func noContentAtAll(t *testing.T) {
	w := quick(t, gives("none", tool.Blocks()), gives("blank", tool.Blocks(textOf(""))), gives("two", tool.Blocks(textOf(""), textOf(""))))
	w.all()
	live := split(t, w.last()).Messages
	w.turn("More.", scripted.Step{Text: "Fine."})
	if got := split(t, w.last()).Messages; !strings.HasPrefix(string(got), string(live)) {
		t.Error("replayed are other bytes")
	}
	if d := cmp.Diff([]string{"call-1=", "call-2=", "call-3=\n"}, textsOf(w.shown())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
