package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
)

// watcher tells what happens in a turn and keeps its figures.
type watcher struct {
	turn
	store   history.Reader
	screen  *screen
	report  report
	model   string
	running []string
	// said counts the bytes of each request's text that were written.
	said map[int]int
	// args are the arguments of the calls of the round at hand.
	args map[string]string
	open time.Time
}

func newWatcher(t turn, store history.Reader, model string) *watcher {
	return &watcher{
		turn: t, store: store, screen: t.app.newScreen(t.asJSON), model: model, open: time.Now(),
		said: map[int]int{}, args: map[string]string{}, report: report{Conversation: t.conversation, Results: []settled{}},
	}
}

// see takes one event. An error means that the output cannot be written.
func (w *watcher) see(ctx context.Context, e agent.Event) error {
	switch e := e.(type) {
	case agent.TurnBegun:
		w.report.Turn = e.Turn
		w.asking()
	case agent.EpochOpened:
		w.report.Epochs = append(w.report.Epochs, epoch{e.Epoch, e.Reason, e.Bytes})
		w.opened(e)
	case agent.TextDelta:
		w.said[e.Request] += len(e.Text)
		return w.screen.say(e.Text)
	case agent.Answered:
		return w.answered(e)
	case agent.CallStarted:
		w.running = append(w.running, e.Result+" "+e.Tool)
		w.working()
	case agent.Progress:
		w.screen.now(e.Result + " " + e.Tool + ": " + e.Text)
	case agent.CallSettled:
		w.settled(ctx, e)
	case agent.RoundClosed:
		w.closed(ctx, e)
	case agent.Looping:
		w.looping(e)
	case agent.Restarted:
		w.screen.line("request %d was interrupted: the model is asked again", e.Request)
		w.asking()
	case agent.Retrying:
		w.screen.line("request %d failed (%s): it is asked again in %s", e.Request, clip(e.Text, 200), took(e.Wait))
	case agent.ApprovalAnswered:
		w.approved(e)
	case agent.Waiting:
		w.report.Turn = e.Turn
		w.waits(ctx, e.Calls)
	case agent.RequestFailed:
		if e.Partial != "" {
			w.screen.line("the answer broke off; it was not stored")
		}
	case agent.Trouble:
		w.trouble(e)
	case agent.TurnEnded:
		return w.ended(e)
	}
	return nil
}

// opened tells of an epoch that is not the first: what changed, and what it costs; and of any, which tools
// the model is offered otherwise than they are given.
func (w *watcher) opened(e agent.EpochOpened) {
	for _, note := range e.Notes {
		w.screen.line("%s", clip(printable(note), 500))
	}
	switch {
	case e.Epoch == 1:
	case e.Reason == "compaction":
		w.screen.line("epoch %d: the conversation is compacted, old results are references to what is stored; %s are no longer in a prompt cache",
			e.Epoch, size(e.Bytes))
	default:
		w.screen.line("epoch %d: the %s changed, so %s are no longer in a prompt cache", e.Epoch, e.Reason, size(e.Bytes))
	}
}

// answered writes what of the answer was not written as it came, and ends its line.
func (w *watcher) answered(e agent.Answered) error {
	w.report.Text = e.Text
	w.report.Requests++
	w.report.Tokens.add(e)
	if rest := e.Text[min(w.said[e.Request], len(e.Text)):]; rest != "" {
		if err := w.screen.say(rest); err != nil {
			return err
		}
	}
	w.working()
	return w.screen.endLine()
}

// settled tells of a result: its figures, and where it lies when it is in a file.
func (w *watcher) settled(ctx context.Context, e agent.CallSettled) {
	w.report.Results = append(w.report.Results, settled{
		Result: e.Result, Tool: e.Tool, Outcome: e.Outcome, IsError: e.IsError, Bytes: e.Bytes, Lines: e.Lines,
		Chars: e.Chars, Path: e.Path, DurationMS: e.DurationMS,
	})
	line := fmt.Sprintf("%-5s %s%s: ", e.Result, e.Tool, w.asked(ctx, e.Result))
	switch {
	case e.Outcome != string(history.OutcomeDone):
		line += strings.ReplaceAll(e.Outcome, "_", " ") + ", "
	case e.IsError:
		line += "error, "
	}
	line += fmt.Sprintf("%s, %s", plural(e.Lines, "line"), plural(e.Chars, "character"))
	if e.DurationMS >= 1000 {
		line += ", " + took(time.Duration(e.DurationMS)*time.Millisecond)
	}
	if e.Path != "" {
		line += ", whole in " + e.Path
	}
	w.screen.line("%s", line)
	w.running = slices.DeleteFunc(w.running, func(r string) bool { return r == e.Result+" "+e.Tool })
	w.working()
}

// closed takes the end of a round. What was shortened only for the sake of the round is named now.
func (w *watcher) closed(ctx context.Context, e agent.RoundClosed) {
	w.report.Rounds++
	w.report.Spilled += e.Spilled
	w.report.Shown += e.Shown
	w.asking()
	results, err := w.store.ResultsOf(context.WithoutCancel(ctx), w.conversation, e.Round)
	if err != nil {
		return // the figures above are right without it
	}
	for _, r := range results {
		i := slices.IndexFunc(w.report.Results, func(s settled) bool { return s.Result == r.ID.String() })
		if i >= 0 && r.Spill != nil && w.report.Results[i].Path == "" {
			w.report.Results[i].Path = r.Spill.Path()
			w.screen.line("%-5s is shortened to fit the round, whole in %s", r.ID, r.Spill.Path())
		}
	}
}

// asked gives the arguments of a call for people; the calls of a round are read once.
func (w *watcher) asked(ctx context.Context, result string) string {
	if _, ok := w.args[result]; !ok {
		id, err := history.ParseCallID(result)
		if err != nil {
			return ""
		}
		calls, err := w.store.CallsOf(context.WithoutCancel(ctx), w.conversation, id.Round)
		if err != nil {
			return "" // they only stand beside the result
		}
		clear(w.args)
		for _, c := range calls {
			w.args[c.ID.String()] = strings.TrimSpace(clip(printable(string(c.Args)), 80))
		}
	}
	if args := w.args[result]; args != "" && args != "{}" {
		return " " + args
	}
	return ""
}

// looping tells of calls that are made again and again.
func (w *watcher) looping(e agent.Looping) {
	what := "the model was told so"
	if e.Ended {
		what = "the turn ends for it"
	}
	w.screen.line("round %d: %s, for the %d. time with the same result: %s", e.Round, strings.Join(e.Tools, " and "), e.Repeats, what)
}

// trouble tells of what people should look at.
func (w *watcher) trouble(e agent.Trouble) {
	var data struct{ Result, Tool, Reason string }
	if json.Unmarshal(e.Data, &data) != nil {
		data.Reason = string(e.Data)
	}
	text := strings.ReplaceAll(e.Kind, "_", " ")
	if data.Reason != "" {
		text += ": " + data.Reason
	}
	text = strings.TrimSpace(data.Result + " " + data.Tool + ": " + clip(text, 300))
	w.report.Troubles = append(w.report.Troubles, trouble{Kind: e.Kind, Result: data.Result, Text: text})
	w.screen.line("%s", text)
}

// ended takes the end of a turn; an older turn that was still open ends before this one begins.
func (w *watcher) ended(e agent.TurnEnded) error {
	if w.report.Turn == 0 && e.Reason == "superseded by a new turn" {
		w.screen.line("turn %d was still open: it is settled and gives way to this one", e.Turn)
		w.report = report{Conversation: w.conversation, Results: []settled{}}
		return nil
	}
	w.report.Turn, w.report.Reason, w.report.Rounds = e.Turn, e.Reason, max(e.Rounds, w.report.Rounds)
	w.screen.now("")
	return w.screen.endLine()
}

// asking and working say what goes on, with the totals so far.
func (w *watcher) asking() { w.screen.now("asking " + w.model + w.totals()) }

func (w *watcher) working() {
	switch n := len(w.running); n {
	case 0:
		w.screen.now("")
	case 1:
		w.screen.now(w.running[0] + w.totals())
	default:
		w.screen.now(fmt.Sprintf("%s and %d more", w.running[0], n-1) + w.totals())
	}
}

func (w *watcher) totals() string {
	if w.report.Requests == 0 {
		return ""
	}
	return fmt.Sprintf(" · round %d · %s tokens", w.report.Rounds+1, number(w.report.Tokens.In+w.report.Tokens.Out))
}

// close ends the telling: the closing lines, or the one JSON object, and the error of the turn.
func (w *watcher) close(ctx context.Context, err error) error {
	w.screen.close()
	if end := w.screen.endLine(); err == nil {
		err = end
	}
	if err == nil {
		err = verdict(w.report.Reason)
	}
	interrupted := err != nil && errors.Is(context.Cause(ctx), errInterrupted)
	if err != nil {
		w.report.Error = oneLine(err.Error())
	}
	w.report.Next = w.next(w.conversation)
	if w.asJSON {
		if failed := w.app.emitJSON(w.report); err == nil {
			err = failed
		}
	} else if w.report.Turn > 0 || w.report.Requests > 0 || len(w.report.Results) > 0 {
		w.screen.line("%s", w.report.line(time.Since(w.open)))
		if !w.chat {
			w.screen.next(w.next(w.short(ctx)))
		}
	}
	if interrupted {
		return &exit{statusInterrupted, errors.New("interrupted: the turn is settled and stored as cancelled")}
	}
	return err
}

// next are the commands that one would type now.
func (w *watcher) next(id string) []string {
	a := w.app
	if len(w.report.Waiting) > 0 {
		return append(w.answering(id), a.command("history", "show", id))
	}
	if w.report.Reason == "" {
		return []string{w.resume(id), a.command("history", "show", id)}
	}
	next := []string{a.command("history", "show", id)}
	for _, r := range w.report.Results {
		if r.Path != "" {
			words := []string{"read", "--conversation", id, r.Result + ":1-20"}
			if id == latest {
				words = []string{"read", r.Result + ":1-20"}
			}
			next = append(next, a.command(words...))
			break
		}
	}
	return append(next, a.command(append([]string{"run", "--conversation", id}, w.reach...)...)+" PROMPT")
}

// resume is the command that goes on with the turn, with these words behind what it has to repeat.
func (w *watcher) resume(id string, words ...string) string {
	return w.app.command(slices.Concat([]string{"resume", id}, w.words, w.reach, words)...)
}

// short is what a person types for the conversation: latest where it is that.
func (w *watcher) short(ctx context.Context) string {
	list, err := w.store.Conversations(context.WithoutCancel(ctx), 1)
	if err != nil || len(list) == 0 || list[0].ID != w.conversation {
		return w.conversation
	}
	return latest
}
