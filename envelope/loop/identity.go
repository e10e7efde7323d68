package loop

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"

	"github.com/weir-run/weir/envelope/fingerprint"
	"github.com/weir-run/weir/internal/canon"
)

// Key identifies a call or what it gave.
type Key [sha256.Size]byte

// metadata are the arguments that say how to answer, not what to do.
func metadata(name string) bool {
	switch name {
	case "_lean", "_meta", "_profile", "_compact", "_session_id", "_path_alias_source",
		"known_tool_schema_fingerprint", "client_tool_schema_fingerprint":
		return true
	}
	return false
}

// volatile are the members of a result that a measurement, not the work, decides.
func volatile(name string) bool {
	switch name {
	case "elapsed_ms", "duration_ms", "took_ms", "age_s", "observed_at", "token_estimate", "budget_hint", "freshness", "loop_warning":
		return true
	}
	return false
}

// Identity is the identity of a call: its tool and its arguments in canonical form, without metadata such
// as _lean. The order of keys, white space and the way in which a number or a string is written do not
// count. Arguments that are no JSON count as they are, and blank ones as {}.
func Identity(tool string, args json.RawMessage) Key {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	body := without(args, 1, metadata)
	if canonical, err := fingerprint.Canonical(body); err == nil {
		body = canonical
	}
	return sum(tool, body)
}

// ResultOf is what a call gave: its text without what is volatile, durations, ages and the like, and
// without the members that the tool marks as such. Texts that are no JSON count as they are.
func ResultOf(text string, isError bool, marked ...string) Key {
	tag := "result"
	if isError {
		tag = "error"
	}
	body := []byte(text)
	if kind := canon.Kind(body); kind == "object" || kind == "array" {
		body = without(body, 0, func(name string) bool { return volatile(name) || slices.Contains(marked, name) })
	}
	return sum(tag, body)
}

func sum(tag string, body []byte) Key {
	return sha256.Sum256(append(canon.AppendString(nil, tag), body...))
}

// without takes members out of objects: of the root's alone when depth is 1, at every level when it is 0.
// What is no JSON is returned as it is.
func without(raw []byte, depth int, drop func(string) bool) []byte {
	l := canon.NewLexer(raw)
	out := make([]byte, 0, len(raw))
	skip := -1 // the depth of the member that is being dropped
	for {
		t, err := l.Next()
		if err != nil {
			break
		}
		if skip >= 0 {
			// The value ends with the token at its own depth that is no opening bracket.
			if t.Depth == skip && t.Kind != '{' && t.Kind != '[' {
				skip = -1
			}
			continue
		}
		if t.Key && (depth == 0 || t.Depth == depth) {
			if name, _ := canon.Unquote(t.Raw); drop(name) {
				skip = t.Depth
				continue
			}
		}
		if n := len(out); n > 0 && t.Kind != '}' && t.Kind != ']' && out[n-1] != '{' && out[n-1] != '[' && out[n-1] != ':' {
			out = append(out, ',')
		}
		out = append(out, t.Raw...)
		if t.Key {
			out = append(out, ':')
		}
	}
	if !canon.Valid(raw) {
		return raw
	}
	return out
}

// touches reports whether what is written and what is depended on are the same, or one is a folder of the
// other. "*" is everything.
func touches(written, depends []string) bool {
	for _, w := range written {
		for _, d := range depends {
			if w == d || w == "*" || d == "*" || strings.HasPrefix(w, strings.TrimSuffix(d, "/")+"/") || strings.HasPrefix(d, strings.TrimSuffix(w, "/")+"/") {
				return true
			}
		}
	}
	return false
}
