package spill

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of names. Together they keep every file name below the 255 bytes that file systems take.
const (
	maxTool         = 40  // characters of a tool's name
	maxResult       = 64  // bytes of a result's id
	maxConversation = 100 // characters of a conversation's id
	maxFolder       = 255 // bytes of a conversation's id
)

// textExt and rawExt are the extensions of a result's text and of its raw original.
const (
	textExt = ".txt"
	rawExt  = ".raw"
)

const (
	resultShape = `r[1-9][0-9]{0,8}-[1-9][0-9]{0,8}(?:\.[1-9][0-9]{0,8}){0,4}`
	baseShape   = resultShape + `-[A-Za-z0-9_-][A-Za-z0-9._-]{0,39}(?:\.[1-9][0-9]{0,8})?`
	diskShape   = baseShape + `\.f[0-9]{1,19}\.[a-z0-9]{1,16}`
)

var (
	resultName = regexp.MustCompile(`^` + resultShape + `$`)
	extName    = regexp.MustCompile(`^\.[a-z0-9]{1,16}$`)
	diskName   = regexp.MustCompile(`^` + diskShape + `$`)
	tempName   = regexp.MustCompile(`^\.tmp-` + diskShape + `-[0-9a-f]{16}$`)
)

// Base is the name that the model addresses below tool-results/: "r3-1-grep.txt". It is an error when a
// part of the name has not the shape that it must have.
func (n Name) Base() (string, error) {
	stem, ext, err := n.split()
	return stem + ext, err
}

// File is where a [Dir] keeps it, relative to its folder: "<conversation>/r3-1-grep.f7.txt". The errors
// are those of Base, and one for a conversation's id that cannot name a folder.
func (n Name) File() (string, error) {
	if err := checkConversation(n.Conversation); err != nil {
		return "", err
	}
	stem, ext, err := n.split()
	if err != nil {
		return "", err
	}
	return n.Conversation + "/" + stem + ".f" + strconv.FormatInt(n.Fence, 10) + ext, nil
}

// split returns the name without and with its extension.
func (n Name) split() (stem, ext string, err error) {
	ext = n.Ext
	if ext == "" {
		ext = textExt
	}
	switch {
	case len(n.Result) > maxResult || !resultName.MatchString(n.Result):
		return "", "", fmt.Errorf("name of a spilled result: id %.40q: an id looks like r3-1", n.Result)
	case n.Fence < 0:
		return "", "", fmt.Errorf("name of spilled result %s: fence %d is below 0", n.Result, n.Fence)
	case !extName.MatchString(ext):
		return "", "", fmt.Errorf("name of spilled result %s: extension %.40q: use a dot and 1 to 16 of a-z0-9", n.Result, ext)
	case n.Part < 0 || n.Part > 999_999_999:
		return "", "", fmt.Errorf("name of spilled result %s: part %d is not within 0 to 999999999", n.Result, n.Part)
	}
	stem = n.Result + "-" + toolName(n.Tool)
	if n.Part > 1 || n.Part == 1 && (ext == textExt || ext == rawExt) {
		stem += "." + strconv.Itoa(n.Part)
	}
	return stem, ext, nil
}

// toolName makes a tool's name fit for a file name: at most 40 of [A-Za-z0-9._-], no dot at the start.
func toolName(tool string) string {
	var b strings.Builder
	for _, r := range tool {
		if b.Len() == maxTool {
			break
		}
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-',
			r == '.' && b.Len() > 0:
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "tool"
	}
	return b.String()
}

// checkConversation refuses an id that cannot name a folder on every system.
func checkConversation(id string) error {
	bad := func(why string) error {
		return fmt.Errorf("conversation id %.40q cannot name a folder: %s", id, why)
	}
	switch {
	case id == "":
		return bad("it is empty")
	case len(id) > maxFolder || utf8.RuneCountInString(id) > maxConversation:
		return bad(fmt.Sprintf("it is longer than %d characters or %d bytes", maxConversation, maxFolder))
	case !utf8.ValidString(id):
		return bad("it is not valid UTF-8")
	case id[0] == '.':
		return bad("it starts with a dot")
	case strings.HasSuffix(id, ".") || strings.HasSuffix(id, " "):
		return bad("it ends in a dot or a space")
	}
	for _, r := range id {
		if strings.ContainsRune(`/\:*?"<>|`, r) || unicode.IsControl(r) {
			return bad(fmt.Sprintf("it contains %q", r))
		}
	}
	return nil
}

// checkFile splits a Ref.File into its folder and its name and refuses what is not of our shape.
func checkFile(file string) (conversation, name string, err error) {
	conversation, name, ok := strings.Cut(file, "/")
	if !ok || !diskName.MatchString(name) || checkConversation(conversation) != nil {
		return "", "", fmt.Errorf("spilled result %.200q: that is not the name of a kept file: %w", file, ErrNotFound)
	}
	return conversation, name, nil
}
