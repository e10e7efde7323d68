package shape

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/weir-run/weir/internal/canon"
)

// node is a value of a document: order, keys that stand twice and number literals stay as received.
type node struct {
	kind    byte   // { [ " 0 t f n, as canon.Token has it
	raw     []byte // as it is written in the document, with its white space
	members []member
	items   []*node
}

type member struct {
	key   string
	raw   []byte // the key as it is written
	value *node
}

// parse reads a document without recursion. Bytes and surrogates that are no text become U+FFFD first.
func parse(doc []byte) (*node, error) {
	doc, _ = canon.CleanJSON(bytes.TrimPrefix(doc, []byte("\ufeff")))
	var (
		lexer = canon.NewLexer(doc)
		open  []*node
		root  *node
		key   member
		count int
	)
	for {
		t, err := lexer.Next()
		switch {
		case errors.Is(err, io.EOF):
			return root, nil
		case err != nil:
			return nil, err
		case t.Key:
			text, ok := canon.Unquote(t.Raw)
			if !ok {
				return nil, fmt.Errorf("a key at byte %d cannot be read", t.Start)
			}
			key = member{key: text, raw: t.Raw}
			continue
		case t.Kind == '}' || t.Kind == ']':
			closed := open[len(open)-1]
			closed.raw = doc[offset(doc, closed.raw) : t.Start+1]
			open = open[:len(open)-1]
			continue
		}
		if count++; count > MaxValues {
			return nil, fmt.Errorf("it has more than %d values", MaxValues)
		}
		n := &node{kind: t.Kind, raw: t.Raw}
		switch {
		case root == nil:
			root = n
		case open[len(open)-1].kind == '{':
			key.value = n
			open[len(open)-1].members = append(open[len(open)-1].members, key)
		default:
			open[len(open)-1].items = append(open[len(open)-1].items, n)
		}
		if t.Kind == '{' || t.Kind == '[' {
			if open = append(open, n); len(open) > MaxDepth {
				return nil, fmt.Errorf("it nests deeper than %d levels", MaxDepth)
			}
			n.raw = doc[t.Start:]
		}
	}
}

// offset is where a part that reaches to the end of doc begins.
func offset(doc, part []byte) int { return len(doc) - len(part) }

// appendTo writes the value as compact JSON.
func (n *node) appendTo(to []byte) []byte {
	switch n.kind {
	case '{':
		to = append(to, '{')
		for i, m := range n.members {
			if i > 0 {
				to = append(to, ',')
			}
			to = m.value.appendTo(append(append(to, m.raw...), ':'))
		}
		return append(to, '}')
	case '[':
		to = append(to, '[')
		for i, item := range n.items {
			if i > 0 {
				to = append(to, ',')
			}
			to = item.appendTo(to)
		}
		return append(to, ']')
	}
	return append(to, n.raw...)
}

// flat says that a value has nothing below it.
func (n *node) flat() bool { return n.kind != '{' && n.kind != '[' }

// text is a string's own text, and the literal of anything else that is flat.
func (n *node) text() string {
	if n.kind == '"' {
		text, _ := canon.Unquote(n.raw)
		return text
	}
	return string(n.raw)
}

// twice names the first key that stands twice in one object, "" when there is none.
func (n *node) twice(at string) string {
	if n.kind == '{' {
		seen := make(map[string]bool, len(n.members))
		for _, m := range n.members {
			here := at + step(m.key)
			if seen[m.key] {
				return here
			}
			seen[m.key] = true
			if found := m.value.twice(here); found != "" {
				return found
			}
		}
	}
	for i, item := range n.items {
		if item.flat() {
			continue
		}
		if found := item.twice(at + "[" + strconv.Itoa(i) + "]"); found != "" {
			return found
		}
	}
	return ""
}

// step is a key as it stands in a path: .name, or ["any name"].
func step(key string) string {
	plain := key != "" && len(key) <= 80 && strings.IndexFunc(key, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) < 0
	if plain && (key[0] < '0' || key[0] > '9') {
		return "." + key
	}
	if len(key) > 80 {
		key = strings.ToValidUTF8(key[:80], "") + "…"
	}
	return "[" + string(canon.AppendString(nil, key)) + "]"
}
