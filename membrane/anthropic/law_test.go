package anthropic_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/anthropic"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/tool"
)

// childEnv makes a process of this test run one turn: its address, its state folder and its text.
const childEnv = "WEIR_TEST_ANTHROPIC_CHILD"

func TestMain(m *testing.M) {
	if child := os.Getenv(childEnv); child != "" {
		at := strings.SplitN(child, "|", 3)
		if _, err := turn(context.Background(), at[0], at[1], at[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// tools are what the conversations of these tests have: results of all kinds.
func tools() []tool.Tool {
	say := func(name, text string, fail error) tool.Tool {
		return tool.Tool{Name: name, Traits: tool.Traits{ReadOnly: true}, Schema: []byte(`{"type":"object"}`), Run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Text(text), fail
		}}
	}
	return []tool.Tool{
		say("rows", "a < b & \u2028 \x00 \xff end\n", nil), say("files.read", `{"z": 1.0}`, nil), say("nothing", "", nil), say("blank", "\r\n", nil),
		say("fails", "", errors.New("disk <full>")), say("big", strings.Repeat("row & <b>\n", 9000), nil),
	}
}

// turn runs one turn with a store, a model and an agent of its own, as a process of its own would.
func turn(ctx context.Context, url, dir, text string) (out agent.Outcome, err error) {
	store, err := sqlite.Open(ctx, dir, sqlite.Config{})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	m, err := anthropic.New("claude-test", anthropic.Config{APIKey: secret, BaseURL: url})
	if err != nil {
		return out, err
	}
	a, err := agent.New(store, m, agent.Config{System: "Be brief.", Tools: tools()})
	if err != nil {
		return out, err
	}
	return a.Run(ctx, agent.Turn{Conversation: "c", Key: text, Text: text}).Collect()
}

func start() string {
	return `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}` + "\n"
}

func end(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":5}}` + "\n" + `{"type":"message_stop"}` + "\n"
}

// block is a block whose start and deltas are given.
func block(index int, start string, deltas ...string) string {
	out := fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`+"\n", index, start)
	for _, d := range deltas {
		out += fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`+"\n", index, d)
	}
	return out + fmt.Sprintf(`{"type":"content_block_stop","index":%d}`+"\n", index)
}

func say(index int, text string) string {
	return block(index, `{"type":"text","text":""}`, `{"type":"text_delta","text":"`+text+`"}`)
}

func call(index int, id, name, args string) string {
	return block(index, `{"type":"tool_use","id":"`+id+`","name":"`+name+`","input":{}}`, fmt.Sprintf(`{"type":"input_json_delta","partial_json":%q}`, args))
}

// TestLaw03PrefixAcrossTurnsAndRestarts plays a conversation of everything a provider answers, each
// turn with a store and a model of its own. Each body goes on where the one before ended, and is one
// that the provider takes.
func TestLaw03PrefixAcrossTurnsAndRestarts(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 30 {
		many.WriteString(call(i, fmt.Sprintf("toolu_%02d", i), "rows", `{"i": `+fmt.Sprint(i)+`}`))
	}
	turns := []struct {
		text, want string
		answers    []string
	}{
		{"one", "First.", []string{
			start() + block(0, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"Hm."}`, `{"type":"signature_delta","signature":"Sig="}`) + say(1, "I look.") +
				call(2, "toolu_a", "rows", `{"a": 1.0, "b":"<&>"}`) + call(3, "toolu_b", "files_read_x601e4eb608f9175e", ``) + call(4, "toolu_a", "nothing", `null`) + end("tool_use"),
			start() + call(0, "toolu_a", "fails", `{}`) + call(1, "toolu_c", "missing", `{}`) + call(2, "toolu_d", "blank", `{}`) + call(3, "toolu_e", "big", `{}`) + end("tool_use"),
			start() + say(0, "First.") + end("end_turn"),
		}},
		{"two, cut in a call", "Second.", []string{
			start() + say(0, "I write.") + call(1, "toolu_f", "rows", `{"message":"feat`) + end("max_tokens"),
			start() + say(0, "Second.") + end("end_turn"),
		}},
		{"three, thirty calls", "Third.", []string{start() + many.String() + end("tool_use"), start() + say(0, "Third.") + end("end_turn")}},
		{"four, thirty more", "Fourth.", []string{start() + many.String() + end("tool_use"), start() + say(0, "Fourth.") + end("end_turn")}},
		{"five, and once more", "Fifth.", []string{start() + many.String() + end("tool_use"), start() + say(0, "Fifth.") + end("end_turn")}},
		{"six, nothing to send back", "", []string{start() + say(0, `\n`) + end("end_turn")}},
		{"seven, cut while it thinks", "", []string{start() + block(0, `{"type":"thinking","thinking":""}`, `{"type":"thinking_delta","thinking":"Hm"}`) + end("max_tokens")}},
		{"eight, paused", "Eighth.", []string{
			start() + block(0, `{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"query\":\"rain\"}"}`) + end("pause_turn"),
			start() + block(0, `{"type":"redacted_thinking","data":"x"}`) + say(1, "Eighth.") + end("end_turn"),
		}},
		{"nine", "No", []string{start() + say(0, "No") + end("refusal")}},
	}
	server := membranetest.Serve(t)
	dir := t.TempDir()
	for _, c := range turns {
		for _, a := range c.answers {
			server.Add(membranetest.Answer{Body: stream(t, a)})
		}
		out, err := turn(t.Context(), server.URL, dir, c.text)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		if got := strings.TrimSpace(out.Text); got != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
	bodies := server.Bodies()
	membranetest.Prefix(t, membranetest.SplitAt("messages"), bodies...)
	for _, body := range bodies {
		checkBody(t, body)
	}
	last := string(bodies[len(bodies)-1])
	if got := strings.Count(last, `"cache_control":{"type":"ephemeral"}`); got != 4 {
		t.Errorf("%d cache markers, want the two of the head and those of the first two long rounds", got)
	}
	for _, want := range []string{
		`"thinking":"Hm.","signature":"Sig="`, `{"type":"tool_result","tool_use_id":"toolu_a","content":"a < b & ` + "\u2028 ␀ \ufffd" + ` end\n"}`, `{"type":"tool_result","tool_use_id":"toolu_a-2"}`,
		`"input":{"a": 1.0, "b":"<&>"}`, `{"_unparsed":"{\"message\":\"feat"}`, `"content":"disk <full>","is_error":true`, `[2 characters of white space]`, `{"type":"redacted_thinking","data":"x"}`,
	} {
		if !strings.Contains(last, want) {
			t.Errorf("the conversation does not hold %s", want)
		}
	}
	verify(t, dir)
}

func verify(t *testing.T, dir string) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), dir, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	problems, err := history.Verify(t.Context(), store, "c")
	if err != nil || len(problems) > 0 {
		t.Errorf("verify: %v %v", problems, err)
	}
}

// TestLaw03PrefixAcrossProcesses runs a turn in a process that is killed while the answer comes, goes on
// in a second and runs another turn in a third.
func TestLaw03PrefixAcrossProcesses(t *testing.T) {
	t.Parallel()
	server := membranetest.Serve(t,
		membranetest.Answer{Body: stream(t, start()+call(0, "toolu_a", "rows", `{}`)+call(1, "toolu_b", "files_read_x601e4eb608f9175e", `{}`)+end("tool_use"))},
		membranetest.Answer{Body: stream(t, start()+say(0, "Half an ans")), Hold: true},
		membranetest.Answer{Body: stream(t, start()+say(0, "A whole answer.")+end("end_turn"))},
		membranetest.Answer{Body: stream(t, start()+say(0, "More.")+end("end_turn"))},
	)
	dir := t.TempDir()
	process := func(text string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+server.URL+"|"+dir+"|"+text)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	killed := process("go")
	for len(server.Requests()) < 2 {
		time.Sleep(5 * time.Millisecond)
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	for _, text := range []string{"go", "more"} {
		if err := process(text).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	bodies := server.Bodies()
	if len(bodies) != 4 {
		t.Fatalf("%d requests, want 4", len(bodies))
	}
	membranetest.Prefix(t, membranetest.SplitAt("messages"), bodies...)
	if diff := cmp.Diff(string(bodies[1]), string(bodies[2])); diff != "" {
		t.Errorf("the request of the killed process was asked otherwise again:\n%s", diff)
	}
	for _, body := range bodies {
		checkBody(t, body)
	}
	verify(t, dir)
}

// TestRetriesSendEqualBodies lets the agent ask again, after an answer of each kind that is worth it.
func TestRetriesSendEqualBodies(t *testing.T) {
	t.Parallel()
	soon := http.Header{"Retry-After-Ms": {"5"}}
	server := membranetest.Serve(t,
		membranetest.Answer{Status: 529, Header: soon, Body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
		membranetest.Answer{Status: 429, Header: soon, Body: `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`},
		membranetest.Answer{Status: 500, Header: soon, Body: `{"type":"error","error":{"type":"api_error","message":"oh"}}`},
		membranetest.Answer{Body: stream(t, start()+say(0, "At last.")+end("end_turn"))},
	)
	out, err := turn(t.Context(), server.URL, t.TempDir(), "go")
	if err != nil || out.Text != "At last." {
		t.Fatalf("%q, %v", out.Text, err)
	}
	requests := server.Requests()
	if len(requests) != 4 {
		t.Fatalf("%d requests, want 4: the model must not ask again by itself", len(requests))
	}
	for i, r := range requests {
		if string(r.Body) != string(requests[0].Body) || r.Length != int64(len(r.Body)) {
			t.Errorf("request %d has another body, or another length (%d of %d)", i, r.Length, len(r.Body))
		}
		if r.Header.Get("Authorization") != "Bearer "+secret || r.Path != "/v1/messages" {
			t.Errorf("request %d: %s %v", i, r.Path, r.Header)
		}
	}
}
