package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// frames reads lines of at most [MaxFrame] bytes.
type frames struct {
	in  *bufio.Reader
	out chan frame
}

// frame is one line, or what is wrong with it.
type frame struct {
	line []byte
	long bool
	err  error
}

func newFrames(in io.Reader) *frames {
	return &frames{in: bufio.NewReaderSize(in, 64<<10), out: make(chan frame)}
}

// pump reads until the stream or the connection ends.
func (f *frames) pump(ended <-chan struct{}) {
	for {
		next := f.next()
		select {
		case f.out <- next:
		case <-ended:
			return
		}
		if next.err != nil {
			return
		}
	}
}

// next reads one line. Of a line that is too long nothing is kept.
func (f *frames) next() frame {
	var line []byte
	long := false
	for {
		piece, err := f.in.ReadSlice('\n')
		if !long && len(line)+len(piece) > MaxFrame {
			long, line = true, nil
		}
		if !long {
			line = append(line, piece...)
		}
		switch {
		case err == nil:
			return frame{line: line, long: long}
		case errors.Is(err, bufio.ErrBufferFull):
		case len(line) > 0 || long:
			return frame{line: line, long: long} // the next read tells the end again
		default:
			return frame{err: err}
		}
	}
}

// firstStrict is the first revision that has no batches.
const firstStrict = "2025-06-18"

// take turns a line into messages, or answers it.
func (l *stdio) take(ctx context.Context, f frame) {
	line := bytes.TrimSpace(f.line)
	switch {
	case f.long:
		l.reject(jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is longer than %d bytes", MaxFrame))
	case len(line) == 0:
	case !utf8.Valid(line):
		l.reject(jsonrpc.CodeParseError, "the message is not UTF-8")
	case !json.Valid(line):
		l.reject(jsonrpc.CodeParseError, "the message is no JSON")
	case line[0] == '[':
		l.takeBatch(line)
	default:
		m, err := jsonrpc.DecodeMessage(line)
		if err != nil {
			l.reject(jsonrpc.CodeInvalidRequest, "the message is no JSON-RPC 2.0 message")
			return
		}
		l.queue = append(l.queue, m)
	}
}

// reject answers what has no id.
func (l *stdio) reject(code int, why string) {
	quoted, err := json.Marshal(why)
	if err == nil {
		// The answer to what cannot be read bears the id null (JSON-RPC 2.0, section 5).
		err = l.line(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%s}}`, code, quoted))
	}
	if err != nil {
		l.server.cfg.Logger.Warn("a message was not answered", "err", err)
	}
}

// batch is an array of messages whose answers go back as an array (revision 2025-03-26 and before).
type batch struct {
	open    int
	answers []json.RawMessage
}

// maxBatch is how many messages a batch may have.
const maxBatch = 1000

func (l *stdio) takeBatch(line []byte) {
	if v := l.revision.Load(); v != nil && *v >= firstStrict {
		l.reject(jsonrpc.CodeInvalidRequest, "revision "+*v+" has no batches: send one message a line")
		return
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(line, &parts); err != nil || len(parts) == 0 || len(parts) > maxBatch {
		l.reject(jsonrpc.CodeInvalidRequest, fmt.Sprintf("a batch has 1 to %d messages", maxBatch))
		return
	}
	var messages []jsonrpc.Message
	b := &batch{}
	ids := map[string]bool{}
	for _, part := range parts {
		m, err := jsonrpc.DecodeMessage(part)
		if err != nil {
			l.reject(jsonrpc.CodeInvalidRequest, "a part of the batch is no JSON-RPC 2.0 message; nothing of it was done")
			return
		}
		if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
			key := fmt.Sprintf("%T %v", r.ID.Raw(), r.ID.Raw())
			if ids[key] {
				l.reject(jsonrpc.CodeInvalidRequest, "two parts of the batch have the same id; nothing of it was done")
				return
			}
			ids[key] = true
			b.open++
		}
		messages = append(messages, m)
	}
	l.mu.Lock()
	if l.batches == nil {
		l.batches = map[string]*batch{}
	}
	for key := range ids {
		l.batches[key] = b
	}
	l.mu.Unlock()
	l.queue = append(l.queue, messages...)
}

// gather keeps an answer that belongs to a batch until the batch is complete, and gives what is to be
// written now; nil for nothing.
func (l *stdio) gather(r *jsonrpc.Response, line []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := fmt.Sprintf("%T %v", r.ID.Raw(), r.ID.Raw())
	b := l.batches[key]
	if b == nil {
		return line
	}
	delete(l.batches, key)
	b.answers = append(b.answers, line)
	if b.open--; b.open > 0 {
		return nil
	}
	return append(append([]byte{'['}, bytes.Join(raws(b.answers), []byte{','})...), ']')
}

func raws(all []json.RawMessage) [][]byte {
	out := make([][]byte, len(all))
	for i, r := range all {
		out[i] = r
	}
	return out
}

// note remembers the revision that a handshake agreed on.
func (l *stdio) note(r *jsonrpc.Response) {
	if l.revision.Load() != nil || r.Error != nil {
		return
	}
	var agreed struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(r.Result, &agreed) == nil && agreed.ProtocolVersion != "" {
		l.revision.Store(&agreed.ProtocolVersion)
	}
}
