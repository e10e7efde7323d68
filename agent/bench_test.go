package agent

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/weir-run/weir/history"
)

// ofRounds makes a replay of so many rounds of about 8 KB.
func ofRounds(n int) *replay {
	r := &replay{epoch: history.Epoch{N: 1, Head: []byte(`{"messages":[`), Tail: []byte(`]}`)}}
	for range n {
		r.add(bytes.Repeat([]byte("a"), 500))
		r.add(bytes.Repeat([]byte("r"), 7500))
	}
	return r
}

// BenchmarkRequestBuild measures what lies between the close of a round and the first byte of the next
// request (P4): plan the fragment, announce the request, hand out the body. Time and allocations must not
// depend on the number of rounds. read/memcpy is the time to read the whole body as a transport does,
// against one copy of it.
func BenchmarkRequestBuild(b *testing.B) {
	fragment := bytes.Repeat([]byte("n"), 8000)
	for _, n := range []int{10, 100, 500, 2000} {
		b.Run(fmt.Sprintf("rounds=%d", n), func(b *testing.B) {
			r := ofRounds(n)
			// Room as a live conversation has it: appending grows it now and then, by a quarter.
			r.messages = append(make([]byte, 0, len(r.messages)*5/4+len(fragment)), r.messages...)
			b.ReportAllocs()
			for b.Loop() {
				p := r.begin()
				p.message(history.Message{}, "bench", fragment)
				p.intent()
				next := p.next
				if next.body().Len() == 0 {
					b.Fatal("an empty body")
				}
			}
			b.StopTimer()
			b.ReportMetric(readRatio(r), "read/memcpy")
		})
	}
}

// readRatio reads the body as a transport does, in pieces of 32 KB, and compares with a plain copy.
func readRatio(r *replay) float64 {
	whole := make([]byte, r.body().Len())
	buf := make([]byte, 32<<10)
	var read, copied []time.Duration
	for range 9 {
		began := time.Now()
		body := r.body().Body()
		for {
			if _, err := body.Read(buf); err == io.EOF {
				break
			}
		}
		read = append(read, time.Since(began))
		began = time.Now()
		copy(whole, r.messages)
		copied = append(copied, time.Since(began))
	}
	return float64(median(read)) / float64(max(1, median(copied)))
}

func median(d []time.Duration) time.Duration {
	for i := range d {
		for j := i + 1; j < len(d); j++ {
			if d[j] < d[i] {
				d[i], d[j] = d[j], d[i]
			}
		}
	}
	return d[len(d)/2]
}
