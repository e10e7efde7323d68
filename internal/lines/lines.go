// Package lines indexes text by line and slices it.
//
// One rule of what a line is holds everywhere, and it is that of grep -n and
// sed -n: a line ends at \n and at nothing else (no lone \r, U+2028, NEL, VT
// or FF); a final \n adds no empty line; text without a final \n has its last
// line counted; empty text has no lines. A \r before the \n belongs to the
// line's bytes; [TrimEnding] takes it off for display.
//
// An [Index] holds one newline count for every block of [BlockSize] bytes. It
// is made in one pass while the text streams by ([Indexer]) and finds any line
// of a file of any size by reading at most one block.
package lines

import "bytes"

// window is how many bytes are counted at once when a newline is looked for by
// its number: long enough for the vector code of bytes.Count, short enough
// that the last step, newline by newline, stays cheap.
const window = 1 << 10

// Count returns the number of lines of text.
func Count(text []byte) int64 {
	n := int64(bytes.Count(text, []byte{'\n'}))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// Slice returns lines a to b of text, counted from 1, both included, with the
// ending of each as it stands in text. The range is clamped to the lines there
// are; what holds no line is empty. The result shares text's memory.
func Slice(text []byte, a, b int64) []byte {
	a = max(a, 1)
	if b < a {
		return nil
	}
	from := 0
	if a > 1 {
		at, _ := nth(text, a-1)
		if at < 0 {
			return nil
		}
		from = at + 1
	}
	rest := text[from:]
	if at, _ := nth(rest, b-a+1); at >= 0 {
		rest = rest[:at+1]
	}
	return rest[:len(rest):len(rest)]
}

// TrimEnding returns line without its ending and whether that ending was
// \r\n. A \r that no \n follows is text and stays.
func TrimEnding(line []byte) (body []byte, crlf bool) {
	body, ended := bytes.CutSuffix(line, []byte{'\n'})
	if !ended {
		return line, false
	}
	return bytes.CutSuffix(body, []byte{'\r'})
}

// nth returns where the k-th newline of text is (k from 1). When text has
// fewer, it returns -1 and how many it has.
func nth(text []byte, k int64) (at int, have int64) {
	for start := 0; start < len(text); start += window {
		part := text[start:min(start+window, len(text))]
		c := int64(bytes.Count(part, []byte{'\n'}))
		if have+c < k {
			have += c
			continue
		}
		at = start
		for {
			at += bytes.IndexByte(text[at:], '\n')
			if have++; have == k {
				return at, have
			}
			at++
		}
	}
	return -1, have
}
