package cases

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weir-run/weir/membrane/membranetest"
)

// received are the request bodies in the order in which the provider received them.
func (w *world) received() [][]byte {
	w.t.Helper()
	if _, err := os.Stat(w.bodies); err != nil {
		return nil
	}
	return membranetest.Bodies(w.t, w.bodies)
}

// last is the newest body.
func (w *world) last() []byte {
	w.t.Helper()
	all := w.received()
	if len(all) == 0 {
		w.t.Fatal("the provider received no request")
	}
	return all[len(all)-1]
}

// body reads the body of a number from 1.
func (w *world) body(n int) []byte {
	w.t.Helper()
	raw, err := os.ReadFile(filepath.Join(w.bodies, fmt.Sprintf("%03d.json", n)))
	if err != nil {
		w.t.Fatal(err)
	}
	return raw
}

// wireBody is a request as a provider reads it.
type wireBody struct {
	Model  string `json:"model"`
	System string `json:"system"`
	Tools  []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"schema"`
	} `json:"tools"`
	Messages []wireMessage `json:"messages"`
}

type wireMessage struct {
	Role    string      `json:"role"`
	Step    int         `json:"step"`
	Content []wireBlock `json:"content"`
}

type wireBlock struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"`
	Text    *string         `json:"text"`
	IsError bool            `json:"is_error"`
	// Images are the native form of a result's images.
	Images []wireBlock `json:"images"`
	MIME   string      `json:"mime"`
	Data   []byte      `json:"data"`
}

func parseBody(t *testing.T, body []byte) wireBody {
	t.Helper()
	var b wireBody
	strict(t, body, &b)
	return b
}

// outline says who speaks in a body and what for, a line for each message: the ids of calls and results
// stand in order, with the text of what is neither.
func (b wireBody) outline() []string {
	var lines []string
	for _, m := range b.Messages {
		parts := []string{m.Role}
		for _, c := range m.Content {
			switch {
			case m.Role == "results" && c.IsError:
				parts = append(parts, c.ID+"!")
			case m.Role == "results" || c.Type == "call":
				parts = append(parts, c.ID)
			case c.Text != nil:
				parts = append(parts, strconv.Quote(*c.Text))
			}
		}
		lines = append(lines, strings.Join(parts, " "))
	}
	return lines
}

// paired holds that every call of a body is answered exactly once, in the very next message and in call
// order, and that there is no result without its call.
func (b wireBody) paired(t *testing.T) {
	t.Helper()
	ids := func(i int, role, kind string) (ids []string) {
		if i < 0 || i >= len(b.Messages) || b.Messages[i].Role != role {
			return nil
		}
		for _, c := range b.Messages[i].Content {
			if c.Type == kind {
				ids = append(ids, c.ID)
			}
		}
		return ids
	}
	seen := map[string]bool{}
	for i := range b.Messages {
		calls, results := ids(i, "assistant", "call"), ids(i+1, "results", "")
		if !slices.Equal(calls, results) {
			t.Errorf("message %d calls %v, the next one has results of %v", i+1, calls, results)
		}
		if i == 0 && len(ids(0, "results", "")) > 0 {
			t.Error("the first message has results, and nobody called")
		}
		for _, id := range calls {
			if id == "" || seen[id] {
				t.Errorf("message %d calls with the id %q, which is used or none", i+1, id)
			}
			seen[id] = true
		}
	}
}

// wellFormed holds that a body is valid UTF-8 and JSON in which every \u escape means a character.
func wellFormed(t *testing.T, body []byte) {
	t.Helper()
	if !utf8.Valid(body) {
		t.Errorf("a body is not valid UTF-8: %.200q", body)
	}
	if !json.Valid(body) {
		t.Errorf("a body is not JSON: %.200q", body)
	}
	for _, half := range loneEscapes(string(body)) {
		t.Errorf("a body has half a surrogate pair: %s", half)
	}
}

// loneEscapes finds the surrogate escapes without their other half in JSON text.
func loneEscapes(s string) (found []string) {
	for i := 0; i+1 < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		unit := escaped(s[i:])
		switch {
		case unit >= 0xD800 && unit < 0xDC00:
			if low := escaped(s[i+6:]); low >= 0xDC00 && low < 0xE000 {
				i += 6
			} else {
				found = append(found, s[i:i+6])
			}
		case unit >= 0xDC00 && unit < 0xE000:
			found = append(found, s[i:i+6])
		}
		i++ // what is escaped is no backslash of its own
	}
	return found
}

// escaped is the code unit of the \uXXXX at the start of s; -1 when there is none.
func escaped(s string) int64 {
	if len(s) < 6 || s[:2] != `\u` {
		return -1
	}
	n, err := strconv.ParseInt(s[2:6], 16, 64)
	if err != nil {
		return -1
	}
	return n
}
