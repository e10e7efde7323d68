package gemini_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

type wirePart struct {
	Text *string `json:"text"`
	Call *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string         `json:"id"`
		Name     string         `json:"name"`
		Response map[string]any `json:"response"`
	} `json:"functionResponse"`
}

type wireContent struct {
	Role  string     `json:"role"`
	Parts []wirePart `json:"parts"`
}

var wireName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

// checkBody holds a request to what the provider documents, or answers 400 for: roles, parts, and that the
// results of an answer's calls come right behind it, as many as there are calls, each with its id.
func checkBody(t testing.TB, body []byte) {
	t.Helper()
	var r struct {
		Contents []wireContent `json:"contents"`
		Tools    []struct {
			Declarations []struct {
				Name   string         `json:"name"`
				Schema map[string]any `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		t.Errorf("the body is no JSON: %v", err)
		return
	}
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf(format+"\nin %.2000s", append(args, body)...)
	}
	for _, tool := range r.Tools {
		for _, d := range tool.Declarations {
			if !wireName.MatchString(d.Name) || d.Schema != nil && d.Schema["type"] != "object" {
				fail("declaration %s", d.Name)
			}
		}
	}
	var open []string
	used := map[string]bool{}
	for i, c := range r.Contents {
		if i == 0 && c.Role != "user" || c.Role != "user" && c.Role != "model" || len(c.Parts) == 0 {
			fail("content %d of role %s with %d parts", i, c.Role, len(c.Parts))
		}
		open = checkContent(c, open, used, fail)
	}
	if len(open) > 0 {
		fail("calls %v are not answered", open)
	}
}

// checkContent gives the calls that the next content has to answer.
func checkContent(c wireContent, open []string, used map[string]bool, fail func(string, ...any)) (calls []string) {
	answered := 0
	for _, p := range c.Parts {
		switch {
		case p.Call != nil:
			if c.Role != "model" || !wireName.MatchString(p.Call.Name) || p.Call.ID == "" || used[p.Call.ID] || !strings.HasPrefix(string(p.Call.Args), "{") {
				fail("a call that is refused: %+v", *p.Call)
			}
			used[p.Call.ID] = true
			calls = append(calls, p.Call.ID)
		case p.Response != nil:
			if c.Role != "user" || answered >= len(open) || open[answered] != p.Response.ID || len(p.Response.Response) != 1 {
				fail("a result that is refused: %+v", *p.Response)
			}
			answered++
		}
	}
	if answered != len(open) {
		fail("%d calls have %d results", len(open), answered)
	}
	return calls
}
