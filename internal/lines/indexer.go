package lines

import "bytes"

// Indexer builds an [Index] of text that is written to it in pieces of any
// size. The zero value is ready. It keeps 4 bytes for each [BlockSize] bytes
// written, and none of the text. It is not safe for concurrent use.
type Indexer struct {
	bytes, newlines int64
	counts          Counts
	runes           runeCounter
	last            byte
}

// Write takes the next piece of the text. It returns len(p) and never an
// error.
func (x *Indexer) Write(p []byte) (int, error) {
	total := len(p)
	for len(p) > 0 {
		room := BlockSize - int(x.bytes%BlockSize)
		if room == BlockSize {
			x.counts = append(x.counts, 0)
		}
		part := p[:min(room, len(p))]
		c := bytes.Count(part, []byte{'\n'})
		x.counts[len(x.counts)-1] += uint32(c)
		x.newlines += int64(c)
		x.runes.add(part)
		x.bytes += int64(len(part))
		x.last = part[len(part)-1]
		p = p[len(part):]
	}
	return total, nil
}

// Index returns the index of what was written so far. Later writes do not
// change it.
func (x *Indexer) Index() Index {
	ix := Index{
		Bytes:  x.bytes,
		Lines:  x.newlines,
		Chars:  x.runes.total(),
		Counts: append(Counts(nil), x.counts...),
		EndsNL: x.bytes > 0 && x.last == '\n',
	}
	if ix.Bytes > 0 && !ix.EndsNL {
		ix.Lines++
	}
	return ix
}

// Of returns the index of text.
func Of(text []byte) Index {
	x := Indexer{counts: make(Counts, 0, blocks(int64(len(text))))}
	_, _ = x.Write(text) // an Indexer's Write has no error
	return x.Index()
}

// blocks returns how many blocks n bytes take.
func blocks(n int64) int64 { return n/BlockSize + min(n%BlockSize, 1) }
