package workspace

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/folder"
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
var ErrBinary = errors.New("is a binary file")

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
