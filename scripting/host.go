package scripting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/weir-run/weir/internal/document"
	"github.com/weir-run/weir/internal/search"
	"github.com/weir-run/weir/scripting/internal/realm"
	"github.com/weir-run/weir/tool"
)

const (
	// pageBytes is about how much text one piece of a stored result has.
	pageBytes = 1 << 20
	// maxMatches is the most text that one search may give.
	maxMatches = 8 << 20
	// maxOpen is how many stored results are kept open for reading in pieces.
	maxOpen = 4
)

// errInner says that a script made too many calls.
var errInner = errors.New("too many inner calls")

// host is what one script can reach: the tools and the stored results of the call that runs it.
type host struct {
	dispatch tool.Dispatcher
	limits   Limits
	out      *output

	mu    sync.Mutex
	calls int
	// stop is the first thing that ended the script from this side; over is closed then.
	stop error
	over chan struct{}
	// open are the results that are read in pieces, the one used last at the end.
	open []*piecewise
}

// piecewise is a stored result that is read in pieces.
type piecewise struct {
	id    string
	whole tool.Whole
	index *document.Index
	users int
	gone  bool
}

func newHost(d tool.Dispatcher, l Limits, out *output) *host {
	return &host{dispatch: d, limits: l, out: out, over: make(chan struct{})}
}

// fail keeps why the script must end.
func (h *host) fail(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop == nil {
		h.stop = err
		close(h.over)
	}
	return h.stop
}

func (h *host) stopped() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stop
}

// begin counts and begins one call. The order of begin is the order of the calls' ids.
func (h *host) begin(ctx context.Context, name string, args json.RawMessage) (wait func() (tool.Whole, error)) {
	failed := func(err error) func() (tool.Whole, error) {
		return func() (tool.Whole, error) { return tool.Whole{}, err }
	}
	if name == Name {
		return failed(refused(Name + " cannot be called from a script: call it directly"))
	}
	if h.dispatch == nil {
		return failed(refused(name + " was not called: there are no tools here"))
	}
	h.mu.Lock()
	h.calls++
	over := h.calls > h.limits.Calls
	h.mu.Unlock()
	if over {
		return failed(h.fail(fmt.Errorf("it made more than its limit of %s tool calls: %w", count(int64(h.limits.Calls)), errInner)))
	}
	got := h.dispatch.Begin(ctx, name, args)
	return func() (tool.Whole, error) {
		whole, err := got()
		if err != nil && ctx.Err() == nil {
			err = h.fail(fmt.Errorf("%s could not be called: %w", name, err))
		}
		return whole, err
	}
}

// refused is a call that was not made, which a script is told as a result.
type refused string

func (r refused) Error() string { return string(r) }

// get opens one stored result.
func (h *host) get(ctx context.Context, id string) (tool.Whole, error) {
	if h.dispatch == nil {
		return tool.Whole{}, fmt.Errorf("there is no result %.40q: nothing is stored here", id)
	}
	return h.dispatch.Result(ctx, id)
}

// large reports whether a result is longer than what a script gets whole.
func (h *host) large(w tool.Whole) bool {
	return w.Chars > h.limits.Inner || int64(len(w.Structured)) > 4*h.limits.Inner
}

// List gives the stored results.
func (h *host) List(ctx context.Context) ([]tool.Stored, error) {
	if h.dispatch == nil {
		return nil, nil
	}
	return h.dispatch.Results(ctx)
}

// Read gives lines of a stored result, at most about pageBytes of them.
func (h *host) Read(ctx context.Context, id string, from, to int64) (string, error) {
	p, err := h.pieces(ctx, id)
	if err != nil {
		return "", err
	}
	defer h.release(p)
	from = max(from, 1)
	to = min(to, p.index.Lines)
	if from > to {
		return "", nil
	}
	start, end, err := p.index.Range(p.whole.Text, from, to)
	if err != nil {
		return "", fmt.Errorf("read lines %d-%d of %s: %w", from, to, id, err)
	}
	for end-start > pageBytes && to > from {
		// Halve what is over; one line is never cut.
		to = from + (to-from)/2
		if _, end, err = p.index.Range(p.whole.Text, from, to); err != nil {
			return "", fmt.Errorf("read lines %d-%d of %s: %w", from, to, id, err)
		}
	}
	if end-start > 4*h.limits.Inner {
		return "", fmt.Errorf("line %d of %s has %d bytes, which is longer than a script can take", from, id, end-start)
	}
	text := make([]byte, end-start)
	if err := document.ReadFull(p.whole.Text, text, start); err != nil {
		return "", fmt.Errorf("read lines %d-%d of %s: %w", from, to, id, err)
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}

// Grep gives the lines of a stored result that match.
func (h *host) Grep(ctx context.Context, id, pattern, flags string) ([]realm.Line, error) {
	compiled, err := compile(pattern, flags)
	if err != nil {
		return nil, err
	}
	p, err := h.pieces(ctx, id)
	if err != nil {
		return nil, err
	}
	defer h.release(p)
	var found []realm.Line
	bytes, over := 0, int64(0)
	stats, err := compiled.Scan(ctx, p.whole.Text, p.whole.Bytes, func(l search.Line) search.Action {
		if bytes += len(l.Text) + 16; bytes > maxMatches {
			over = l.Number
			return search.Stop
		}
		found = append(found, realm.Line{N: l.Number, Text: string(l.Text)})
		return search.Next
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("search %s: %w", id, err)
	case over > 0:
		return nil, fmt.Errorf("more than %d MB of lines of %s match (line %d is past it): use a narrower pattern, or go through it with .read(from, to)", maxMatches>>20, id, over)
	case stats.LongCount > 0:
		return nil, fmt.Errorf("line %d of %s is longer than the %d MB that can be searched", stats.Long[0], id, search.MaxLine>>20)
	}
	return found, nil
}

// unicodeEscape is how JavaScript writes a character by its number.
var unicodeEscape = regexp.MustCompile(`\\u\{?([0-9A-Fa-f]{4,6})\}?`)

// compile reads a pattern in JavaScript's syntax, as far as it is also one of this search.
func compile(pattern, flags string) (*search.Pattern, error) {
	expr := unicodeEscape.ReplaceAllString(pattern, `\x{$1}`)
	expr = strings.ReplaceAll(expr, `\/`, "/")
	p, err := search.Compile(expr, search.Options{IgnoreCase: strings.Contains(flags, "i")})
	if err != nil {
		return nil, fmt.Errorf("%w; a stored result is searched line by line with RE2 syntax: without look-around and back-references", err)
	}
	return p, nil
}

// pieces opens a stored result for reading in pieces, or gives it again. It must be released.
func (h *host) pieces(ctx context.Context, id string) (*piecewise, error) {
	h.mu.Lock()
	for i, p := range h.open {
		if p.id == id {
			h.open = append(append(h.open[:i:i], h.open[i+1:]...), p)
			p.users++
			h.mu.Unlock()
			return p, nil
		}
	}
	h.mu.Unlock()
	whole, err := h.get(ctx, id)
	if err != nil {
		return nil, err
	}
	index, err := document.Build(ctx, whole.Text, whole.Bytes)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", id, err), whole.Close())
	}
	p := &piecewise{id: id, whole: whole, index: index, users: 1}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open = append(h.open, p); len(h.open) > maxOpen {
		h.drop(h.open[0])
		h.open = h.open[1:]
	}
	return p, nil
}

// release ends one use.
func (h *host) release(p *piecewise) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.users--; p.users == 0 && p.gone {
		_ = p.whole.Close()
	}
}

// drop closes one as soon as nobody uses it. The lock is held.
func (h *host) drop(p *piecewise) {
	if p.gone = true; p.users == 0 {
		_ = p.whole.Close()
	}
}

// close closes what is open.
func (h *host) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.open {
		h.drop(p)
	}
	h.open = nil
}

// inPlace is the host of a script that runs in this process.
type inPlace struct{ *host }

var _ realm.Host = inPlace{}

// Print takes output.
func (h inPlace) Print(text string) { h.out.add(text) }

// Begin begins one call; calls are numbered in its order.
func (h inPlace) Begin(ctx context.Context, name string, args json.RawMessage) func() (realm.Answer, error) {
	wait := h.begin(ctx, name, args)
	return func() (realm.Answer, error) {
		whole, err := wait()
		var no refused
		switch {
		case errors.As(err, &no):
			return realm.Answer{Stored: tool.Stored{IsError: true}, Text: string(no)}, nil
		case err != nil:
			return realm.Answer{}, err
		}
		return h.answer(whole)
	}
}

// Call runs one tool.
func (h inPlace) Call(ctx context.Context, name string, args json.RawMessage) (realm.Answer, error) {
	return h.Begin(ctx, name, args)()
}

// Get opens one stored result.
func (h inPlace) Get(ctx context.Context, id string) (realm.Answer, error) {
	whole, err := h.get(ctx, id)
	if err != nil {
		return realm.Answer{}, err
	}
	return h.answer(whole)
}

// answer reads a result whole, unless it is too long, and closes it.
func (h *host) answer(w tool.Whole) (realm.Answer, error) {
	defer func() { _ = w.Close() }()
	a := realm.Answer{Stored: w.Stored, Structured: w.Structured}
	if a.Large = h.large(w); a.Large {
		a.Structured = nil
		return a, nil
	}
	text := make([]byte, w.Bytes)
	if _, err := io.ReadFull(io.NewSectionReader(w.Text, 0, w.Bytes), text); err != nil {
		return realm.Answer{}, fmt.Errorf("read %s: %w", w.ID, err)
	}
	a.Text = string(text)
	return a, nil
}
