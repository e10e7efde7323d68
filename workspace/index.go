package workspace

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/lines"
)

// settled is how long a file must be unchanged before its index is kept: a file that changes again
// within one tick of its file system's clock looks the same.
const settled = 2 * time.Second

// errChanged says that a file is not what its index describes.
var errChanged = errors.New("it changed while it was read; read it again")

// textIndex finds the lines and the characters of one text.
type textIndex struct {
	lines.Index
	mu sync.Mutex
	// starts and skews are made when characters are asked for: how many characters begin before each
	// block of lines.BlockSize bytes, and how many bytes of the block belong to the last of them.
	starts []int64
	skews  []uint8
}

// indexes keeps the indexes that were used last.
type indexes struct {
	max   int
	mu    sync.Mutex
	order *list.List // of *kept, the last used first
	byKey map[string]*list.Element
}

type kept struct {
	key     string
	size    int64
	changed time.Time
	ix      *textIndex
}

func newIndexes(most int) *indexes {
	return &indexes{max: most, order: list.New(), byKey: map[string]*list.Element{}}
}

// of returns the index of a document: the one that was stored with it, one that was kept and is still
// right, or a new one, for which the whole file is read once.
func (c *indexes) of(ctx context.Context, d *document) (*textIndex, error) {
	if ix := c.get(d); ix != nil {
		return ix, nil
	}
	ix := &textIndex{}
	if d.known != nil && d.mark == 0 {
		ix.Index = *d.known
	} else {
		var err error
		if ix.Index, err = build(ctx, d); err != nil {
			return nil, err
		}
	}
	c.put(d, ix)
	return ix, nil
}

func (c *indexes) get(d *document) *textIndex {
	if d.key == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[d.key]
	if !ok {
		return nil
	}
	k := e.Value.(*kept)
	if k.size != d.disk || !k.changed.Equal(d.changed) {
		c.order.Remove(e)
		delete(c.byKey, d.key)
		return nil
	}
	c.order.MoveToFront(e)
	return k.ix
}

func (c *indexes) put(d *document, ix *textIndex) {
	if d.key == "" || d.known == nil && time.Since(d.changed) < settled {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[d.key]; ok {
		c.order.Remove(e)
	}
	c.byKey[d.key] = c.order.PushFront(&kept{d.key, d.disk, d.changed, ix})
	for c.order.Len() > c.max {
		last := c.order.Back()
		c.order.Remove(last)
		delete(c.byKey, last.Value.(*kept).key)
	}
}

// build reads a text once.
func build(ctx context.Context, d *document) (lines.Index, error) {
	var x lines.Indexer
	buf := make([]byte, min(d.size, 256<<10))
	for at := int64(0); at < d.size; {
		if err := ctx.Err(); err != nil {
			return lines.Index{}, err
		}
		part := buf[:min(int64(len(buf)), d.size-at)]
		if err := readFull(d.text, part, at); err != nil {
			return lines.Index{}, pathError(d.path, err)
		}
		_, _ = x.Write(part) // an Indexer's Write has no error
		at += int64(len(part))
	}
	return x.Index(), nil
}

// readFull reads exactly len(p) bytes; a text that ends before that has changed.
func readFull(r io.ReaderAt, p []byte, at int64) error {
	n, err := r.ReadAt(p, at)
	switch {
	case n == len(p):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return errChanged
	default:
		return fmt.Errorf("read at byte %d: %w", at, plain(err))
	}
}

// ascii reports whether characters are bytes.
func (ix *textIndex) ascii() bool { return ix.Chars == ix.Bytes }

// chars makes what finds characters; it reads the whole text, once.
func (ix *textIndex) chars(ctx context.Context, r io.ReaderAt) error {
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
		if err := readFull(r, buf[carried:carried+n], at); err != nil {
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
		cut := wholeRunes(part)
		total += int64(utf8.RuneCount(part[:cut]))
		carried = copy(buf, part[cut:])
	}
	ix.starts, ix.skews = starts, skews
	return nil
}

// wholeRunes returns where an unfinished character at the end of p starts, or len(p).
func wholeRunes(p []byte) int {
	for i := len(p) - 1; i >= 0 && i > len(p)-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			if !utf8.FullRune(p[i:]) {
				return i
			}
			break
		}
	}
	return len(p)
}

// byteOf returns where a character starts, counted from 0; that of the text's length is its end.
func (ix *textIndex) byteOf(ctx context.Context, r io.ReaderAt, char int64) (int64, error) {
	if ix.ascii() || char >= ix.Chars {
		return min(char, ix.Bytes), nil
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
	if err := readFull(r, buf, at); err != nil {
		return 0, err
	}
	return at + int64(skipRunes(buf, char-ix.starts[block])), nil
}

// skipRunes returns where the n-th character of b starts.
func skipRunes(b []byte, n int64) int {
	at := 0
	for ; n > 0 && at < len(b); n-- {
		_, size := utf8.DecodeRune(b[at:])
		at += size
	}
	return at
}

// charOf returns how many characters start before a byte at which one starts.
func (ix *textIndex) charOf(ctx context.Context, r io.ReaderAt, at int64) (int64, error) {
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
	if err := readFull(r, buf, from); err != nil {
		return 0, err
	}
	return ix.starts[block] + int64(utf8.RuneCount(buf)), nil
}
