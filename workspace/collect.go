package workspace

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/weir-run/weir/internal/search"
)

// Bounds of what is held while files are searched at once.
const (
	maxAhead   = 256      // files that are open or whose matches wait for those of an earlier file
	maxPending = 64       // matches of one file that wait
	maxHeld    = 64 << 10 // bytes of text of one file's matches that wait
)

// hooks say what becomes of a match.
type hooks struct {
	// make makes a match of a line. It runs in any order, where the file is searched.
	make func(d *file, l search.Line) (Match, error)
	// take gets the matches in order, one at a time.
	take func(m Match) (search.Action, error)
	// lent says that the text of a made match is the searcher's and must be copied to be kept.
	lent bool
}

// collector searches files at once and hands their matches on in the order of the files.
type collector struct {
	ws      *Workspace
	pattern *search.Pattern
	hooks   hooks
	ahead   chan struct{}
	// counting is true when no match is wanted any more, only their number.
	counting atomic.Bool

	// walked and unmatched belong to the walk, which runs beside the searchers.
	walked    skips
	unmatched int64

	mu     sync.Mutex
	turn   sync.Cond    // signals that head has changed
	head   int          // the file whose matches are handed on
	done   map[int]*job // files that are searched before their turn
	totals Found
	left   skips
	failed error // of take
}

// job is the search of one file.
type job struct {
	n       int
	item    item
	pending []Match
	held    int
	direct  bool // it has the turn: matches are handed on at once
	stats   search.Stats
	read    bool // it was searched
	left    skips
	broken  error // of make
}

func newCollector(w *Workspace, p *search.Pattern, h hooks) *collector {
	c := &collector{ws: w, pattern: p, hooks: h, ahead: make(chan struct{}, maxAhead), done: map[int]*job{}}
	c.turn.L = &c.mu
	return c
}

// search runs walk, which puts files, and searches them.
func (c *collector) search(ctx context.Context, walk func(ctx context.Context, put func(item) error) error) error {
	g, ctx := errgroup.WithContext(ctx)
	jobs := make(chan *job)
	g.Go(func() error {
		defer close(jobs)
		n := 0
		return walk(ctx, func(it item) error {
			select {
			case c.ahead <- struct{}{}:
			case <-ctx.Done():
				it.close()
				return ctx.Err()
			}
			j := &job{n: n, item: it}
			select {
			case jobs <- j:
				n++
				return nil
			case <-ctx.Done():
				it.close()
				return ctx.Err()
			}
		})
	})
	for range c.ws.workers {
		g.Go(func() error {
			// Every job that was put is finished, so that no later one waits for it in vain.
			var failed error
			for j := range jobs {
				err := c.run(ctx, j)
				j.item.close()
				if ferr := c.finish(j); failed == nil {
					failed = errors.Join(err, ferr)
				}
			}
			return failed
		})
	}
	err := g.Wait()
	if c.failed != nil {
		return c.failed
	}
	return err
}

// run searches one file. Only an end of the context, and an error of take, are errors.
func (c *collector) run(ctx context.Context, j *job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, err := j.item.open(ctx)
	if err != nil {
		j.left.failed(j.item.path, err)
		return ctx.Err()
	}
	defer d.close()
	if d.Disk > MaxFile {
		j.left.add(skipLarge, d.path, bytesNote(d.Disk))
		return nil
	}
	var failed error
	j.read = true
	j.stats, err = c.pattern.Scan(ctx, d.Text, d.Size, func(l search.Line) search.Action {
		do, err := c.match(j, d, l)
		if err != nil {
			failed = err
			return search.Stop
		}
		return do
	})
	for _, n := range j.stats.Long {
		j.left.add(skipLong, d.path, lineNote(n))
	}
	j.left[skipLong].Count += j.stats.LongCount - int64(len(j.stats.Long))
	switch {
	case failed != nil:
		return failed
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case j.broken != nil:
		j.left.failed(d.path, j.broken)
	case err != nil:
		j.left.failed(d.path, plain(err))
	}
	return nil
}

// match hands a match on, or keeps it until it is this file's turn.
func (c *collector) match(j *job, d *file, l search.Line) (search.Action, error) {
	if c.counting.Load() {
		return search.Count, nil
	}
	m, err := c.hooks.make(d, l)
	if err != nil {
		j.broken = err
		return search.Stop, nil
	}
	if !j.direct && !c.mine(j, j.held+len(m.Text) > maxHeld || len(j.pending) == maxPending) {
		if c.hooks.lent {
			m.Text = slices.Clone(m.Text)
		}
		j.pending = append(j.pending, m)
		j.held += len(m.Text)
		return search.Next, nil
	}
	if !j.direct {
		j.direct = true
		if do, err := c.flush(j); err != nil || do != search.Next {
			return do, err
		}
	}
	return c.take(m)
}

// mine reports whether it is a file's turn, and can wait for it.
func (c *collector) mine(j *job, wait bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for wait && c.head != j.n {
		c.turn.Wait()
	}
	return c.head == j.n
}

// flush hands on what a file has kept. Only the file that has the turn may.
func (c *collector) flush(j *job) (search.Action, error) {
	for _, m := range j.pending {
		if do, err := c.take(m); err != nil || do != search.Next {
			return do, err
		}
	}
	j.pending = nil
	return search.Next, nil
}

func (c *collector) take(m Match) (search.Action, error) {
	if c.counting.Load() {
		return search.Count, nil
	}
	do, err := c.hooks.take(m)
	if do == search.Count {
		c.counting.Store(true)
	}
	if err != nil {
		c.failed = err
		return search.Stop, err
	}
	return do, nil
}

// finish ends a file's search and gives the turn on, past files that were done before.
func (c *collector) finish(j *job) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[j.n] = j
	var failed error
	for next := c.done[c.head]; next != nil; next = c.done[c.head] {
		if failed == nil && c.failed == nil {
			_, failed = c.flush(next)
		}
		c.totals.Matches += next.stats.Matches
		if next.stats.Matches > 0 {
			c.totals.Files++
		}
		if next.read {
			c.totals.Searched++
		}
		c.left.merge(&next.left)
		delete(c.done, c.head)
		c.head++
		<-c.ahead
	}
	c.turn.Broadcast()
	return failed
}

// found are the figures, when the search has ended.
func (c *collector) found() Found {
	f := c.totals
	f.Unmatched = c.unmatched
	c.left.merge(&c.walked)
	f.Skipped = c.left.list()
	return f
}
