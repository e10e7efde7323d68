package spill

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/internal/canon"
)

// BenchmarkSpill10MB is goal P6: 10 MB kept durably, with index and hash, against writing the same bytes
// to a file and syncing it. The two take turns; "ratio" is that of their medians.
func BenchmarkSpill10MB(b *testing.B) {
	text := bytes.Repeat([]byte("2026-11-29T10:00:00Z INFO a line of a log, request 12345 took 17 ms\n"), 10<<20/68)
	d := newDir(b, Config{})
	plainName := filepath.Join(b.TempDir(), "plain")
	n := grep
	var ours, plain []time.Duration
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		n.Fence++
		begin := time.Now()
		w, err := d.Create(b.Context(), n)
		if err != nil {
			b.Fatal(err)
		}
		inPieces(b, w, text)
		ref, err := w.Commit()
		if err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(begin))

		begin = time.Now()
		f, err := os.Create(plainName)
		if err != nil {
			b.Fatal(err)
		}
		inPieces(b, f, text)
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			b.Fatal(err)
		}
		plain = append(plain, time.Since(begin))
		if err := errors.Join(os.Remove(plainName), os.Remove(filepath.Join(d.path, ref.File))); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(ours)
	slices.Sort(plain)
	b.ReportMetric(float64(ours[len(ours)/2])/float64(plain[len(plain)/2]), "ratio")
	b.ReportMetric(float64(ours[len(ours)/2].Microseconds())/1000, "ms/spill")
}

// inPieces writes text as a program does.
func inPieces(b *testing.B, w io.Writer, text []byte) {
	for piece := range slices.Chunk(text, 256<<10) {
		if _, err := w.Write(piece); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead200Lines is goal P7: 200 lines from the middle cost the same whatever the size.
func BenchmarkRead200Lines(b *testing.B) {
	line := "2026-11-29T10:00:00Z INFO a line of a log, request 12345 took 17 ms\n"
	for name, size := range map[string]int{"1MB": 1 << 20, "100MB": 100 << 20} {
		b.Run(name, func(b *testing.B) {
			d := newDir(b, Config{NoSync: true})
			ref := put(b, d, grep, strings.Repeat(line, size/len(line)))
			middle := ref.Index.Lines / 2
			for b.Loop() {
				f, err := d.Open(b.Context(), ref.File)
				if err != nil {
					b.Fatal(err)
				}
				from, to, err := ref.Index.Range(f, middle, middle+199)
				if err != nil {
					b.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, io.NewSectionReader(f, from, to-from)); err != nil || n != int64(200*len(line)) {
					b.Fatalf("%d bytes, %v", n, err)
				}
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPreview(b *testing.B) {
	for name, text := range map[string]string{
		"lines": numbered(100_000), "JSON": "[" + strings.Repeat(`{"id":12,"name":"some name"},`, 100_000) + "1]",
		"base64": strings.Repeat(bulk(4000)+"\n", 500),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Preview(Of(text), 24_000, kept)
			}
		})
	}
}

func BenchmarkSynopsis(b *testing.B) {
	text := []byte("[" + strings.Repeat(`{"id":12,"name":"some name"},`, 100_000) + "1]")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var s synopsis
		s.write(text)
	}
}

func BenchmarkCanonSynopsis(b *testing.B) {
	text := []byte("[" + strings.Repeat(`{"id":12,"name":"some name"},`, 100_000) + "1]")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		canon.Synopsis(text, 8)
	}
}
