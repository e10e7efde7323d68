package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/spill"
)

const (
	// keepFor is how long a conversation is kept after something last happened in it.
	keepFor = 720 * time.Hour
	// sweepAfter is how old a file that belongs to nothing must be: a younger one may be in the making.
	sweepAfter = time.Hour
)

// gcFlags are the flags of "weir gc".
type gcFlags struct {
	olderThan              time.Duration
	dryRun, vacuum, asJSON bool
}

// collected is what "gc --json" prints. The names of its members are stable.
type collected struct {
	DryRun bool `json:"dry_run"`
	// OlderThan is the time before which something must have happened last.
	OlderThan string `json:"older_than"`
	// Removed are the conversations that were removed, or would be; Kept those that are being run.
	Removed []removed `json:"removed"`
	Kept    []string  `json:"kept"`
	// Swept are files that belonged to nothing; they are not counted in a dry run.
	Swept int `json:"swept"`
	// Bytes are those of the removed files and texts.
	Bytes int64 `json:"bytes"`
	// Database are its bytes on the disk, before and after --vacuum.
	Database *shrunk `json:"database,omitempty"`
}

type shrunk struct {
	Before int64 `json:"before"`
	After  int64 `json:"after"`
}

// removed is a conversation and what it holds.
type removed struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// LastActivity is when something last happened in it.
	LastActivity string `json:"last_activity"`
	State        string `json:"state"`
	Rounds       int    `json:"rounds"`
	// Files and FileBytes are those of the results in files, TextBytes those of the results in the database.
	Files     int   `json:"files"`
	FileBytes int64 `json:"file_bytes"`
	TextBytes int64 `json:"text_bytes"`
	active    time.Time
}

func newGC(a *app) *cobra.Command {
	f := gcFlags{}
	cmd := &cobra.Command{
		Use:   "gc [--older-than 720h] [--dry-run] [--vacuum] [--json]",
		Short: "Remove old conversations with their files, and what belongs to nothing",
		Long: `gc removes the conversations in which nothing has happened for --older-than, with their rounds, results and
files, also those with a turn that is open or waits for an approval. One that is being run is kept, and named.
Then it removes temporary files and files without a conversation that are more than an hour old.

--dry-run removes nothing and says which conversations would go. --vacuum gives the free space of the database
back to the disk, which takes as long as copying it.

--json prints {dry_run, older_than, removed [{id, title, last_activity, state, rounds, files, file_bytes, text_bytes}],
  kept [ids], swept, bytes, database {before, after}}.`,
		Example: `  weir gc --dry-run
  weir gc --older-than 168h --vacuum`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.olderThan < 0 {
				return misuse("--older-than is %s: give a time from 0s, which removes all", f.olderThan)
			}
			return a.gc(cmd.Context(), f)
		},
	}
	cmd.Flags().DurationVar(&f.olderThan, "older-than", keepFor, "how long nothing must have happened in a conversation, a `TIME` such as 168h")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be removed, and remove nothing")
	cmd.Flags().BoolVar(&f.vacuum, "vacuum", false, "give the free space of the database back to the disk")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *app) gc(ctx context.Context, f gcFlags) error {
	before := time.Now().Add(-f.olderThan)
	old, err := a.idle(ctx, before)
	if err != nil {
		return err
	}
	c := &collected{DryRun: f.dryRun, OlderThan: stamp(before), Removed: []removed{}, Kept: []string{}}
	if f.dryRun {
		for _, r := range old {
			if err := a.collect(c, r, f); err != nil {
				return err
			}
		}
	} else {
		err = a.clear(ctx, c, old, f)
	}
	if f.asJSON {
		return errors.Join(a.emitJSON(c), err)
	}
	if err != nil {
		return err
	}
	return a.emit([]byte(c.String() + "\n"))
}

// collect counts a conversation that goes, and names it.
func (a *app) collect(c *collected, r removed, f gcFlags) error {
	c.Removed = append(c.Removed, r)
	c.Bytes += r.FileBytes + r.TextBytes
	if f.asJSON {
		return nil
	}
	how := "removed"
	if f.dryRun {
		how = "would remove"
	}
	line := fmt.Sprintf("%s %s: %s, %s, %s of results; last active %s; %s", how, r.ID, plural(r.Rounds, "round"),
		plural(r.Files, "file"), size(r.FileBytes+r.TextBytes), at(r.active), clip(printable(r.Title), 60))
	return a.emit([]byte(line + "\n"))
}

// clear removes what is old, then what belongs to nothing.
func (a *app) clear(ctx context.Context, c *collected, old []removed, f gcFlags) (err error) {
	store, err := a.openToWrite(ctx)
	if err != nil {
		return err
	}
	defer closing(store, &err)
	for _, r := range old {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		var busy *history.BusyError
		switch err := store.Delete(ctx, r.ID); {
		case errors.As(err, &busy):
			c.Kept = append(c.Kept, r.ID)
			if !f.asJSON {
				a.note("kept %s: it is being run", r.ID)
			}
			continue
		case errors.Is(err, history.ErrNotFound): // somebody else removed it meanwhile
			continue
		case err != nil:
			return err
		}
		if err := a.collect(c, r, f); err != nil {
			return err
		}
	}
	if c.Swept, err = store.Sweep(ctx, time.Now().Add(-sweepAfter)); err != nil {
		return err
	}
	if !f.vacuum {
		return nil
	}
	c.Database = &shrunk{Before: a.databaseSize()}
	if err := store.Compact(ctx); err != nil {
		return err
	}
	c.Database.After = a.databaseSize()
	return nil
}

// databaseSize is what lies in the state folder beside the files of results.
func (a *app) databaseSize() int64 {
	var n int64
	_ = filepath.WalkDir(a.dir(), func(path string, d fs.DirEntry, err error) error { // what cannot be seen is not counted
		if err == nil && d.IsDir() && d.Name() == spill.Mount {
			return fs.SkipDir
		}
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}

// String is what was done, in one line.
func (c *collected) String() string {
	how := "removed"
	if c.DryRun {
		how = "would remove"
	}
	line := fmt.Sprintf("%s %s with %s of results", how, plural(len(c.Removed), "conversation"), size(c.Bytes))
	if len(c.Kept) > 0 {
		line += fmt.Sprintf(", kept %s being run", plural(len(c.Kept), "conversation"))
	}
	if c.Swept > 0 {
		line += fmt.Sprintf(", and %s that belonged to nothing", plural(c.Swept, "file"))
	}
	if c.Database != nil {
		line += fmt.Sprintf("; the database has %s, it had %s", size(c.Database.After), size(c.Database.Before))
	}
	return line
}
