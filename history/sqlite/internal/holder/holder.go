// Package holder is a store handle's proof that it lives: a locked file in a folder that all processes
// share. The system drops the lock when the process ends, however it ends, and that is how others know.
package holder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"
	"github.com/google/uuid"
)

// ErrReleased says that the handle was closed.
var ErrReleased = errors.New("the holder was released")

// Holder is one handle. Its file is made and locked with the first [Holder.Ensure].
type Holder struct {
	folder string

	mu       sync.Mutex
	id       string
	lock     *flock.Flock
	released bool
}

// New returns a holder whose file will lie in the folder. It writes nothing.
func New(folder string) *Holder { return &Holder{folder: folder} }

// Ensure makes and locks the file on the first call, and returns its name. On the way it removes the
// files of dead holders. After [Holder.Release] it is ErrReleased.
func (h *Holder) Ensure() (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.released:
		return "", ErrReleased
	case h.id != "":
		return h.id, nil
	}
	if err := os.MkdirAll(h.folder, 0o700); err != nil {
		return "", err
	}
	h.bury()
	for range 8 {
		id := uuid.NewString()
		lock := flock.New(h.path(id), flock.SetFlag(os.O_CREATE|os.O_RDWR))
		ok, err := lock.TryLock()
		if err != nil {
			return "", err
		}
		// Between making the file and locking it somebody may have taken it for a dead one's.
		if ok && same(lock, h.path(id)) {
			if err := os.WriteFile(h.path(id), []byte(here()), 0o600); err != nil {
				return "", errors.Join(err, lock.Unlock())
			}
			h.id, h.lock = id, lock
			return id, nil
		}
		if err := lock.Unlock(); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("the file of this process in %s is removed again and again", h.folder)
}

func same(lock *flock.Flock, path string) bool {
	locked, err := lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(locked, there)
}

// here is what a holder's file contains: which process it is.
func here() string {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return fmt.Sprintf("%d %s\n", os.Getpid(), host)
}

// Alive says whether the handle of that name lives, and whether it is one of this process. The file of a
// dead one is removed. A name that no handle ever had is dead.
func (h *Holder) Alive(id string) (live, ours bool, err error) {
	if id != "" && id == h.ID() {
		return true, true, nil
	}
	if uuid.Validate(id) != nil || len(id) != len(uuid.UUID{}.String()) {
		return false, false, nil
	}
	content, err := os.ReadFile(h.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	ours = err == nil && string(content) == here()
	dead, err := h.remove(id)
	if err != nil {
		return false, false, fmt.Errorf("look whether holder %s lives: %w", id, err)
	}
	return !dead, ours && !dead, nil
}

// remove deletes the file of a holder if nobody holds it.
func (h *Holder) remove(id string) (dead bool, err error) {
	lock := flock.New(h.path(id), flock.SetFlag(os.O_RDWR))
	ok, err := lock.TryLock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil || !ok:
		return false, err
	}
	err = os.Remove(h.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return true, errors.Join(err, lock.Unlock())
}

// bury removes the files of dead holders. What cannot be removed is left for the next.
func (h *Holder) bury() {
	entries, err := os.ReadDir(h.folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		if uuid.Validate(e.Name()) == nil && e.Type().IsRegular() {
			_, _ = h.remove(e.Name())
		}
	}
}

// ID is the name of the file, empty when there is none yet.
func (h *Holder) ID() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.id
}

// Release removes the file: from then on this handle counts as dead, for good.
func (h *Holder) Release() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = true
	if h.lock == nil {
		return nil
	}
	err := errors.Join(os.Remove(h.path(h.id)), h.lock.Unlock())
	h.id, h.lock = "", nil
	return err
}

func (h *Holder) path(id string) string { return filepath.Join(h.folder, id) }
