package search_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weir-run/weir/internal/search"
)

// logText is text as a server writes it; some of its lines are errors.
func logText(size int) []byte {
	var b bytes.Buffer
	b.Grow(size + 200)
	x := uint32(1)
	for i := 0; b.Len() < size; i++ {
		x = x*1664525 + 1013904223
		switch {
		case i%100_000 == 99_999:
			fmt.Fprintf(&b, "2026-03-04T05:06:07.%03dZ FATAL core-%d panic: Unexpected-EOF in segment %d\n", i%1000, x%64, x)
		case i%20 == 7:
			fmt.Fprintf(&b, "2026-03-04T05:06:07.%03dZ ERROR worker-%d] dial tcp 10.%d.%d.7:443: connection refused\n", i%1000, x%64, x>>24, x>>16&255)
		default:
			fmt.Fprintf(&b, "2026-03-04T05:06:07.%03dZ INFO http: GET /api/v1/items/%d?user=u%d served 200 in %d ms, %d bytes\n", i%1000, x%100_000, x>>20, x%977, x>>12)
		}
	}
	return b.Bytes()
}

// BenchmarkScan searches 100 MB in a file, as the tool does: line numbers, every match.
func BenchmarkScan(b *testing.B) {
	const size = 100 << 20
	name := filepath.Join(b.TempDir(), "log")
	if err := os.WriteFile(name, logText(size), 0o600); err != nil {
		b.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	for _, tt := range []struct{ name, expr string }{
		{"rare", "Unexpected-EOF"},
		{"common", "connection refused"},
		{"absent", "no such text here"},
		{"fold", "(?i)unexpected-eof"},
		{"prefix", `Unexpected-\w+ in segment \d+7$`},
		{"inner", `\w+-\d+\] dial tcp 10\.\d+`},
		{"alternation", "FATAL|panic|segment|deadlock|corrupt"},
		{"words12", "FATAL|panic|segment|deadlock|corrupt|abort|killed|oom|SIGSEGV|overflow|underrun|timeout"},
		{"none", `\b[0-9a-f]{8}-[0-9a-f]{4}\b`},
	} {
		b.Run(tt.name, func(b *testing.B) {
			p, err := search.Compile(tt.expr, search.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(size)
			for b.Loop() {
				if _, err := p.Scan(b.Context(), file, size, func(search.Line) search.Action { return search.Next }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
