package envelope

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/canon"
)

// The names of marks and signals. Where a value has a field of such a name, the mark takes the prefix.
const (
	keyOmitted   = "_omitted_count"
	keyNames     = "_omitted_keys"
	keyTruncated = "truncated"
	keyWarning   = "truncation_warning"
	keyLoop      = "loop_warning"
	keyFreshness = "freshness"
	keyWeir      = "_weir"
	prefix       = "_weir_"
)

// maxName is the most characters of anything that is put into a hint or a mark.
const maxName = 80

// clamp cuts a text to so many characters, the last of them a mark.
func clamp(s string, n int) string {
	s, _ = canon.CleanUTF8(s)
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	at := 0
	for range n - 1 {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return s[:at] + "…"
}

// digits is how many digits a number has that is not negative.
func digits(n int) int {
	d := 1
	for ; n >= 10; n /= 10 {
		d++
	}
	return d
}

const markHead, markTail = "…[", " characters omitted]…"

// appendMark writes what stands between the ends of a string.
func appendMark(dst []byte, omitted int) []byte {
	dst = strconv.AppendInt(append(dst, markHead...), int64(omitted), 10)
	return append(dst, markTail...)
}

func markLen(omitted int) int { return len(markHead) + digits(omitted) + len(markTail) }

// own are the keys of an object, decoded; nil when none of the tree can collide.
func (t *tree) own(i int32) map[string]bool {
	if !t.marks || t.nodes[i].kind != '{' {
		return nil
	}
	if keys := t.keys[i]; keys != nil {
		return keys
	}
	keys := make(map[string]bool, t.nodes[i].kids)
	for c := i + 1; c < t.nodes[i].next; c = t.nodes[c].next {
		keys[t.keyName(&t.nodes[c])] = true
	}
	t.keys[i] = keys
	return keys
}

// freeName is the name of a mark in an object: the first that none of its keys has.
func (t *tree) freeName(i int32, name string) string {
	own := t.own(i)
	if !own[name] {
		return name
	}
	at := marked{i, name}
	if free, ok := t.free[at]; ok {
		return free
	}
	for own[name] {
		name = prefix + name
	}
	t.free[at] = name
	return name
}

// sideKey is the key of the mark beside an array, as JSON.
func (p *plan) sideKey(i int32) []byte {
	n := &p.nodes[i]
	if !p.marks {
		if key := p.key(n); len(key)-2 <= maxName {
			return append(append(append(make([]byte, 0, len(key)+len(keyOmitted)), key[:len(key)-1]...), keyOmitted...), '"')
		}
	}
	name := clamp(p.keyName(n), maxName)
	if p.marks {
		return canon.AppendString(nil, p.freeName(n.up, name+keyOmitted))
	}
	return canon.AppendString(nil, name+keyOmitted)
}

// sideLen is the length of sideKey.
func (p *plan) sideLen(i int32) int {
	if n := &p.nodes[i]; !p.marks && int(n.keyEnd-n.keyStart)-2 <= maxName {
		return int(n.keyEnd-n.keyStart) + len(keyOmitted)
	}
	return len(p.sideKey(i))
}

// endMark is the last element of an array that has no key.
func (p *plan) endMark(omitted int) []byte {
	name := keyOmitted
	if p.marks {
		name = prefix + keyOmitted[1:]
	}
	return []byte(`{"` + name + `":` + strconv.Itoa(omitted) + `}`)
}

// namesMark lists the fields that an object leaves out: some of the names, and how many more there are.
func (p *plan) namesMark(i int32, left []int32, l limits) []byte {
	name := keyNames
	if p.marks {
		name = p.freeName(i, name)
	}
	out := append(canon.AppendString(nil, name), ":["...)
	for at, c := range left {
		if at > 0 {
			out = append(out, ',')
		}
		if at == l.names {
			out = canon.AppendString(out, "… and "+strconv.Itoa(len(left)-at)+" more")
			break
		}
		out = canon.AppendString(out, clamp(p.keyName(&p.nodes[c]), maxName))
	}
	return append(out, ']')
}

// namesLen is the length of namesMark.
func (p *plan) namesLen(i int32, left []int32, l limits) int {
	if p.marks {
		return len(p.namesMark(i, left, l))
	}
	sum := len(keyNames) + 5 + min(len(left), l.names+1) - 1
	for _, c := range left[:min(len(left), l.names)] {
		n := &p.nodes[c]
		if long := int(n.keyEnd - n.keyStart); long-2 <= maxName {
			sum += long // without a mark's name it has no escape, so it is written as it is
		} else {
			sum += len(canon.AppendString(nil, clamp(p.keyName(n), maxName)))
		}
	}
	if more := len(left) - l.names; more > 0 {
		sum += len("… and  more") + digits(more) + 2
	}
	return sum
}

// truncatedMark says at the root of the skeleton that it is one.
func (p *plan) truncatedMark() []byte {
	name := keyTruncated
	if p.marks {
		name = p.freeName(0, name)
	}
	return append(canon.AppendString(nil, name), ":true"...)
}

// count writes a number with commas between thousands.
func count(n int) string {
	s := strconv.Itoa(n)
	var b strings.Builder
	for i, r := range s {
		if i > 0 && (len(s)-i)%3 == 0 && s[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}
