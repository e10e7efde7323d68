package spill

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// faulty is a folder whose operations fail on demand; the key is the operation.
type faulty struct {
	Folder
	fail map[string]error
	room int // bytes that a file takes before it is full; 0 means no limit
	log  *[]string
}

func (f *faulty) op(name string) error {
	if f.log != nil {
		*f.log = append(*f.log, name)
	}
	if err := f.fail[name]; err != nil {
		return &fs.PathError{Op: name, Path: "/secret/path", Err: err}
	}
	return nil
}

func (f *faulty) Create(name string) (Handle, error) {
	if err := f.op("create"); err != nil {
		return nil, err
	}
	h, err := f.Folder.Create(name)
	return &faultyHandle{h, f}, err
}

func (f *faulty) Link(from, to string) error {
	if err := f.op("link"); err != nil {
		return err
	}
	return f.Folder.Link(from, to)
}

func (f *faulty) Sync() error {
	return errors.Join(f.op("sync folder"), f.Folder.Sync())
}

func (f *faulty) Remove(name string) error {
	return errors.Join(f.op("remove"), f.Folder.Remove(name))
}

type faultyHandle struct {
	Handle
	f *faulty
}

func (h *faultyHandle) Write(p []byte) (int, error) {
	if err := h.f.op("write"); err != nil {
		return 0, err
	}
	if h.f.room > 0 && len(p) >= h.f.room {
		n, _ := h.Handle.Write(p[:h.f.room])
		return n, h.f.fail["full"] // nil: a short write without an error
	}
	h.f.room -= min(len(p), h.f.room)
	return h.Handle.Write(p)
}

func (h *faultyHandle) ReadAt(p []byte, off int64) (int, error) {
	if err := h.f.fail["read"]; err != nil {
		return 0, err
	}
	return h.Handle.ReadAt(p, off)
}

func (h *faultyHandle) Sync() error  { return errors.Join(h.f.op("sync"), h.Handle.Sync()) }
func (h *faultyHandle) Close() error { return errors.Join(h.Handle.Close(), h.f.op("close")) }

func wrap(f faulty) func(Folder) (Folder, error) {
	return func(inner Folder) (Folder, error) {
		f.Folder = inner
		return &f, nil
	}
}

// A disk that fails, wherever, never leaves a name behind and never a success.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fault faulty
		want  error
	}{
		{"full disk on write", faulty{fail: map[string]error{"write": syscall.ENOSPC}}, syscall.ENOSPC},
		{"full disk in the middle", faulty{fail: map[string]error{"full": syscall.ENOSPC}, room: 100_000}, syscall.ENOSPC},
		{"short write", faulty{room: 100_000}, io.ErrShortWrite},
		{"over quota of the user", faulty{fail: map[string]error{"write": syscall.EDQUOT}}, syscall.EDQUOT},
		{"reading back fails", faulty{fail: map[string]error{"read": syscall.EIO}}, syscall.EIO},
		{"fsync fails", faulty{fail: map[string]error{"sync": syscall.EIO}}, syscall.EIO},
		{"link fails", faulty{fail: map[string]error{"link": syscall.EIO}}, syscall.EIO},
		{"link finds no room", faulty{fail: map[string]error{"link": syscall.ENOSPC}}, syscall.ENOSPC},
		{"fsync of the folder fails", faulty{fail: map[string]error{"sync folder": syscall.EIO}}, syscall.EIO},
		{"close fails", faulty{fail: map[string]error{"close": syscall.EIO}}, syscall.EIO},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDir(t, Config{Wrap: wrap(tt.fault), Quota: 1 << 30})
			w, err := d.Create(t.Context(), grep)
			if err != nil {
				t.Fatal(err)
			}
			var first error
			for range 8 {
				n, err := w.Write(bytes.Repeat([]byte("0123456789\n"), 5000))
				if first != nil && !errors.Is(err, first) {
					t.Errorf("a write after the failure = %v, want the failure again", err)
				}
				if first == nil {
					first = err
				}
				if err != nil && n != 0 {
					t.Errorf("a failed write took %d bytes", n)
				}
			}
			for range 2 {
				ref, err := w.Commit()
				if !errors.Is(err, tt.want) {
					t.Errorf("Commit = %v, want %v", err, tt.want)
				}
				if err != nil && strings.Contains(err.Error(), "/secret") {
					t.Errorf("error names a path of this machine: %v", err)
				}
				if diff := cmp.Diff(Ref{}, ref); diff != "" {
					t.Errorf("a ref came with the error (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff([]string{"drwx------ .", "drwx------ c1"}, tree(t, d)); diff != "" {
				t.Errorf("something stayed behind (-want +got):\n%s", diff)
			}
			if d.usage.used != 0 {
				t.Errorf("%d bytes of the quota are lost", d.usage.used)
			}
		})
	}
}

func TestCreateFaults(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{Wrap: wrap(faulty{fail: map[string]error{"create": syscall.EROFS}})})
	if _, err := d.Create(t.Context(), grep); !errors.Is(err, syscall.EROFS) {
		t.Errorf("Create = %v, want EROFS", err)
	}
	d = newDir(t, Config{Wrap: func(Folder) (Folder, error) { return nil, syscall.EACCES }})
	_, err := d.Create(t.Context(), grep)
	if !errors.Is(err, syscall.EACCES) {
		t.Errorf("Create = %v, want EACCES", err)
	}
	if diff := cmp.Diff("create spilled result c1/r3-1-grep.f7.txt: permission denied", fmt.Sprint(err)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

// Where the file system has no second names the file is copied, and still never over another.
func TestNoLinks(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{syscall.EPERM, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EMLINK} {
		d := newDir(t, Config{Wrap: wrap(faulty{fail: map[string]error{"link": refusal}})})
		text := strings.Repeat("line\n", 40_000)
		ref := put(t, d, grep, text)
		if got := read(t, d, ref.File); got != text {
			t.Errorf("%v: %d bytes kept, want %d", refusal, len(got), len(text))
		}
		w, err := d.Create(t.Context(), grep)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(); !errors.Is(err, ErrExists) {
			t.Errorf("%v: Commit on a name that is taken = %v, want ErrExists", refusal, err)
		}
		if got := tree(t, d); len(got) != 3 {
			t.Errorf("%v: something stayed behind: %v", refusal, got)
		}
		if got := read(t, d, ref.File); got != text {
			t.Errorf("%v: the file was changed", refusal)
		}
	}
}

// Law 4: the bytes are durable before they have a name, and the name before Commit returns.
func TestLaw04DurableBeforeNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		nosync bool
		want   []string
	}{
		{false, []string{"create", "write", "sync", "link", "close", "sync folder", "remove"}},
		{true, []string{"create", "write", "link", "close", "remove"}},
	} {
		var log []string
		d := newDir(t, Config{NoSync: tt.nosync, Wrap: wrap(faulty{log: &log})})
		put(t, d, grep, "text")
		if diff := cmp.Diff(tt.want, log); diff != "" {
			t.Errorf("NoSync %v: order (-want +got):\n%s", tt.nosync, diff)
		}
	}
}

func TestTempThatCannotBeRemoved(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	d := newDir(t, Config{Wrap: func(f Folder) (Folder, error) {
		return &faulty{Folder: stuck{f}, fail: map[string]error{"remove": syscall.EBUSY}}, nil
	}, Logger: logTo(&log)})
	ref := put(t, d, grep, "text")
	if got := read(t, d, ref.File); got != "text" {
		t.Errorf("the file holds %q", got)
	}
	if !strings.Contains(log.String(), "stayed behind") {
		t.Errorf("log: %q", log.String())
	}
}

// stuck is a folder from which nothing is removed.
type stuck struct{ Folder }

func (stuck) Remove(string) error { return nil }

// The hash comes up with the end although nothing told it to begin, or the last piece came late.
func TestDigestComesUp(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("0123456789"), 400_000)
	for _, told := range [][]int64{nil, {1}, {2 << 20}, {2 << 20, 2<<20 + 1, 3 << 20}, {4_000_000}} {
		d := digest{file: bytes.NewReader(text), sum: sha256.New()}
		for _, size := range told {
			d.follow(size)
		}
		if err := d.finish(int64(len(text))); err != nil {
			t.Fatal(err)
		}
		if want := sha256.Sum256(text); !bytes.Equal(d.sum.Sum(nil), want[:]) {
			t.Errorf("told of %v: another hash", told)
		}
	}
}
