package envelope

import (
	"fmt"
	"math/bits"
	"strings"
)

// Effort says how much of a budget may be used, and how early results are shortened. The zero value is
// [High], the default. It is set for a session, never for a process.
type Effort uint8

// The efforts.
const (
	// High multiplies the budget by 1.3 and shortens 10 points later.
	High Effort = iota
	// Medium takes budget and thresholds as they are.
	Medium
	// Low multiplies the budget by 0.6 and shortens 10 points earlier.
	Low
)

// efforts holds by effort: its word, its factor in tenths, and the lower bounds of stages 2, 3 and 4
// (inclusive) and of 5 (exclusive) in percent of the budget.
func (e Effort) row() (word string, tenths int, bounds [4]uint64) {
	switch e {
	case Low:
		return "low", 6, [4]uint64{65, 75, 85, 90}
	case Medium:
		return "medium", 10, [4]uint64{75, 85, 95, 100}
	default:
		return "high", 13, [4]uint64{85, 95, 105, 110}
	}
}

// String is the effort's word.
func (e Effort) String() string {
	word, _, _ := e.row()
	return word
}

// ParseEffort reads "low", "medium" or "high", in any case. An empty word is the default, high; any other
// is an error, not a silent default.
func ParseEffort(word string) (Effort, error) {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "", "high":
		return High, nil
	case "medium":
		return Medium, nil
	case "low":
		return Low, nil
	}
	return High, fmt.Errorf("effort %q is unknown: say low, medium or high", clamp(word, maxName))
}

// ResolveEffort reads the effort from the first word that is not blank: the call's or the flag, the
// configuration's, the value of WEIR_EFFORT_LEVEL. Only the word that counts is read.
func ResolveEffort(flag, config, env string) (Effort, error) {
	for _, c := range []struct{ from, word string }{{"", flag}, {"configuration: ", config}, {"WEIR_EFFORT_LEVEL: ", env}} {
		if strings.TrimSpace(c.word) == "" {
			continue
		}
		e, err := ParseEffort(c.word)
		if err != nil {
			return High, fmt.Errorf("%s%w", c.from, err)
		}
		return e, nil
	}
	return High, nil
}

// StageOf is the stage that an estimate asks for, 1 to 5, both in tokens: the table of the documentation,
// calculated without rounding. A budget below 1 counts as 1, an estimate below 0 as 0. It says how hard to
// shorten; what fits is not replaced by a stub, so [Fit] begins with 4 where it says 5.
func StageOf(estimate, budget int, e Effort) int {
	_, _, bounds := e.row()
	usedHigh, used := bits.Mul64(uint64(max(estimate, 0)), 100)
	stage := 1
	for i, percent := range bounds {
		high, low := bits.Mul64(uint64(max(budget, 1)), percent)
		over := usedHigh > high || usedHigh == high && (used > low || used == low && i < 3)
		if over {
			stage = i + 2
		}
	}
	return stage
}
