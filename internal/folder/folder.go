// Package folder opens and walks the files below one folder, and nothing outside of it.
//
// Everything goes through os.Root: no "..", no absolute path and no symbolic
// link leads out, and nothing can be swapped between a check and its use. Only
// regular files are opened: a FIFO does not block, a device is not touched.
// Errors name the path below the folder, never where the folder lies.
package folder

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// Errors that callers branch on, beside fs.ErrNotExist and fs.ErrPermission. Every error of a [Folder]
// is an [*Error] around one of them or around what the system said.
var (
	// ErrOutside says that a path leads out of the folder.
	ErrOutside = errors.New("leads outside of its mount")
	// ErrIsFolder says that a file was asked for and a folder stands there.
	ErrIsFolder = errors.New("is a folder")
	// ErrNotFolder says that a folder was asked for and something else stands there.
	ErrNotFolder = errors.New("is no folder")
	// ErrSpecial says that the file is no regular one.
	ErrSpecial = errors.New("is a device, a pipe or a socket, and only regular files are read")
)

// Error tells which path could not be used and why.
type Error struct {
	// Name is the path below the folder; "." is the folder itself.
	Name string
	Err  error
}

// Error gives the path and the reason, in one line.
func (e *Error) Error() string { return e.Name + ": " + e.Reason() }

// Reason is the error without the path.
func (e *Error) Reason() string {
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		return "no such file or folder"
	case errors.Is(e.Err, fs.ErrPermission):
		return "permission denied"
	default:
		return e.Err.Error()
	}
}

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }

// wrap makes an [*Error] and leaves out what would tell where the folder lies.
func wrap(name string, err error) error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		return err
	}
	for {
		var pe *fs.PathError
		if !errors.As(err, &pe) {
			break
		}
		err = pe.Err
	}
	switch {
	case err.Error() == "path escapes from parent": // os has no name for this one
		err = ErrOutside
	case errors.Is(err, syscall.ENOTDIR), err.Error() == "not a directory": // nor for this one
		err = ErrNotFolder
	}
	return &Error{Name: name, Err: err}
}

// Folder is one folder, open. It is safe for concurrent use.
type Folder struct{ root *os.Root }

// Open opens a folder by its path on this machine.
func Open(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, wrap(".", err)
	}
	return &Folder{root}, nil
}

// Close ends the use of the folder. Files that are open stay open.
func (f *Folder) Close() error { return f.root.Close() }

// Stat tells what stands at a path. A symbolic link is followed while it stays inside.
func (f *Folder) Stat(name string) (fs.FileInfo, error) {
	info, err := f.root.Stat(name)
	return info, wrap(name, err)
}

// File opens a regular file for reading. A symbolic link is followed while it stays inside.
func (f *Folder) File(name string) (*os.File, fs.FileInfo, error) {
	// Looked at before it is opened, because opening a device can have effects; looked at again
	// afterwards, because something else may stand there by then.
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, nil, wrap(name, err)
	}
	if err := regular(info); err != nil {
		return nil, nil, wrap(name, err)
	}
	file, info, err := open(f.root, name)
	return file, info, wrap(name, err)
}

// open opens without waiting for anything and looks at what it got.
func open(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

func regular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return ErrIsFolder
	case !info.Mode().IsRegular():
		return ErrSpecial
	}
	return nil
}

// List returns what stands in a folder, sorted by name; symbolic links are not followed.
func (f *Folder) List(name string) ([]fs.FileInfo, error) {
	sub, err := f.sub(name)
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	entries, err := read(sub)
	if err != nil {
		return nil, wrap(name, err)
	}
	infos := make([]fs.FileInfo, 0, len(entries))
	for _, e := range entries {
		info, err := sub.Lstat(e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has gone since
		}
		if err != nil {
			return nil, wrap(path.Join(name, e.Name()), err)
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// sub opens a folder below this one.
func (f *Folder) sub(name string) (*os.Root, error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, wrap(name, err)
	}
	if !info.IsDir() {
		return nil, wrap(name, ErrNotFolder)
	}
	sub, err := f.root.OpenRoot(name)
	return sub, wrap(name, err)
}
