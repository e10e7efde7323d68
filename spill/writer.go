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
	"sync/atomic"
	"syscall"
	"time"

	"github.com/weir-run/weir/internal/lines"
)

// bufferSize is how much of small writes is collected for one call of the system.
const bufferSize = 64 << 10

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
	digest digest
	index  lines.Indexer
	size   int64 // bytes taken, reserved from the quota
	err    error // the first failure; it stays
	ended  bool
}

func (w *writer) begin(folder Folder, h Handle) {
	w.folder, w.file = folder, h
	w.buf = bufio.NewWriterSize(h, bufferSize)
	w.digest.file, w.digest.sum = h, sha256.New()
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
	if _, err := w.buf.Write(p); err != nil {
		return 0, w.fail("write", err)
	}
	_, _ = w.index.Write(p) // an Indexer's Write has no error
	w.digest.follow(w.size - int64(w.buf.Buffered()))
	return len(p), nil
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
		w.digest.sum.Sum(w.ref.SHA256[:0])
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
	w.digest.begin(w.size)
	var err error
	if !w.dir.cfg.NoSync {
		err = w.file.Sync()
	}
	if err := errors.Join(err, w.digest.finish(w.size)); err != nil {
		return err
	}
	err = w.folder.Link(w.temp, w.name)
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
	w.digest.wait() // it reads the file
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

// digestLag is how far the hash may lie behind before it is begun.
const digestLag = 256 << 10

// digest hashes what was written to a file while it is written and synced. It reads the bytes back, so
// that a writer never waits for it and nothing has to be copied.
type digest struct {
	file   io.ReaderAt
	sum    hash.Hash
	target atomic.Int64
	done   chan struct{} // closed when the hash has come up with the target; nil before the first time
	at     int64         // how much is hashed; of the goroutine until done
	err    error         // the same
}

// follow tells how much is in the file.
func (d *digest) follow(size int64) {
	d.target.Store(size)
	if !d.running() && size-d.at >= digestLag {
		d.begin(size)
	}
}

func (d *digest) running() bool {
	if d.done == nil {
		return false
	}
	select {
	case <-d.done:
		return false
	default:
		return true
	}
}

// begin makes the hash come up with the first size bytes of the file, unless it is about to.
func (d *digest) begin(size int64) {
	d.target.Store(size)
	if d.running() || d.err != nil || d.at >= size {
		return
	}
	done := make(chan struct{})
	d.done = done
	go func() {
		defer close(done)
		d.run()
	}()
}

// run hashes up to the target, which may move on meanwhile.
func (d *digest) run() {
	buf := make([]byte, min(d.target.Load()-d.at, 256<<10))
	for d.err == nil {
		left := d.target.Load() - d.at
		if left <= 0 {
			return
		}
		n, err := d.file.ReadAt(buf[:min(int64(len(buf)), left)], d.at)
		_, _ = d.sum.Write(buf[:n]) // a hash's Write has no error
		if d.at += int64(n); n == 0 {
			d.err = fmt.Errorf("read back: %w", err)
		}
	}
}

// wait returns when nothing is being hashed.
func (d *digest) wait() {
	if d.done != nil {
		<-d.done
	}
}

// finish returns when size bytes are hashed.
func (d *digest) finish(size int64) error {
	d.wait()
	d.target.Store(size)
	d.run()
	return d.err
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
