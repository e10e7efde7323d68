//go:build unix

package client_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

const ok = `{"content":[{"type":"text","text":"fine"}]}`

// quick are options under which a test need not wait.
func quick() client.Options {
	return client.Options{Backoff: time.Millisecond}
}

// serves fails unless the neighbour of a bad server still answers.
func serves(t *testing.T, s *client.Set) {
	t.Helper()
	if _, text := call(t, s, "good--a", `{}`); text != "fine" {
		t.Errorf("the other server no longer serves: %s", text)
	}
}

func good(t *testing.T) client.Server { return hostile(t, script{Call: map[string]string{"a": ok}}) }

func TestDeath(t *testing.T) {
	t.Parallel()
	s := connect(t, quick(), map[string]client.Server{
		"bad": hostile(t, script{Tools: []string{list("die", "a")}, Call: map[string]string{"die": "DIE cannot open the database", "a": ok}}), "good": good(t),
	})
	began := time.Now()
	r, text := call(t, s, "bad--die", `{}`)
	if !r.IsError || !strings.HasPrefix(text, "bad--die: outcome unknown: the server's process has ended (exit status 7).") ||
		!strings.Contains(text, "cannot open the database") || !strings.HasSuffix(text, "find out before you call it again") {
		t.Errorf("a call whose server dies: %s", text)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the call ended %s after its server did", took)
	}
	serves(t, s)
	if _, text := call(t, s, "bad--a", `{}`); text != "fine" {
		t.Errorf("after a restart: %s", text)
	}
	for i := range client.MaxRestarts {
		if _, text = call(t, s, "bad--die", `{}`); !strings.Contains(text, "outcome unknown") {
			t.Errorf("death %d: %s", i+2, text)
		}
	}
	r, text = call(t, s, "bad--a", `{}`)
	if want := "bad--a was not started: MCP server bad cannot be reached: it was started 4 times and ended each time, so it is not started again"; !r.IsError || !strings.HasPrefix(text, want) {
		t.Errorf("after the last restart: want %q first, got %s", want, text)
	}
	serves(t, s)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	bad := hostile(t, script{
		Tools: []string{list("hang", "steps", "long")},
		Call:  map[string]string{"hang": "HANG", "steps": "PROGRESS 15 100", "long": "PROGRESS 60 100"},
	})
	bad.Env["WEIR_HOSTILE_LOG"] = log
	o := quick()
	o.Idle, o.Absolute = time.Second, 3*time.Second
	s := connect(t, o, map[string]client.Server{"bad": bad, "good": good(t)})
	for _, c := range []struct{ tool, text string }{
		{"hang", "bad--hang: outcome unknown: no answer and no report of progress for 1s, which is the limit. It may have taken effect, and it was not repeated: find out before you call it again"},
		{"steps", "done"},
		{"long", "bad--long: outcome unknown: it ran longer than its limit of 3s. It may have taken effect, and it was not repeated: find out before you call it again"},
	} {
		if _, text := call(t, s, "bad--"+c.tool, `{}`); text != c.text {
			t.Errorf("%s: %s", c.tool, cmp.Diff(c.text, text))
		}
	}
	serves(t, s)
	sent, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(sent), `"method":"notifications/cancelled"`); n < 1 {
		t.Errorf("the server was told %d times that a call is over:\n%s", n, sent)
	}
	for _, line := range strings.Split(string(sent), "\n") {
		if strings.Contains(line, `"tools/call"`) && !strings.Contains(line, `"progressToken":"weir-`) {
			t.Errorf("a call without a progress token: %s", line)
		}
	}
}

// TestCancel cancels a call of a server that never answers.
func TestCancel(t *testing.T) {
	t.Parallel()
	s := connect(t, client.Options{}, map[string]client.Server{"bad": hostile(t, script{Tools: []string{list("hang")}, Call: map[string]string{"hang": "HANG"}})})
	set, err := execute.NewSet(s.Tools())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	began := time.Now()
	ran := execute.Run(ctx, set.Prepare(tool.Call{Name: "bad--hang", Args: []byte(`{}`)}), execute.Env{})
	if ran.Outcome != execute.Cancelled || ran.Abandoned || time.Since(began) > 10*time.Second {
		t.Errorf("outcome %s, abandoned %v, after %s: %s", ran.Outcome, ran.Abandoned, time.Since(began), result.Text(ran.Result))
	}
}

// TestProgressIsHeard forwards reports of progress to whoever watches the call.
func TestProgressIsHeard(t *testing.T) {
	t.Parallel()
	s := connect(t, quick(), map[string]client.Server{"p": hostile(t, script{Tools: []string{list("steps")}, Call: map[string]string{"steps": "PROGRESS 2 1"}})})
	set, err := execute.NewSet(s.Tools())
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 10)
	execute.Run(t.Context(), set.Prepare(tool.Call{Name: "p--steps", Args: []byte(`{}`)}), execute.Env{Progress: func(text string) { heard <- text }})
	close(heard)
	var all []string
	for text := range heard {
		all = append(all, text)
	}
	if diff := cmp.Diff([]string{"1 of 2: step", "2 of 2: step"}, all); diff != "" {
		t.Error(diff)
	}
}

// TestFlood sends answers that are too long, with the id before and behind, and a line that is no message.
func TestFlood(t *testing.T) {
	t.Parallel()
	const n = 100 << 20
	s := connect(t, client.Options{}, map[string]client.Server{
		"bad": hostile(t, script{
			Tools: []string{list("flood", "tail", "noise", "large", "a")},
			Call: map[string]string{
				"flood": fmt.Sprint("FLOOD ", n), "tail": fmt.Sprint("TAIL ", n), "noise": fmt.Sprint("NOISE ", 70<<20), "large": fmt.Sprint("TAIL ", 17<<20), "a": ok,
			},
		}), "good": good(t),
	})
	for _, name := range []string{"flood", "tail"} {
		r, text := call(t, s, "bad--"+name, `{}`)
		want := fmt.Sprintf("bad--%s: outcome unknown: the answer is 1048", name)
		if !r.IsError || !strings.HasPrefix(text, want) || !strings.Contains(text, "at most 67108864 are read. Ask for less") {
			t.Errorf("%s: want %q first, got %.300s", name, want, text)
		}
	}
	if _, text := call(t, s, "bad--noise", `{}`); text != "after the noise" {
		t.Errorf("noise: %.300s", text)
	}
	if _, text := call(t, s, "bad--large", `{}`); len(text) != 17<<20 {
		t.Errorf("an answer of 17 MiB has a text of %d bytes", len(text))
	}
	if _, text := call(t, s, "bad--a", `{}`); text != "fine" {
		t.Errorf("the same server after it: %.300s", text)
	}
	serves(t, s)
}

// TestNoise has lines on stdout that are no messages, before and among them.
func TestNoise(t *testing.T) {
	t.Parallel()
	s := connect(t, quick(), map[string]client.Server{"n": hostile(t, script{
		Before: "Server starting...\n{\"level\":\"info\"}\n\n\x1b[2Jbanner", Tools: []string{list("a")},
		Call: map[string]string{"a": `LINE {"half":` + "\n" + `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"heard"}]}}`},
	})})
	if _, text := call(t, s, "n--a", `{}`); text != "heard" {
		t.Errorf("got %s", text)
	}
	got := strings.Join(s.Servers()[0].Problems, "\n")
	if want := "4 lines of its output are no messages and were skipped; the first: Server starting..."; !strings.HasPrefix(got, want) {
		t.Errorf("want %q first, got %q", want, got)
	}
}

// TestDown has a server that cannot be started and one that is silent, beside one that serves.
func TestDown(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Start = 6 * time.Second
	began := time.Now()
	s := connect(t, o, map[string]client.Server{
		"absent": {Command: "/no/such/program"}, "silent": hostile(t, script{Mute: "server/discover initialize", Stderr: "waiting for a licence\n"}), "good": good(t),
		"web": {URL: "http://127.0.0.1:1/mcp"},
	})
	if took := time.Since(began); took > 40*time.Second {
		t.Errorf("connecting took %s", took)
	}
	serves(t, s)
	var lines []string
	for _, v := range s.Servers() {
		lines = append(lines, fmt.Sprintf("%s: %v", v.Name, v.Err))
	}
	all := strings.Join(lines, "\n")
	for _, want := range []string{"absent: start /no/such/program", "good: <nil>", "silent: it did not answer in time", "waiting for a licence", "web: "} {
		if !strings.Contains(all, want) {
			t.Errorf("want %q in\n%s", want, all)
		}
	}
}

// TestHandshakeOnly has a server that is silent about everything before its handshake.
func TestHandshakeOnly(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Start = 8 * time.Second
	s := connect(t, o, map[string]client.Server{"old": hostile(t, script{Mute: "server/discover", Call: map[string]string{"a": ok}})})
	if _, text := call(t, s, "old--a", `{}`); text != "fine" {
		t.Errorf("got %s (%v)", text, s.Servers()[0].Err)
	}
}

// TestClosed ends the calls that run when the set is closed, and leaves no child behind.
func TestClosed(t *testing.T) {
	t.Parallel()
	s := connect(t, client.Options{}, map[string]client.Server{"bad": hostile(t, script{Tools: []string{list("hang")}, Call: map[string]string{"hang": "HANG"}})})
	time.AfterFunc(100*time.Millisecond, func() { _ = s.Close() })
	if r, text := call(t, s, "bad--hang", `{}`); !r.IsError || !strings.Contains(text, "outcome unknown") {
		t.Errorf("got %s", text)
	}
	if r, text := call(t, s, "bad--hang", `{}`); !r.IsError || !strings.Contains(text, "not started") {
		t.Errorf("got %s", text)
	}
}
