package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/weir-run/weir/agent"
)

// reportFields says what "run --json" and "resume --json" print.
const reportFields = `  conversation, turn, reason (done, cancelled, "limit: …"; empty while the turn is open), text, error,
  waiting [{result, tool, args}] (the calls that wait for an approval), rounds, requests, shown (characters), spilled, tokens {in, out, cache_read, cache_write},
  results [{result, tool, outcome, is_error, bytes, lines, chars, path, duration_ms}],
  epochs [{epoch, reason, bytes}], troubles [{kind, result, text}], next [commands].`

// report is what a turn came to. The names of its members are stable.
type report struct {
	Conversation string `json:"conversation"`
	Turn         int    `json:"turn"`
	// Reason is why the turn ended; empty while it is open and can be resumed.
	Reason string `json:"reason"`
	// Text is the last answer.
	Text  string `json:"text"`
	Error string `json:"error,omitempty"`
	// Waiting are the calls that wait for an approval; the turn is open then.
	Waiting []waits `json:"waiting,omitempty"`
	// Rounds are those of the turn; the other figures are those of this run of it.
	Rounds   int `json:"rounds"`
	Requests int `json:"requests"`
	// Shown are the characters that the model was shown of all results.
	Shown    int64     `json:"shown"`
	Spilled  int       `json:"spilled"`
	Tokens   spent     `json:"tokens"`
	Results  []settled `json:"results"`
	Epochs   []epoch   `json:"epochs,omitempty"`
	Troubles []trouble `json:"troubles,omitempty"`
	Next     []string  `json:"next"`
}

// spent are tokens as the provider counted them.
type spent struct {
	In         int64 `json:"in"`
	Out        int64 `json:"out"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
}

// settled is one result of the run.
type settled struct {
	Result  string `json:"result"`
	Tool    string `json:"tool"`
	Outcome string `json:"outcome"`
	IsError bool   `json:"is_error"`
	Bytes   int64  `json:"bytes"`
	Lines   int64  `json:"lines"`
	Chars   int64  `json:"chars"`
	// Path is where the whole lies when it was spilled.
	Path       string `json:"path,omitempty"`
	DurationMS int64  `json:"duration_ms"`
}

// epoch is one that was opened in the run.
type epoch struct {
	Epoch  int    `json:"epoch"`
	Reason string `json:"reason"`
	Bytes  int64  `json:"bytes"`
}

// trouble is what people should look at.
type trouble struct {
	Kind   string `json:"kind"`
	Result string `json:"result,omitempty"`
	Text   string `json:"text"`
}

func (s *spent) add(e agent.Answered) {
	s.In += e.In
	s.Out += e.Out
	s.CacheRead += e.CacheRead
	s.CacheWrite += e.CacheWrite
}

// String is the tokens for people.
func (s spent) String() string {
	text := fmt.Sprintf("%s tokens in, %s out", number(s.In), number(s.Out))
	if s.CacheRead > 0 {
		text += fmt.Sprintf(", %s from the cache", number(s.CacheRead))
	}
	if s.CacheWrite > 0 {
		text += fmt.Sprintf(", %s into it", number(s.CacheWrite))
	}
	return text
}

// line is the turn in one line.
func (r report) line(elapsed time.Duration) string {
	how := r.Reason
	switch {
	case len(r.Waiting) > 0:
		how = "waiting for " + plural(len(r.Waiting), "approval")
	case how == "":
		how = "stopped"
	}
	parts := []string{how, plural(r.Rounds, "round"), plural(r.Requests, "request"), r.Tokens.String()}
	if r.Spilled > 0 {
		parts = append(parts, plural(r.Spilled, "result")+" spilled")
	}
	parts = append(parts, took(elapsed), "conversation "+r.Conversation)
	return strings.Join(parts, " · ")
}
