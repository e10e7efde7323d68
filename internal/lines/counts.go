package lines

import (
	"encoding/binary"
	"fmt"
)

// Counts holds the number of newlines in each block of [BlockSize] bytes of a
// text, in order; the last block may be shorter.
type Counts []uint32

// MarshalBinary returns the counts as little-endian 32-bit words, 4 bytes a
// block. It never returns an error.
func (c Counts) MarshalBinary() ([]byte, error) {
	out := make([]byte, 0, 4*len(c))
	for _, n := range c {
		out = binary.LittleEndian.AppendUint32(out, n)
	}
	return out, nil
}

// UnmarshalBinary reads what MarshalBinary wrote. Data whose length is no
// multiple of 4, or a count above [BlockSize], is an error and leaves c as it
// was. Whether the counts fit a text's totals is for [Restore] to say.
func (c *Counts) UnmarshalBinary(data []byte) error {
	if len(data)%4 != 0 {
		return fmt.Errorf("read line counts: %d bytes are no multiple of 4", len(data))
	}
	var out Counts
	if len(data) > 0 {
		out = make(Counts, 0, len(data)/4)
	}
	for at := 0; at < len(data); at += 4 {
		n := binary.LittleEndian.Uint32(data[at:])
		if n > BlockSize {
			return fmt.Errorf("read line counts: block %d has %d newlines, more than its %d bytes", at/4, n, BlockSize)
		}
		out = append(out, n)
	}
	*c = out
	return nil
}
