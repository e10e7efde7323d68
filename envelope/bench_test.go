package envelope

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// records is JSON of about so many bytes, like what a search or an interface gives.
func records(size int) string {
	var b strings.Builder
	b.WriteString(`{"query":"open orders","total":4711,"took":{"index":3,"rank":12.5},"hits":[`)
	for i := 0; b.Len() < size-2; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"ord_%06d","score":%d.%02d,"customer":{"name":"Customer number %d","city":"Zürich","vip":%t},`+
			`"tags":["alpha","beta","gamma"],"note":%q,"lines":[{"sku":"A-%d","n":%d},{"sku":"B-%d","n":2}],"paid":null}`,
			i, i%100, i%97, i, i%3 == 0, strings.Repeat("some words of a note ", 1+i%9), i, i%7, i)
	}
	return b.String() + "]}"
}

// BenchmarkFit states how long a fit takes beside Unmarshal and Marshal of the same bytes, as the ratio of
// the medians of one interleaved run: 16 KB at stage 3 (the goal is 1.5), 1 MB at stage 5 (1.0).
func BenchmarkFit(b *testing.B) {
	for _, c := range []struct {
		name        string
		size, stage int
	}{{"16KB-stage3", 16 << 10, 3}, {"1MB-stage5", 1 << 20, 5}} {
		b.Run(c.name, func(b *testing.B) {
			text := records(c.size)
			o := Options{Budget: Budget{Tokens: 40, Effort: Medium}}
			if c.stage == 3 {
				o.Budget.Tokens = newFitter(Result{Text: text}, Options{}).estimate * 100 / 90
			}
			if got := Fit(Result{Text: text}, o); got.Stage != c.stage {
				b.Fatalf("it is fitted at stage %d", got.Stage)
			}
			b.SetBytes(int64(len(text)))
			var ours, theirs []time.Duration
			for b.Loop() {
				start := time.Now()
				Fit(Result{Text: text}, o)
				between := time.Now()
				var v any
				if err := json.Unmarshal([]byte(text), &v); err != nil {
					b.Fatal(err)
				}
				if _, err := json.Marshal(v); err != nil {
					b.Fatal(err)
				}
				ours, theirs = append(ours, between.Sub(start)), append(theirs, time.Since(between))
			}
			slices.Sort(ours)
			slices.Sort(theirs)
			mine, other := ours[len(ours)/2], theirs[len(theirs)/2]
			b.ReportMetric(float64(mine)/float64(other), "x-json")
			b.ReportMetric(float64(mine.Microseconds()), "µs-fit")
			b.ReportMetric(float64(other.Microseconds()), "µs-json")
		})
	}
}
