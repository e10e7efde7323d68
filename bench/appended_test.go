package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// appended is the least that makes a round durable: two appends to one file, each with fdatasync.
type appended struct {
	file  *os.File
	parts [2][]byte
}

func newAppended(b *testing.B, l load) *appended {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	return &appended{f, [2][]byte{
		slices.Concat(l.message, l.fragment),
		slices.Concat(bytes.Join(l.results[:], nil), l.wire),
	}}
}

func (a *appended) round() error {
	for _, part := range a.parts {
		if _, err := a.file.Write(part); err != nil {
			return err
		}
		if err := datasync(a.file); err != nil {
			return err
		}
	}
	return nil
}
