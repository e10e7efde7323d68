package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/weir-run/weir/internal/folder"
)

// Entry is one thing in a folder.
type Entry struct {
	// Name is the last name of its path; that of a folder ends in a slash.
	Name string
	// Kind is "file", "folder", "link" or "special".
	Kind string
	// Bytes is the length of a file. Lines is the number of its lines where they are known, else -1.
	Bytes, Lines int64
	// Changed is when it changed last, in UTC; for a stored result when it came; zero when not known.
	Changed time.Time
	// Result and Tool are those of a stored result, IsError says that it is a failure.
	Result, Tool string
	IsError      bool
}

// ListRequest asks what is in a folder.
type ListRequest struct {
	// Conversation is whose stored results tool-results/ are.
	Conversation string
	// Path is a folder or a mount; empty lists the mounts.
	Path string
	// Max is how many entries are given, at most [MaxPaths], which 0 means too. Offset is how many come
	// before the first of them.
	Max, Offset int
}

// ListResult is what is in a folder.
type ListResult struct {
	// Path is the folder; empty for the list of mounts.
	Path string
	// Entries are those from Offset on, sorted by name; stored results are in call order.
	Entries []Entry
	// Total is how many there are.
	Total int
}

// List gives what is in a folder, without what is in the folders in it.
func (w *Workspace) List(ctx context.Context, req ListRequest) (ListResult, error) {
	if req.Max < 0 || req.Max > MaxPaths || req.Offset < 0 {
		return ListResult{}, fmt.Errorf("list: %d entries from %d on: valid are 1 to %d, from 0 on", req.Max, req.Offset, MaxPaths)
	}
	out, err := w.entries(ctx, req)
	if err != nil {
		return ListResult{}, err
	}
	out.Total = len(out.Entries)
	out.Entries = out.Entries[min(req.Offset, out.Total):]
	out.Entries = out.Entries[:min(cmp.Or(req.Max, MaxPaths), len(out.Entries))]
	return out, nil
}

func (w *Workspace) entries(ctx context.Context, req ListRequest) (ListResult, error) {
	if req.Path == "" {
		return ListResult{Entries: w.mountEntries()}, nil
	}
	at, err := w.locate(req.Path)
	if err != nil {
		return ListResult{}, err
	}
	out := ListResult{Path: at.path}
	if at.mount == nil {
		if at.name != "." {
			return ListResult{}, &PathError{at.path, folder.ErrNotFolder}
		}
		out.Entries, err = w.storedEntries(ctx, req.Conversation)
		return out, err
	}
	infos, err := at.mount.List(at.name)
	if err != nil {
		return ListResult{}, pathError(at.path, err)
	}
	for _, info := range infos {
		e := Entry{Name: info.Name(), Kind: "file", Bytes: info.Size(), Lines: -1, Changed: info.ModTime().UTC()}
		switch mode := info.Mode(); {
		case mode.IsDir():
			e.Name, e.Kind, e.Bytes = e.Name+"/", "folder", 0
		case mode&fs.ModeSymlink != 0:
			e.Kind = "link"
		case !mode.IsRegular():
			e.Kind = "special"
		}
		out.Entries = append(out.Entries, e)
	}
	return out, nil
}

func (w *Workspace) mountEntries() []Entry {
	var out []Entry
	for _, m := range w.mounts {
		out = append(out, Entry{Name: m.name + "/", Kind: "folder", Lines: -1})
	}
	if w.stored != nil {
		out = append(out, Entry{Name: storedMount + "/", Kind: "folder", Lines: -1})
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (w *Workspace) storedEntries(ctx context.Context, conversation string) ([]Entry, error) {
	entries, err := w.stored.List(ctx, conversation)
	if err != nil {
		return nil, pathError(storedMount, err)
	}
	out := make([]Entry, 0, len(entries))
	for _, s := range entries {
		e := Entry{
			Name: s.Name, Kind: "file", Bytes: s.Bytes, Lines: s.Lines, Result: s.Result, Tool: s.Tool, IsError: s.IsError,
		}
		if !s.At.IsZero() {
			e.Changed = s.At.UTC()
		}
		if s.Payload {
			e.Lines = -1
		}
		out = append(out, e)
	}
	return out, nil
}

// GlobRequest asks for the files whose paths match a pattern.
type GlobRequest struct {
	// Conversation is whose stored results tool-results/ are.
	Conversation string
	// Pattern is in the syntax of doublestar: *, **, ?, [a-z], {a,b}. It is held against the path below
	// Path, and against the whole path when Path is empty.
	Pattern string
	// Path is a folder or a mount; empty means every mount.
	Path string
	// All looks at what .gitignore names too.
	All bool
	// Max is how many paths are given, at most [MaxPaths], which 0 means too. Offset is how many come
	// before the first of them.
	Max    int
	Offset int64
}

// GlobResult are the files that match.
type GlobResult struct {
	// Paths are those from Offset on, sorted by their bytes.
	Paths []string
	// Matches is how many there are in all, of Files files that were looked at.
	Matches, Files int64
	// Skipped is what was not looked at.
	Skipped []Skipped
	// TimedOut says that the walk ended at its deadline: the figures are those until then.
	TimedOut bool
	// Deadline is how long the walk could take.
	Deadline time.Duration
}

// Glob walks everything in scope, so that its figures are true totals, and gives a part of the paths.
func (w *Workspace) Glob(ctx context.Context, req GlobRequest) (GlobResult, error) {
	if req.Max < 0 || req.Max > MaxPaths || req.Offset < 0 {
		return GlobResult{}, fmt.Errorf("glob: %d paths from %d on: valid are 1 to %d, from 0 on", req.Max, req.Offset, MaxPaths)
	}
	g, err := folder.NewGlob(req.Pattern)
	if err != nil {
		return GlobResult{}, err
	}
	root := ""
	if req.Path != "" {
		at, err := w.locate(req.Path)
		if err != nil {
			return GlobResult{}, err
		}
		root = at.path + "/"
	}
	most := cmp.Or(req.Max, MaxPaths)
	out := GlobResult{Deadline: w.deadline}
	var left skips
	timed, cancel := context.WithTimeout(ctx, w.deadline)
	defer cancel()
	err = w.each(timed, scope{req.Conversation, req.Path, req.All}, func(it item) error {
		defer it.close()
		out.Files++
		// Without a path, the pattern may begin at the mount or below it.
		if !g.Match(strings.TrimPrefix(it.path, root)) && (root != "" || !g.Match(it.name)) {
			return nil
		}
		if out.Matches++; out.Matches > req.Offset && len(out.Paths) < most {
			out.Paths = append(out.Paths, it.path)
		}
		return nil
	}, left.add)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		out.TimedOut, err = true, nil
	}
	out.Skipped = left.list()
	return out, err
}
