package envelope

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weir-run/weir/internal/canon"
)

// DefaultBudget is the budget in tokens when neither the request nor the session names one.
const DefaultBudget = 4000

// Budget is a budget that was resolved: the handler, the compressor and what is reported use the same.
type Budget struct {
	// Tokens is the effective budget, at least 1; 0 stands for [DefaultBudget] at Effort.
	Tokens int
	// Effort decides how early results are shortened.
	Effort Effort
}

// Wish is what a budget is resolved from.
type Wish struct {
	// MaxTokens is the request's max_tokens as it was written; nil or null when it has none.
	MaxTokens json.RawMessage
	// Session is the session's budget in tokens; 0 means none.
	Session int
	// Cap is the tool's own in tokens; it can only lower the budget. 0 means none.
	Cap int
	// Effort is the session's.
	Effort Effort
}

// ResolveBudget gives the effective budget: max_tokens, else the session's, else [DefaultBudget]; times
// the factor of the effort; then the tool's cap and an explicit max_tokens can only lower it. Everything
// saturates. A max_tokens of 0, a negative, fractional or non-numeric one is an error that says so.
func ResolveBudget(w Wish) (Budget, error) {
	asked, err := maxTokens(w.MaxTokens)
	if err != nil {
		return Budget{}, err
	}
	if w.Session < 0 {
		return Budget{}, fmt.Errorf("the session's budget is %d tokens: it must be at least 1", w.Session)
	}
	if w.Cap < 0 {
		return Budget{}, fmt.Errorf("the tool's budget is %d tokens: it must be at least 1", w.Cap)
	}
	base := DefaultBudget
	if w.Session > 0 {
		base = w.Session
	}
	if asked > 0 {
		base = asked
	}
	n := w.Effort.scale(base)
	if asked > 0 {
		n = min(n, asked)
	}
	if w.Cap > 0 {
		n = min(n, w.Cap)
	}
	return Budget{Tokens: max(n, 1), Effort: w.Effort}, nil
}

// scale multiplies by the effort's factor, saturating, at least 1.
func (e Effort) scale(tokens int) int {
	_, tenths, _ := e.row()
	whole, rest := tokens/10, tokens%10
	if whole > (math.MaxInt-rest*tenths/10)/tenths {
		return math.MaxInt
	}
	return max(whole*tenths+rest*tenths/10, 1)
}

// resolved fills a budget that was left out.
func (b Budget) resolved() Budget {
	if b.Tokens <= 0 {
		b.Tokens = b.Effort.scale(DefaultBudget)
	}
	return b
}

// maxTokens reads a request's max_tokens; 0 means that it has none.
func maxTokens(raw json.RawMessage) (int, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return 0, nil
	}
	wrong := func(what string) (int, error) {
		return 0, fmt.Errorf("max_tokens is %s: give a whole number of at least 1", what)
	}
	if !canon.Valid(raw) {
		return wrong("no JSON")
	}
	if kind := canon.Kind(raw); kind != "number" {
		return wrong("no number but JSON of kind " + kind)
	}
	literal := clamp(string(raw), maxName)
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		if n < 1 {
			return wrong(literal)
		}
		return int(min(n, math.MaxInt)), nil
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case strings.HasPrefix(string(raw), "-"):
		return wrong(literal)
	case err == nil && f != math.Trunc(f):
		return wrong(literal + ", which is not whole")
	case err == nil && f < 1:
		return wrong(literal)
	case err != nil || f >= math.MaxInt:
		return math.MaxInt, nil
	}
	return int(f), nil
}
