package pipe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/weir-run/weir/scripting/internal/realm"
	"github.com/weir-run/weir/tool"
)

// Client is the host of a script as the script's process sees it: everything is asked through the pipe.
type Client struct {
	w *Writer

	mu      sync.Mutex
	last    uint32
	waiting map[uint32]chan Frame
}

var _ realm.Host = (*Client)(nil)

// NewClient asks through w. What is answered must be given to Take.
func NewClient(w *Writer) *Client { return &Client{w: w, waiting: map[uint32]chan Frame{}} }

// Take hands an answer to whoever waits for it; one that nobody waits for any more goes nowhere.
func (c *Client) Take(f Frame) {
	c.mu.Lock()
	to := c.waiting[f.ID]
	delete(c.waiting, f.ID)
	c.mu.Unlock()
	if to != nil {
		to <- f
	}
}

// ask sends a request and waits for its answer.
func (c *Client) ask(ctx context.Context, kind Kind, q Request, text []byte) (Reply, []byte, error) {
	id, to, err := c.send(kind, q, text)
	if err != nil {
		return Reply{}, nil, err
	}
	return c.await(ctx, id, to)
}

// send sends a request.
func (c *Client) send(kind Kind, q Request, text []byte) (id uint32, to chan Frame, err error) {
	to = make(chan Frame, 1)
	c.mu.Lock()
	c.last++
	id = c.last
	c.waiting[id] = to
	c.mu.Unlock()
	return id, to, c.w.Send(kind, id, q, text)
}

// await waits for the answer to a request.
func (c *Client) await(ctx context.Context, id uint32, to chan Frame) (Reply, []byte, error) {
	select {
	case f := <-to:
		var r Reply
		if err := f.Into(&r); err != nil {
			return Reply{}, nil, err
		}
		if r.Error != "" {
			return Reply{}, nil, errors.New(r.Error)
		}
		return r, f.Text, nil
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
		return Reply{}, nil, ctx.Err()
	}
}

// Print sends output as it is printed. When nobody takes it any more the process is about to end.
func (c *Client) Print(text string) { c.pieces(KindPrint, text) }

// Value sends the returned value.
func (c *Client) Value(text string) { c.pieces(KindValue, text) }

// pieces sends text in pieces that end between two characters.
func (c *Client) pieces(kind Kind, text string) {
	for len(text) > 0 {
		n := len(text)
		if n > Piece {
			for n = Piece; n > Piece-utf8.UTFMax && !utf8.RuneStart(text[n]); n-- {
			}
		}
		if c.w.Send(kind, 0, nil, []byte(text[:n])) != nil {
			return
		}
		text = text[n:]
	}
}

// maxArgs leaves room for the head of a frame.
const maxArgs = MaxFromScript - 64<<10

// Call runs one tool.
func (c *Client) Call(ctx context.Context, name string, args json.RawMessage) (realm.Answer, error) {
	return c.Begin(ctx, name, args)()
}

// Begin is Call that returns at once: the order of Begin is the order in which the calls are numbered. The
// function that it returns waits for the answer.
func (c *Client) Begin(ctx context.Context, name string, args json.RawMessage) func() (realm.Answer, error) {
	if len(args) > maxArgs {
		return func() (realm.Answer, error) {
			return realm.Answer{
				Stored: tool.Stored{IsError: true},
				Text:   fmt.Sprintf("%s was not called: its arguments have %d bytes, a script may pass at most %d", name, len(args), maxArgs),
			}, nil
		}
	}
	id, to, err := c.send(KindCall, Request{Name: name}, args)
	return func() (realm.Answer, error) {
		if err != nil {
			return realm.Answer{}, err
		}
		return answer(c.await(ctx, id, to))
	}
}

// List gives the conversation's stored results.
func (c *Client) List(ctx context.Context) ([]tool.Stored, error) {
	r, _, err := c.ask(ctx, KindList, Request{}, nil)
	if err != nil {
		return nil, err
	}
	list := make([]tool.Stored, 0, len(r.List))
	for _, s := range r.List {
		list = append(list, s.unpack())
	}
	return list, nil
}

// Get opens one stored result.
func (c *Client) Get(ctx context.Context, id string) (realm.Answer, error) {
	return answer(c.ask(ctx, KindGet, Request{ID: id}, nil))
}

// Read gives lines of a stored result.
func (c *Client) Read(ctx context.Context, id string, from, to int64) (string, error) {
	_, text, err := c.ask(ctx, KindRead, Request{ID: id, From: from, To: to}, nil)
	return string(text), err
}

// Grep gives the lines of a stored result that match.
func (c *Client) Grep(ctx context.Context, id, pattern, flags string) ([]realm.Line, error) {
	r, _, err := c.ask(ctx, KindGrep, Request{ID: id, Pattern: pattern, Flags: flags}, nil)
	return r.Lines, err
}

// answer takes a reply apart.
func answer(r Reply, text []byte, err error) (realm.Answer, error) {
	if err != nil {
		return realm.Answer{}, err
	}
	if r.Structured < 0 || r.Structured > len(text) {
		return realm.Answer{}, ErrFrame
	}
	a := realm.Answer{Stored: r.Of.unpack(), Large: r.Large}
	if r.HasStructured {
		a.Structured = json.RawMessage(text[:r.Structured:r.Structured])
	}
	a.Text = string(text[r.Structured:])
	return a, nil
}
