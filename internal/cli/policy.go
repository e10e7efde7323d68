package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-run/weir/round"
)

// The words that stand for all calls, where --approve takes the name of a tool.
const (
	// askAll asks before every call of a tool that is not read-only.
	askAll = "ask"
	// askNone asks before no call.
	askNone = "never"
)

// approveUsage is what help says of the flag that decides which calls are asked about.
const approveUsage = "which calls wait for an approval: ask, all that are not read-only; never, none (the default); or a `TOOL`, which may be repeated"

// policy reads the words of the flag that decides which calls are asked about; nil is none.
func policy(flag string, words []string) ([]string, error) {
	var asked []string
	for _, w := range words {
		switch {
		case w == "":
			return nil, misuse("--%s is empty: give ask, never or the name of a tool", flag)
		case (w == askAll || w == askNone) && len(words) > 1:
			return nil, misuse("--%s %s stands alone: it is about every call", flag, w)
		case w == askNone:
			return nil, nil
		case !slices.Contains(asked, w):
			asked = append(asked, w)
		}
	}
	return asked, nil
}

// checkPolicy refuses a name that is no tool's: the calls that it meant would run unasked.
func checkPolicy(asked, tools []string) error {
	for _, name := range asked {
		if name != askAll && !slices.Contains(tools, name) {
			return misuse("approvals are asked for calls of %s, which is no tool of this run: it has %s",
				clip(fmt.Sprintf("%q", name), 80), strings.Join(tools, ", "))
		}
	}
	return nil
}

// decide is who decides whether a call may run: nil lets every call run.
func (s setup) decide() func(context.Context, round.Question) (round.Decision, error) {
	if len(s.Approve) == 0 {
		return nil
	}
	return func(_ context.Context, q round.Question) (round.Decision, error) {
		all := slices.Contains(s.Approve, askAll)
		if all && !q.Tool.ReadOnly || !all && slices.Contains(s.Approve, q.Call.Name) {
			return round.Decision{Verdict: round.Ask}, nil
		}
		return round.Decision{Verdict: round.Allow}, nil
	}
}
