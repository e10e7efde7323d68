package cli

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/weir-run/weir/history"
)

// shownFields says what "history show --json" prints.
const shownFields = `  id, title, created_at, parent, fork_round,
  settings {model, system, mounts, max_chars, round_chars, bodies, base_url, approve},
  turns [{turn, key, state, reason, rounds, tokens_out, started_at}],
  rounds [{round, turn, key, closed, calls [{result, tool, args, state, outcome, attempt,
    text {is_error, bytes, lines, chars, tokens, sha256, shown (characters), same, path, duration_ms}}]}],
  requests [{request, epoch, outcome, bytes, message_bytes, tokens {in, out, cache_read, cache_write}, latency_ms}],
  epochs [{epoch, reason, dialect, head_bytes, base, base_count}].`

// shown is a conversation as "history show" tells it. The names of its members are stable.
type shown struct {
	ID        string         `json:"id"`
	Title     string         `json:"title"`
	CreatedAt string         `json:"created_at"`
	Parent    string         `json:"parent,omitempty"`
	ForkRound int            `json:"fork_round,omitempty"`
	Settings  setup          `json:"settings"`
	Turns     []shownTurn    `json:"turns"`
	Rounds    []shownRound   `json:"rounds"`
	Requests  []shownRequest `json:"requests"`
	Epochs    []shownEpoch   `json:"epochs"`
}

type shownTurn struct {
	Turn      int    `json:"turn"`
	Key       string `json:"key,omitempty"`
	State     string `json:"state"`
	Reason    string `json:"reason"`
	Rounds    int    `json:"rounds"`
	TokensOut int64  `json:"tokens_out"`
	StartedAt string `json:"started_at"`
	started   time.Time
}

type shownRound struct {
	Round int `json:"round"`
	// Turn is 0 for a round under somebody else's loop.
	Turn   int         `json:"turn"`
	Key    string      `json:"key,omitempty"`
	Closed bool        `json:"closed"`
	Calls  []shownCall `json:"calls"`
}

type shownCall struct {
	Result string `json:"result"`
	Tool   string `json:"tool"`
	// Args are the arguments as the model wrote them.
	Args    string `json:"args"`
	State   string `json:"state"`
	Outcome string `json:"outcome"`
	Attempt int    `json:"attempt"`
	// Text is the result; absent while there is none.
	Text *shownText `json:"text,omitempty"`
}

type shownText struct {
	IsError bool `json:"is_error"`
	// Bytes, Lines, Chars, Tokens (an estimate) and SHA256 are those of the whole text.
	Bytes  int64  `json:"bytes"`
	Lines  int64  `json:"lines"`
	Chars  int64  `json:"chars"`
	Tokens int64  `json:"tokens"`
	SHA256 string `json:"sha256"`
	// Shown are the characters that the model was sent; absent before the round is closed. Same says
	// that it was the whole text.
	Shown *int64 `json:"shown,omitempty"`
	Same  bool   `json:"same"`
	// Path is where the whole lies when it is in a file.
	Path       string `json:"path,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	duration   time.Duration
}

type shownRequest struct {
	Request      int    `json:"request"`
	Epoch        int    `json:"epoch"`
	Outcome      string `json:"outcome"`
	Bytes        int64  `json:"bytes"`
	MessageBytes int64  `json:"message_bytes"`
	Tokens       spent  `json:"tokens"`
	LatencyMS    int64  `json:"latency_ms"`
	latency      time.Duration
}

type shownEpoch struct {
	Epoch     int    `json:"epoch"`
	Reason    string `json:"reason"`
	Dialect   string `json:"dialect"`
	HeadBytes int    `json:"head_bytes"`
	// Base is the epoch whose first BaseCount messages are shared.
	Base      int `json:"base,omitempty"`
	BaseCount int `json:"base_count,omitempty"`
}

// standing is the outcome of a call, or its state while it has none.
func (c shownCall) standing() string {
	switch {
	case c.Outcome == "":
		return c.State
	case c.Text != nil && c.Text.IsError && c.Outcome == string(history.OutcomeDone):
		return "error"
	}
	return c.Outcome
}

func (t shownText) where() string {
	if t.Path != "" {
		return t.Path
	}
	return "inline"
}

// gather reads what is stored of a conversation. Of the results' texts only those that were shortened are
// read, one at a time, to count what was shown.
func gather(ctx context.Context, store history.Store, c history.Conversation) (shown, error) {
	s := shown{
		ID: c.ID, Title: c.Title, CreatedAt: stamp(c.CreatedAt), Parent: c.Parent, ForkRound: c.ForkRound,
		Turns: []shownTurn{}, Rounds: []shownRound{}, Requests: []shownRequest{}, Epochs: []shownEpoch{},
	}
	s.Settings, _ = stored(c.Settings) // settings of another program are shown as none
	turns, err := store.TurnsOf(ctx, c.ID)
	if err != nil {
		return s, err
	}
	for _, t := range turns {
		s.Turns = append(s.Turns, shownTurn{
			Turn: t.N, Key: t.Key, State: string(t.State), Reason: t.Reason, Rounds: t.Rounds, TokensOut: t.Tokens,
			StartedAt: stamp(t.StartedAt), started: t.StartedAt,
		})
	}
	if s.Rounds, err = gatherRounds(ctx, store, c.ID); err != nil {
		return s, err
	}
	requests, err := store.Requests(ctx, c.ID)
	if err != nil {
		return s, err
	}
	for _, r := range requests {
		s.Requests = append(s.Requests, shownRequest{
			Request: r.N, Epoch: r.Epoch, Outcome: r.Outcome, Bytes: r.TotalBytes, MessageBytes: r.MessageBytes,
			Tokens:    spent{r.Usage.In, r.Usage.Out, r.Usage.CacheRead, r.Usage.CacheWrite},
			LatencyMS: r.Latency.Milliseconds(), latency: r.Latency,
		})
	}
	epochs, err := store.Epochs(ctx, c.ID)
	if err != nil {
		return s, err
	}
	for _, e := range epochs {
		s.Epochs = append(s.Epochs, shownEpoch{
			Epoch: e.N, Reason: e.Reason, Dialect: e.Dialect, HeadBytes: len(e.Head), Base: e.Base, BaseCount: e.BaseCount,
		})
	}
	return s, nil
}

func gatherRounds(ctx context.Context, store history.Store, id string) ([]shownRound, error) {
	rounds, err := store.RoundsOf(ctx, id)
	if err != nil {
		return nil, err
	}
	calls, err := store.CallsOf(ctx, id, 0)
	if err != nil {
		return nil, err
	}
	results, err := store.ResultsOf(ctx, id, 0)
	if err != nil {
		return nil, err
	}
	byID := map[history.CallID]history.Result{}
	for _, r := range results {
		byID[r.ID] = r
	}
	all := []shownRound{}
	at := map[int]int{}
	for i, r := range rounds {
		at[r.N] = i
		all = append(all, shownRound{Round: r.N, Turn: r.Turn, Key: r.Key, Closed: r.Closed, Calls: []shownCall{}})
	}
	for _, c := range calls {
		i, ok := at[c.ID.Round]
		if !ok {
			continue // a call without its round is for verify to tell
		}
		x := shownCall{
			Result: c.ID.String(), Tool: c.Tool, Args: string(c.Args), State: string(c.State), Outcome: string(c.Outcome), Attempt: c.Attempt,
		}
		if r, ok := byID[c.ID]; ok {
			if x.Text, err = gatherText(ctx, store, id, r, c.State == history.CallAnswered); err != nil {
				return nil, err
			}
		}
		all[i].Calls = append(all[i].Calls, x)
	}
	return all, nil
}

func gatherText(ctx context.Context, store history.Store, id string, r history.Result, answered bool) (*shownText, error) {
	t := &shownText{
		IsError: r.IsError, Bytes: r.Bytes, Lines: r.Lines, Chars: r.Chars, Tokens: r.Tokens, SHA256: hexed(r.SHA256),
		Same: r.Same, DurationMS: r.Duration.Milliseconds(), duration: r.Duration,
	}
	if r.Spill != nil {
		t.Path = r.Spill.Path()
	}
	switch {
	case !answered:
	case r.Same:
		t.Shown = &t.Chars
	default:
		whole, err := store.ResultOf(ctx, id, r.ID)
		if err != nil {
			return nil, err
		}
		if t.Same = whole.Same; t.Same {
			t.Shown = &t.Chars
		} else {
			n := int64(utf8.RuneCount(whole.Shown))
			t.Shown = &n
		}
	}
	return t, nil
}
