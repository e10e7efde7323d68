package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/mcp/client/internal/wire"
)

// Limits of comparing structured content with content.
const (
	// maxScalars is how many values are looked for, maxWork how many bytes are looked through in all.
	maxScalars, maxWork = 5000, 256 << 20
	// bulkChars is the shortest base64 that is taken out of structured content.
	bulkChars = 1024
)

// echo reports whether structured content says nothing that the content does not say: it is the JSON of the
// text (in another order, spacing or spelling of numbers, inside an object of one member, or one element a
// block), or every value in it stands in the content.
func echo(blocks []Block, structured json.RawMessage) bool {
	var texts []string
	for _, b := range blocks {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	forms := [][]byte{structured}
	if members, ok := wire.Members(structured); ok && len(members) == 1 {
		forms = append(forms, members[0].Value)
	}
	elements := []byte("[" + strings.Join(texts, ",") + "]")
	for _, form := range forms {
		if canon.Equal([]byte(strings.Join(texts, "\n")), form) || canon.Equal(elements, form) {
			return true
		}
	}
	return covered(blocks, texts, structured)
}

// covered reports whether every value of structured content stands in the content.
func covered(blocks []Block, texts []string, structured json.RawMessage) bool {
	known := map[string]bool{}
	for _, b := range blocks {
		for _, s := range []string{b.Type, b.MIMEType, b.URI, b.Name, b.payload, b.Text} {
			known[s] = true
		}
	}
	for _, b := range blocks {
		if b.Type == "resource" {
			texts = append(texts, b.Text)
		}
	}
	size := 0
	for _, t := range texts {
		size += len(t)
	}
	l := canon.NewLexer(structured)
	for n := 0; ; n++ {
		t, err := l.Next()
		if err != nil {
			return n > 0
		}
		if t.Key || strings.IndexByte("{}[]", t.Kind) >= 0 {
			continue
		}
		word := string(t.Raw)
		if t.Kind == '"' {
			word, _ = canon.Unquote(t.Raw)
		}
		if word == "" || t.Kind == 'n' || known[word] {
			continue
		}
		if n > maxScalars || n*size > maxWork || !within(texts, word) {
			return false
		}
	}
}

// within reports whether a word stands in one of the texts, not as a part of a longer word or number.
func within(texts []string, word string) bool {
	for _, text := range texts {
		for from := 0; ; {
			at := strings.Index(text[from:], word)
			if at < 0 {
				break
			}
			at += from
			before, _ := utf8.DecodeLastRuneInString(text[:at])
			first, _ := utf8.DecodeRuneInString(word)
			after, size := utf8.DecodeRuneInString(text[at+len(word):])
			last, _ := utf8.DecodeLastRuneInString(word)
			next, _ := utf8.DecodeRuneInString(text[at+len(word)+size:])
			longer := after == '.' && unicode.IsDigit(last) && unicode.IsDigit(next)
			if !(letter(before) && letter(first)) && !(letter(after) && letter(last)) && !longer {
				return true
			}
			from = at + len(word)
		}
	}
	return false
}

func letter(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}

// withoutBulk is structured content as text, with a placeholder for each base64 value that a block carries
// or that is long. It stays valid JSON; the machine's view keeps the whole.
func withoutBulk(structured json.RawMessage, blocks []Block) string {
	var out bytes.Buffer
	at := 0
	l := canon.NewLexer(structured)
	for {
		t, err := l.Next()
		if err != nil {
			break
		}
		if t.Kind != '"' || t.Key {
			continue
		}
		word, _ := canon.Unquote(t.Raw)
		carried := false
		for _, b := range blocks {
			carried = carried || b.payload != "" && b.payload == word
		}
		if !carried && !(len(word) >= bulkChars && bulk(word)) {
			continue
		}
		out.Write(structured[at:t.Start])
		out.Write(quote(fmt.Sprintf("[base64: %d characters, kept in the structured result]", len(word))))
		at = t.Start + len(t.Raw)
	}
	out.Write(structured[at:])
	return out.String()
}

// bulk reports whether a long word is base64 and no text: it decodes, and holds upper case, lower case and
// digits.
func bulk(word string) bool {
	if strings.HasPrefix(word, "data:") {
		_, word, _ = strings.Cut(word, ",")
	}
	if !strings.ContainsAny(word, "0123456789") || strings.ToLower(word) == word || strings.ToUpper(word) == word {
		return false
	}
	if strings.ContainsAny(word, " ") {
		return false
	}
	_, err := decode64(word)
	return err == nil
}
