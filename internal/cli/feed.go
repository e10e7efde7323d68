package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// Ways in which typing ends otherwise than with a line; io.EOF is the end of all typing.
var (
	// errCtrlC says that Ctrl-C was typed where a line was asked for.
	errCtrlC = errors.New("Ctrl-C was typed")
	// errLongLine says that a line is longer than anything a model is asked.
	errLongLine = errors.New("the line is too long")
)

// feed is what is typed, or piped in. It reads only when somebody wants something, and a wait for it can be
// given up; what comes then is for the next one who waits. It is for one goroutine at a time.
type feed struct {
	in      io.Reader
	rest    []byte
	pending chan keyed
	// end is why nothing more comes.
	end error
}

// keyed is what one read gave.
type keyed struct {
	bytes []byte
	err   error
}

// more gives the next bytes. With an error there are none.
func (f *feed) more(ctx context.Context) ([]byte, error) {
	if len(f.rest) > 0 {
		b := f.rest
		f.rest = nil
		return b, nil
	}
	if f.end != nil {
		return nil, f.end
	}
	if f.pending == nil {
		pending := make(chan keyed, 1)
		f.pending = pending
		go func() {
			b := make([]byte, 4096)
			n, err := f.in.Read(b)
			pending <- keyed{b[:n], err}
		}()
	}
	select {
	case p := <-f.pending:
		f.pending, f.end = nil, p.err
		if len(p.bytes) == 0 && p.err != nil {
			return nil, p.err
		}
		return p.bytes, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// back gives bytes back, for whoever asks next.
func (f *feed) back(b []byte) { f.rest = append(append([]byte{}, b...), f.rest...) }

// line gives the next line without its end, an unfinished one only at the end of all. When the wait is given
// up, what came of a line is for the next one who asks.
func (f *feed) line(ctx context.Context) (string, error) {
	var line []byte
	for {
		b, err := f.more(ctx)
		if errors.Is(err, io.EOF) && len(line) > 0 {
			return string(line), nil
		}
		if err != nil {
			f.back(line)
			return "", err
		}
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			f.back(b[i+1:])
			return string(bytes.TrimSuffix(append(line, b[:i]...), []byte("\r"))), nil
		}
		if line = append(line, b...); len(line) > maxText {
			return "", errLongLine
		}
	}
}

// keys is the feed of a terminal on which every key comes by itself.
type keys struct {
	feed *feed
	// ctx is that of the question at hand: a reader is not given one.
	ctx context.Context
}

// Read gives the keys up to a Ctrl-C, which is errCtrlC.
func (k *keys) Read(p []byte) (int, error) {
	const ctrlC = 3
	b, err := k.feed.more(k.ctx)
	if err != nil {
		return 0, err
	}
	n := copy(p, b)
	rest := b[n:]
	if i := bytes.IndexByte(b[:n], ctrlC); i >= 0 {
		n, rest, err = i, b[i+1:], errCtrlC
	}
	k.feed.back(rest)
	return n, err
}
