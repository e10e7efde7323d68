package shape

import (
	"fmt"
	"path"
	"strings"
)

// DefaultRules drop what a model has no use for: nulls, audit columns, internal ids, caching and request
// bookkeeping, links of the API to itself, and whatever begins with an underscore.
//
// A rule is a pattern of a key, at any depth, in which * stands for any characters (path.Match); with an
// exclamation mark before it, a key that is kept; or the word null, which drops members whose value is
// null. Of several rules that fit a key the last one decides, so rules are overridden by appending.
func DefaultRules() []string {
	return []string{
		"null", "_*",
		"created_at", "updated_at", "deleted_at", "created_by", "updated_by", "deleted_by", "createdAt", "updatedAt", "deletedAt",
		"internal_*", "tenant_id", "etag", "revision", "lock_version", "request_id", "trace_id", "links",
	}
}

type rules struct {
	nulls bool
	keys  []keyRule
}

type keyRule struct {
	pattern string
	keep    bool
}

func parseRules(lines []string) (rules, error) {
	var r rules
	for _, line := range lines {
		if line == "null" || line == "!null" {
			r.nulls = line == "null"
			continue
		}
		pattern, keep := strings.CutPrefix(line, "!")
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return r, fmt.Errorf("prune rule %.80q: it must be null or the pattern of a key, such as _* or !created_at", line)
		}
		r.keys = append(r.keys, keyRule{pattern, keep})
	}
	return r, nil
}

func (r rules) drops(m member) bool {
	if r.nulls && m.value.kind == 'n' {
		return true
	}
	for i := len(r.keys) - 1; i >= 0; i-- {
		// A slash is a character like any other in a key.
		ok, err := path.Match(strings.ReplaceAll(r.keys[i].pattern, "/", "\x01"), strings.ReplaceAll(m.key, "/", "\x01"))
		if ok && err == nil {
			return !r.keys[i].keep
		}
	}
	return false
}

// prune gives a copy without what the rules drop. Structure stays: false, 0, "" and what is empty are
// answers, and an element of an array keeps its place.
func (r rules) prune(n *node) *node {
	out := &node{kind: n.kind, raw: n.raw}
	for _, m := range n.members {
		if !r.drops(m) {
			m.value = r.prune(m.value)
			out.members = append(out.members, m)
		}
	}
	for _, item := range n.items {
		out.items = append(out.items, r.prune(item))
	}
	return out
}
