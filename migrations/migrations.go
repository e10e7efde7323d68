// Package migrations is numbered SQL per database, embedded.
//
// The files are in goose format and are applied in the order of their numbers. One that was released is
// never edited: a change is the next number.
package migrations

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed sqlite/*.sql
var files embed.FS

// SQLite returns the migrations of the SQLite store.
func SQLite() (fs.FS, error) {
	return fs.Sub(files, "sqlite")
}

// Newest returns the highest number among the migrations of a folder: the version of the schema that this
// program knows. A file whose name does not begin with a number and an underscore is an error.
func Newest(folder fs.FS) (int64, error) {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return 0, fmt.Errorf("list migrations: %w", err)
	}
	newest := int64(0)
	for _, e := range entries {
		head, _, _ := strings.Cut(e.Name(), "_")
		n, err := strconv.ParseInt(head, 10, 64)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("migration %s: its name must begin with a number, such as 0001_", e.Name())
		}
		newest = max(newest, n)
	}
	return newest, nil
}
