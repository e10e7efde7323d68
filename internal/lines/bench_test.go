package lines

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

const benchSize = 10 << 20

var benchTexts = []struct{ name, line string }{
	{"ascii", "2024-05-06T07:08:09Z INFO server: request served in 12 ms, 200 OK\n"},
	{"mixed", "2024-05-06 INFO caf\u00e9 \u2014 request served in 12 ms, \u65e5\u672c OK\n"},
	{"cjk", strings.Repeat("\u65e5\u672c\u8a9e\u306e\u6587\u7ae0", 6) + "\n"},
}

// BenchmarkIndexer streams 10 MB in chunks of 32 KB.
func BenchmarkIndexer(b *testing.B) {
	for _, tt := range benchTexts {
		b.Run(tt.name, func(b *testing.B) {
			text := bytes.Repeat([]byte(tt.line), benchSize/len(tt.line))
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var x Indexer
				for at := 0; at < len(text); at += 32 << 10 {
					_, _ = x.Write(text[at:min(at+32<<10, len(text))])
				}
			}
		})
	}
}

// BenchmarkCount is the floor: the newlines alone.
func BenchmarkCount(b *testing.B) {
	text := bytes.Repeat([]byte(benchTexts[0].line), benchSize/len(benchTexts[0].line))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		bytes.Count(text, []byte{'\n'})
	}
}

// BenchmarkRuneCount is what the standard library takes for the characters.
func BenchmarkRuneCount(b *testing.B) {
	for _, tt := range benchTexts {
		b.Run(tt.name, func(b *testing.B) {
			text := bytes.Repeat([]byte(tt.line), benchSize/len(tt.line))
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				utf8.RuneCount(text)
			}
		})
	}
}

// BenchmarkRange finds 200 lines in the middle of 1, 10 and 100 MB: the cost
// is to be the same.
func BenchmarkRange(b *testing.B) {
	for _, size := range []int{1 << 20, 10 << 20, 100 << 20} {
		b.Run(fmt.Sprintf("%dMB", size>>20), func(b *testing.B) {
			line := benchTexts[0].line
			text := bytes.Repeat([]byte(line), size/len(line))
			ix := Of(text)
			r := bytes.NewReader(text)
			for b.Loop() {
				if _, _, err := ix.Range(r, ix.Lines/2, ix.Lines/2+199); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
