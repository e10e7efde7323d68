package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/document"
	"github.com/weir-run/weir/internal/folder"
	"github.com/weir-run/weir/internal/lines"
	"github.com/weir-run/weir/spill"
)

// maxPath is the longest path in bytes.
const maxPath = 4096

// PathError tells which path could not be used and why. It never says where a mount lies.
type PathError struct {
	// Path is the path as it was given, mount first.
	Path string
	Err  error
}

// Error gives the path and the reason, in one line.
func (e *PathError) Error() string { return fmt.Sprintf("path %s: %v", quote(e.Path), e.Err) }

// Unwrap gives the reason: fs.ErrNotExist, fs.ErrPermission, [ErrBinary] or another.
func (e *PathError) Unwrap() error { return e.Err }

// ErrBinary says that a file is not text.
var ErrBinary = document.ErrBinary

// pathError makes a [*PathError] of what a folder said.
func pathError(p string, err error) error {
	var pe *PathError
	var fe *folder.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &pe):
		return err
	case errors.As(err, &fe):
		return &PathError{p, &reason{fe.Reason(), err}}
	case errors.Is(err, lines.ErrStale):
		return &PathError{p, document.ErrChanged}
	}
	return &PathError{p, err}
}

// reason is an error in other words.
type reason struct {
	text string
	err  error
}

func (r *reason) Error() string { return r.text }
func (r *reason) Unwrap() error { return r.err }

// quote shows a text from outside in an error; a long one is cut.
func quote(s string) string {
	if utf8.RuneCountInString(s) > 120 {
		return fmt.Sprintf("%.120q…", s)
	}
	return fmt.Sprintf("%q", s)
}

// place is where a path leads: below a mount, or to the stored results when mount is nil.
type place struct {
	mount *mount
	// name is the path below the mount; "." is the mount itself.
	name string
	// path is the whole path, clean.
	path string
}

// locate finds the mount of a path.
func (w *Workspace) locate(p string) (place, error) {
	bad := func(why string) (place, error) { return place{}, &PathError{p, errors.New(why)} }
	switch {
	case p == "":
		return place{}, fmt.Errorf("a path is needed: mount/relative/path; the mounts: %s", w.names())
	case len(p) > maxPath:
		return bad(fmt.Sprintf("it has %d bytes; at most %d are allowed", len(p), maxPath))
	case strings.ContainsRune(p, 0):
		return bad("it contains a NUL byte")
	case strings.ContainsRune(p, '\\'):
		return bad("it contains a backslash; parts are separated by /")
	case p[0] == '/':
		return bad("it is absolute; a path is mount/relative/path; the mounts: " + w.names())
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." {
			return bad("it contains ..; name the file from its mount down")
		}
	}
	clean := path.Clean(p)
	name, rest, _ := strings.Cut(clean, "/")
	if rest == "" {
		rest = "."
	}
	if name == spill.Mount && w.stored != nil {
		return place{name: rest, path: clean}, nil
	}
	for i := range w.mounts {
		if w.mounts[i].name == name {
			return place{mount: &w.mounts[i], name: rest, path: clean}, nil
		}
	}
	return bad(fmt.Sprintf("there is no mount %s; the mounts: %s", quote(name), w.names()))
}

// below makes the path of something in a mount.
func (m *mount) below(name string) string {
	if name == "." || name == "" {
		return m.name
	}
	return m.name + "/" + name
}

// shown makes a path fit to stand in a line of text: what would break the line, and what is not valid
// UTF-8, is escaped as in a Go string.
func shown(p string) string {
	if utf8.ValidString(p) && !strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return p
	}
	var b strings.Builder
	for _, r := range p {
		if r < ' ' || r == 0x7f {
			fmt.Fprintf(&b, `\x%02x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// file is one file, open, as text.
type file struct {
	*document.Document
	path  string
	mount *mount // nil for a stored result
	// key names the file for the cache of indexes, changed is when it changed last; no key, no cache.
	key     string
	changed time.Time
	// known is the index that was stored with the file.
	known  *lines.Index
	closer io.Closer
}

func (f *file) close() { _ = f.closer.Close() } // only read from

// newFile looks at what was opened; on an error it is closed.
func newFile(p string, raw io.ReaderAt, size int64, closer io.Closer, asText bool) (*file, error) {
	d, err := document.New(raw, size, asText)
	if err != nil {
		return nil, errors.Join(pathError(p, err), closer.Close())
	}
	return &file{Document: d, path: p, closer: closer}, nil
}

// open opens what a path names. A folder is an error, and so is a binary file unless asText.
func (w *Workspace) open(ctx context.Context, conversation string, at place, asText bool) (*file, error) {
	if at.mount == nil {
		return w.openStored(ctx, conversation, at, asText)
	}
	raw, info, err := at.mount.File(at.name)
	if err != nil {
		return nil, pathError(at.path, err)
	}
	f, err := newFile(at.path, raw, info.Size(), raw, asText)
	if err != nil {
		return nil, err
	}
	f.mount, f.key, f.changed = at.mount, at.path, info.ModTime()
	return f, nil
}

// index returns the index of a file: the one that was stored with it, one that was kept and is still
// right, or a new one, for which the whole file is read once. A file of a mount gets its hash with it when
// summed is set.
func (w *Workspace) index(ctx context.Context, f *file, summed bool) (*document.Index, error) {
	summed = summed && f.mount != nil
	if f.key != "" {
		if ix := w.indexes.Get(f.key, f.Disk, f.changed); ix != nil && (!summed || ix.Sum != [32]byte{}) {
			return ix, nil
		}
	}
	var ix *document.Index
	var err error
	switch {
	case f.known != nil && f.Form == document.Plain:
		ix = document.NewIndex(*f.known)
	case summed:
		ix, err = document.BuildSum(ctx, f.Document)
	default:
		ix, err = document.Build(ctx, f.Text, f.Size)
	}
	if err != nil {
		return nil, pathError(f.path, err)
	}
	if f.key != "" {
		w.indexes.Put(f.key, f.Disk, f.changed, ix)
	}
	return ix, nil
}

// indexed opens a file with its index, for the command line asText, else with its hash.
func (w *Workspace) indexed(ctx context.Context, conversation, path string, asText bool) (*file, *document.Index, error) {
	at, err := w.locate(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := w.open(ctx, conversation, at, asText)
	if err != nil {
		return nil, nil, err
	}
	ix, err := w.index(ctx, f, !asText && conversation != "")
	if err != nil {
		f.close()
		return nil, nil, err
	}
	return f, ix, nil
}

// plain takes the path on this machine out of an error.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
