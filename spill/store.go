// Package spill keeps text that is over the cap as a file, addressed by line, and makes the preview
// that stands in its place.
package spill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/lines"
)

// Errors that callers branch on.
var (
	// ErrNotFound says that no file has that name.
	ErrNotFound = errors.New("no such spilled result")
	// ErrExists says that the name is taken: names are written once and never replaced.
	ErrExists = errors.New("a spilled result of this name exists")
	// ErrQuota says that the folder has reached its quota, so nothing more is kept.
	ErrQuota = errors.New("the quota for spilled results is used up")
)

// Name says which result a file belongs to. It decides the name that the model addresses
// ("r3-1-grep.txt") and the one on disk ("r3-1-grep.f7.txt"): only the second carries the fence, so
// that a driver which was taken over can never write over its successor's file.
type Name struct {
	// Conversation is the conversation's id; it names the folder.
	Conversation string
	// Result is the result's id, such as "r3-1".
	Result string
	// Tool is the name of the tool; in file names it is sanitised and cut to 40 characters.
	Tool string
	// Fence is the fence of the lease that writes; 0 where nobody holds one.
	Fence int64
	// Ext is the extension with its dot, ".txt" when empty: the text itself is ".txt", the raw original
	// of a decoded text ".raw", a binary payload has its own, such as ".png".
	Ext string
	// Part tells the payloads of one result apart: they count from 1, the text and the raw original are
	// 0. The first payload has no number in its name ("r3-1-shot.png"), the second has
	// ("r3-1-shot.2.png"); a payload with the text's own extension always has ("r3-1-shot.1.txt").
	Part int
}

// Ref is a file that was kept. Every figure is of the whole text.
type Ref struct {
	// Name is what the model addresses below tool-results/, such as "r3-1-grep.txt".
	Name string
	// File is where it lies, relative to the store's folder: "<conversation>/r3-1-grep.f7.txt".
	File string
	// SHA256 is the hash of the bytes.
	SHA256 [32]byte
	// Index counts the bytes, the lines and the characters, and the newlines of every block.
	Index lines.Index
	// Complete is false when the writer stopped before the end of the text.
	Complete bool
}

// Path is how the model addresses the file.
func (r Ref) Path() string { return Mount + "/" + r.Name }

// Mount is the mount under which the model finds stored results.
const Mount = "tool-results"

// File is a kept file, open for reading.
type File interface {
	io.ReaderAt
	io.Closer
	// Size is the length in bytes.
	Size() int64
}

// Writer takes a text as it comes. One of Commit and Abort ends it; both may be called again without harm.
// A write that failed stays failed: every later call, Commit too, returns the same error. A writer is for
// one goroutine at a time.
type Writer interface {
	io.Writer
	// ReaderAt reads back what was written so far, until the writer is ended.
	io.ReaderAt
	// Commit makes what was written durable and publishes it under its name: fsync, link, fsync of the
	// folder. It fails with ErrExists when the name is taken, and then leaves nothing behind.
	Commit() (Ref, error)
	// Abort throws away what was written.
	Abort() error
}

// Store keeps spilled results. The first implementation is a folder ([Dir]).
type Store interface {
	// Create begins a file. Nothing is visible under its name before Commit.
	Create(ctx context.Context, n Name) (Writer, error)
	// Open opens a kept file by Ref.File; ErrNotFound when it is not there.
	Open(ctx context.Context, file string) (File, error)
	// Share keeps a file for another conversation as well, under the same name, and returns its Ref.File
	// there. Each of the two can be removed without harm to the other. ErrExists when that name is taken.
	Share(ctx context.Context, file, conversation string) (string, error)
	// Remove deletes everything kept for a conversation. What is not there is no error.
	Remove(ctx context.Context, conversation string) error
}

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
