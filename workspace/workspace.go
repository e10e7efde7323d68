// Package workspace gives confined read, grep, glob, list, write and edit over folders and stored results.
//
// What it serves are mounts. tool-results/ is always there: every stored
// result of a conversation, spilled or inline, and the payloads kept beside
// them. Project folders are added by [Config]. A path is
// mount/relative/path, always with slashes. The same engine stands behind the
// tools of a model and behind the command line.
//
// A line is what package lines says, so read, grep and the notice of a spilled
// result agree on every number, with each other and with grep -n and sed -n.
// A UTF-8 byte order mark is not shown and not counted; a UTF-16 file with
// such a mark is read as the text it holds.
package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-run/weir/internal/document"
	"github.com/weir-run/weir/internal/folder"
	"github.com/weir-run/weir/spill"
)

// Limits of the workspace.
const (
	// MaxPage is the most characters that a page has, its header included.
	MaxPage = 20_000
	// MinPage is the least room in characters that a page can be made for.
	MinPage = 500
	// MaxFile is the largest file in bytes that is searched; a larger one is named as not searched.
	MaxFile = 1 << 30
	// MaxDecoded is the largest UTF-16 file in bytes that is decoded.
	MaxDecoded = document.MaxDecoded
	// DefaultDeadline is how long one search may take.
	DefaultDeadline = 30 * time.Second
	// DefaultMatches is how many matches a search gives when nobody says; MaxMatches is the most.
	DefaultMatches = 100
	MaxMatches     = 1000
	// MaxContext is the most lines before or after a match.
	MaxContext = 100
	// MaxPaths is the most paths that one page of glob or list has.
	MaxPaths = 1000
)

// Mount is one folder that is served.
type Mount struct {
	// Name is what paths begin with: 1 to 64 of A-Z a-z 0-9 . _ -, no dot at the start.
	Name string
	// Dir is the folder on this machine.
	Dir string
	// Write lets files be written and edited; without it the mount is read-only.
	Write bool
	// All serves what .gitignore files name too. Without it grep and glob leave that out, and say so.
	All bool
}

// Config is what a [Workspace] serves. The zero value serves nothing but is in working order.
type Config struct {
	// Mounts are the project folders.
	Mounts []Mount
	// Stored serves tool-results/; nil for a workspace without stored results. [Results] makes one.
	Stored Stored
	// Reads remembers what conversations saw of the files of mounts; nil remembers the last 10,000 in
	// memory. [Sights] makes one that outlives the process.
	Reads Reads
	// Deadline is how long one search or walk may take; 0 means [DefaultDeadline].
	Deadline time.Duration
	// Workers is how many files are searched at once; 0 means one for each core.
	Workers int
	// Indexes is how many line indexes are kept in memory; 0 means 256. One takes at most 13 bytes for
	// each 64 KiB of its file.
	Indexes int
	// Logger hears what nobody else is told; nil is silent.
	Logger *slog.Logger
}

// Workspace serves mounts. It is safe for concurrent use.
type Workspace struct {
	mounts   []mount // in the order of their paths
	stored   Stored
	deadline time.Duration
	workers  int
	indexes  *document.Cache
	sights   *sights
	writing  sync.Mutex // one write at a time, so that none is lost between another's look and its write
}

// mount is one folder that is open.
type mount struct {
	name  string
	all   bool
	write bool
	*folder.Folder
}

// New opens the mounts. A mount whose folder is not there, a name that is none, and a name that is
// taken are errors; nothing stays open then.
func New(cfg Config) (*Workspace, error) {
	w := &Workspace{
		stored:   cfg.Stored,
		deadline: cmp.Or(cfg.Deadline, DefaultDeadline),
		workers:  cmp.Or(cfg.Workers, runtime.GOMAXPROCS(0)),
		indexes:  document.NewCache(cmp.Or(cfg.Indexes, 256)),
	}
	if w.deadline < 0 || w.workers < 0 || cfg.Indexes < 0 {
		return nil, fmt.Errorf("open the workspace: a deadline of %v, %d workers or %d indexes cannot be below 0",
			cfg.Deadline, cfg.Workers, cfg.Indexes)
	}
	w.sights = newSights(cfg.Reads, cfg.Logger)
	for _, m := range cfg.Mounts {
		if err := w.mount(m); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	// "a-b/x" stands before "a/x": paths sort by their bytes.
	slices.SortFunc(w.mounts, func(a, b mount) int { return strings.Compare(a.name+"/", b.name+"/") })
	return w, nil
}

func (w *Workspace) mount(m Mount) error {
	if err := checkMount(m.Name); err != nil {
		return err
	}
	if slices.ContainsFunc(w.mounts, func(o mount) bool { return o.name == m.Name }) {
		return fmt.Errorf("mount %s: the name is given twice; give each folder a name of its own", m.Name)
	}
	f, err := folder.Open(m.Dir)
	var fe *folder.Error
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("mount %s: there is no folder %s", m.Name, m.Dir)
	case errors.As(err, &fe):
		return fmt.Errorf("mount %s: %s: %s", m.Name, m.Dir, fe.Reason())
	case err != nil:
		return fmt.Errorf("mount %s: %w", m.Name, err)
	}
	w.mounts = append(w.mounts, mount{m.Name, m.All, m.Write, f})
	return nil
}

func checkMount(name string) error {
	bad := func(why string) error { return fmt.Errorf("mount %.70q: %s", name, why) }
	switch {
	case name == "":
		return errors.New("a mount needs a name, such as project")
	case len(name) > 64:
		return bad("a name has at most 64 characters")
	case name[0] == '.':
		return bad("a name cannot start with a dot")
	case name == spill.Mount:
		return bad("this name is kept for stored results")
	}
	for _, r := range name {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-', r == '.':
		default:
			return bad(fmt.Sprintf("only A-Z a-z 0-9 . _ - are allowed, found %q", r))
		}
	}
	return nil
}

// Close closes the mounts.
func (w *Workspace) Close() error {
	var errs []error
	for _, m := range w.mounts {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}

// names lists the mounts for an error, in order.
func (w *Workspace) names() string {
	var names []string
	for _, m := range w.mounts {
		names = append(names, m.name+"/")
	}
	if w.stored != nil {
		names = append(names, spill.Mount+"/")
	}
	if names == nil {
		return "there are none"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
