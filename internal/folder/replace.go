package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
)

// ErrIsLink says that a file that was to be replaced is a symbolic link.
var ErrIsLink = errors.New("is a symbolic link; name the file that it leads to")

// Replace makes a file anew: what write writes goes to a temporary file beside it, is made durable, and
// then takes the place of the file at once, so that nobody ever sees half of it and a crash leaves the
// one or the other. A file that is there keeps its permissions; else missing folders above it are made.
// Only a regular file is replaced.
func (f *Folder) Replace(name string, write func(io.Writer) error) (created bool, err error) {
	dir, base := path.Split(name)
	dir = path.Clean(dir)
	if err := f.root.MkdirAll(dir, 0o755); err != nil {
		return false, wrap(dir, err)
	}
	sub, err := f.sub(dir)
	if err != nil {
		return false, err
	}
	defer sub.Close()
	info, err := sub.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		created = true
	case err != nil:
		return false, wrap(name, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return false, wrap(name, ErrIsLink)
	default:
		if err := regular(info); err != nil {
			return false, wrap(name, err)
		}
	}
	temp := fmt.Sprintf(".weir-%016x.tmp", rand.Uint64())
	if err := fill(sub, temp, info, write); err != nil {
		return false, wrap(name, errors.Join(err, remove(sub, temp)))
	}
	if err := sub.Rename(temp, base); err != nil {
		return false, wrap(name, errors.Join(err, remove(sub, temp)))
	}
	return created, wrap(name, syncDir(sub))
}

// fill writes a new file and makes it durable; with the permissions of like, if there is one.
func fill(dir *os.Root, name string, like fs.FileInfo, write func(io.Writer) error) error {
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if like != nil {
		err = file.Chmod(like.Mode().Perm())
	}
	if err == nil {
		err = write(file)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// remove takes a temporary file away; one that was never made is no error.
func remove(dir *os.Root, name string) error {
	if err := dir.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncDir makes the names in a folder durable.
func syncDir(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
