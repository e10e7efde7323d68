package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-run/weir/internal/document"
	"github.com/weir-run/weir/internal/folder"
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
