package economy

import (
	"flag"
	"os"
	"testing"

	"github.com/weir-run/weir/tokens"
)

var (
	full  = flag.Bool("full", false, "measure the whole corpus")
	write = flag.String("write", "", "the `FILE` that the figures are written to")
)

var budgets = []int{400, 1000, 4000, 16_000}

// oneSize is the budget at which Weir's ways send about as much as 1,500 characters and a path do.
const oneSize = 750

// tally sums up what a strategy did.
type tally struct {
	results, facts, kept, reached, valid, calls int
	sent, followed                              int
}

func (a *tally) add(b tally) {
	a.results += b.results
	a.facts += b.facts
	a.kept += b.kept
	a.reached += b.reached
	a.valid += b.valid
	a.calls += b.calls
	a.sent += b.sent
	a.followed += b.followed
}

// density is facts for a thousand tokens: of what is shown at first.
func (a tally) density() float64 { return 1000 * float64(a.kept) / float64(max(a.sent, 1)) }

// all is facts for a thousand tokens, with the calls that brought the rest.
func (a tally) all() float64 {
	return 1000 * float64(a.kept+a.reached) / float64(max(a.sent+a.followed, 1))
}

type key struct {
	strategy, kind string
	budget         int
}

// TestEconomy holds Weir's ways to: what is shown is always valid and marked, and nearly every fact is
// there or one call away. With -full it measures the whole corpus and with -write it writes the table.
func TestEconomy(t *testing.T) {
	t.Parallel()
	places := []int{3, 15}
	if *full {
		places = nil
		for i := range sizes {
			places = append(places, i)
		}
	}
	count, err := tokens.New(tokens.O200K)
	if err != nil {
		t.Fatal(err)
	}
	samples := corpus(t, places)
	sums := map[key]*tally{}
	for _, s := range samples {
		d := newDesk(t, s.text)
		for _, budget := range append([]int{oneSize}, budgets...) {
			for _, way := range strategies {
				if budget == oneSize && !way.kept {
					continue
				}
				one := measure(t, d, s, way, budget, count)
				for _, k := range []key{{way.name, s.kind, budget}, {way.name, "", budget}} {
					if sums[k] == nil {
						sums[k] = &tally{}
					}
					sums[k].add(one)
				}
			}
		}
	}
	report := page(t, samples, sums, count)
	t.Log("\n" + report)
	for _, way := range strategies {
		for _, budget := range budgets {
			sum := sums[key{way.name, "", budget}]
			if way.weir && (sum.valid != sum.results || (sum.kept+sum.reached)*100 < sum.facts*95) {
				t.Errorf("%s at %d: %d of %d valid, %d of %d facts within one call more", way.name, budget, sum.valid, sum.results, sum.kept+sum.reached, sum.facts)
			}
		}
	}
	if *write != "" {
		if err := os.WriteFile(*write, []byte(report), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func measure(t *testing.T, d desk, s sample, way strategy, budget int, count *tokens.Encoding) tally {
	shown := way.show(t, s, budget)
	one := tally{results: 1, facts: len(s.facts), sent: count.Count(shown)}
	wrong := sound(s, shown)
	if wrong == "" {
		one.valid = 1
	} else if way.weir {
		t.Errorf("%s at %d, %s: %s: %.400s", way.name, budget, s.kind, wrong, shown)
	}
	for _, f := range s.facts {
		if has(shown, f.found) {
			one.kept++
			continue
		}
		if !way.kept {
			continue
		}
		sent, ok := d.follow(t, shown, f)
		one.calls += max(len(sent)/2, 1)
		for _, text := range sent {
			one.followed += count.Count(text)
		}
		if ok {
			one.reached++
		} else if way.weir {
			t.Logf("%s at %d, %s: %q is not one call away; %.300q", way.name, budget, s.kind, f.found, sent)
		}
	}
	return one
}

func percent(a, b int) float64 { return 100 * float64(a) / float64(max(b, 1)) }
