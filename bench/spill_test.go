package bench

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weir-run/weir/spill"
)

// BenchmarkSpill10MB is P6: 10 MB kept durably with index and hash, against writing the same bytes to a
// file and syncing it.
func BenchmarkSpill10MB(b *testing.B) {
	text := bytes.Repeat([]byte(logLine), 10<<20/len(logLine))
	inPieces := func(w io.Writer) error {
		for piece := range slices.Chunk(text, 256<<10) {
			if _, err := w.Write(piece); err != nil {
				return err
			}
		}
		return nil
	}
	root := b.TempDir()
	dir, err := spill.NewDir(root, spill.Config{})
	if err != nil {
		b.Fatal(err)
	}
	name := spill.Name{Conversation: "c1", Result: "r1-1", Tool: "log"}
	var ref spill.Ref
	kept := func() error {
		name.Fence++
		w, err := dir.Create(context.Background(), name)
		if err != nil {
			return err
		}
		if err := inPieces(w); err != nil {
			return errors.Join(err, w.Abort())
		}
		ref, err = w.Commit()
		return err
	}
	plain := filepath.Join(b.TempDir(), "plain")
	written := func() error {
		f, err := os.Create(plain)
		if err != nil {
			return err
		}
		return errors.Join(inPieces(f), f.Sync(), f.Close())
	}
	compare(b, 1.2,
		side{do: kept, after: func() error { return os.Remove(filepath.Join(root, filepath.FromSlash(ref.File))) }},
		side{do: written, after: func() error { return os.Remove(plain) }})
}
