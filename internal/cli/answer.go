package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
)

// maxReason is the longest reason in characters: the model reads it.
const maxReason = 2000

// answerFlags are the answers to what waits.
type answerFlags struct {
	approve, deny []string
	reason        string
}

// answers reads the flags; it knows nothing of what is stored.
func (f answerFlags) answers() ([]agent.Answer, error) {
	if f.reason != "" && len(f.deny) == 0 {
		return nil, misuse("--reason is told of a call that is denied: give --deny CALL too")
	}
	if err := checkReason(f.reason); err != nil {
		return nil, err
	}
	var all []agent.Answer
	named := map[string]bool{}
	for _, side := range []struct {
		flag  string
		ids   []string
		grant bool
	}{{"approve", f.approve, true}, {"deny", f.deny, false}} {
		for _, id := range side.ids {
			if _, err := history.ParseCallID(id); err != nil {
				return nil, misuse("--%s %q names no call: an id looks like r3-1", side.flag, clip(id, 40))
			}
			if named[id] {
				return nil, misuse("%s is answered twice: give it to --approve or to --deny, once", id)
			}
			named[id] = true
			answer := agent.Answer{Call: id, Grant: side.grant}
			if !side.grant {
				answer.Reason = f.reason
			}
			all = append(all, answer)
		}
	}
	return all, nil
}

// checkReason refuses a reason that is no text for a model.
func checkReason(reason string) error {
	switch {
	case !utf8.ValidString(reason):
		return misuse("the reason is not UTF-8 text")
	case utf8.RuneCountInString(reason) > maxReason:
		return misuse("the reason is longer than %s characters: say it shorter", number(maxReason))
	}
	return nil
}

// checkAnswers refuses answers to what does not wait, and says what does. The store refuses them too, but
// only once the conversation is taken.
func checkAnswers(ctx context.Context, store history.Store, id string, answers []agent.Answer) error {
	if len(answers) == 0 {
		return nil
	}
	calls, err := store.CallsOf(ctx, id, 0)
	if err != nil {
		return err
	}
	asked, err := store.ApprovalsOf(ctx, id, 0)
	if err != nil {
		return err
	}
	states := map[string]history.ApprovalState{}
	for _, q := range asked {
		states[q.ID.String()] = q.State
	}
	byID := map[string]history.Call{}
	var waiting []string
	for _, c := range calls {
		name := c.ID.String()
		byID[name] = c
		if c.State == history.CallWaiting && states[name] == history.ApprovalAsked {
			waiting = append(waiting, name)
		}
	}
	there := "none waits"
	if len(waiting) > 0 {
		there = "waiting: " + strings.Join(waiting, ", ")
	}
	for _, answer := range answers {
		c, ok := byID[answer.Call]
		switch state := states[answer.Call]; {
		case !ok:
			return fmt.Errorf("conversation %s has no call %s; %s", id, answer.Call, there)
		case c.State != history.CallWaiting && state != "":
			return fmt.Errorf("call %s waits no more, it was answered and is %s; %s", answer.Call, standingOf(c), there)
		case c.State != history.CallWaiting:
			return fmt.Errorf("call %s needs no approval, it is %s; %s", answer.Call, standingOf(c), there)
		case state != history.ApprovalAsked:
			return fmt.Errorf("call %s is %s already: weir resume without it goes on; %s", answer.Call, state, there)
		}
	}
	return nil
}

// standingOf says for people how a call stands.
func standingOf(c history.Call) string {
	if c.Outcome != "" {
		return strings.ReplaceAll(string(c.Outcome), "_", " ")
	}
	return string(c.State)
}

// errNoAnswer says that what was typed answers nothing.
var errNoAnswer = errors.New("type y to let it run, or n, with the reason behind it if there is one")

// parseAnswer reads the answer of a person to one question: y, or n with a reason behind it.
func parseAnswer(id, line string) (agent.Answer, error) {
	word, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
	answer := agent.Answer{Call: id}
	switch strings.ToLower(word) {
	case "y", "yes":
		if strings.TrimSpace(reason) != "" {
			return answer, errNoAnswer // "yes, but" is no yes
		}
		answer.Grant = true
		return answer, nil
	case "n", "no":
		answer.Reason = strings.TrimSpace(reason)
		return answer, checkReason(answer.Reason)
	}
	return answer, errNoAnswer
}
