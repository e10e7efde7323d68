package spill

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/internal/lines"
)

func newDir(t testing.TB, cfg Config) *Dir {
	t.Helper()
	d, err := NewDir(filepath.Join(t.TempDir(), "state", Mount), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func put(t testing.TB, d *Dir, n Name, text string) Ref {
	t.Helper()
	w, err := d.Create(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	ref, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func read(t testing.TB, s Store, file string) string {
	t.Helper()
	f, err := s.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// tree lists what lies below the store's folder, with modes.
func tree(t testing.TB, d *Dir) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(d.path, func(p string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		rel, _ := filepath.Rel(d.path, p)
		out = append(out, fmt.Sprintf("%v %s", info.Mode(), rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var grep = Name{Conversation: "c1", Result: "r3-1", Tool: "grep", Fence: 7}

func TestCreateCommitOpen(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty": "", "one line": "a", "lines": "a\nb\n", "odd": "\x00\xff\r\n\u2028日本",
		"blocks": strings.Repeat("0123456789\n", 20_000),
	} {
		for _, nosync := range []bool{false, true} {
			t.Run(fmt.Sprint(name, nosync), func(t *testing.T) {
				t.Parallel()
				d := newDir(t, Config{NoSync: nosync})
				ref := put(t, d, grep, text)
				want := Ref{
					Name: "r3-1-grep.txt", File: "c1/r3-1-grep.f7.txt", SHA256: sha256.Sum256([]byte(text)),
					Index: lines.Of([]byte(text)), Complete: true,
				}
				if diff := cmp.Diff(want, ref); diff != "" {
					t.Errorf("ref (-want +got):\n%s", diff)
				}
				if got := ref.Path(); got != "tool-results/r3-1-grep.txt" {
					t.Errorf("path %q", got)
				}
				if diff := cmp.Diff(text, read(t, d, ref.File)); diff != "" {
					t.Errorf("bytes (-want +got):\n%s", diff)
				}
				wantTree := []string{"drwx------ .", "drwx------ c1", "-rw------- c1/r3-1-grep.f7.txt"}
				if diff := cmp.Diff(wantTree, tree(t, d)); diff != "" {
					t.Errorf("folder (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// The bytes arrive in pieces below and above what is collected, and above what is hashed on the side.
func TestWriteInPieces(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("zwölf Boxkämpfer\r\n"), 300_000)
	for _, size := range []int{1, 7, 4096, bufferSize - 1, bufferSize, bufferSize + 1, 300_000, 5 << 20} {
		d := newDir(t, Config{NoSync: true})
		w, err := d.Create(t.Context(), grep)
		if err != nil {
			t.Fatal(err)
		}
		for piece := range slices.Chunk(text[:min(len(text), size*5000)], size) {
			if n, err := w.Write(piece); n != len(piece) || err != nil {
				t.Fatalf("Write = %d, %v, want %d", n, err, len(piece))
			}
		}
		back := make([]byte, 10)
		if _, err := w.ReadAt(back, 3); err != nil || !bytes.Equal(back, text[3:13]) {
			t.Fatalf("ReadAt = %q, %v, want %q", back, err, text[3:13])
		}
		ref, err := w.Commit()
		if err != nil {
			t.Fatal(err)
		}
		got := []byte(read(t, d, ref.File))
		if !bytes.Equal(got, text[:len(got)]) || len(got) != min(len(text), size*5000) {
			t.Fatalf("pieces of %d: other bytes", size)
		}
		if ref.SHA256 != sha256.Sum256(got) {
			t.Errorf("pieces of %d: other hash", size)
		}
		if diff := cmp.Diff(lines.Of(got), ref.Index); diff != "" {
			t.Errorf("pieces of %d: index (-want +got):\n%s", size, diff)
		}
	}
}

func TestNothingIsMadeBeforeTheFirstCreate(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{Quota: 1 << 20})
	if _, err := d.Open(t.Context(), "c1/r1-1-a.f1.txt"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Open = %v, want ErrNotFound", err)
	}
	if err := d.Remove(t.Context(), "c1"); err != nil {
		t.Errorf("Remove = %v", err)
	}
	if s, err := d.Sweep(t.Context(), time.Now(), func(string) bool { return false }); err != nil || s != (Swept{}) {
		t.Errorf("Sweep = %v, %v", s, err)
	}
	if got := tree(t, d); got != nil {
		t.Errorf("made %v", got)
	}
	if _, err := os.Lstat(filepath.Dir(d.path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder above was made (%v)", err)
	}
}

func TestNothingIsVisibleBeforeCommitNorAfterAbort(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{})
	w, err := d.Create(t.Context(), grep)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, strings.Repeat("x", 200_000)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(t.Context(), "c1/r3-1-grep.f7.txt"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Open before Commit = %v, want ErrNotFound", err)
	}
	for range 2 {
		if err := w.Abort(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"drwx------ .", "drwx------ c1"}, tree(t, d)); diff != "" {
		t.Errorf("after Abort (-want +got):\n%s", diff)
	}
	if _, err := w.Commit(); err == nil {
		t.Error("Commit after Abort: no error")
	}
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("Write after Abort: no error")
	}
}

func TestCommitTwice(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{})
	w, err := d.Create(t.Context(), grep)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "once"); err != nil {
		t.Fatal(err)
	}
	first, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("second Commit (-first +second):\n%s", diff)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, d, first.File); got != "once" {
		t.Errorf("after Abort the file holds %q", got)
	}
}

// A name is written once: a second writer of the same name, a late one too, changes nothing.
func TestNamesAreNeverReplaced(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{})
	late, err := d.Create(t.Context(), grep)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(late, "late"); err != nil {
		t.Fatal(err)
	}
	ref := put(t, d, grep, "first")
	if _, err := late.Commit(); !errors.Is(err, ErrExists) {
		t.Fatalf("late Commit = %v, want ErrExists", err)
	}
	if _, err := late.Commit(); !errors.Is(err, ErrExists) {
		t.Fatalf("late Commit again = %v, want ErrExists", err)
	}
	if got := read(t, d, ref.File); got != "first" {
		t.Errorf("the file holds %q", got)
	}
	if got := tree(t, d); len(got) != 3 {
		t.Errorf("something stayed behind: %v", got)
	}
	successor := grep
	successor.Fence++
	next := put(t, d, successor, "successor's")
	if next.Name != ref.Name || next.File == ref.File {
		t.Errorf("fence 8 is %s at %s; want the model's name kept, another file", next.Name, next.File)
	}
}

func TestOneOfManyWritersWins(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{NoSync: true})
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 20 {
		wg.Go(func() {
			w, err := d.Create(t.Context(), grep)
			if err != nil {
				t.Error(err)
				return
			}
			_, err = fmt.Fprint(w, i)
			if err != nil {
				t.Error(err)
			}
			if _, err = w.Commit(); err == nil {
				mu.Lock()
				won++
				mu.Unlock()
			} else if !errors.Is(err, ErrExists) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d writers won", won)
	}
	if got := tree(t, d); len(got) != 3 {
		t.Errorf("something stayed behind: %v", got)
	}
}

func TestOpenRefusesWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{})
	ref := put(t, d, grep, "secret")
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "r1-1-a.f1.txt"), []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(p string) string { return filepath.Join(d.path, p) }
	must(os.Symlink(outside, at("out")))
	must(os.Symlink("c1", at("in")))
	must(os.Symlink(filepath.Join(outside, "r1-1-a.f1.txt"), at("c1/r1-1-a.f1.txt")))
	must(os.Symlink("r3-1-grep.f7.txt", at("c1/r2-1-a.f1.txt")))
	must(syscall.Mkfifo(at("c1/r1-2-a.f1.txt"), 0o600))
	must(os.Mkdir(at("c1/r1-3-a.f1.txt"), 0o700))
	for _, tt := range []struct {
		file     string
		notFound bool
		says     string
	}{
		{"", true, "no such spilled result"},
		{"c1", true, "no such spilled result"},
		{"..", true, "no such spilled result"},
		{"../" + filepath.Base(outside), true, "no such spilled result"},
		{"c1/../c1/r3-1-grep.f7.txt", true, "no such spilled result"},
		{"/" + ref.File, true, "no such spilled result"},
		{filepath.Join(d.path, ref.File), true, "no such spilled result"},
		{"c1/./r3-1-grep.f7.txt", true, "no such spilled result"},
		{"c1/r3-1-grep.f7.txt\x00", true, "no such spilled result"},
		{"c1/r3-1-grep.txt", true, "no such spilled result"},
		{"c1/.tmp-r3-1-grep.f7.txt-0123456789abcdef", true, "no such spilled result"},
		{"c2/r3-1-grep.f7.txt", true, "no such spilled result"},
		{"out/r1-1-a.f1.txt", false, "out is a symbolic link, not a folder"},
		{"in/r3-1-grep.f7.txt", false, "in is a symbolic link, not a folder"},
		{"c1/r1-1-a.f1.txt", false, "is a symbolic link, not a regular file"},
		{"c1/r2-1-a.f1.txt", false, "is a symbolic link, not a regular file"},
		{"c1/r1-2-a.f1.txt", false, "is a named pipe, not a regular file"},
		{"c1/r1-3-a.f1.txt", false, "is a folder, not a regular file"},
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f, err := d.Open(t.Context(), tt.file)
			if err == nil {
				_ = f.Close()
				t.Errorf("opened %q", tt.file)
				return
			}
			if errors.Is(err, ErrNotFound) != tt.notFound || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Open(%q) = %v, want %q, ErrNotFound: %v", tt.file, err, tt.says, tt.notFound)
			}
			if strings.Contains(err.Error(), d.path) && !strings.Contains(tt.file, d.path) {
				t.Errorf("error names a path of this machine: %v", err)
			}
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatalf("Open(%q) hangs", tt.file)
		}
	}
	for _, conversation := range []string{"out", "in"} {
		n := grep
		n.Conversation = conversation
		if _, err := d.Create(t.Context(), n); err == nil {
			t.Errorf("created through the link %s", conversation)
		}
		if err := d.Remove(t.Context(), conversation); err == nil {
			t.Errorf("removed through the link %s", conversation)
		}
		if _, err := d.Share(t.Context(), ref.File, conversation); err == nil {
			t.Errorf("shared through the link %s", conversation)
		}
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside: %v, %v", entries, err)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{})
	put(t, d, grep, "a")
	other := grep
	other.Conversation = "c2"
	kept := put(t, d, other, "b")
	w, err := d.Create(t.Context(), Name{Conversation: "c1", Result: "r9-1", Tool: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Remove(t.Context(), "c1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Commit(); err == nil {
		t.Error("a writer published into a conversation that was removed")
	}
	want := []string{"drwx------ .", "drwx------ c2", "-rw------- c2/r3-1-grep.f7.txt"}
	if diff := cmp.Diff(want, tree(t, d)); diff != "" {
		t.Errorf("after Remove (-want +got):\n%s", diff)
	}
	if got := read(t, d, kept.File); got != "b" {
		t.Errorf("the other conversation's file holds %q", got)
	}
	if err := d.Remove(t.Context(), "../c2"); err == nil {
		t.Error("removed by a path")
	}
	if err := os.WriteFile(filepath.Join(d.path, "c2", "notes.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(t.Context(), "c2"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"drwx------ .", "drwx------ c2", "-rw------- c2/notes.md"}, tree(t, d)); diff != "" {
		t.Errorf("a file that is not ours (-want +got):\n%s", diff)
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	for _, links := range []bool{true, false} {
		t.Run(fmt.Sprint("links ", links), func(t *testing.T) {
			t.Parallel()
			d := newDir(t, Config{})
			ref := put(t, d, grep, "shared text")
			if !links {
				// The name is taken away from under the link; the open file still is there.
				d.cfg.Wrap = func(f Folder) (Folder, error) {
					return f, os.Rename(filepath.Join(d.path, "c1"), filepath.Join(d.path, "elsewhere"))
				}
			}
			file, err := d.Share(t.Context(), ref.File, "fork")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("fork/r3-1-grep.f7.txt", file); diff != "" {
				t.Errorf("name (-want +got):\n%s", diff)
			}
			d.cfg.Wrap = nil
			if _, err := d.Share(t.Context(), file, "fork"); !errors.Is(err, ErrExists) {
				t.Errorf("shared on itself: %v, want ErrExists", err)
			}
			if err := d.Remove(t.Context(), "c1"); err != nil {
				t.Fatal(err)
			}
			if got := read(t, d, file); got != "shared text" {
				t.Errorf("the fork's file holds %q", got)
			}
			if _, err := d.Share(t.Context(), "gone/r3-1-grep.f7.txt", "fork"); !errors.Is(err, ErrNotFound) {
				t.Errorf("shared what is not there: %v", err)
			}
		})
	}
}

func TestQuota(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{Quota: 1000})
	n := grep
	next := func() Name { n.Fence++; return n }
	put(t, d, next(), strings.Repeat("x", 600))
	w, err := d.Create(t.Context(), next())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, strings.Repeat("y", 400)); err != nil {
		t.Fatalf("up to the quota: %v", err)
	}
	if _, err := io.WriteString(w, "z"); !errors.Is(err, ErrQuota) {
		t.Fatalf("one byte over: %v, want ErrQuota", err)
	}
	if _, err := w.Commit(); !errors.Is(err, ErrQuota) {
		t.Fatalf("Commit after a refused write = %v, want ErrQuota", err)
	}
	put(t, d, next(), strings.Repeat("y", 400))
	if _, err := d.Create(t.Context(), next()); !errors.Is(err, ErrQuota) {
		t.Errorf("Create when full = %v, want ErrQuota", err)
	}
	if _, err := d.Share(t.Context(), "c1/r3-1-grep.f8.txt", "fork"); !errors.Is(err, ErrQuota) {
		t.Errorf("Share when full = %v, want ErrQuota", err)
	}
	if err := d.Remove(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	put(t, d, next(), strings.Repeat("x", 1000))
	reopened, err := NewDir(d.path, Config{Quota: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reopened.Create(t.Context(), next()); !errors.Is(err, ErrQuota) {
		t.Errorf("Create in a full folder that was opened again = %v, want ErrQuota", err)
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{})
	now := time.Now()
	row := put(t, d, grep, "has a row")
	orphan := put(t, d, Name{Conversation: "c1", Result: "r3-2", Tool: "a"}, "has none")
	alone := put(t, d, Name{Conversation: "c2", Result: "r1-1", Tool: "a", Ext: ".png", Part: 2}, "none either")
	write := func(name string) {
		t.Helper()
		p := filepath.Join(d.path, name)
		if err := os.WriteFile(p, []byte("12345"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, now, now.Add(-2*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	for _, ref := range []Ref{row, orphan, alone} {
		p := filepath.Join(d.path, ref.File)
		if err := os.Chtimes(p, now, now.Add(-2*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, d, Name{Conversation: "c1", Result: "r3-3", Tool: "a"}, "young, its row is on its way")
	young, err := d.Create(t.Context(), Name{Conversation: "c1", Result: "r3-4", Tool: "a"})
	if err != nil {
		t.Fatal(err)
	}
	write("c1/.tmp-r4-1-a.f1.txt-0123456789abcdef")
	write("c1/.tmp-notes")
	write("c1/notes.txt")
	write("c1/r3-1-grep.txt")
	write("weir.db")
	if err := os.Symlink("c1", filepath.Join(d.path, "link")); err != nil {
		t.Fatal(err)
	}
	var asked []string
	got, err := d.Sweep(t.Context(), now.Add(-time.Hour), func(file string) bool {
		asked = append(asked, file)
		return file == row.File
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Swept{Temps: 1, Files: 2, Bytes: 5 + 8 + 11}, got); diff != "" {
		t.Errorf("swept (-want +got):\n%s", diff)
	}
	slices.Sort(asked)
	if diff := cmp.Diff([]string{row.File, orphan.File, alone.File}, asked); diff != "" {
		t.Errorf("asked about (-want +got):\n%s", diff)
	}
	if _, err := young.Commit(); err != nil {
		t.Errorf("a writer at work lost its file: %v", err)
	}
	var left []string
	for _, line := range tree(t, d) {
		left = append(left, line[strings.Index(line, " ")+1:])
	}
	want := []string{
		".", "c1", "c1/.tmp-notes", "c1/notes.txt", "c1/r3-1-grep.f7.txt", "c1/r3-1-grep.txt",
		"c1/r3-3-a.f0.txt", "c1/r3-4-a.f0.txt", "c2", "link", "weir.db",
	}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// A writer that was silent for hours is swept away from under its feet: what it wrote is kept all the
// same, and under an age that protects it until its row is there.
func TestCommitAfterASweep(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{})
	w, err := d.Create(t.Context(), grep)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, strings.Repeat("slow\n", 50_000)); err != nil {
		t.Fatal(err)
	}
	all := func(string) bool { return true }
	if s, err := d.Sweep(t.Context(), time.Now().Add(time.Hour), all); err != nil || s.Temps != 1 {
		t.Fatalf("Sweep = %v, %v, want one temporary file", s, err)
	}
	ref, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, d, ref.File); got != strings.Repeat("slow\n", 50_000) {
		t.Errorf("%d bytes were kept", len(got))
	}
	none := func(string) bool { return false }
	if s, err := d.Sweep(t.Context(), time.Now().Add(-time.Minute), none); err != nil || s != (Swept{}) {
		t.Errorf("Sweep = %v, %v, want nothing: the file is young", s, err)
	}
}

// The age of a file counts from its Commit, however long ago the last write was.
func TestAgeCountsFromCommit(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{})
	w, err := d.Create(t.Context(), grep)
	if err != nil {
		t.Fatal(err)
	}
	temps, err := filepath.Glob(filepath.Join(d.path, "c1", ".tmp-*"))
	if err != nil || len(temps) != 1 {
		t.Fatal(temps, err)
	}
	if err := os.Chtimes(temps[0], time.Now(), time.Now().Add(-3*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	none := func(string) bool { return false }
	if s, err := d.Sweep(t.Context(), time.Now().Add(-time.Hour), none); err != nil || s != (Swept{}) {
		t.Errorf("Sweep = %v, %v, want nothing: the row is on its way", s, err)
	}
}

func TestSweepRemovesFoldersThatStayEmpty(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{})
	put(t, d, grep, "x")
	none := func(string) bool { return false }
	for range 2 {
		if _, err := d.Sweep(t.Context(), time.Now().Add(time.Hour), none); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"drwx------ ."}, tree(t, d)); diff != "" {
		t.Errorf("folder (-want +got):\n%s", diff)
	}
}

func TestCancelledContext(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{})
	ref := put(t, d, grep, "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Create(ctx, grep); !errors.Is(err, context.Canceled) {
		t.Errorf("Create = %v", err)
	}
	if _, err := d.Open(ctx, ref.File); !errors.Is(err, context.Canceled) {
		t.Errorf("Open = %v", err)
	}
	if err := d.Remove(ctx, "c1"); !errors.Is(err, context.Canceled) {
		t.Errorf("Remove = %v", err)
	}
	if _, err := d.Sweep(ctx, time.Now(), func(string) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("Sweep = %v", err)
	}
}

func TestNewDirRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path string
		cfg  Config
	}{{"", Config{}}, {file, Config{}}, {"x", Config{Quota: -1}}} {
		if _, err := NewDir(tt.path, tt.cfg); err == nil {
			t.Errorf("NewDir(%q, %+v): no error", tt.path, tt.cfg)
		}
	}
}

func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
