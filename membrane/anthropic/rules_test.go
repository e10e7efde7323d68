package anthropic_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// checkBody holds a request to what the provider documents, or answers 400 for: roles, pairs of calls
// and results, texts, ids, markers.
func checkBody(t testing.TB, body []byte) {
	t.Helper()
	var r wireRequest
	if err := json.Unmarshal(body, &r); err != nil {
		t.Errorf("the body is no JSON: %v", err)
		return
	}
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf(format+"\nin %.2000s", append(args, body)...)
	}
	if r.Model == "" || r.MaxTokens < 1 || !r.Stream || len(r.Messages) == 0 {
		fail("a member is missing")
	}
	for _, tool := range r.Tools {
		if !wireToken.MatchString(tool.Name) || tool.Schema["type"] != "object" {
			fail("tool %s", tool.Name)
		}
	}
	if n := strings.Count(string(body), `"cache_control":{"type":"ephemeral"`); n > 4 {
		fail("%d cache markers", n)
	}
	r.checkTurns(fail)
}

type wireRequest struct {
	Model     string `json:"model"`
	MaxTokens int    `json:"max_tokens"`
	Stream    bool   `json:"stream"`
	Tools     []struct {
		Name   string         `json:"name"`
		Schema map[string]any `json:"input_schema"`
	} `json:"tools"`
	Messages []struct {
		Role    string      `json:"role"`
		Content []wireBlock `json:"content"`
	} `json:"messages"`
}

type wireBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Thinking  *string         `json:"thinking"`
	Signature string          `json:"signature"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

var wireToken = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkTurns joins messages of one role, as the server does.
func (r wireRequest) checkTurns(fail func(string, ...any)) {
	used := map[string]bool{}
	var open []string // calls that the next turn has to answer
	role := ""
	var turn []wireBlock
	end := func() {
		switch role {
		case "assistant":
			open = checkAnswer(turn, used, fail)
		case "user":
			checkUser(turn, open, fail)
			open = nil
		}
	}
	for i, m := range r.Messages {
		if i == 0 && m.Role != "user" || m.Role != "user" && m.Role != "assistant" || len(m.Content) == 0 {
			fail("message %d of role %s with %d blocks", i, m.Role, len(m.Content))
		}
		for _, b := range m.Content {
			if b.Type == "text" && (b.Text == nil || strings.TrimSpace(*b.Text) == "") {
				fail("message %d has a blank text", i)
			}
		}
		if m.Role != role {
			end()
			role, turn = m.Role, nil
		}
		turn = append(turn, m.Content...)
	}
	end()
	if len(open) > 0 {
		fail("calls %v are not answered", open)
	}
}

func checkAnswer(turn []wireBlock, used map[string]bool, fail func(string, ...any)) (open []string) {
	for _, b := range turn {
		switch b.Type {
		case "tool_use":
			if !wireToken.MatchString(b.ID) || used[b.ID] || !wireToken.MatchString(b.Name) || !strings.HasPrefix(string(b.Input), "{") {
				fail("a call that is refused: %+v", b)
			}
			used[b.ID] = true
			open = append(open, b.ID)
		case "thinking":
			if b.Thinking == nil || b.Signature == "" {
				fail("thinking without a signature")
			}
		}
	}
	return open
}

func checkUser(turn []wireBlock, open []string, fail func(string, ...any)) {
	for i, b := range turn {
		if b.Type != "tool_result" {
			if i < len(open) {
				fail("a %s stands where the result of %s is due", b.Type, open[i])
			}
			continue
		}
		if i >= len(open) || b.ToolUseID != open[i] {
			fail("a result for %s, out of order", b.ToolUseID)
		}
		var text string
		isText := json.Unmarshal(b.Content, &text) == nil
		if b.IsError && len(b.Content) == 0 || isText && strings.TrimSpace(text) == "" && b.Content != nil {
			fail("a blank result for %s", b.ToolUseID)
		}
	}
	if len(turn) < len(open) {
		fail("%d calls have %d results", len(open), len(turn))
	}
}
