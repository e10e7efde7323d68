package spill

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Permissions: what tools return may hold secrets.
const (
	fileMode   = 0o600
	folderMode = 0o700
)

// Folder is a conversation's folder as a [Dir] writes to it. It exists so that a test can put faults in
// between ([Config.Wrap]): a full disk, a read-only one, a short write.
type Folder interface {
	// Create makes a file that is not there yet, for writing and reading back.
	Create(name string) (Handle, error)
	// Link gives a file a second name; fs.ErrExist when that is taken.
	Link(from, to string) error
	// Touch sets the time of the last change.
	Touch(name string, at time.Time) error
	// Remove takes a name away.
	Remove(name string) error
	// Sync makes the names durable.
	Sync() error
	// Close ends the use of the folder.
	Close() error
}

// Handle is a file that is being written.
type Handle interface {
	io.Writer
	io.ReaderAt
	io.Closer
	// Sync makes the bytes durable.
	Sync() error
}

// realFolder is a folder of the file system that no name leads out of.
type realFolder struct{ root *os.Root }

func (f *realFolder) Create(name string) (Handle, error) {
	h, err := f.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (f *realFolder) Link(from, to string) error { return f.root.Link(from, to) }

func (f *realFolder) Touch(name string, at time.Time) error { return f.root.Chtimes(name, at, at) }

func (f *realFolder) Remove(name string) error { return f.root.Remove(name) }

func (f *realFolder) Sync() error { return syncFolder(f.root, ".") }

func (f *realFolder) Close() error { return f.root.Close() }

// syncFolder makes the names in a folder durable.
func syncFolder(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// subfolder opens a folder below root that is a folder itself, not a link to one.
func subfolder(root *os.Root, name string) (*os.Root, error) {
	seen, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, fmt.Errorf("%s is %s, not a folder: remove it by hand", name, kindOf(seen.Mode()))
	}
	sub, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if got, err := sub.Stat("."); err != nil || !os.SameFile(seen, got) {
		return nil, errors.Join(fmt.Errorf("%s changed while it was opened", name), err, sub.Close())
	}
	return sub, nil
}

// regular opens a file that is a regular file itself. A FIFO in its place does not block: the file is
// opened without waiting for a writer and looked at before use.
func regular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	seen, err := root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is %s, not a regular file", name, kindOf(seen.Mode()))
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	got, err := f.Stat()
	if err != nil || !got.Mode().IsRegular() || !os.SameFile(seen, got) {
		return nil, nil, errors.Join(fmt.Errorf("%s changed while it was opened", name), err, f.Close())
	}
	return f, got, nil
}

// kindOf names what stands in a file's place.
func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m.IsRegular():
		return "a file"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	default:
		return "a device"
	}
}

// makeRoot makes a folder with those above it and, when durable, makes their names so.
func makeRoot(path string, durable bool) error {
	var above []string
	for p := path; ; p = filepath.Dir(p) {
		if _, err := os.Lstat(p); err == nil || filepath.Dir(p) == p {
			break
		}
		above = append(above, filepath.Dir(p))
	}
	if err := os.MkdirAll(path, folderMode); err != nil {
		return err
	}
	if !durable {
		return nil
	}
	for _, p := range above {
		d, err := os.Open(p)
		if err != nil {
			return err
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return err
		}
	}
	return nil
}
