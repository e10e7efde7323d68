package scripted_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
)

// TestExpect asks in a conversation of a question, two calls and their results.
func TestExpect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expect, unmet string }{
		{`{"contains": "line \"7\"\n<b>"}`, ``},
		{`{"contains": "Where?"}`, `what is new contains "Where?"; shown: "line \"7\"\n<b>\nno such file"`},
		{`{"contains": "no such", "in": "new"}`, ``},
		{`{"not_contains": "Where?"}`, ``},
		{`{"not_contains": "such"}`, `what is new does not contain "such"; shown: "line \"7\"\n<b>\nno such file"`},
		{`{"in": "all", "contains": "Where?"}`, ``},
		{`{"in": "all", "contains": "grep {\"p\": 1.0}"}`, ``},
		{`{"in": "all", "contains": "There."}`, `the conversation contains "There."; shown: "Where?\nI look.\ngrep {\"p\": 1.0}\nread {}\nline \"7\"\n<b>\nno such file"`},
		{`{"in": "system", "equals": "Be careful."}`, ``},
		{`{"in": "system", "equals": "Be quick."}`, `the system text equals "Be quick."; shown: "Be careful."`},
		{`{"in": "system", "equals": ""}`, `the system text equals ""; shown: "Be careful."`},
		{`{"result": 1, "equals": "line \"7\"\n<b>"}`, ``},
		{`{"result": 1, "matches": "(?m)^<.>$"}`, ``},
		{`{"result": 2, "matches": "^l"}`, `result 2 matches "^l"; shown: "no such file"`},
		{`{"result": 3, "contains": "x"}`, `result 3 contains "x"; shown: 2 results`},
		{`{"result": 2, "is_error": true}`, ``},
		{`{"result": 1, "is_error": false}`, ``},
		{`{"result": 1, "is_error": true}`, `result 1 is an error; shown: "line \"7\"\n<b>"`},
		{`{"result": 2, "is_error": false}`, `result 2 is no error; shown: "no such file"`},
		{`{"tool": "a"}`, ``},
		{`{"tool": "c"}`, `the tool "c" is offered; shown: tools a, b`},
		{`{"no_tool": "c"}`, ``},
		{`{"no_tool": "b"}`, `the tool "b" is not offered; shown: tools a, b`},
	} {
		// The first expectation decides how far back the messages are read; it must change nothing.
		for _, first := range []string{`{"tool": "a"}`, `{"in": "all", "contains": "Where?"}`} {
			t.Run(c.expect+" after "+first, func(t *testing.T) {
				t.Parallel()
				expect(t, first, c.expect, c.unmet)
			})
		}
	}
}

func expect(t *testing.T, first, second, wantUnmet string) {
	k := newTalk(t, script(t, `{"steps": [
		{"text": "I look.", "calls": [{"id": "1", "name": "grep", "args": {"p": 1.0}}, {"id": "2", "name": "read"}]},
		{"text": "There.", "expect": [`+first+`, `+second+`]}
	]}`), scripted.Config{})
	k.say(membrane.UserText("Where?"))
	k.next()
	k.say(membrane.Message{Role: membrane.Results, Results: []membrane.Result{
		{CallID: "1", Tool: "grep", Text: "line \"7\"\n<b>"}, {CallID: "2", Tool: "read", Text: "no such file", IsError: true},
	}})
	deltas, _, err := k.ask()
	if wantUnmet == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	if len(deltas) > 0 {
		t.Errorf("something was said: %v", deltas)
	}
	var unmet *scripted.Unmet
	var typed *membrane.Error
	if !errors.As(err, &unmet) || !errors.As(err, &typed) {
		t.Fatalf("error %v (%T) is not the one of an expectation", err, err)
	}
	if diff := cmp.Diff("script test.json: step 2: expectation 2 is not met: "+wantUnmet, unmet.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("model scripted/test.json: invalid_request: "+unmet.Error(), err.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if unmet.Step != 2 || unmet.Number != 2 || typed.Kind != membrane.InvalidRequest {
		t.Errorf("step %d, expectation %d, kind %s", unmet.Step, unmet.Number, typed.Kind)
	}
}

func TestUnmetIsBounded(t *testing.T) {
	t.Parallel()
	k := newTalk(t, script(t, `{"steps": [{"expect": [{"contains": "needle"}]}]}`), scripted.Config{})
	k.say(membrane.UserText("start" + strings.Repeat("é", 100_000) + "end"))
	_, _, err := k.ask()
	if err == nil || len(err.Error()) > 2*membrane.MaxLine || !strings.Contains(err.Error(), `"start`) || !strings.Contains(err.Error(), `end" (100008 characters)`) {
		t.Errorf("error %v", err)
	}
}
