package spill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Age limits of the figure that a quota is held to.
const (
	usageAge   = 30 * time.Second // after that a new writer counts again: other processes write too
	refusalAge = time.Second      // after that a refusal counts again: somebody may have made room
)

// batch is how many names of a folder are read at once.
const batch = 512

// Swept says what a sweep removed.
type Swept struct {
	// Temps and Files count temporary files and files without a row.
	Temps, Files int
	// Bytes is how much they held.
	Bytes int64
}

// Sweep removes what crashes left behind: temporary files, and files for which keep returns false. It
// touches only what was last changed before the given time (an hour ago, say) and only names of this
// store's shape; a folder that has been empty since then goes too. keep gets a Ref.File. What cannot be removed is
// reported at the end, after the rest. A store that was never written to is swept without a trace.
func (d *Dir) Sweep(ctx context.Context, before time.Time, keep func(file string) bool) (Swept, error) {
	var total Swept
	root, err := os.OpenRoot(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return total, nil
	}
	if err != nil {
		return total, fmt.Errorf("sweep the spilled results: %w", plain(err))
	}
	defer root.Close()
	defer d.forget()
	var errs failures
	err = each(ctx, root, func(e fs.DirEntry) {
		conversation := e.Name()
		if !e.IsDir() || checkConversation(conversation) != nil {
			return
		}
		found := false
		s, err := d.clear(ctx, root, conversation, func(name string, info fs.FileInfo) bool {
			if name == "." {
				// A writer that was silent for long finds its folder still there: the next sweep takes it.
				return !found && info.ModTime().Before(before)
			}
			drop := info.ModTime().Before(before) && (name[0] == '.' || !keep(conversation+"/"+name))
			found = found || drop
			return drop
		})
		total.Temps += s.Temps
		total.Files += s.Files
		total.Bytes += s.Bytes
		errs.add(err)
	})
	errs.add(err)
	if total.Temps+total.Files > 0 {
		d.log.Info("swept spilled results", "temps", total.Temps, "files", total.Files, "bytes", total.Bytes)
	}
	return total, errs.join("sweep the spilled results")
}

// clear removes files of our shape that drop names, and the folder (".") when it names that too and
// nothing is left in it.
func (d *Dir) clear(ctx context.Context, root *os.Root, conversation string, drop func(string, fs.FileInfo) bool) (Swept, error) {
	var s Swept
	sub, err := subfolder(root, conversation)
	if err != nil {
		return s, err
	}
	defer sub.Close()
	folder, err := sub.Stat(".")
	if err != nil {
		return s, err
	}
	var errs failures
	left := 0
	err = each(ctx, sub, func(e fs.DirEntry) {
		name := e.Name()
		temp := tempName.MatchString(name)
		if !temp && !diskName.MatchString(name) || e.IsDir() {
			left++
			return
		}
		info, err := sub.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil || !drop(name, info) {
			errs.add(err)
			left++
			return
		}
		switch err := sub.Remove(name); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			errs.add(err)
			left++
		case temp:
			s.Temps++
			s.Bytes += info.Size()
		default:
			s.Files++
			s.Bytes += info.Size()
		}
	})
	errs.add(err)
	if left == 0 && errs.n == 0 && drop(".", folder) {
		// Refused when somebody has begun a file in it meanwhile, and that is right.
		_ = root.Remove(conversation)
	}
	return s, errs.join("clear " + conversation)
}

// each calls use for every entry of a folder, a batch at a time.
func each(ctx context.Context, root *os.Root, use func(fs.DirEntry)) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	for {
		entries, err := d.ReadDir(batch)
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			use(e)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// failures keeps the first few of many errors.
type failures struct {
	n    int
	kept []error
}

func (f *failures) add(err error) {
	if err == nil {
		return
	}
	if f.n++; len(f.kept) < 3 {
		f.kept = append(f.kept, plain(err))
	}
}

func (f *failures) join(act string) error {
	if f.n == 0 {
		return nil
	}
	return fmt.Errorf("%s: %d failed, first: %w", act, f.n, errors.Join(f.kept...))
}

// usage is how many bytes the folder holds, as far as this process knows.
type usage struct {
	mu      sync.Mutex
	used    int64
	known   bool
	counted time.Time
}

// admit counts the folder when the figure is old, and refuses a new file once the quota is used up.
func (d *Dir) admit() error {
	if d.cfg.Quota == 0 {
		return nil
	}
	u := &d.usage
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := d.recount(usageAge); err != nil {
		return err
	}
	if u.used < d.cfg.Quota {
		return nil
	}
	if err := d.recount(refusalAge); err != nil {
		return err
	}
	if u.used >= d.cfg.Quota {
		return ErrQuota
	}
	return nil
}

// reserve takes n bytes of the quota.
func (d *Dir) reserve(n int64) error {
	if d.cfg.Quota == 0 {
		return nil
	}
	u := &d.usage
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.used > d.cfg.Quota-n || !u.known {
		if err := d.recount(refusalAge); err != nil {
			return err
		}
	}
	if u.used > d.cfg.Quota-n {
		return ErrQuota
	}
	u.used += n
	return nil
}

// release gives n bytes back.
func (d *Dir) release(n int64) {
	if d.cfg.Quota == 0 {
		return
	}
	d.usage.mu.Lock()
	defer d.usage.mu.Unlock()
	d.usage.used = max(d.usage.used-n, 0)
}

// forget makes the next use count the folder again.
func (d *Dir) forget() {
	d.usage.mu.Lock()
	defer d.usage.mu.Unlock()
	d.usage.known = false
}

// recount measures the folder unless that was done lately. The caller holds the lock.
func (d *Dir) recount(age time.Duration) error {
	u := &d.usage
	if u.known && time.Since(u.counted) < age {
		return nil
	}
	root, err := os.OpenRoot(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		u.used, u.known, u.counted = 0, true, time.Now()
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	used := int64(0)
	err = each(context.Background(), root, func(conversation fs.DirEntry) {
		if !conversation.IsDir() {
			return
		}
		sub, err := subfolder(root, conversation.Name())
		if err != nil {
			return // gone, or not ours to look into
		}
		defer sub.Close()
		_ = each(context.Background(), sub, func(e fs.DirEntry) {
			if info, err := sub.Lstat(e.Name()); err == nil && info.Mode().IsRegular() {
				used += info.Size()
			}
		})
	})
	if err != nil {
		return err
	}
	u.used, u.known, u.counted = used, true, time.Now()
	return nil
}
