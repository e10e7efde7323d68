// Package tokens counts tokens, exactly or by estimate.
//
// [Estimate] reads a text at memory speed and is what budgets and records use; [Encoding.Count] is exact
// for its encoding, and some dozens of times slower. Neither is the count of a provider whose tokenizer
// is not public.
package tokens

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The encodings that [New] knows.
const (
	// O200K is the encoding of GPT-4o and later models.
	O200K = "o200k_base"
	// CL100K is the encoding of GPT-4 and GPT-3.5.
	CL100K = "cl100k_base"
)

// maxPiece is the longest piece that is merged as one, in bytes: it bounds the memory for a text that has
// no break at all. A longer one is cut there, which may add a token.
const maxPiece = 1 << 20

// Encoding counts the tokens of one encoding. It is safe for concurrent use.
type Encoding struct {
	name     string
	words    *vocabulary
	alphabet *alphabet
	split    splitter
	most     int // maxPiece
}

// New gives an encoding by its name. The first time for a name takes some hundredths of a second and some
// megabytes, for the tables; nothing is downloaded. An unknown name is an error that lists the known ones.
func New(name string) (*Encoding, error) {
	load, ok := vocabularies[name]
	if !ok {
		return nil, fmt.Errorf("token encoding %.40q is not known: use %s or %s", name, O200K, CL100K)
	}
	words, err := load()
	if err != nil {
		return nil, fmt.Errorf("read the vocabulary of %s: %w", name, err)
	}
	e := &Encoding{name: name, words: words, alphabet: alphabetOnce(), split: splitO200K, most: maxPiece}
	if name == CL100K {
		e.split = splitCL100K
	}
	return e, nil
}

// Name is the name that [New] was given; it belongs beside every count that is stored.
func (e *Encoding) Name() string { return e.name }

// Count gives the tokens of a text as plain text: the names of special tokens count as what they look
// like. It is exact unless a run without a break is longer than 1 MB (see maxPiece); the time grows with
// the length of the text only, whatever is in it, and the memory with its longest run. Bytes that are no
// UTF-8 count as U+FFFD each; a text that has some is copied first, up to three times as long.
func (e *Encoding) Count(text string) int {
	text = valid(text)
	n := 0
	var starts [maxShort + 1]uint8
	for i := 0; i < len(text); {
		end := e.end(text, i)
		piece := text[i:end]
		i = end
		switch {
		case e.words.rank(piece) != none:
			n++
		case len(piece) <= maxShort:
			n += len(e.words.short(piece, &starts)) - 1
		default:
			e.words.long(piece, func(string) { n++ })
		}
	}
	return n
}

// Encode appends the tokens of a text to a slice, each as its rank; there are as many as [Encoding.Count]
// says.
func (e *Encoding) Encode(to []uint32, text string) []uint32 {
	text = valid(text)
	var starts [maxShort + 1]uint8
	for i := 0; i < len(text); {
		end := e.end(text, i)
		piece := text[i:end]
		i = end
		if rank := e.words.rank(piece); rank != none {
			to = append(to, rank)
			continue
		}
		if len(piece) > maxShort {
			e.words.long(piece, func(token string) { to = append(to, e.words.rank(token)) })
			continue
		}
		cuts := e.words.short(piece, &starts)
		for k := range len(cuts) - 1 {
			to = append(to, e.words.rank(piece[cuts[k]:cuts[k+1]]))
		}
	}
	return to
}

// end is where the piece that begins at i ends.
func (e *Encoding) end(text string, i int) int {
	end := e.split(e.alphabet, text, i)
	if end-i <= e.most {
		return end
	}
	for end = i + e.most; !utf8.RuneStart(text[end]); {
		end--
	}
	return end
}

// valid gives the text with U+FFFD for each byte that is no UTF-8.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/2)
	for _, r := range text {
		b.WriteRune(r)
	}
	return b.String()
}
