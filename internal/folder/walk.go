package folder

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
)

// MaxDepth is how many folders deep a walk goes.
const MaxDepth = 200

// Reason says why a walk left something out.
type Reason int

// The reasons.
const (
	// Ignored: a .gitignore names it, or it is a .git folder.
	Ignored Reason = iota
	// Link: it is a symbolic link, and links are not followed.
	Link
	// Special: it is a device, a pipe or a socket.
	Special
	// Unreadable: the system refused; Skip.Err says why.
	Unreadable
)

// Skip is something that a walk left out. A folder stands for all that is in it.
type Skip struct {
	// Name is the path below the folder; that of a folder ends in a slash.
	Name   string
	Reason Reason
	Err    error
}

// Entry is a regular file that a walk came to. Close must be called for each.
type Entry struct {
	// Name is the path below the folder.
	Name string
	at   *place
}

// Open opens the file.
func (e Entry) Open() (*os.File, fs.FileInfo, error) {
	file, info, err := open(e.at.root, path.Base(e.Name))
	return file, info, wrap(e.Name, err)
}

// Stat looks at the file without opening it.
func (e Entry) Stat() (fs.FileInfo, error) {
	info, err := e.at.root.Lstat(path.Base(e.Name))
	return info, wrap(e.Name, err)
}

// Close ends the use of the entry.
func (e Entry) Close() { e.at.release() }

// place is one folder of a walk, open while the walk or an entry needs it.
type place struct {
	root *os.Root
	uses atomic.Int64
}

func (p *place) release() {
	if p.uses.Add(-1) == 0 {
		_ = p.root.Close() // only read from
	}
}

// Walk is how a folder is walked.
type Walk struct {
	// Start is the path to begin at; "." is the folder itself.
	Start string
	// Ignore honours the .gitignore files from the folder downward. What Start names is walked even
	// when they name it.
	Ignore bool
	// File is called for every regular file, in the byte order of the paths. Its error ends the walk.
	File func(Entry) error
	// Skip is called for everything that is left out, in that order too.
	Skip func(Skip)
}

// Walk goes through the files below Start. It ends with the error of ctx, of File, or of Start itself;
// what cannot be read below that is skipped. Links are not followed, so no loop is entered.
func (f *Folder) Walk(ctx context.Context, w Walk) error {
	sub, err := f.sub(w.Start)
	if err != nil {
		return err
	}
	v := &walker{Walk: w}
	if w.Ignore {
		v.rules = f.rulesAbove(w.Start)
	}
	start := w.Start
	if start == "." {
		start = ""
	}
	return v.folder(ctx, &place{root: sub}, start, 0)
}

type walker struct {
	Walk
	rules ruleStack
}

// folder walks one folder, whose path is "" for the top. It closes the place.
func (v *walker) folder(ctx context.Context, at *place, name string, depth int) error {
	at.uses.Add(1)
	defer at.release()
	entries, err := read(at.root)
	if err != nil {
		if depth == 0 {
			return wrap(cmp.Or(name, "."), err)
		}
		v.Skip(Skip{name + "/", Unreadable, wrap(name, err)})
		return nil
	}
	if v.Ignore {
		defer v.enter(at.root, name, entries)()
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := v.entry(ctx, at, path.Join(name, e.Name()), e, depth); err != nil {
			return err
		}
	}
	return nil
}

// entry walks one thing in a folder.
func (v *walker) entry(ctx context.Context, at *place, name string, e fs.DirEntry, depth int) error {
	shown := name
	if e.IsDir() {
		shown += "/"
	}
	if v.Ignore && (e.IsDir() && e.Name() == ".git" || v.rules.ignored(name, e.IsDir())) {
		v.Skip(Skip{shown, Ignored, nil})
		return nil
	}
	switch {
	case e.IsDir():
		if depth == MaxDepth {
			v.Skip(Skip{shown, Unreadable, errors.New("too many folders deep")})
			return nil
		}
		sub, err := at.root.OpenRoot(e.Name())
		if err != nil {
			v.Skip(Skip{shown, Unreadable, wrap(name, err)})
			return nil
		}
		return v.folder(ctx, &place{root: sub}, name, depth+1)
	case e.Type().IsRegular():
		at.uses.Add(1)
		return v.File(Entry{Name: name, at: at})
	case e.Type()&fs.ModeSymlink != 0:
		v.Skip(Skip{shown, Link, nil})
	default:
		v.Skip(Skip{shown, Special, nil})
	}
	return nil
}

// enter reads a folder's .gitignore, if it has one, and returns what takes its rules away again.
func (v *walker) enter(root *os.Root, name string, entries []fs.DirEntry) (leave func()) {
	before := v.rules
	for _, e := range entries {
		if e.Name() != ignoreFile || !e.Type().IsRegular() {
			continue
		}
		text, err := readRules(root, ignoreFile)
		if err != nil {
			file := path.Join(name, ignoreFile)
			v.Skip(Skip{file, Unreadable, wrap(file, err)})
			continue
		}
		v.rules = append(slices.Clip(v.rules), parseRules(name, text))
	}
	return func() { v.rules = before }
}

// read lists a folder in the order in which the paths below it sort: a folder sorts with its slash.
func read(root *os.Root) ([]fs.DirEntry, error) {
	d, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	key := func(e fs.DirEntry) string {
		if e.IsDir() {
			return e.Name() + "/"
		}
		return e.Name()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(key(a), key(b)) })
	return entries, nil
}

// readRules reads a .gitignore; only its first MiB counts.
func readRules(root *os.Root, name string) (string, error) {
	file, _, err := open(root, name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 1<<20))
	return string(text), err
}
