package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"time"

	"github.com/weir-run/weir/membrane"
)

const (
	// drainTime and maxDrain bound what is read behind the last event.
	drainTime = 200 * time.Millisecond
	maxDrain  = 64 << 10
)

// Causes of a stream that was given up.
var (
	errIdle = errors.New("nothing came for too long")
	errLong = errors.New("the answer took too long")
)

// Answer puts one answer together from the events of its stream. Its errors are a *[membrane.Error]
// without a model's name; any other is taken for one of the network.
type Answer interface {
	// Read takes one event and gives what of it can be shown. whole says that it is the last one.
	Read(e Event) (shown []membrane.Event, whole bool, err error)
	// Done gives the whole answer. It is asked once, behind the last event, or where the stream ended
	// without one: there it fails unless the answer is whole all the same.
	Done() (membrane.Done, error)
}

// Post is one request and who reads its answer.
type Post struct {
	// Path is what follows the base address, such as "chat/completions"; it may have a query.
	Path string
	// Header goes with this request beside the client's.
	Header http.Header
	// Request is the body.
	Request membrane.Request
	// Answer makes a new reader for each try.
	Answer func() Answer
}

// Stream posts and yields what comes back. Every error is a *[membrane.Error] with the model's name; the
// last event is a [membrane.Done]. A try that failed before anything was yielded may be followed by
// another, see [Retry].
func (c *Client) Stream(ctx context.Context, p Post) iter.Seq2[membrane.Event, error] {
	return func(yield func(membrane.Event, error) bool) {
		pauses := c.cfg.Retry.start()
		shown, stopped := false, false
		give := func(e membrane.Event) bool {
			shown = true
			stopped = !yield(e, nil)
			return !stopped
		}
		for {
			err := c.try(ctx, p, give)
			if err == nil || stopped {
				return
			}
			if shown || !pauses.again(ctx, err) {
				yield(nil, err)
				return
			}
		}
	}
}

// try sends the request once.
func (c *Client) try(ctx context.Context, p Post, give func(membrane.Event) bool) *membrane.Error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	all := time.AfterFunc(c.cfg.MaxTime, func() { cancel(errLong) })
	defer all.Stop()
	idle := time.AfterFunc(c.cfg.IdleTimeout, func() { cancel(errIdle) })
	defer idle.Stop()
	if err := c.play(ctx, p, idle, give); err != nil {
		return c.finish(c.failed(ctx, err))
	}
	return nil
}

func (c *Client) play(ctx context.Context, p Post, idle *time.Timer, give func(membrane.Event) bool) error {
	resp, err := c.post(ctx, p)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body := &watched{r: resp.Body, left: int64(c.cfg.MaxStream), idle: idle, limit: c.cfg.IdleTimeout}
	stream := bufio.NewReader(body)
	if err := c.check(resp, stream); err != nil {
		return err
	}
	events := NewDecoder(stream, c.cfg.MaxEvent)
	answer := p.Answer()
	for whole := false; !whole; {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		var shown []membrane.Event
		if shown, whole, err = answer.Read(e); err != nil {
			return err
		}
		for _, s := range shown {
			if !give(s) {
				return nil
			}
		}
	}
	done, err := answer.Done()
	if err != nil {
		return err
	}
	body.drain()
	give(done)
	return nil
}

// post sends the request; the body is read from where it stands.
func (c *Client) post(ctx context.Context, p Post) (*http.Response, error) {
	body := func() (io.ReadCloser, error) { return io.NopCloser(p.Request.Body()), nil }
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address(p.Path), nil)
	if err != nil {
		return nil, err
	}
	for _, h := range []http.Header{c.cfg.Header, p.Header} {
		for name, values := range h {
			for _, v := range values {
				req.Header.Add(name, v)
			}
		}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Accept-Encoding", "identity") // what is packed comes late
	req.Body, _ = body()
	req.GetBody = body
	req.ContentLength = p.Request.Len()
	return c.http.Do(req)
}

// check gives an error for what is no stream of events. Servers that send one under another media type
// are known by its first bytes.
func (c *Client) check(resp *http.Response, body *bufio.Reader) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK {
		if kind == "text/event-stream" {
			return nil
		}
		start, _ := body.Peek(len("event:"))
		start = bytes.TrimPrefix(start, []byte("\ufeff"))
		if bytes.HasPrefix(start, []byte("data:")) || bytes.HasPrefix(start, []byte("event:")) {
			return nil
		}
	}
	text, err := io.ReadAll(io.LimitReader(body, membrane.MaxErrorBody))
	for _, secret := range c.cfg.Secrets {
		if secret != "" {
			text = bytes.ReplaceAll(text, []byte(secret), []byte(redacted))
		}
	}
	if err != nil && len(text) == 0 && resp.StatusCode == http.StatusOK {
		return err
	}
	return c.answered(resp, kind, text)
}

// watched reads a stream to its limit. The idle timer runs only while a read waits: the consumer's time
// is not the server's.
type watched struct {
	r     io.Reader
	left  int64
	idle  *time.Timer
	limit time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, &membrane.Error{Kind: membrane.InvalidRequest, Text: fmt.Sprintf("the answer is longer than is read (%d bytes were): ask for less at once", -w.left)}
	}
	w.idle.Reset(w.limit)
	n, err := w.r.Read(p[:min(int64(len(p)), w.left)])
	w.idle.Stop()
	w.left -= int64(n)
	return n, err
}

// drain reads what stands behind the last event, so that the connection can be used again; a server that
// does not end at once is not waited for.
func (w *watched) drain() {
	w.limit = drainTime
	_, _ = io.CopyN(io.Discard, w, maxDrain)
}
