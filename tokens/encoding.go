// Package tokens counts tokens, exactly or by estimate.
//
// [Estimate] reads a text at memory speed and is what budgets and records use; [Encoding.Count] runs a
// real tokenizer, a thousand times slower, where a figure is reported. Neither is the count of a
// provider whose tokenizer is not public.
package tokens

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// The encodings that [New] knows.
const (
	// O200K is the encoding of GPT-4o and later models.
	O200K = "o200k_base"
	// CL100K is the encoding of GPT-4 and GPT-3.5.
	CL100K = "cl100k_base"
)

// How a text is cut before it is encoded, in bytes. The encoder's time grows with the square of an
// unbroken run, so both lengths bound the worst case.
const (
	maxPiece = 8 << 10
	maxRun   = 512
)

// Encoding counts the tokens of one encoding. It is safe for concurrent use.
type Encoding struct {
	name string
	bpe  *tiktoken.Tiktoken
}

// vocabularies are read once, when the first [New] asks for them; they are part of the program.
var vocabularies = map[string]func() (*tiktoken.Tiktoken, error){
	O200K:  sync.OnceValues(func() (*tiktoken.Tiktoken, error) { return read(O200K, o200kPattern) }),
	CL100K: sync.OnceValues(func() (*tiktoken.Tiktoken, error) { return read(CL100K, cl100kPattern) }),
}

// New gives an encoding by its name. The first time for a name takes some tenths of a second and some
// tens of megabytes, for the vocabulary; nothing is downloaded. An unknown name is an error that lists
// the known ones.
func New(name string) (*Encoding, error) {
	vocabulary, ok := vocabularies[name]
	if !ok {
		return nil, fmt.Errorf("token encoding %.40q is not known: use %s or %s", name, O200K, CL100K)
	}
	bpe, err := vocabulary()
	if err != nil {
		return nil, fmt.Errorf("read the vocabulary of %s: %w", name, err)
	}
	return &Encoding{name: name, bpe: bpe}, nil
}

// Name is the name that [New] was given; it belongs beside every count that is stored.
func (e *Encoding) Name() string { return e.name }

// Count gives the tokens of a text as plain text: the names of special tokens count as what they look
// like. The text is cut at line ends into pieces of at most 8 KB, and where 512 bytes come without a
// change between white space and anything else; each cut may add less than one token on average. So
// the time grows with the length of the text only, whatever is in it: about a second for 1 MB. Bytes
// that are no UTF-8 count as U+FFFD.
func (e *Encoding) Count(text string) int {
	if !utf8.ValidString(text) {
		text = string([]rune(text)) // before it is cut, since it grows to three bytes for one
	}
	n := 0
	for len(text) > 0 {
		end := cut(text)
		n += len(e.bpe.EncodeOrdinary(text[:end]))
		text = text[end:]
	}
	return n
}

// cut gives the length of the first piece of a text that is not empty.
func cut(text string) int {
	end := min(len(text), maxPiece)
	line, gap := 0, 0 // where the last line and the last white space begin
	start, inSpace := 0, isSpace(text[0])
	for i := range end {
		if s := isSpace(text[i]); s != inSpace {
			start, inSpace = i, s
			if s {
				gap = i
			}
		} else if i-start >= maxRun {
			return boundary(text, i)
		}
		if i > 0 && text[i-1] == '\n' && text[i] != '\n' && text[i] != '\r' {
			line = i
		}
	}
	switch {
	case end == len(text):
		return end
	case line > 0:
		return line
	case gap > 0:
		return gap
	}
	return boundary(text, end)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// boundary moves back from i to where a character begins.
func boundary(text string, i int) int {
	for back := i; back > i-utf8.UTFMax && back > 0; back-- {
		if utf8.RuneStart(text[back]) {
			return back
		}
	}
	return i
}

// The patterns that part a text before its bytes are merged: they define the encodings as much as the
// vocabularies do (openai/tiktoken, tiktoken_ext/openai_public.py).
var (
	contraction   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	cl100kPattern = strings.Join([]string{
		contraction,
		`[^\r\n\p{L}\p{N}]?\p{L}+`,
		`\p{N}{1,3}`,
		` ?[^\s\p{L}\p{N}]+[\r\n]*`,
		`\s*[\r\n]+`, `\s+(?!\S)`, `\s+`,
	}, "|")
	o200kPattern = strings.Join([]string{
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` + contraction + `?`,
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` + contraction + `?`,
		`\p{N}{1,3}`,
		` ?[^\s\p{L}\p{N}]+[\r\n/]*`,
		`\s*[\r\n]+`, `\s+(?!\S)`, `\s+`,
	}, "|")
)

// read makes an encoder of a vocabulary that is embedded in the program. It has no special tokens.
func read(name, pattern string) (*tiktoken.Tiktoken, error) {
	ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
	if err != nil {
		return nil, err
	}
	bpe, err := tiktoken.NewCoreBPE(ranks, nil, pattern)
	if err != nil {
		return nil, err
	}
	return tiktoken.NewTiktoken(bpe, nil, nil), nil
}
