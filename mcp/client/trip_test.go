//go:build unix

package client_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/mcp/client"
)

// TestTrips has a server of the stateless era that asks for input without an end, for a retry without an end,
// and for what nobody can give.
func TestTrips(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	server := hostile(t, script{Era: "2026-07-28", Tools: []string{list("ask", "retry", "sample", "task")}, Call: map[string]string{
		"ask":    `{"resultType":"input_required","requestState":"\u00e9 <&> \\\" 1","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Really?"}},"r":{"method":"roots/list"}}}`,
		"retry":  `{"resultType":"input_required","requestState":"s"}`,
		"sample": `{"resultType":"input_required","inputRequests":{"m":{"method":"sampling/createMessage","params":{}}}}`,
		"task":   `{"resultType":"task","taskId":"t"}`,
	}})
	server.Env["WEIR_HOSTILE_LOG"] = log
	o := quick()
	asked := 0
	o.Elicit = func(_ context.Context, server string, params json.RawMessage) (json.RawMessage, error) {
		asked++
		if server != "s" || string(params) != `{"message":"Really?"}` {
			t.Errorf("asked for %s: %s", server, params)
		}
		return json.RawMessage(`{"action":"decline"}`), nil
	}
	s := connect(t, o, map[string]client.Server{"s": server})
	if st := s.Servers()[0]; st.Protocol != "2026-07-28" {
		t.Fatalf("protocol %s (%v)", st.Protocol, st.Err)
	}
	for _, c := range []struct{ tool, text string }{
		{"ask", "s--ask failed: the server asked for more each of the 10 times that the call was sent, so it is not sent again"},
		{"retry", "s--retry failed: the server asked for more each of the 10 times that the call was sent, so it is not sent again"},
		{"sample", `s--sample failed: the server asks for input that cannot be given here (sampling/createMessage: ""), so the call was not completed. Give what it asks for in the arguments, if they can hold it`},
		{"task", `the server started a task in the background, which it was not asked to do and which is not waited for: {"resultType":"task","taskId":"t"}`},
	} {
		r, text := call(t, s, "s--"+c.tool, `{"a":9007199254740993}`)
		if diff := cmp.Diff(c.text, text); diff != "" || !r.IsError {
			t.Errorf("%s: %s", c.tool, diff)
		}
	}
	if asked != client.MaxTrips-1 {
		t.Errorf("a person was asked %d times", asked)
	}
	sent, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	calls, stated := 0, 0
	for _, line := range strings.Split(string(sent), "\n") {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Params json.RawMessage `json:"params"`
		}
		if !strings.Contains(line, `"tools/call"`) || json.Unmarshal([]byte(line), &m) != nil {
			continue
		}
		calls++
		ids[string(m.ID)] = true
		if !strings.Contains(line, `"arguments":{"a":9007199254740993}`) {
			t.Errorf("the arguments are not those of the model: %s", line)
		}
		if strings.Contains(line, `"inputResponses":{"q":{"action":"decline"},"r":{"roots":[]}},"requestState":"\u00e9 <&> \\\" 1"`) {
			stated++
		}
	}
	if calls != 22 || len(ids) != calls || stated != client.MaxTrips-1 {
		t.Errorf("%d calls with %d ids, %d of them with the state as it came:\n%s", calls, len(ids), stated, sent)
	}
}
