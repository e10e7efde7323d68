package spill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Config is how a [Dir] keeps files. The zero value is durable and without a quota.
type Config struct {
	// Quota is how many bytes the whole folder may hold, 0 for no limit. It is kept to within 64 KiB for
	// each open writer; a file that conversations share counts once for each of them.
	Quota int64
	// NoSync leaves out every fsync. What was committed then outlives the process, not a power loss.
	NoSync bool
	// Logger is told what no caller is: a temporary file that stayed behind, what a sweep removed. Nil
	// is silent.
	Logger *slog.Logger
	// Wrap, when set, gets every folder that a writer uses. It is there for tests that need a disk to fail.
	Wrap func(Folder) (Folder, error)
}

// Dir is a [Store] in a folder of the file system: one folder (0700) for each conversation, in it one
// file (0600) for each text or payload. No name and no link leads out of it. It is safe for concurrent
// use, by several processes too.
type Dir struct {
	path  string
	cfg   Config
	log   *slog.Logger
	usage usage

	mu sync.Mutex
	// named holds conversations whose folder's name is durable; it is emptied when it grows.
	named map[string]struct{}
}

// maxNamed is how many conversations Dir.named holds at most; each saves one fsync.
const maxNamed = 4096

var _ Store = (*Dir)(nil)

// NewDir returns the store in the folder at path. It writes nothing: the folder is made with the first
// file. A path that is taken by something else than a folder is an error.
func NewDir(path string, cfg Config) (*Dir, error) {
	if path == "" {
		return nil, errors.New("open the folder of spilled results: its path is empty")
	}
	if cfg.Quota < 0 {
		return nil, fmt.Errorf("open the folder of spilled results: quota %d is below 0; 0 means no limit", cfg.Quota)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open the folder of spilled results: %w", err)
	}
	if info, err := os.Stat(abs); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("open the folder of spilled results: %s is %s, not a folder", abs, kindOf(info.Mode()))
	}
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Dir{path: abs, cfg: cfg, log: log}, nil
}

// Path is where the folder lies, absolute. With Ref.File behind it it names a file on this machine.
func (d *Dir) Path() string { return d.path }

// Create begins a file; see [Store]. The bytes go to a temporary file in the conversation's folder.
func (d *Dir) Create(ctx context.Context, n Name) (Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("create spilled result %s: %w", n.Result, err)
	}
	base, err := n.Base()
	if err != nil {
		return nil, err
	}
	file, err := n.File()
	if err != nil {
		return nil, err
	}
	w, err := d.create(base, file)
	if err != nil {
		return nil, fmt.Errorf("create spilled result %s: %w", file, plain(err))
	}
	return w, nil
}

func (d *Dir) create(base, file string) (*writer, error) {
	if err := d.admit(); err != nil {
		return nil, err
	}
	conversation, name, _ := strings.Cut(file, "/")
	w := &writer{dir: d, ref: Ref{Name: base, File: file}, name: name}
	w.temp = fmt.Sprintf(".tmp-%s-%016x", name, rand.Uint64())
	// A sweep may take an empty folder away between these two steps: once more, then.
	for range 3 {
		folder, err := d.folder(conversation)
		if err != nil {
			return nil, err
		}
		h, err := folder.Create(w.temp)
		if err == nil {
			w.begin(folder, h)
			return w, nil
		}
		if cerr := folder.Close(); cerr != nil || !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(err, cerr)
		}
	}
	return nil, errors.New("the conversation's folder is removed again and again")
}

// folder makes and opens a conversation's folder.
func (d *Dir) folder(conversation string) (Folder, error) {
	root, err := os.OpenRoot(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeRoot(d.path, !d.cfg.NoSync); err != nil {
			return nil, err
		}
		root, err = os.OpenRoot(d.path)
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = root.Mkdir(conversation, folderMode)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := d.name(root, conversation, err == nil); err != nil {
		return nil, err
	}
	sub, err := subfolder(root, conversation)
	if err != nil {
		return nil, err
	}
	if d.cfg.Wrap == nil {
		return &realFolder{sub}, nil
	}
	f, err := d.cfg.Wrap(&realFolder{sub})
	if err != nil {
		return nil, errors.Join(err, sub.Close())
	}
	return f, nil
}

// name makes the name of a conversation's folder durable, once: whoever made the folder may not have come
// to it.
func (d *Dir) name(root *os.Root, conversation string, made bool) error {
	if d.cfg.NoSync {
		return nil
	}
	d.mu.Lock()
	_, named := d.named[conversation]
	d.mu.Unlock()
	if named && !made {
		return nil
	}
	if err := syncFolder(root, "."); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.named == nil || len(d.named) >= maxNamed {
		d.named = map[string]struct{}{}
	}
	d.named[conversation] = struct{}{}
	return nil
}

// existing opens a conversation's folder if it is there.
func (d *Dir) existing(conversation string) (*os.Root, error) {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return subfolder(root, conversation)
}

// keptFile is a file open for reading.
type keptFile struct {
	*os.File
	size int64
}

func (f keptFile) Size() int64 { return f.size }

// Open opens a kept file by its Ref.File; see [Store].
func (d *Dir) Open(ctx context.Context, file string) (File, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open spilled result %.200s: %w", file, err)
	}
	conversation, name, err := checkFile(file)
	if err != nil {
		return nil, err
	}
	f, err := d.open(conversation, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open spilled result %s: %w", file, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("open spilled result %s: %w", file, plain(err))
	}
	return f, nil
}

func (d *Dir) open(conversation, name string) (File, error) {
	sub, err := d.existing(conversation)
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	f, info, err := regular(sub, name)
	if err != nil {
		return nil, err
	}
	return keptFile{f, info.Size()}, nil
}

// Share keeps a file for another conversation too; see [Store]. It is one file with two names where the
// file system allows that, else a copy.
func (d *Dir) Share(ctx context.Context, file, conversation string) (string, error) {
	if err := checkConversation(conversation); err != nil {
		return "", err
	}
	f, err := d.Open(ctx, file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	from, name, _ := strings.Cut(file, "/")
	shared := conversation + "/" + name
	if err := d.share(from, conversation, name, f); err != nil {
		return "", fmt.Errorf("share spilled result %s with conversation %s: %w", file, conversation, plain(err))
	}
	return shared, nil
}

func (d *Dir) share(from, to, name string, f File) error {
	if err := d.reserve(f.Size()); err != nil {
		return err
	}
	err := d.link(from, to, name, f)
	if err != nil {
		d.release(f.Size())
	}
	return err
}

func (d *Dir) link(from, to, name string, f File) error {
	folder, err := d.folder(to)
	if err != nil {
		return err
	}
	defer folder.Close()
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return err
	}
	defer root.Close()
	err = root.Link(from+"/"+name, to+"/"+name)
	if refusedLink(err) {
		err = d.copyTo(folder, name, io.NewSectionReader(f, 0, f.Size()))
	}
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	if err != nil || d.cfg.NoSync {
		return err
	}
	if err := folder.Sync(); err != nil {
		return errors.Join(err, folder.Remove(name))
	}
	return nil
}

// Remove deletes what is kept for a conversation and its temporary files; see [Store]. Files that are
// not of this store's making stay, and their folder with them.
func (d *Dir) Remove(ctx context.Context, conversation string) error {
	if err := checkConversation(conversation); err != nil {
		return err
	}
	defer d.forget()
	root, err := os.OpenRoot(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove the spilled results of %s: %w", conversation, plain(err))
	}
	defer root.Close()
	every := func(string, fs.FileInfo) bool { return true }
	if _, err := d.clear(ctx, root, conversation, every); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the spilled results of %s: %w", conversation, plain(err))
	}
	if !d.cfg.NoSync {
		if err := syncFolder(root, "."); err != nil {
			return fmt.Errorf("remove the spilled results of %s: %w", conversation, plain(err))
		}
	}
	return nil
}
