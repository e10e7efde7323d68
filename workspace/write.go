package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/document"
	"github.com/weir-run/weir/internal/lines"
)

// MaxWrite is the largest file in bytes that is written or edited.
const MaxWrite = 16 << 20

// maxFound is how many places an edit looks at.
const maxFound = 100_000

// maxPlaces is how many lines an answer about an edit names.
const maxPlaces = 8

// Written is what a write or an edit did.
type Written struct {
	// Path is the file, mount first.
	Path string
	// Created says that the file is new; Before is the length of the one that was replaced.
	Created bool
	Before  int64
	// Bytes and Lines are those of the file now.
	Bytes, Lines int64
	// Places is how many places an edit replaced, At their first lines in the file as it was, at most
	// eight of them.
	Places int64
	At     []int64
	// Controls is how many control characters, beside tab and line endings, the written text has; they
	// are kept. Kinds are the different ones, in order.
	Controls int64
	Kinds    []rune
}

// WriteRequest asks to replace a file, or to make one.
type WriteRequest struct {
	// Conversation is who writes: a file that changed since the conversation read it is not replaced.
	Conversation string
	// Path is mount/relative/path, in a mount that may be written.
	Path string
	// Text becomes the whole file, byte for byte.
	Text string
	// Result is the id of the result to be, as in [ReadRequest].
	Result string
}

// Write replaces a file at once, or makes it with the folders above it. A file that is there keeps its
// permissions. A file that changed on the disk since the conversation last read it is refused.
func (w *Workspace) Write(ctx context.Context, req WriteRequest) (Written, error) {
	at, err := w.writable(req.Path, len(req.Text))
	if err != nil {
		return Written{}, err
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	out := Written{Path: at.path}
	info, err := at.mount.Stat(at.name)
	if err == nil {
		out.Before = info.Size()
		err = w.sights.fresh(ctx, req.Conversation, at.path, Stamp{Bytes: info.Size(), Changed: info.ModTime()}, at.sum)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return Written{}, pathError(at.path, err)
	}
	return w.replace(ctx, saw{req.Conversation, req.Result}, at, []byte(req.Text), req.Text, out)
}

// writable checks what every write needs.
func (w *Workspace) writable(path string, size int) (place, error) {
	at, err := w.locate(path)
	switch {
	case err != nil:
		return place{}, err
	case at.mount == nil:
		return place{}, &PathError{at.path, errors.New("stored results are never changed")}
	case !at.mount.write:
		return place{}, &PathError{at.path, fmt.Errorf("the mount %s is read-only", at.mount.name)}
	case at.name == ".":
		return place{}, &PathError{at.path, errors.New("it names the mount, not a file in it")}
	case size > MaxWrite:
		return place{}, &PathError{at.path, fmt.Errorf("the text has %d bytes; at most %d are written", size, MaxWrite)}
	}
	return at, nil
}

// replace puts the bytes in place and notes what the file is now.
func (w *Workspace) replace(ctx context.Context, who saw, at place, raw []byte, text string, out Written) (Written, error) {
	created, err := at.mount.Replace(at.name, func(f io.Writer) error { _, err := f.Write(raw); return err })
	if err != nil {
		return Written{}, pathError(at.path, err)
	}
	out.Created, out.Bytes, out.Lines = created, int64(len(raw)), lines.Count(raw)
	out.Controls, out.Kinds = controls(text)
	if info, err := at.mount.Stat(at.name); err == nil {
		w.sights.wrote(ctx, who, at.path, Stamp{Bytes: info.Size(), Changed: info.ModTime(), Sum: sha256.Sum256(raw)})
	}
	return out, nil
}

// controls counts the control characters beside tab and line endings.
func controls(text string) (n int64, kinds []rune) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for _, r := range text {
		if (r < ' ' || r == 0x7f) && r != '\n' && r != '\t' {
			n++
			if !slices.Contains(kinds, r) {
				kinds = append(kinds, r)
			}
		}
	}
	slices.Sort(kinds)
	return n, kinds
}

// EditRequest asks to replace text in a file.
type EditRequest struct {
	// Conversation is who edits: a file that changed since the conversation read it is not edited.
	Conversation string
	// Path is mount/relative/path, in a mount that may be written.
	Path string
	// Old is the text to replace, as read shows it: \n stands for any line ending. It must stand in the
	// file exactly once, unless All is set. New takes its place as it is: nothing in it is a pattern.
	Old, New string
	All      bool
	// Result is the id of the result to be, as in [ReadRequest].
	Result string
}

// Edit replaces text in a file and leaves everything else as it is: the byte order mark and the
// encoding, the line endings, the permissions. A file that changed on the disk since the conversation
// last read it is refused.
func (w *Workspace) Edit(ctx context.Context, req EditRequest) (Written, error) {
	at, err := w.writable(req.Path, len(req.New))
	if err != nil {
		return Written{}, err
	}
	switch {
	case req.Old == "":
		return Written{}, &PathError{at.path, errors.New("old is empty: give the text to replace")}
	case req.Old == req.New:
		return Written{}, &PathError{at.path, errors.New("old and new are the same: there is nothing to change")}
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	f, err := w.open(ctx, req.Conversation, at, false)
	if err != nil {
		return Written{}, err
	}
	defer f.close()
	raw, text, err := wholeText(f)
	if err == nil {
		now := Stamp{Bytes: f.Disk, Changed: f.changed, Sum: sha256.Sum256(raw)}
		err = w.sights.fresh(ctx, req.Conversation, at.path, now, nil)
	}
	if err != nil {
		return Written{}, pathError(at.path, err)
	}
	out := Written{Path: at.path, Before: int64(len(raw))}
	edited, err := edit(text, req, &out)
	if err != nil {
		return Written{}, pathError(at.path, err)
	}
	if raw = document.Encode(f.Form, edited); len(raw) > MaxWrite {
		return Written{}, &PathError{at.path, fmt.Errorf("the file would have %d bytes; at most %d are written", len(raw), MaxWrite)}
	}
	out, err = w.replace(ctx, saw{req.Conversation, req.Result}, at, raw, req.New, out)
	out.Lines = lines.Count(edited)
	return out, err
}

// wholeText reads a file. One whose bytes do not come back from its text cannot be edited.
func wholeText(f *file) (raw, text []byte, err error) {
	if f.Disk > MaxWrite {
		return nil, nil, fmt.Errorf("it has %d bytes; at most %d are edited", f.Disk, MaxWrite)
	}
	raw, text = make([]byte, f.Disk), make([]byte, f.Size)
	if err := errors.Join(document.ReadFull(f.Raw, raw, 0), document.ReadFull(f.Text, text, 0)); err != nil {
		return nil, nil, err
	}
	if !bytes.Equal(raw, document.Encode(f.Form, text)) {
		return nil, nil, fmt.Errorf("it is not valid %s: an edit would change more than it should", f.Form)
	}
	return raw, text, nil
}

// edit makes the new text of a file and tells in out where it was changed.
func edit(text []byte, req EditRequest, out *Written) ([]byte, error) {
	flat, returns := flatten(text)
	old := []byte(strings.ReplaceAll(req.Old, "\r\n", "\n"))
	starts := occurrences(flat, old, req.All)
	switch {
	case len(starts) == 0:
		return nil, missing(flat, string(old))
	case len(starts) > maxFound:
		return nil, fmt.Errorf("old stands there more than %d times: give a longer text", maxFound)
	case len(starts) > 1 && !req.All:
		return nil, fmt.Errorf("old stands there %d times, in lines %s: add lines around it until it is unique, or set replace_all",
			len(starts), lineList(lineNumbers(flat, starts), int64(len(starts))))
	}
	out.Places, out.At = int64(len(starts)), lineNumbers(flat, starts)
	crlf := 2*len(returns) > bytes.Count(flat, []byte{'\n'})
	// Where a place of the flat text lies in the file: every \r before it was taken out.
	before := func(at int) int { return sort.SearchInts(returns, at) }
	var b bytes.Buffer
	done := 0
	for _, start := range starts {
		end := start + len(old)
		from, to := start+before(start), end+before(end)
		b.Write(text[done:from])
		inside := before(end) - before(start)
		b.WriteString(withEndings(req.New, inside > 0 || crlf && !bytes.Contains(old, []byte{'\n'})))
		done = to
	}
	b.Write(text[done:])
	return b.Bytes(), nil
}

// flatten takes the \r out of every \r\n and tells where: the places of those \n in the flat text.
func flatten(text []byte) (flat []byte, returns []int) {
	flat = make([]byte, 0, len(text))
	for i, c := range text {
		if c == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			returns = append(returns, len(flat))
			continue
		}
		flat = append(flat, c)
	}
	return flat, returns
}

// withEndings writes text with one kind of line ending.
func withEndings(text string, crlf bool) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// occurrences returns where old stands: apart from each other when all are to be replaced; else also
// where they overlap, since then it is not clear which one is meant.
func occurrences(text, old []byte, all bool) []int {
	step := 1
	if all {
		step = len(old)
	}
	var starts []int
	for at := 0; len(starts) <= maxFound; at += step {
		i := bytes.Index(text[at:], old)
		if i < 0 {
			break
		}
		at += i
		starts = append(starts, at)
	}
	return starts
}

// lineNumbers returns the lines in which the first places lie.
func lineNumbers(text []byte, starts []int) []int64 {
	var out []int64
	line, done := int64(1), 0
	for _, start := range starts[:min(len(starts), maxPlaces)] {
		line += int64(bytes.Count(text[done:start], []byte{'\n'}))
		done = start
		out = append(out, line)
	}
	return out
}

func lineList(numbers []int64, total int64) string {
	parts := make([]string, len(numbers))
	for i, n := range numbers {
		parts[i] = fmt.Sprint(n)
	}
	s := strings.Join(parts, ", ")
	if more := total - int64(len(numbers)); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// pageNumber is what a page writes before each line.
var pageNumber = regexp.MustCompile(`(?m)^[0-9]+\t`)

// missing says that old is not there, and why that may be.
func missing(flat []byte, old string) error {
	bare := pageNumber.ReplaceAllString(old, "")
	switch {
	case bare != old && bytes.Contains(flat, []byte(bare)):
		return errors.New("old does not stand in the file, but it does without the line numbers: leave them out, and the tab behind them")
	case strings.TrimSpace(old) != "" && bytes.Contains(flat, []byte(strings.TrimSpace(old))):
		return errors.New("old does not stand in the file, but it does without the blanks at its ends: check them")
	case strings.Contains(old, "\ufffd") && !utf8.Valid(flat):
		return errors.New("old does not stand in the file: it holds U+FFFD, which read shows for bytes that are not valid UTF-8")
	}
	return errors.New("old does not stand in the file: read the place again and copy it exactly")
}
