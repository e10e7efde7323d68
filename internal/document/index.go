package document

import (
	"context"
	"crypto/sha256"
	"io"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/lines"
)

// Index finds the lines and the characters of one text. It is safe for concurrent use.
type Index struct {
	lines.Index
	// Sum is the SHA-256 of the file's own bytes where it was asked for, else zeros.
	Sum [sha256.Size]byte
	mu  sync.Mutex
	// starts and skews are made when characters are asked for: how many characters begin before each
	// block of lines.BlockSize bytes, and how many bytes of the block belong to the last of them.
	starts []int64
	skews  []uint8
}

// NewIndex makes an index of one that was stored.
func NewIndex(ix lines.Index) *Index { return &Index{Index: ix} }

// Build reads a text once.
func Build(ctx context.Context, text io.ReaderAt, size int64) (*Index, error) {
	var x lines.Indexer
	if err := through(ctx, &x, text, 0, size); err != nil {
		return nil, err
	}
	return NewIndex(x.Index()), nil
}

// BuildSum is Build with the hash of the file, of the same bytes: where the text is the file's own, it is
// read once for both.
func BuildSum(ctx context.Context, d *Document) (*Index, error) {
	var x lines.Indexer
	sum := sha256.New()
	var err error
	switch d.Form {
	case Plain, Marked:
		if err = through(ctx, sum, d.Raw, 0, d.Disk-d.Size); err == nil { // the mark is no text
			err = through(ctx, io.MultiWriter(&x, sum), d.Text, 0, d.Size)
		}
	default:
		if err = through(ctx, sum, d.Raw, 0, d.Disk); err == nil {
			err = through(ctx, &x, d.Text, 0, d.Size)
		}
	}
	if err != nil {
		return nil, err
	}
	ix := NewIndex(x.Index())
	sum.Sum(ix.Sum[:0])
	return ix, nil
}

// Sum is the SHA-256 of size bytes.
func Sum(ctx context.Context, raw io.ReaderAt, size int64) (out [sha256.Size]byte, err error) {
	sum := sha256.New()
	if err := through(ctx, sum, raw, 0, size); err != nil {
		return out, err
	}
	sum.Sum(out[:0])
	return out, nil
}

// through writes bytes from to to in pieces. The writer is one whose Write has no error.
func through(ctx context.Context, w io.Writer, r io.ReaderAt, from, to int64) error {
	buf := make([]byte, min(to-from, 256<<10))
	for at := from; at < to; {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := buf[:min(int64(len(buf)), to-at)]
		if err := ReadFull(r, part, at); err != nil {
			return err
		}
		_, _ = w.Write(part)
		at += int64(len(part))
	}
	return nil
}

// ascii reports whether characters are bytes.
func (ix *Index) ascii() bool { return ix.Chars == ix.Bytes }

// chars makes what finds characters; it reads the whole text, once.
func (ix *Index) chars(ctx context.Context, r io.ReaderAt) error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.starts != nil || ix.Bytes == 0 {
		return nil
	}
	starts, skews := []int64{0}, []uint8{0}
	buf := make([]byte, utf8.UTFMax+lines.BlockSize)
	carried, total := 0, int64(0) // bytes at the start of buf that begin a character; characters so far
	for at := int64(0); at < ix.Bytes; at += lines.BlockSize {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := int(min(lines.BlockSize, ix.Bytes-at))
		if err := ReadFull(r, buf[carried:carried+n], at); err != nil {
			return err
		}
		part := buf[:carried+n]
		if at > 0 {
			// The characters that begin in the block before.
			pos, begun := 0, int64(0)
			for pos < carried {
				_, size := utf8.DecodeRune(part[pos:])
				pos += size
				begun++
			}
			starts = append(starts, total+begun)
			skews = append(skews, uint8(pos-carried))
		}
		cut := WholeRunes(part)
		total += int64(utf8.RuneCount(part[:cut]))
		carried = copy(buf, part[cut:])
	}
	ix.starts, ix.skews = starts, skews
	return nil
}

// Byte returns where a character starts, counted from 0; that of the text's length is its end.
func (ix *Index) Byte(ctx context.Context, r io.ReaderAt, char int64) (int64, error) {
	if char >= ix.Chars {
		return ix.Bytes, nil
	}
	if ix.ascii() {
		return char, nil
	}
	if err := ix.chars(ctx, r); err != nil {
		return 0, err
	}
	block, found := slices.BinarySearch(ix.starts, char)
	if !found {
		block--
	}
	at := int64(block)*lines.BlockSize + int64(ix.skews[block])
	buf := make([]byte, min(lines.BlockSize+utf8.UTFMax, ix.Bytes-at))
	if err := ReadFull(r, buf, at); err != nil {
		return 0, err
	}
	return at + int64(SkipRunes(buf, char-ix.starts[block])), nil
}

// Char returns how many characters start before a byte at which one starts.
func (ix *Index) Char(ctx context.Context, r io.ReaderAt, at int64) (int64, error) {
	if ix.ascii() {
		return at, nil
	}
	if at >= ix.Bytes {
		return ix.Chars, nil
	}
	if err := ix.chars(ctx, r); err != nil {
		return 0, err
	}
	block := at / lines.BlockSize
	from := block*lines.BlockSize + int64(ix.skews[block])
	buf := make([]byte, max(at-from, 0))
	if err := ReadFull(r, buf, from); err != nil {
		return 0, err
	}
	return ix.starts[block] + int64(utf8.RuneCount(buf)), nil
}
