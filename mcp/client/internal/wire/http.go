package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// Carrier is an HTTP round tripper that lets every message pass a [Filter]: requests as they are sent,
// answers as one JSON document or as events (text/event-stream).
type Carrier struct {
	// Base carries the requests; nil is [http.DefaultTransport].
	Base http.RoundTripper
	// Header is added to every request, except where the SDK has set a value.
	Header http.Header
	// Origin is the scheme and host of the server. A request to another one, which a redirect or the server's
	// own word may lead to, is refused: Header may hold what only this server may know.
	Origin string
	Filter *Filter
}

// RoundTrip sends one request.
func (c *Carrier) RoundTrip(req *http.Request) (*http.Response, error) {
	if to := req.URL.Scheme + "://" + req.URL.Host; c.Origin != "" && to != c.Origin {
		return nil, fmt.Errorf("the server leads to %.200s, which is not where it was configured to be", to)
	}
	req = req.Clone(req.Context())
	for k, v := range c.Header {
		if req.Header.Get(k) == "" {
			req.Header[k] = v
		}
	}
	if req.Method == http.MethodPost && req.Body != nil {
		frame, err := io.ReadAll(req.Body)
		_ = req.Body.Close() // it is read
		if err != nil {
			return nil, fmt.Errorf("read the message to send: %w", err)
		}
		frame = c.Filter.out(req.Context(), frame)
		req.Body, req.ContentLength, req.GetBody = io.NopCloser(bytes.NewReader(frame)), int64(len(frame)), nil
	}
	base := c.Base
	if base == nil {
		base = http.DefaultTransport
	}
	resp, err := base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotFound && req.Header.Get("Mcp-Session-Id") != "" {
		if e := from(req.Context()); e != nil {
			e.mark(&e.stale, true)
		}
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		resp.Body = bounded{io.LimitReader(resp.Body, 1<<20), resp.Body}
		return resp, nil
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		return resp, c.document(resp)
	case "text/event-stream":
		resp.Body = &events{lines: bufio.NewReaderSize(resp.Body, 64<<10), body: resp.Body, filter: c.Filter, exchange: from(req.Context())}
	}
	return resp, nil
}

type bounded struct {
	io.Reader
	io.Closer
}

// document reads an answer that is one JSON document.
func (c *Carrier) document(resp *http.Response) error {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, MaxFrame+1))
	_ = resp.Body.Close() // what matters of it is read
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	var out []byte
	if len(raw) > MaxFrame {
		// Only one request can be meant: the one that is answered here.
		if e := from(resp.Request.Context()); e != nil {
			out = c.Filter.give(e, fmt.Sprintf("the answer is longer than %d bytes, which is all that is read of one. Ask for less", MaxFrame))
		}
	} else {
		messages := c.Filter.in(raw)
		if len(messages) > 0 {
			out = messages[len(messages)-1]
		} else if e := from(resp.Request.Context()); e != nil {
			out = c.Filter.give(e, "the answer is no JSON-RPC message")
		}
	}
	if out == nil {
		out = raw[:min(len(raw), MaxFrame)]
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(out)), int64(len(out))
	resp.Header.Del("Content-Length")
	return nil
}

// give answers an exchange whose answer cannot be read.
func (f *Filter) give(e *Exchange, why string) []byte {
	f.mu.Lock()
	var id json.RawMessage
	for k, p := range f.pending {
		if p == e {
			id = json.RawMessage(k)
		}
	}
	f.mu.Unlock()
	if id == nil {
		return nil
	}
	answer, _ := f.broken(id, why)
	return answer
}

// events reads a stream of server-sent events, lets the message of each pass the filter, and gives the
// stream on.
type events struct {
	lines    *bufio.Reader
	body     io.Closer
	filter   *Filter
	exchange *Exchange
	ready    bytes.Buffer
	err      error
}

func (e *events) Close() error { return e.body.Close() }

func (e *events) Read(p []byte) (int, error) {
	for e.ready.Len() == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.err = e.event()
	}
	return e.ready.Read(p)
}

// event reads one event to its empty line and writes what stands for it.
func (e *events) event() error {
	var fields, data []byte
	seen := false
	for {
		line, err := e.line(len(data))
		var long *TooLong
		if errors.As(err, &long) {
			if e.exchange != nil {
				e.write(nil, e.filter.give(e.exchange, long.Error()))
			}
			return fmt.Errorf("read an event: %w", err)
		}
		if err != nil {
			if seen {
				e.flush(fields, data)
			}
			return err
		}
		if len(line) == 0 {
			e.flush(fields, data)
			return nil
		}
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if seen {
				data = append(data, '\n')
			}
			data, seen = append(data, bytes.TrimPrefix(rest, []byte(" "))...), true
			continue
		}
		fields = append(append(fields, line...), '\n')
	}
}

// line gives the next line without its end, when the event does not become too long by it.
func (e *events) line(have int) ([]byte, error) {
	var line []byte
	for {
		part, err := e.lines.ReadSlice('\n')
		if have+len(line)+len(part) > MaxFrame {
			return nil, &TooLong{Bytes: int64(have + len(line) + len(part))}
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		default:
			return nil, err
		}
	}
}

// flush writes an event. One without a message keeps its other fields: its id says where to go on.
func (e *events) flush(fields, data []byte) {
	messages := [][]byte(nil)
	if named(fields) {
		messages = [][]byte{data} // an event of another name is no message
	} else {
		messages = e.filter.in(data)
	}
	if len(messages) == 0 && len(fields) > 0 {
		e.write(fields, nil)
	}
	for _, m := range messages {
		e.write(fields, m)
	}
}

// named reports whether an event has a name of its own.
func named(fields []byte) bool {
	for line := range bytes.Lines(fields) {
		if name, ok := bytes.CutPrefix(line, []byte("event:")); ok {
			n := string(bytes.TrimSpace(name))
			return n != "" && n != "message"
		}
	}
	return false
}

// write writes an event; a message that spans lines becomes several lines of data.
func (e *events) write(fields, message []byte) {
	e.ready.Write(fields)
	if message != nil {
		for line := range bytes.Lines(message) {
			e.ready.WriteString("data: ")
			e.ready.Write(bytes.TrimRight(line, "\n"))
			e.ready.WriteByte('\n')
		}
	}
	e.ready.WriteByte('\n')
}
