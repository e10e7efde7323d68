package tokens

import (
	"compress/gzip"
	_ "embed" // the vocabularies are part of the program
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"strings"
	"sync"
)

// The vocabularies as vocabulary/README.md describes them.
var (
	//go:embed vocabulary/o200k_base.bin.gz
	o200kFile string
	//go:embed vocabulary/cl100k_base.bin.gz
	cl100kFile string
)

// vocabularies are read once, when the first [New] asks for them.
var vocabularies = map[string]func() (*vocabulary, error){
	O200K:  sync.OnceValues(func() (*vocabulary, error) { return unpack(o200kFile) }),
	CL100K: sync.OnceValues(func() (*vocabulary, error) { return unpack(cl100kFile) }),
}

// none is the rank of what is no token.
const none = ^uint32(0)

// A slot of the table holds the rank of a token and, above it, some bits of its hash; 0 is empty.
const (
	rankBits = 18
	rankMask = 1<<rankBits - 1
)

// vocabulary finds the rank of a token by its bytes.
type vocabulary struct {
	bytes  string   // all tokens, in the order of their ranks
	starts []uint32 // where each of them begins, and the end of the last
	slots  []uint32 // open addressing, its length a power of two
	pairs  []uint32 // the rank of each token of two bytes
	tokens [256]uint32
	max    int // the longest token, in bytes
}

var errVocabulary = errors.New("the embedded vocabulary is damaged: build the program again")

// maxFile bounds what a vocabulary is unpacked to, in bytes.
const maxFile = 8 << 20

// unpack reads a vocabulary as it is embedded.
func unpack(packed string) (*vocabulary, error) {
	z, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		return nil, errVocabulary
	}
	var file strings.Builder
	if _, err := io.Copy(&file, io.LimitReader(z, maxFile)); err != nil {
		return nil, errVocabulary
	}
	return read(file.String())
}

// read makes the tables of a vocabulary, some megabytes in some hundredths of a second. A token is a part
// of the file, never a copy.
func read(file string) (*vocabulary, error) {
	if len(file) < 4 {
		return nil, errVocabulary
	}
	n := int(binary.LittleEndian.Uint32([]byte(file[:4])))
	if n >= rankMask || 4+n > len(file) {
		return nil, errVocabulary
	}
	lengths := file[4 : 4+n]
	v := &vocabulary{
		bytes:  file[4+n:],
		starts: make([]uint32, n+1),
		slots:  make([]uint32, 1<<(bits.Len(uint(n))+1)),
		pairs:  make([]uint32, 1<<16),
	}
	for i := range v.pairs {
		v.pairs[i] = none
	}
	for i := range n {
		v.starts[i+1] = v.starts[i] + uint32(lengths[i])
		v.max = max(v.max, int(lengths[i]))
	}
	if int(v.starts[n]) != len(v.bytes) {
		return nil, errVocabulary
	}
	for rank := range uint32(n) {
		v.add(v.token(rank), rank)
	}
	return v, nil
}

func (v *vocabulary) token(rank uint32) string {
	return v.bytes[v.starts[rank]:v.starts[rank+1]]
}

func (v *vocabulary) add(token string, rank uint32) {
	switch len(token) {
	case 1:
		v.tokens[token[0]] = rank
	case 2:
		v.pairs[uint16(token[0])<<8|uint16(token[1])] = rank
	}
	mask := len(v.slots) - 1
	h := hash(token)
	at := int(h) & mask
	for v.slots[at] != 0 {
		at = (at + 1) & mask
	}
	v.slots[at] = uint32(h>>32)&^rankMask | (rank + 1)
}

// rank is that of a text of at least one byte, or none.
func (v *vocabulary) rank(text string) uint32 {
	switch {
	case len(text) == 1:
		return v.tokens[text[0]]
	case len(text) == 2:
		return v.pairs[uint16(text[0])<<8|uint16(text[1])]
	case len(text) > v.max:
		return none
	}
	mask := len(v.slots) - 1
	h := hash(text)
	tag := uint32(h>>32) &^ rankMask
	for at := int(h) & mask; ; at = (at + 1) & mask {
		slot := v.slots[at]
		if slot == 0 {
			return none
		}
		if slot&^rankMask == tag && v.token(slot&rankMask-1) == text {
			return slot&rankMask - 1
		}
	}
}

// hash mixes the bytes of a short text.
func hash(s string) uint64 {
	const k0, k1 = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93
	h := uint64(len(s)) * k1
	var last uint64
	switch n := len(s); {
	case n >= 8:
		for i := 0; i+8 < n; i += 8 {
			h = mix(h^load(s[i:]), k0)
		}
		last = load(s[n-8:])
	case n >= 4:
		last = uint64(half(s)) | uint64(half(s[n-4:]))<<32
	default:
		last = uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16
	}
	return mix(h^last, k1)
}

func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

func load(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func half(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}
