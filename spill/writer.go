package spill

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/weir-run/weir/internal/lines"
)

// bufferSize is how much of small writes is collected for one call of the system; parallelSize is from
// where a piece is hashed while it is written.
const (
	bufferSize   = 64 << 10
	parallelSize = 64 << 10
)

// errEnded answers a use of a writer after its end.
var errEnded = errors.New("the writer of this spilled result has ended")

// writer streams one text to a temporary file and publishes it.
type writer struct {
	dir    *Dir
	ref    Ref
	name   string // in the folder, without the conversation
	temp   string
	folder Folder
	file   Handle
	buf    *bufio.Writer
	sum    hash.Hash
	index  lines.Indexer
	size   int64 // bytes taken, reserved from the quota
	err    error // the first failure; it stays
	ended  bool
}

func (w *writer) begin(folder Folder, h Handle) {
	w.folder, w.file = folder, h
	w.buf = bufio.NewWriterSize(h, bufferSize)
	w.sum = sha256.New()
}

// Write takes the next bytes of the text.
func (w *writer) Write(p []byte) (int, error) {
	switch {
	case w.ended && w.err == nil:
		return 0, fmt.Errorf("write spilled result %s: %w", w.ref.File, errEnded)
	case w.err != nil:
		return 0, w.err
	case len(p) == 0:
		return 0, nil
	}
	if err := w.dir.reserve(int64(len(p))); err != nil {
		return 0, w.fail("write", err)
	}
	w.size += int64(len(p))
	if len(p) < parallelSize {
		w.count(p)
		if _, err := w.buf.Write(p); err != nil {
			return 0, w.fail("write", err)
		}
		return len(p), nil
	}
	// The bytes are hashed while the system takes them.
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.count(p)
	}()
	_, err := w.buf.Write(p)
	<-done
	if err != nil {
		return 0, w.fail("write", err)
	}
	return len(p), nil
}

func (w *writer) count(p []byte) {
	_, _ = w.sum.Write(p)   // a hash's Write has no error
	_, _ = w.index.Write(p) // nor has an Indexer's
}

// ReadAt reads back what was written so far.
func (w *writer) ReadAt(p []byte, off int64) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.ended {
		return 0, fmt.Errorf("read back spilled result %s: %w", w.ref.File, errEnded)
	}
	if err := w.buf.Flush(); err != nil {
		return 0, w.fail("write", err)
	}
	return w.file.ReadAt(p, off)
}

// fail keeps the first failure.
func (w *writer) fail(act string, err error) error {
	w.err = fmt.Errorf("%s spilled result %s: %w", act, w.ref.File, plain(err))
	return w.err
}

// Commit publishes what was written; see [Writer].
func (w *writer) Commit() (Ref, error) {
	if w.ended {
		if w.err == nil && !w.ref.Complete {
			return Ref{}, fmt.Errorf("commit spilled result %s: %w", w.ref.File, errEnded)
		}
		return w.result()
	}
	if w.err == nil {
		if err := w.publish(); err != nil {
			_ = w.fail("commit", err)
		}
	}
	w.end()
	if w.err != nil {
		w.dir.release(w.size)
	} else {
		w.ref.Index = w.index.Index()
		w.ref.Complete = true
		w.sum.Sum(w.ref.SHA256[:0])
	}
	return w.result()
}

func (w *writer) result() (Ref, error) {
	if w.err != nil {
		return Ref{}, w.err
	}
	return w.ref, nil
}

// publish makes the bytes durable and gives them their name, which is never taken from another file.
func (w *writer) publish() error {
	if err := w.buf.Flush(); err != nil {
		return err
	}
	// From here on its age counts: a sweep leaves a young file alone that has no row yet.
	if err := w.folder.Touch(w.temp, time.Now()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !w.dir.cfg.NoSync {
		if err := w.file.Sync(); err != nil {
			return err
		}
	}
	err := w.folder.Link(w.temp, w.name)
	if refusedLink(err) {
		err = w.dir.copyTo(w.folder, w.name, io.NewSectionReader(w.file, 0, w.size))
	}
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	if err != nil {
		return err
	}
	err = w.file.Close()
	w.file = nil
	if err == nil && !w.dir.cfg.NoSync {
		err = w.folder.Sync()
	}
	if err != nil {
		return errors.Join(err, w.folder.Remove(w.name))
	}
	return nil
}

// Abort throws away what was written; see [Writer].
func (w *writer) Abort() error {
	if w.ended {
		return nil
	}
	w.end()
	w.dir.release(w.size)
	return nil
}

// end lets go of the temporary file.
func (w *writer) end() {
	if w.ended {
		return
	}
	w.ended = true
	var err error
	if w.file != nil {
		err = w.file.Close()
		w.file = nil
	}
	if rerr := w.folder.Remove(w.temp); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	err = errors.Join(err, w.folder.Close())
	if err != nil {
		// The result is decided; the sweep takes what stayed behind.
		w.dir.log.Warn("temporary file of a spilled result stayed behind", "file", w.ref.File, "error", err)
	}
	w.buf = nil
}

// refusedLink tells that a second name could not be given although the file could be kept: the file
// system has no links, or somebody swept the temporary file.
func refusedLink(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) ||
		errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EMLINK) || errors.Is(err, syscall.EXDEV)
}

// copyTo makes a file that is not there yet out of what r reads.
func (d *Dir) copyTo(folder Folder, name string, r io.Reader) error {
	h, err := folder.Create(name)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{r}, make([]byte, bufferSize))
	if err == nil && !d.cfg.NoSync {
		err = h.Sync()
	}
	if err = errors.Join(err, h.Close()); err != nil {
		return errors.Join(err, folder.Remove(name))
	}
	return nil
}

// plain takes the path of this machine out of an error; the caller names the file by its own name.
func plain(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
