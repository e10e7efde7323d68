package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/openai"
	"github.com/weir-run/weir/membrane/openai/responses"
	"github.com/weir-run/weir/tool"
)

// peerDir is the folder into which make peers-llm installs servers that somebody else wrote.
const peerDir = "WEIR_PEERS"

// peer starts aimock with these fixtures and gives its address.
func peer(t *testing.T, fixtures string) string {
	t.Helper()
	dir := os.Getenv(peerDir)
	if dir == "" {
		t.Skip("the server is not installed: make peers-llm installs it and sets WEIR_PEERS")
	}
	file := filepath.Join(t.TempDir(), "fixtures.json")
	if err := os.WriteFile(file, []byte(fixtures), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(host)
	var said strings.Builder
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "llm/node_modules/@copilotkit/aimock/dist/cli.js"), "-p", port, "-f", file, "-c", "3", "--strict", "--validate-on-load")
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the server: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the server said:\n%s", said.String())
		}
	})
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/v1/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			return "http://" + host + "/v1"
		}
	}
	t.Fatal("the server does not answer")
	return ""
}

// bodies keeps what goes through a client.
type bodies struct{ all [][]byte }

func (b *bodies) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(body)
	b.all = append(b.all, raw)
	if err != nil {
		return nil, err
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestPeer holds a conversation over both protocols with aimock, which is written after the provider's
// documentation by others: thinking, a round of thirty calls, a second turn, and errors.
func TestPeer(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf(`{"name":"rows","arguments":{"i":%d}}`, i))
	}
	base := peer(t, `{"fixtures":[
		{"match":{"userMessage":"thirty","hasToolResult":false},"response":{"toolCalls":[`+strings.Join(many, ",")+`]}},
		{"match":{"userMessage":"thirty","hasToolResult":true},"response":{"content":"All thirty are in: 世界 \"<&>\"."}},
		{"match":{"userMessage":"think"},"response":{"content":"Thought over.","reasoning":"Let me think about it.","usage":{"prompt_tokens":12,"completion_tokens":7,"input_tokens":12,"output_tokens":7}}},
		{"match":{"userMessage":"slow"},"response":{"error":{"message":"Slow down","type":"rate_limit_error","code":"rate_limit_exceeded"},"status":429}},
		{"match":{"userMessage":"cut"},"response":{"content":"It was a dark and","finishReason":"length"}}
	]}`)
	for name, model := range map[string]func(c *http.Client) (membrane.Model, error){
		"chat": func(c *http.Client) (membrane.Model, error) {
			return openai.New("gpt-5", openai.Config{BaseURL: base, APIKey: secret, HTTPClient: c})
		},
		"responses": func(c *http.Client) (membrane.Model, error) {
			return responses.New("gpt-5", responses.Config{BaseURL: base, APIKey: secret, HTTPClient: c, Reasoning: responses.On})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := &bodies{}
			m, err := model(&http.Client{Transport: sent})
			if err != nil {
				t.Fatal(err)
			}
			converse(t, m)
			at := "messages"
			if name == "responses" {
				at = "input"
			}
			membranetest.Prefix(t, membranetest.SplitAt(at), sent.all[:3]...)
			fails(t, m)
		})
	}
}

// converse runs two turns with an agent.
func converse(t *testing.T, m membrane.Model) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	rows := tool.Tool{Name: "rows", Traits: tool.Traits{ReadOnly: true}, Schema: []byte(`{"type":"object","properties":{"i":{"type":"integer"}}}`), Run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		return tool.Text("row " + string(c.Args)), nil
	}}
	a, err := agent.New(store, m, agent.Config{System: "Be brief.", Tools: []tool.Tool{rows}})
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range [][2]string{{"thirty", "All thirty are in: 世界 \"<&>\"."}, {"think", "Thought over."}} {
		out, err := a.Run(t.Context(), agent.Turn{Conversation: "c", Key: said[0], Text: said[0]}).Collect()
		if err != nil || out.Text != said[1] {
			t.Errorf("%s: %q, %v; want %q", said[0], out.Text, err, said[1])
		}
	}
	if problems, err := history.Verify(t.Context(), store, "c"); err != nil || len(problems) > 0 {
		t.Errorf("verify: %v %v", problems, err)
	}
}

// fails asks for what the server refuses, and for an answer that is cut.
func fails(t *testing.T, m membrane.Model) {
	t.Helper()
	ask := func(text string) (done membrane.Done, thought string, err error) {
		head, err := m.EncodeHead(membrane.Head{System: "Be brief."})
		if err != nil {
			t.Fatal(err)
		}
		question, err := m.EncodeMessage(membrane.UserText(text))
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range m.Stream(t.Context(), membrane.Request{Head: head.Head, Messages: membrane.Joined(head.Head, nil, question), Tail: head.Tail}) {
			switch e := e.(type) {
			case membrane.ThinkingDelta:
				thought += e.Text
			case membrane.Done:
				done = e
			}
			if err != nil {
				return done, thought, err
			}
		}
		return done, thought, nil
	}
	var typed *membrane.Error
	if _, _, err := ask("slow"); !errors.As(err, &typed) || typed.Kind != membrane.RateLimited || typed.Status != http.StatusTooManyRequests {
		t.Errorf("%v", err)
	}
	if done, _, err := ask("cut"); err != nil || done.Stop != membrane.StopCut || done.Message.PlainText() != "It was a dark and" {
		t.Errorf("%+v, %v", done, err)
	}
	done, thought, err := ask("think")
	if err != nil || thought != "Let me think about it." || done.Usage.In != 12 || done.Usage.Out != 7 {
		t.Errorf("thought %q, %v, %+v", thought, err, done)
	}
	if _, _, err := ask("nothing is prepared for this"); !errors.As(err, &typed) || typed.Kind == "" {
		t.Errorf("%v", err)
	}
}
