package tokens

import (
	"fmt"
	"go/build"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// mixed gives a text of 4 parts Go sources, 3 parts JSON and 3 parts log, of this size in bytes.
func mixed(tb testing.TB, size int) string {
	tb.Helper()
	var b strings.Builder
	root := filepath.Join(build.Default.GOROOT, "src")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		if b.Len() >= size*4/10 {
			return fs.SkipAll
		}
		data, err := os.ReadFile(path)
		b.Write(data)
		return err
	})
	if err != nil {
		tb.Skipf("the sources of Go are not here: %v", err)
	}
	r := chance()
	for b.Len() < size*7/10 {
		fmt.Fprintf(&b, `{"id":%d,"name":"worker-%d","ok":%v,"score":%.6f,"tags":["alpha","beta-%d"],"created":"2026-01-%02dT00:00:00Z","note":null}`+"\n",
			r.IntN(1<<40), r.IntN(100), r.IntN(2) == 0, r.Float64(), r.IntN(9), 1+r.IntN(28))
	}
	for b.Len() < size {
		fmt.Fprintf(&b, "2026-03-%02dT%02d:%02d:%02d.%03dZ INFO [http.server] request handled in %dms status=%d path=/api/v1/items/%d\n",
			1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000), r.IntN(999), 200+r.IntN(300), r.IntN(100_000))
	}
	return b.String()[:size]
}

// BenchmarkP11 counts 10 MB mixed and compares with the other implementation on the same text: ratio is
// how many times as fast this one is, held-MB what the tables hold and peak-MB what one count adds.
func BenchmarkP11(b *testing.B) {
	text := mixed(b, 10<<20)
	before := heap()
	e, err := New(O200K)
	if err != nil {
		b.Fatal(err)
	}
	held := heap() - before
	var spent time.Duration
	n, best := 0, time.Duration(math.MaxInt64)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		start := time.Now()
		n = e.Count(text)
		spent = time.Since(start)
		best = min(best, spent)
	}
	other, err := oracles[O200K]()
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	want := 0
	for part := text; part != ""; { // in parts: its memory grows with the text
		end := len(part)
		if i := strings.Index(part[min(len(part), 1<<18):], "\n"); i >= 0 {
			end = min(len(part), 1<<18) + i + 1
		}
		want += len(other.EncodeOrdinary(part[:end]))
		part = part[end:]
	}
	b.ReportMetric(float64(time.Since(start))/float64(best), "ratio")
	b.ReportMetric(float64(held)/(1<<20), "held-MB")
	if d := n - want; d < -40 || d > 40 { // a cut of the parts may cost one
		b.Errorf("%d tokens, the other implementation has %d", n, want)
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkWorst counts 1 MB of each text that is hard to count.
func BenchmarkWorst(b *testing.B) {
	e, err := New(O200K)
	if err != nil {
		b.Fatal(err)
	}
	for _, w := range worst(1 << 20) {
		b.Run(w.name, func(b *testing.B) {
			b.SetBytes(int64(len(w.text)))
			b.ReportAllocs()
			for b.Loop() {
				e.Count(w.text)
			}
		})
	}
}
