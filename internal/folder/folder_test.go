package folder_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/internal/folder"
)

// tree writes files below a new folder. A name that ends in a slash is a folder, "a -> b" a link.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		link, target, isLink := strings.Cut(name, " -> ")
		full := filepath.Join(dir, link)
		var err error
		switch {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(full, 0o755)
		case isLink:
			if err = os.MkdirAll(filepath.Dir(full), 0o755); err == nil {
				err = os.Symlink(target, full)
			}
		default:
			if err = os.MkdirAll(filepath.Dir(full), 0o755); err == nil {
				err = os.WriteFile(full, []byte(text), 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t testing.TB, dir string) *folder.Folder {
	t.Helper()
	f, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

var reasons = map[folder.Reason]string{
	folder.Ignored: "ignored", folder.Link: "link", folder.Special: "special", folder.Unreadable: "unreadable",
}

// walk returns what a walk comes to, in order; what it leaves out with the reason.
func walk(t testing.TB, f *folder.Folder, start string, ignore bool) []string {
	t.Helper()
	got := []string{}
	err := f.Walk(t.Context(), folder.Walk{
		Start: start, Ignore: ignore,
		File: func(e folder.Entry) error {
			defer e.Close()
			got = append(got, e.Name)
			return nil
		},
		Skip: func(s folder.Skip) { got = append(got, s.Name+" "+reasons[s.Reason]) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestWalkOrder(t *testing.T) {
	t.Parallel()
	f := open(t, tree(t, map[string]string{
		"b.txt": "", "a/z": "", "a.txt": "", "a-b/x": "", "a/b/c": "", "a0": "", "empty/": "", "B": "", ".hidden": "",
	}))
	got := walk(t, f, ".", false)
	want := []string{".hidden", "B", "a-b/x", "a.txt", "a/b/c", "a/z", "a0", "b.txt"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !slices.IsSorted(got) {
		t.Error("not in the byte order of the paths")
	}
	if diff := cmp.Diff([]string{"a/b/c", "a/z"}, walk(t, f, "a", false)); diff != "" {
		t.Errorf("from a (-want +got):\n%s", diff)
	}
}

// TestWalkLinks: links are not followed, so a loop ends and nothing outside is met.
func TestWalkLinks(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a/f.go": "x\n", "a/root -> ../..": "", "loop -> .": "", "out -> ../outside.txt": "", "gone -> nothing": "",
	})
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "outside.txt"), []byte("SECRET\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := walk(t, open(t, dir), ".", true)
	want := []string{"a/f.go", "a/root link", "gone link", "loop link", "out link", "pipe special"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"ok": "1", "sub/in": "2", "to-in -> sub/in": "", "to-sub -> sub": "", "out -> ../x": "", "up -> ..": "",
		"abs -> /etc/hosts": "", "zero -> /dev/zero": "", "loop -> loop": "", "gone -> nothing": "",
	})
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "x"), []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := open(t, dir)
	for _, tt := range []struct {
		name, text string
		err        error
	}{
		{"ok", "1", nil},
		{"to-in", "2", nil},
		{"to-sub/in", "2", nil},
		{"out", "", folder.ErrOutside},
		{"up/x", "", folder.ErrOutside},
		{"up/root-evil/x", "", folder.ErrOutside},
		{"../x", "", folder.ErrOutside},
		{"/etc/hosts", "", folder.ErrOutside},
		{"abs", "", folder.ErrOutside},
		{"zero", "", folder.ErrOutside},
		{"pipe", "", folder.ErrSpecial},
		{"sub", "", folder.ErrIsFolder},
		{"ok/x", "", folder.ErrNotFolder},
		{"missing", "", fs.ErrNotExist},
		{"gone", "", fs.ErrNotExist},
		{"loop", "", syscall.ELOOP},
	} {
		file, _, err := f.File(tt.name)
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.err)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), tt.name+": ") || strings.Contains(err.Error(), dir) {
				t.Errorf("%s: the error does not name the path in the folder, or more than that: %v", tt.name, err)
			}
			continue
		}
		text, err := io.ReadAll(file)
		if cerr := file.Close(); err != nil || cerr != nil || string(text) != tt.text {
			t.Errorf("%s: %q, %v, %v", tt.name, text, err, cerr)
		}
	}
}

// TestDevice: a device in the folder is refused without being opened.
func TestDevice(t *testing.T) {
	t.Parallel()
	dir := tree(t, nil)
	const null = 1<<8 | 3
	if err := syscall.Mknod(filepath.Join(dir, "null"), syscall.S_IFCHR|0o666, null); err != nil {
		t.Skipf("no right to make a device: %v", err)
	}
	if _, _, err := open(t, dir).File("null"); !errors.Is(err, folder.ErrSpecial) {
		t.Errorf("error %v, want %v", err, folder.ErrSpecial)
	}
}

// TestPipeUntouched: a pipe in the folder is refused without being opened, so its writer waits on.
func TestPipeUntouched(t *testing.T) {
	t.Parallel()
	dir := tree(t, nil)
	name := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		w, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err == nil {
			err = w.Close()
		}
		opened <- err
	}()
	time.Sleep(50 * time.Millisecond) // the writer waits for a reader now
	if _, _, err := open(t, dir).File("pipe"); !errors.Is(err, folder.ErrSpecial) {
		t.Errorf("error %v, want %v", err, folder.ErrSpecial)
	}
	select {
	case err := <-opened:
		t.Errorf("the pipe was opened: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	r, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// TestPipeSwap: a pipe that takes the place of a file between the look and the opening blocks nobody.
func TestPipeSwap(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a": "inside"})
	name := filepath.Join(dir, "a")
	err := open(t, dir).Walk(t.Context(), folder.Walk{
		Start: ".", Skip: func(folder.Skip) {},
		File: func(e folder.Entry) error {
			defer e.Close()
			if err := errors.Join(os.Remove(name), syscall.Mkfifo(name, 0o600)); err != nil {
				return err
			}
			opened := make(chan error, 1)
			go func() {
				_, _, err := e.Open()
				opened <- err
			}()
			select {
			case err := <-opened:
				if !errors.Is(err, folder.ErrSpecial) {
					t.Errorf("error %v, want %v", err, folder.ErrSpecial)
				}
			case <-time.After(10 * time.Second):
				t.Error("opening blocks")
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSwap opens a file and walks while somebody swaps folders and files for links that lead outside.
func TestSwap(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"d/f": "inside", "file": "inside"})
	secret := filepath.Join(filepath.Dir(dir), "secret")
	if err := os.Mkdir(secret, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(secret, "f"), []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			// Errors only mean that a swap did not take place.
			_ = os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "d2"))
			_ = os.Symlink(secret, filepath.Join(dir, "d"))
			_ = os.Rename(filepath.Join(dir, "file"), filepath.Join(dir, "file2"))
			_ = os.Symlink(filepath.Join(secret, "f"), filepath.Join(dir, "file"))
			runtime.Gosched()
			_ = os.Remove(filepath.Join(dir, "d"))
			_ = os.Rename(filepath.Join(dir, "d2"), filepath.Join(dir, "d"))
			_ = os.Remove(filepath.Join(dir, "file"))
			_ = os.Rename(filepath.Join(dir, "file2"), filepath.Join(dir, "file"))
		}
	})
	f := open(t, dir)
	seen := 0
	look := func(file *os.File, err error) {
		if err != nil {
			return
		}
		defer file.Close()
		text, err := io.ReadAll(file)
		if err != nil {
			t.Error(err)
		}
		seen++
		if string(text) != "inside" {
			t.Errorf("read %q", text)
		}
	}
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		for _, name := range []string{"d/f", "file"} {
			file, _, err := f.File(name)
			look(file, err)
		}
		err := f.Walk(context.Background(), folder.Walk{
			Start: ".", Skip: func(folder.Skip) {},
			File: func(e folder.Entry) error {
				defer e.Close()
				file, _, err := e.Open()
				look(file, err)
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	swapper.Wait()
	if seen == 0 {
		t.Error("no file was ever read: the test tests nothing")
	}
}

// TestUnreadable runs as somebody who may not read a folder: root may read everything, so the test runs
// itself again without that right.
func TestUnreadable(t *testing.T) {
	if dir := os.Getenv("FOLDER_TEST_DIR"); dir != "" {
		for _, line := range walk(t, open(t, dir), ".", true) {
			fmt.Println("saw", line)
		}
		return
	}
	t.Parallel()
	dir := tree(t, map[string]string{"a.txt": "x\n", "secret/f": "x\n", "z.txt": "x\n"})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestUnreadable$", "-test.v")
	cmd.Env = append(os.Environ(), "FOLDER_TEST_DIR="+dir)
	if os.Getuid() == 0 {
		binary, err := os.ReadFile(self)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Path = filepath.Join(dir, "..", "test.bin")
		if err := os.WriteFile(cmd.Path, binary, 0o755); err != nil {
			t.Fatal(err)
		}
		for p := filepath.Dir(dir); p != os.TempDir() && len(p) > 1; p = filepath.Dir(p) {
			if err := os.Chmod(p, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Dir = dir
	}
	if err := os.Chmod(filepath.Join(dir, "secret"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "secret"), 0o755) })
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "saw "); ok {
			got = append(got, name)
		}
	}
	if diff := cmp.Diff([]string{"a.txt", "secret/ unreadable", "z.txt"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
