package folder

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
)

// ErrLink says that a symbolic link would be written through.
var ErrLink = errors.New("is a symbolic link, and links are not written through")

// Write replaces a file by new bytes, or makes it, in one step: who reads it meanwhile sees the old file
// or the new one. It keeps the file's mode; a new one gets 0644, missing folders 0755. It reports whether
// the file is new.
func (f *Folder) Write(name string, data []byte) (created bool, err error) {
	mode := fs.FileMode(0o644)
	info, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		created = true
		if err := f.root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return false, wrap(name, err)
		}
	case err != nil:
		return false, wrap(name, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return false, wrap(name, ErrLink)
	case info.IsDir():
		return false, wrap(name, ErrIsFolder)
	default:
		if err := regular(info); err != nil {
			return false, wrap(name, err)
		}
		mode = info.Mode().Perm()
	}
	return created, wrap(name, f.replace(name, data, mode))
}

// replace writes beside the file and renames over it.
func (f *Folder) replace(name string, data []byte, mode fs.FileMode) error {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	temp := path.Join(path.Dir(name), ".weir-"+hex.EncodeToString(random[:])+".tmp")
	file, err := f.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Chmod(mode) // the umask may have taken some of it
	}
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = f.root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, f.root.Remove(temp))
	}
	return nil
}
