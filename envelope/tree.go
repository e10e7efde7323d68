package envelope

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/canon"
)

// node is a value of a tree: where its bytes are, and what belongs to it. Nodes stand in the order of the
// text, so an element's children follow it, and next is where its subtree ends.
type node struct {
	start, end       int32 // its bytes
	keyStart, keyEnd int32 // of its key, quotation marks included; both 0 without one
	next             int32
	up               int32 // what it stands in
	kids             int32
	depth            int32
	chars            int32 // of a string that may be long: its characters; else 0
	rank             int32 // its own place among the declared fields, from 1; 0 when it is not declared
	kind             byte  // { [ " 0 t f n
	guard            byte  // what is declared of it or of what it stands in: free, primary, protected
	dead             bool  // it is an element that no form shows
	fails            bool  // it is an element of an array, and a field of it says that it is a failure
}

const (
	free byte = iota
	primary
	protected
)

// tree is a JSON value without white space between its tokens, as it was written otherwise: key order,
// keys that stand twice and digits are kept.
type tree struct {
	src   []byte
	nodes []node
	marks bool // a key may have the name of a mark
	names map[string]int32
	// keys are the decoded keys of the objects in which a mark was made, where one may collide.
	keys map[int32]map[string]bool
	// free are the names that marks took instead of one that a key has.
	free map[marked]string
}

// marked is a mark's name in an object.
type marked struct {
	object int32
	name   string
}

// firstProtected is the rank of the first protected field.
const firstProtected = 1 << 16

// parse makes the tree of a JSON object or array. What is anything else is false, and so is what nests
// deeper than [canon.MaxDepth] or has over a gigabyte.
func parse(raw []byte, primaries, protects []string) (*tree, bool) {
	if k := canon.Kind(raw); k != "object" && k != "array" || len(raw) > math.MaxInt32/2 {
		return nil, false
	}
	if !utf8.Valid(raw) || bytes.Contains(raw, []byte(`\ud`)) || bytes.Contains(raw, []byte(`\uD`)) {
		raw, _ = canon.CleanJSON(raw)
	}
	t := &tree{src: raw, names: map[string]int32{}, keys: map[int32]map[string]bool{}, free: map[marked]string{}}
	for i := len(protects) - 1; i >= 0; i-- {
		t.names[protects[i]] = int32(firstProtected + i)
	}
	for i := len(primaries) - 1; i >= 0; i-- {
		t.names[primaries[i]] = int32(i + 1)
	}
	compact, ok := t.grow()
	if !ok {
		return nil, false
	}
	if !compact {
		t.src, t.marks = canon.Compact(raw), false
		_, ok = t.grow()
	}
	return t, ok
}

// grow reads the tokens once. It reports whether there is nothing between them but commas and colons.
func (t *tree) grow() (compact, ok bool) {
	t.nodes = make([]node, 0, len(t.src)/10+8)
	l := canon.NewLexer(t.src)
	var open []int32
	var key canon.Token
	written := 0
	for {
		tok, err := l.Next()
		if err != nil {
			return written == len(t.src), errors.Is(err, io.EOF)
		}
		written += len(tok.Raw)
		if tok.Key {
			key = tok
			written++
			continue
		}
		if tok.Kind == '}' || tok.Kind == ']' {
			last := open[len(open)-1]
			open = open[:len(open)-1]
			t.nodes[last].end, t.nodes[last].next = int32(tok.Start+1), int32(len(t.nodes))
			continue
		}
		n := node{
			start: int32(tok.Start), end: int32(tok.Start + len(tok.Raw)), next: int32(len(t.nodes) + 1),
			depth: int32(len(open)), kind: tok.Kind,
		}
		if tok.Kind == '"' && len(tok.Raw) > shortest+2 {
			n.chars = int32(chars(tok.Raw[1 : len(tok.Raw)-1]))
		}
		if len(open) > 0 {
			written += t.place(&n, tok, key, open)
		}
		if tok.Kind == '{' || tok.Kind == '[' {
			open = append(open, int32(len(t.nodes)))
		}
		t.nodes = append(t.nodes, n)
	}
}

// place tells a value about what it stands in, and that about the value. It returns how many commas stand
// before the value.
func (t *tree) place(n *node, tok, key canon.Token, open []int32) (commas int) {
	n.up = open[len(open)-1]
	up := &t.nodes[n.up]
	if up.kids > 0 {
		commas = 1
	}
	up.kids++
	n.guard = up.guard
	if up.kind != '{' {
		return commas
	}
	n.keyStart, n.keyEnd = int32(key.Start), int32(key.Start+len(key.Raw))
	name := key.Raw[1 : len(key.Raw)-1]
	if !t.marks && (bytes.Contains(name, []byte("omitted_")) || bytes.IndexByte(name, '\\') >= 0 || reserved(string(name))) {
		t.marks = true
	}
	if len(t.names) > 0 {
		if n.rank = t.names[string(name)]; n.rank >= firstProtected {
			n.guard = protected
		} else if n.rank > 0 {
			n.guard = max(n.guard, primary)
		}
	}
	if len(open) > 1 && t.nodes[open[len(open)-2]].kind == '[' && failing(string(name), tok) {
		up.fails = true
	}
	return commas
}

// reserved are the names that marks and signals have at the root of a value.
func reserved(name string) bool {
	switch name {
	case keyTruncated, keyWarning, keyLoop, keyFreshness, keyWeir:
		return true
	}
	return strings.HasPrefix(name, prefix)
}

// failing reports whether a field says that what it stands in is a failure.
func failing(name string, tok canon.Token) bool {
	value := string(tok.Raw)
	switch name {
	case "level", "severity", "status", "state", "result", "outcome":
		switch strings.ToLower(strings.Trim(value, `"`)) {
		case "error", "err", "fatal", "critical", "panic", "failed", "failure", "fail", "failing":
			return true
		}
	case "error", "err", "exception":
		return value != "null" && value != "false" && value != `""` && value != "0"
	case "is_error", "isError", "failed":
		return value == "true"
	case "success", "ok", "passed":
		return value == "false"
	case "exit_code", "exitCode", "exit_status":
		return tok.Kind == '0' && value != "0"
	}
	return false
}

// key is a key as it is written, quotation marks included.
func (t *tree) key(n *node) []byte { return t.src[n.keyStart:n.keyEnd] }

// keyName is a decoded key.
func (t *tree) keyName(n *node) string {
	name, _ := canon.Unquote(t.key(n))
	return name
}

// chars counts the characters of the inside of a string token: an escape is one, and so is an escaped
// surrogate pair.
func chars(s []byte) (n int) {
	for at := 0; at < len(s); n++ {
		at += charSize(s[at:])
	}
	return n
}

// charSize is how many bytes the first character of the inside of a string token has.
func charSize(s []byte) int {
	switch {
	case s[0] != '\\':
		if s[0] < utf8.RuneSelf {
			return 1
		}
		_, size := utf8.DecodeRune(s)
		return size
	case s[1] != 'u':
		return 2
	case len(s) >= 12 && s[6] == '\\' && s[7] == 'u' && isHigh(s[2:4]) && isLow(s[8:10]):
		return 12
	}
	return 6
}

func isHigh(hex []byte) bool { return (hex[0]|0x20) == 'd' && strings.IndexByte("89abAB", hex[1]) >= 0 }

func isLow(hex []byte) bool {
	return (hex[0]|0x20) == 'd' && strings.IndexByte("cdefCDEF", hex[1]) >= 0
}

// skip is where the character with this number, from 0, begins in the inside of a string token.
func skip(s []byte, number, all int) int {
	if all == len(s) {
		return number // each character is one byte
	}
	at := 0
	for range number {
		at += charSize(s[at:])
	}
	return at
}
