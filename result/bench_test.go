package result_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

// listing is 16 KB of JSON with rows.
func listing() json.RawMessage {
	var b strings.Builder
	b.WriteByte('[')
	for i := 0; b.Len() < 16<<10; i++ {
		fmt.Fprintf(&b, `{"id":%d,"name":"Row \"%d\" – é","tags":["a","b"],"ok":true,"size":%d.5},`, i, i, i*7)
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), ",") + "]")
}

func BenchmarkTextOfString(b *testing.B) {
	r := tool.Text(strings.Repeat("sixteen kilobytes of plain text\n", 512))
	b.SetBytes(16 << 10)
	b.ReportAllocs()
	for b.Loop() {
		result.Text(r)
	}
}

func BenchmarkTextOfJSON(b *testing.B) {
	r := tool.JSON(listing())
	b.SetBytes(int64(len(listing())))
	b.ReportAllocs()
	for b.Loop() {
		result.Text(r)
	}
}

func BenchmarkModelOfJSON(b *testing.B) {
	r := tool.JSON(listing())
	b.SetBytes(int64(len(listing())))
	b.ReportAllocs()
	for b.Loop() {
		w := result.Convert(r, base)
		w.Model(false)
	}
}

func BenchmarkTextOfValue(b *testing.B) {
	var v any
	if err := json.Unmarshal(listing(), &v); err != nil {
		b.Fatal(err)
	}
	r := tool.Result{Data: v}
	b.SetBytes(int64(len(listing())))
	b.ReportAllocs()
	for b.Loop() {
		result.Text(r)
	}
}

func BenchmarkPlainTerminal(b *testing.B) {
	for name, s := range map[string]string{
		"plain":    strings.Repeat("a line of a log that has nothing in it\r\n", 400),
		"colours":  strings.Repeat("\x1b[32mok\x1b[0m  \tpackage/of/tests\t0.01s\n", 400),
		"progress": strings.Repeat("\rdownloading 45% [=====>      ]\x1b[K", 500),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				result.PlainTerminal(s)
			}
		})
	}
}

// TestTextOfStringIsFree holds that a string that is text already is neither copied nor wrapped.
func TestTextOfStringIsFree(t *testing.T) {
	r := tool.Text(strings.Repeat("é", 8<<10))
	if n := testing.AllocsPerRun(10, func() { result.Text(r) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	if n := testing.AllocsPerRun(10, func() {
		w := result.Convert(r, base)
		if shown, _ := w.Model(true); shown != w.Text {
			t.Error("it was changed")
		}
	}); n != 0 {
		t.Errorf("%v allocations by way of Convert, want 0", n)
	}
}
