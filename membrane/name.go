package membrane

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// MaxWireName is how many characters of A-Z a-z 0-9 _ - a name may have on a wire.
	MaxWireName = 64
	// hashDigits is how many hexadecimal digits of a name's hash stand at the end of a made name.
	hashDigits = 16
	// hashMark stands before them.
	hashMark = "_x"
	// namedBefore and namedAfter stand around the full name at the end of a description.
	namedBefore, namedAfter = "[full name: ", "]"
)

// WireName gives the name under which a tool, or a call's id, stands on a wire that takes at most 64
// characters of A-Z a-z 0-9 _ -. A name that fits stays as it is; any other becomes its first
// characters, with _ for what is not allowed, and a hash of the whole. It depends on nothing but the
// name. Two names never become one: a name that merely looks like a made one is made anew.
func WireName(name string) string {
	if fits(name) && !looksMade(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	suffix := hashMark + hex.EncodeToString(sum[:])[:hashDigits]
	var b strings.Builder
	for _, r := range name {
		if b.Len() == MaxWireName-len(suffix) {
			break
		}
		if r > 0x7f || !allowed(byte(r)) {
			r = '_'
		}
		b.WriteRune(r)
	}
	return b.String() + suffix
}

// WireDescription gives the description under which a tool stands on a wire: its own, and behind it
// the full name when [WireName] changed that. The model reads the full name elsewhere, and [FullName]
// finds it again in a stored head.
func WireDescription(t ToolSpec) string {
	if WireName(t.Name) == t.Name {
		return t.Description
	}
	line := namedBefore + t.Name + namedAfter
	if t.Description == "" {
		return line
	}
	return t.Description + "\n\n" + line
}

// FullName gives the name of the tool that stands on a wire as name with this description. ok is false
// when the description does not carry it, or carries another tool's.
func FullName(name, description string) (full string, ok bool) {
	if !looksMade(name) {
		return name, true
	}
	at := strings.LastIndex(description, namedBefore)
	if at < 0 || !strings.HasSuffix(description, namedAfter) {
		return "", false
	}
	full = description[at+len(namedBefore) : len(description)-len(namedAfter)]
	return full, WireName(full) == name
}

func fits(name string) bool {
	for i := range len(name) {
		if !allowed(name[i]) {
			return false
		}
	}
	return name != "" && len(name) <= MaxWireName
}

func allowed(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// looksMade reports whether a name ends as a made one does.
func looksMade(name string) bool {
	at := len(name) - hashDigits - len(hashMark)
	if at < 0 || name[at:at+len(hashMark)] != hashMark {
		return false
	}
	for _, c := range []byte(name[at+len(hashMark):]) {
		if ('0' > c || c > '9') && ('a' > c || c > 'f') {
			return false
		}
	}
	return true
}
