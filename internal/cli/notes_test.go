package cli

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
)

// A tool that the model is not offered as it is given is told in a line, also at the start of a conversation.
func TestNotesAreTold(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	w := &watcher{screen: &screen{out: &out, err: &errs}}
	w.opened(agent.EpochOpened{Epoch: 1, Reason: "start", Notes: []string{"tool a--b is left out: its schema is of type \"array\" at the root, not object", "tool c\x1b[2J"}})
	want := "tool a--b is left out: its schema is of type \"array\" at the root, not object\ntool c [2J\n"
	if diff := cmp.Diff(want, errs.String()); diff != "" || out.Len() > 0 {
		t.Errorf("(-want +got):\n%s%s", diff, &out)
	}
}
