package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Stream is a transport over a reader and a writer, a message a line.
type Stream struct {
	Reader io.ReadCloser
	Writer io.WriteCloser
	Filter *Filter
	// Ended gives what is said when the reader ends; nil says that the connection was closed.
	Ended func(err error) error
	// Stop ends what stands behind the pipes after both are closed; nil is nothing.
	Stop func()
}

// Connect starts to read. It never fails.
func (s *Stream) Connect(context.Context) (mcp.Connection, error) {
	c := &stream{Stream: s, in: make(chan []byte), out: make(chan []byte, 16), closed: make(chan struct{}), failed: make(chan struct{})}
	go c.read()
	go c.write()
	return c, nil
}

// stream is one connection over pipes.
type stream struct {
	*Stream
	in, out chan []byte
	closed  chan struct{}
	once    sync.Once
	failed  chan struct{}
	failure error // readable when failed is closed
	fail    sync.Once
}

// read hands on what comes, until the reader ends.
func (c *stream) read() {
	lines := newFrames(c.Reader)
	for {
		line, err := lines.next()
		var long *TooLong
		switch {
		case errors.As(err, &long):
			if !c.deliver(c.tooLong(long)) {
				return
			}
			continue
		case err != nil:
			c.broke(err)
			return
		}
		if !c.deliver(c.Filter.in(line)) {
			return
		}
	}
}

// tooLong answers the request that a long message belongs to. When that cannot be told, every request that
// waits is answered so: the answer of one of them is gone, and nobody may wait for it for ever.
func (c *stream) tooLong(long *TooLong) [][]byte {
	if long.Noise != nil {
		c.Filter.skip(long.Noise)
		return nil
	}
	ids := c.Filter.waiting()
	if long.ID != nil {
		ids = ids[:0]
		ids = append(ids, long.ID)
	}
	var out [][]byte
	for _, id := range ids {
		if answer, ok := c.Filter.broken(id, long.Error()); ok {
			out = append(out, answer)
		}
	}
	return out
}

func (c *stream) deliver(messages [][]byte) bool {
	for _, m := range messages {
		select {
		case c.in <- m:
		case <-c.closed:
			return false
		}
	}
	return true
}

// broke ends the connection for everybody who waits for an answer.
func (c *stream) broke(err error) {
	c.fail.Do(func() {
		c.failure = fmt.Errorf("the connection was closed: %w", err)
		if c.Ended != nil {
			c.failure = c.Ended(err)
		}
		close(c.failed)
	})
}

// write sends what is queued. A server that does not read must not keep a caller from giving up.
func (c *stream) write() {
	for {
		select {
		case line := <-c.out:
			if _, err := c.Writer.Write(line); err != nil {
				c.broke(err)
				return
			}
		case <-c.closed:
			return
		}
	}
}

// Read gives the next message that is the SDK's.
func (c *stream) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case m := <-c.in:
			message, err := jsonrpc.DecodeMessage(m)
			if err != nil {
				c.Filter.skip(m)
				continue
			}
			return message, nil
		case <-c.failed:
			return nil, c.failure
		}
	}
}

// Write queues a message.
func (c *stream) Write(ctx context.Context, m jsonrpc.Message) error {
	raw, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	select {
	case <-c.failed:
		return c.failure
	default:
	}
	line := append(c.Filter.out(ctx, raw), '\n')
	select {
	case c.out <- line:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.failed:
		return c.failure
	case <-c.closed:
		return io.ErrClosedPipe
	}
}

// Close closes both pipes and ends what stands behind them.
func (c *stream) Close() error {
	c.once.Do(func() {
		close(c.closed)
		_ = c.Writer.Close() // the server is told by its end; that it is gone already is no failure
		if c.Stop != nil {
			c.Stop()
		}
		_ = c.Reader.Close()
	})
	return nil
}

// SessionID is empty: pipes have one session.
func (c *stream) SessionID() string { return "" }
