package bench

import (
	"slices"
	"testing"
	"time"
)

// leastTurns is how often each side has its turn at least, whatever -benchtime says.
const leastTurns = 9

// side is one of the two that are compared.
type side struct {
	// units is how many units of work (rounds, requests, files) one call of do does; 0 means 1.
	units int
	do    func() error
	// rest is how long the side is left alone after its turn, for what it does in the background: that
	// processor time is its own, and does not meet the other side.
	rest time.Duration
	// after undoes what do did; it is not timed. Nil does nothing.
	after func() error

	times []time.Duration
	cpu   time.Duration
}

func (s *side) turn(b *testing.B, timed bool) {
	b.Helper()
	cpu, began := processCPU(), time.Now()
	err := s.do()
	took := time.Since(began)
	time.Sleep(s.rest)
	used := processCPU() - cpu
	if err != nil {
		b.Fatal(err)
	}
	if timed {
		s.times = append(s.times, took/time.Duration(max(1, s.units)))
		s.cpu += used / time.Duration(max(1, s.units))
	}
	if s.after == nil {
		return
	}
	if err := s.after(); err != nil {
		b.Fatal(err)
	}
}

func (s *side) median() time.Duration {
	slices.Sort(s.times)
	return s.times[len(s.times)/2]
}

// compare lets the two sides take turns, the first turn going to each of them alternately, and reports
// the ratio of their medians, both medians for one unit of work, the goal (0 for none), and the ratio of the processor
// time that the process spent, which depends less on what else the machine does.
func compare(b *testing.B, goal float64, ours, peer side) {
	b.Helper()
	both := []*side{&ours, &peer}
	for range 2 {
		ours.turn(b, false)
		peer.turn(b, false)
	}
	n := 0
	turn := func() {
		both[n%2].turn(b, true)
		both[(n+1)%2].turn(b, true)
		n++
	}
	for b.Loop() {
		turn()
	}
	for n < leastTurns {
		turn()
	}
	micro := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	b.ReportMetric(0, "ns/op") // it is that of both sides together
	b.ReportMetric(micro(ours.median()), "weir-µs")
	b.ReportMetric(micro(peer.median()), "peer-µs")
	b.ReportMetric(float64(ours.median())/float64(max(1, peer.median())), "ratio")
	if goal > 0 {
		b.ReportMetric(goal, "goal")
	}
	if peer.cpu > 0 {
		b.ReportMetric(float64(ours.cpu)/float64(peer.cpu), "cpu-ratio")
	}
}
