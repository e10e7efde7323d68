package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-run/weir/internal/folder"
	"github.com/weir-run/weir/tool"
)

// Limits of the listing.
const (
	// maxSources is how many files are gone through at most.
	maxSources = 500_000
	// maxSource is the largest file in bytes that is read.
	maxSource = 64 << 20
	// maxListing is the longest listing in bytes.
	maxListing = 256 << 20
	// maxUnread is how many files that were left out are named.
	maxUnread = 1000
)

// listTool is the name of the demo's tool.
const listTool = "source--declarations"

// outlineIn is what the tool is asked.
type outlineIn struct {
	Folder string `json:"folder,omitempty" jsonschema:"list only what lies below this folder, such as net/http; default everything"`
}

// outlined are the figures of a listing, its machine's view.
type outlined struct {
	// Files is how many were gone through to their end: those of Go, and others.
	Files   int   `json:"files"`
	GoFiles int   `json:"go_files"`
	Others  int   `json:"other_files"`
	Bytes   int64 `json:"bytes"`
	// Declarations are those of the Go files; Unparsed is how many of these could be parsed in part only.
	Declarations int `json:"declarations"`
	Unparsed     int `json:"unparsed_files"`
	// Skipped is how many files were not gone through; Left names the first of them.
	Skipped int      `json:"skipped_files"`
	Left    []unread `json:"skipped"`
}

// unread is a file that was not gone through.
type unread struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// listingTool makes the demo's tool over a folder: an ordinary Go function.
func listingTool(dir string) (tool.Tool, error) {
	t, err := tool.Func(listTool, "List every exported declaration of the Go files below the source folder, one a line, "+
		"as path:line:kind name, in the order of the paths. Kinds are const, var, type, func and method. A file of another "+
		"kind has one line of kind file, and a Go file that cannot be parsed to its end one of kind unparsed.",
		func(ctx context.Context, in outlineIn) (tool.Result, error) {
			text, figures, err := outline(ctx, dir, in.Folder)
			if err != nil {
				return tool.Result{}, err
			}
			machine, err := json.Marshal(figures)
			return tool.Result{Data: text, Structured: machine}, err
		})
	t.Traits = tool.Traits{ReadOnly: true, Timeout: 10 * time.Minute}
	return t, err
}

// outline goes through every file below a folder: first their names, then, on all cores, the files.
func outline(ctx context.Context, dir, below string) (string, outlined, error) {
	figures := outlined{Left: []unread{}}
	source, err := folder.Open(dir)
	if err != nil {
		return "", figures, fmt.Errorf("open the source folder: %w", err)
	}
	defer source.Close()
	if below == "" {
		below = "."
	}
	var names []string
	err = source.Walk(ctx, folder.Walk{
		Start: path.Clean(below), Skip: func(folder.Skip) {}, // links, devices and closed folders: no files of this folder
		File: func(e folder.Entry) error {
			defer e.Close()
			if names = append(names, e.Name); len(names) > maxSources {
				return fmt.Errorf("there are more than %s files: name a smaller folder", number(maxSources))
			}
			return nil
		},
	})
	if err != nil {
		return "", figures, fmt.Errorf("go through the source folder: %w", err)
	}
	l := &outliner{source: source, names: names, parts: make([]part, len(names))}
	if err := l.run(ctx); err != nil {
		return "", figures, err
	}
	text := l.gather(&figures)
	return text, figures, nil
}

// outliner is one run of the tool.
type outliner struct {
	source *folder.Folder
	names  []string
	parts  []part
	next   atomic.Int64 // the file that is taken next
	done   atomic.Int64
	bytes  atomic.Int64 // of the lines so far
}

// part is what one file gave.
type part struct {
	lines        []byte
	size         int64
	isGo         bool
	declarations int
	unparsed     bool
	skipped      string // why it was not gone through
}

// run goes through the files and reports how many are done.
func (l *outliner) run(ctx context.Context) error {
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() { l.work(ctx) })
	}
	ended := make(chan struct{})
	go func() {
		workers.Wait()
		close(ended)
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		tool.Report(ctx, progress{int(l.done.Load()), len(l.names)}.String())
		select {
		case <-ended:
			if l.bytes.Load() > maxListing {
				return fmt.Errorf("the list is longer than %s: name a smaller folder", size(maxListing))
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// progress is how far the listing is.
type progress struct{ done, of int }

func (p progress) String() string { return fmt.Sprintf("%d of %d files", p.done, p.of) }

// parseProgress reads what String wrote.
func parseProgress(text string) (p progress, ok bool) {
	n, err := fmt.Sscanf(text, "%d of %d files", &p.done, &p.of)
	return p, n == 2 && err == nil
}

// work takes one file after the other.
func (l *outliner) work(ctx context.Context) {
	var buffer bytes.Buffer
	for ctx.Err() == nil && l.bytes.Load() <= maxListing {
		n := int(l.next.Add(1)) - 1
		if n >= len(l.names) {
			return
		}
		p := &l.parts[n]
		if err := l.read(l.names[n], &buffer); err != nil {
			p.skipped = reasonOf(err)
		} else {
			*p = partOf(l.names[n], buffer.Bytes())
		}
		l.bytes.Add(int64(len(p.lines)))
		l.done.Add(1)
	}
}

// errTooLong says that a file is not read.
var errTooLong = fmt.Errorf("over %d bytes", maxSource)

// read reads a file to its end.
func (l *outliner) read(name string, into *bytes.Buffer) error {
	f, info, err := l.source.File(name)
	if err != nil {
		return err
	}
	defer f.Close()
	into.Reset()
	into.Grow(int(min(info.Size(), maxSource)) + bytes.MinRead)
	switch n, err := into.ReadFrom(io.LimitReader(f, maxSource+1)); {
	case err != nil:
		return err
	case n > maxSource:
		return errTooLong
	}
	return nil
}

// reasonOf is an error without the path.
func reasonOf(err error) string {
	var known *folder.Error
	var system *os.PathError
	switch {
	case errors.As(err, &known):
		return known.Reason()
	case errors.As(err, &system):
		return system.Err.Error()
	}
	return err.Error()
}

// gather puts the parts together, in the order of the paths.
func (l *outliner) gather(f *outlined) string {
	var text strings.Builder
	text.Grow(int(l.bytes.Load()))
	for i, p := range l.parts {
		if p.skipped != "" {
			f.Skipped++
			if len(f.Left) < maxUnread {
				f.Left = append(f.Left, unread{l.names[i], p.skipped})
			}
			continue
		}
		text.Write(p.lines)
		f.Files++
		f.Bytes += p.size
		f.Declarations += p.declarations
		if p.isGo {
			f.GoFiles++
		} else {
			f.Others++
		}
		if p.unparsed {
			f.Unparsed++
		}
	}
	return text.String()
}
