package cli

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
)

// waits is a call that waits for an approval. The names of its members are stable.
type waits struct {
	Result string `json:"result"`
	Tool   string `json:"tool"`
	// Args are the exact arguments that would be used.
	Args string `json:"args"`
}

// waits tells of the calls that wait, with what one has to see to answer.
func (w *watcher) waits(ctx context.Context, ids []string) {
	w.report.Waiting = w.waitingCalls(ctx, ids)
	for _, c := range w.report.Waiting {
		args, all := w.screen.fit(exact(c.Args))
		w.screen.line("%-5s %s waits for an approval: %s", c.Result, c.Tool, args)
		if !all {
			w.screen.line("      its arguments are cut here, they have %s: %s has them whole",
				plural(len([]rune(c.Args)), "character"), w.app.command("history", "show", "--json", w.short(ctx)))
		}
	}
}

// waitingCalls reads the calls of ids; what cannot be read has only its id.
func (w *watcher) waitingCalls(ctx context.Context, ids []string) []waits {
	var all []waits
	for _, id := range ids {
		c := waits{Result: id}
		if parsed, err := history.ParseCallID(id); err == nil {
			calls, _ := w.store.CallsOf(context.WithoutCancel(ctx), w.conversation, parsed.Round) // then it has only its id
			for _, call := range calls {
				if call.ID == parsed {
					c.Tool, c.Args = call.Tool, string(call.Args)
				}
			}
		}
		all = append(all, c)
	}
	return all
}

// approved tells of an answer that was stored.
func (w *watcher) approved(e agent.ApprovalAnswered) {
	switch {
	case e.Granted:
		w.screen.line("%-5s is approved", e.Result)
	case e.Reason != "":
		w.screen.line("%-5s is denied: %s", e.Result, clip(e.Reason, 200))
	default:
		w.screen.line("%-5s is denied", e.Result)
	}
}

// answering are the commands that answer all that waits.
func (w *watcher) answering(id string) []string {
	var grant, deny []string
	for _, c := range w.report.Waiting {
		grant = append(grant, "--approve", c.Result)
		deny = append(deny, "--deny", c.Result)
	}
	return []string{w.resume(id, grant...), w.resume(id, append(deny, "--reason")...) + " WHY"}
}

// exact writes a text so that everything in it can be seen: what a terminal would act on, or not show, is
// written as an escape.
func exact(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == unicode.ReplacementChar && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

const (
	// fitLines is how many lines of a terminal a call's arguments may take.
	fitLines = 10
	// fitChars is how many characters of them are shown elsewhere.
	fitChars = 2000
)

// fit cuts a text in its middle so that it does not fill the screen; false when it did.
func (s *screen) fit(text string) (string, bool) {
	room := fitChars
	if terminal(s.err) {
		room = fitLines * s.width()
	}
	r := []rune(text)
	if len(r) <= room {
		return text, true
	}
	tail := room / 4
	return fmt.Sprintf("%s … %s left out … %s", string(r[:room-tail]), plural(len(r)-room, "character"), string(r[len(r)-tail:])), false
}
