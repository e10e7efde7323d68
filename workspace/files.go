package workspace

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-run/weir/internal/document"
	"github.com/weir-run/weir/internal/folder"
	"github.com/weir-run/weir/internal/lines"
)

// Skipped is what was not looked at, for one reason.
type Skipped struct {
	// Reason is a plural, such as "ignored by .gitignore" or "binary".
	Reason string
	// Count is how many files or folders there were; a folder stands for all that is in it.
	Count int64
	// Names are the first of them in the order of the paths, at most [MaxSkipped].
	Names []string
}

// MaxSkipped is how many names a [Skipped] has at most.
const MaxSkipped = 5

// The reasons, in the order in which they are told.
const (
	skipUnreadable = iota
	skipBinary
	skipLarge
	skipLong
	skipIgnored
	skipLink
	skipSpecial
	skipReasons
)

var skipText = [skipReasons]string{
	"unreadable", "binary", fmt.Sprintf("over %d bytes", MaxFile), "with lines too long to search",
	"ignored by .gitignore", "symbolic links, which are not followed", "devices, pipes or sockets",
}

// skips collects what was left out.
type skips [skipReasons]Skipped

// add counts something; note stands behind its name.
func (s *skips) add(reason int, path, note string) {
	name := shown(path)
	if note != "" {
		name += " (" + note + ")"
	}
	k := &s[reason]
	k.Count++
	at, _ := slices.BinarySearch(k.Names, name)
	if k.Names = slices.Insert(k.Names, at, name); len(k.Names) > MaxSkipped {
		k.Names = k.Names[:MaxSkipped]
	}
}

// merge adds what another collected.
func (s *skips) merge(o *skips) {
	for i := range o {
		count := s[i].Count + o[i].Count
		names := append(s[i].Names, o[i].Names...)
		slices.Sort(names)
		s[i] = Skipped{Count: count, Names: names[:min(len(names), MaxSkipped)]}
	}
}

// list returns the reasons that occurred.
func (s *skips) list() []Skipped {
	var out []Skipped
	for i, k := range s {
		if k.Count > 0 {
			k.Reason = skipText[i]
			out = append(out, k)
		}
	}
	return out
}

// failed counts what could not be opened or read, with the reason that it has.
func (s *skips) failed(d string, err error) {
	var pe *PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	var be *document.BinaryError
	if errors.As(err, &be) {
		s.add(skipBinary, d, bytesNote(be.Bytes))
		return
	}
	var fe *folder.Error
	note := shown(plain(err).Error())
	if errors.As(err, &fe) {
		note = fe.Reason()
	}
	s.add(skipUnreadable, d, note)
}

// item is one file that a path stands for. Close must be called for each.
type item struct {
	path string
	// name is the path below the mount, for globs.
	name  string
	open  func(ctx context.Context) (*file, error)
	close func()
}

// scope is what a search or a glob goes through.
type scope struct {
	conversation string
	path         string // empty: everything
	all          bool   // also what .gitignore names
}

// each calls yield for every file in scope, in the order of the paths, and skip for what is left out.
// A path that names a file gives that file, whatever .gitignore says.
func (w *Workspace) each(ctx context.Context, s scope, yield func(item) error, skip func(reason int, path, note string)) error {
	if s.path != "" {
		at, err := w.locate(s.path)
		if err != nil {
			return err
		}
		return w.eachBelow(ctx, s, at, yield, skip)
	}
	places := make([]place, 0, len(w.mounts)+1)
	for i := range w.mounts {
		places = append(places, place{mount: &w.mounts[i], name: ".", path: w.mounts[i].name})
	}
	if w.stored != nil {
		places = append(places, place{name: ".", path: storedMount})
	}
	slices.SortFunc(places, func(a, b place) int { return strings.Compare(a.path+"/", b.path+"/") })
	for _, at := range places {
		if err := w.eachBelow(ctx, s, at, yield, skip); err != nil {
			return err
		}
	}
	return nil
}

func (w *Workspace) eachBelow(ctx context.Context, s scope, at place, yield func(item) error, skip func(int, string, string)) error {
	if at.mount == nil {
		return w.eachStored(ctx, s, at, yield)
	}
	info, err := at.mount.Stat(at.name)
	if err != nil {
		return pathError(at.path, err)
	}
	if !info.IsDir() {
		return yield(item{
			path: at.path, name: at.name, close: func() {},
			open: func(ctx context.Context) (*file, error) { return w.open(ctx, s.conversation, at, false) },
		})
	}
	err = at.mount.Walk(ctx, folder.Walk{
		Start: at.name, Ignore: !at.mount.all && !s.all,
		File: func(e folder.Entry) error { return yield(w.entryItem(at.mount, e)) },
		Skip: func(k folder.Skip) {
			reason, note := walkSkip(k)
			skip(reason, at.mount.below(k.Name), note)
		},
	})
	var fe *folder.Error
	if errors.As(err, &fe) {
		err = pathError(cmp.Or(at.path, fe.Name), err)
	}
	return err
}

func walkSkip(k folder.Skip) (reason int, note string) {
	switch k.Reason {
	case folder.Ignored:
		return skipIgnored, ""
	case folder.Link:
		return skipLink, ""
	case folder.Special:
		return skipSpecial, ""
	}
	var fe *folder.Error
	if errors.As(k.Err, &fe) {
		return skipUnreadable, fe.Reason()
	}
	return skipUnreadable, k.Err.Error()
}

// entryItem is a file that a walk came to.
func (w *Workspace) entryItem(m *mount, e folder.Entry) item {
	path := m.below(e.Name)
	return item{path: path, name: e.Name, close: e.Close, open: func(context.Context) (*file, error) {
		raw, info, err := e.Open()
		if err != nil {
			return nil, pathError(path, err)
		}
		return newFile(path, raw, info.Size(), raw, false)
	}}
}

// eachStored goes through the stored results of a conversation.
func (w *Workspace) eachStored(ctx context.Context, s scope, at place, yield func(item) error) error {
	if at.name != "." {
		d, err := w.open(ctx, s.conversation, at, false)
		if err != nil && !errors.Is(err, ErrBinary) {
			return err
		}
		return yield(item{
			path: at.path, name: at.name,
			open: func(context.Context) (*file, error) { return d, err },
			close: func() {
				if d != nil {
					d.close()
				}
			},
		})
	}
	entries, err := w.stored.List(ctx, s.conversation)
	if err != nil {
		return pathError(at.path, err)
	}
	slices.SortFunc(entries, func(a, b StoredEntry) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := yield(w.storedItem(s.conversation, e.Name)); err != nil {
			return err
		}
	}
	return nil
}

func (w *Workspace) storedItem(conversation, name string) item {
	at := place{name: name, path: storedMount + "/" + name}
	return item{path: at.path, name: name, close: func() {}, open: func(ctx context.Context) (*file, error) {
		return w.openStored(ctx, conversation, at, false)
	}}
}

// LineRange asks for the bytes of lines.
type LineRange struct {
	// Conversation is whose stored results tool-results/ are.
	Conversation string
	// Path is mount/relative/path.
	Path string
	// First and Last count from 1, both included; 0 means the first and the last that there is. A Last
	// beyond the end is the end.
	First, Last int64
	// Number puts the number and a tab before each line.
	Number bool
}

// WriteLines writes lines as they are in the file, byte for byte, as sed -n 'A,Bp' prints them: with
// their own endings, and with line 1 the mark at the start of the file. A UTF-16 file is written as
// UTF-8. A first line that the file does not have is an error that states the valid range.
func (w *Workspace) WriteLines(ctx context.Context, out io.Writer, req LineRange) error {
	d, ix, err := w.indexed(ctx, req.Conversation, req.Path, true)
	if err != nil {
		return err
	}
	defer d.close()
	first, last := max(req.First, 1), req.Last
	switch {
	case ix.Lines == 0 && first == 1:
		return nil
	case first > ix.Lines:
		return pathError(d.path, &lines.RangeError{First: first, Last: first, Lines: ix.Lines})
	case last == 0 || last > ix.Lines:
		last = ix.Lines
	}
	from, to, err := ix.Range(d.Text, first, last)
	if err != nil {
		return pathError(d.path, err)
	}
	text := d.Text
	if first == 1 && d.Form == document.Marked && !req.Number {
		text, to = d.Raw, to+d.Mark
	}
	if req.Number {
		return pathError(d.path, numbered(ctx, out, io.NewSectionReader(text, from, to-from), first, last))
	}
	return pathError(d.path, stream(ctx, out, text, from, to))
}

// stream copies bytes in pieces, so that what is long is never in memory as a whole.
func stream(ctx context.Context, out io.Writer, text io.ReaderAt, from, to int64) error {
	buf := make([]byte, min(to-from, 256<<10))
	for from < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := buf[:min(int64(len(buf)), to-from)]
		if err := document.ReadFull(text, part, from); err != nil {
			return err
		}
		if _, err := out.Write(part); err != nil {
			return err
		}
		from += int64(len(part))
	}
	return nil
}

// numbered copies lines with their numbers.
func numbered(ctx context.Context, out io.Writer, text io.Reader, first, last int64) error {
	in, to := bufio.NewReaderSize(text, 64<<10), bufio.NewWriterSize(out, 64<<10)
	for n := first; n <= last; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		// What a bufio.Writer refuses it tells again in Flush.
		_, _ = to.WriteString(strconv.FormatInt(n, 10) + "\t")
		for more := true; more; {
			part, err := in.ReadSlice('\n')
			_, _ = to.Write(part)
			more = errors.Is(err, bufio.ErrBufferFull)
			if err != nil && !more && !errors.Is(err, io.EOF) {
				return plain(err)
			}
		}
	}
	return to.Flush()
}
