package membranetest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
)

// maxRecorded is how many bytes of one request body a [Server] takes.
const maxRecorded = 64 << 20

// Answer is what a [Server] plays for one request.
type Answer struct {
	// Status is the HTTP status; 0 means 200.
	Status int
	// Header is set on the answer. Without a Content-Type it is text/event-stream for 200, else
	// application/json.
	Header http.Header
	// Body is sent as it is.
	Body string
	// Piece is how many bytes are sent at once; 0 sends all.
	Piece int
	// Break closes the connection behind the body, without the end that HTTP asks for.
	Break bool
	// Hold sends nothing more behind the body until the client goes away.
	Hold bool
}

// Recorded is one request as it arrived.
type Recorded struct {
	Method, Path string
	Header       http.Header
	// Length is what the request said of its length; -1 when it did not.
	Length int64
	Body   []byte
}

// Server is a local HTTP server in the place of a provider: it keeps what it is asked and plays what it
// was given, one [Answer] a request, in order. It is safe for concurrent use.
type Server struct {
	// URL is the address of the server.
	URL string

	t        testing.TB
	mu       sync.Mutex
	answers  []Answer
	recorded []Recorded
}

// Serve starts a server that is closed with the test. A request for which no answer is left is an
// error of the test and answered with status 500.
func Serve(t testing.TB, answers ...Answer) *Server {
	t.Helper()
	s := &Server{t: t, answers: answers}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// Add appends answers.
func (s *Server) Add(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, answers...)
}

// Requests gives what was asked so far, in the order in which it arrived.
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Recorded{}, s.recorded...)
}

// Bodies gives the bodies of what was asked so far.
func (s *Server) Bodies() [][]byte {
	var bodies [][]byte
	for _, r := range s.Requests() {
		bodies = append(bodies, r.Body)
	}
	return bodies
}

// ServeHTTP records one request and plays the next answer.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRecorded))
	if err != nil {
		s.t.Errorf("the body of a request broke off after %d bytes: %v", len(body), err)
	}
	s.mu.Lock()
	s.recorded = append(s.recorded, Recorded{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Length: r.ContentLength, Body: body})
	answer, ok := Answer{Status: http.StatusInternalServerError}, len(s.answers) > 0
	if ok {
		answer, s.answers = s.answers[0], s.answers[1:]
	}
	s.mu.Unlock()
	if !ok {
		s.t.Errorf("%s %s: no answer is left for it", r.Method, r.URL.Path)
	}
	answer.play(w, r)
}

func (a Answer) play(w http.ResponseWriter, r *http.Request) {
	status := a.Status
	if status == 0 {
		status = http.StatusOK
	}
	kind := "application/json"
	if status == http.StatusOK {
		kind = "text/event-stream; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(status)
	flush := func() { _ = http.NewResponseController(w).Flush() }
	for rest := a.Body; rest != ""; {
		n := len(rest)
		if a.Piece > 0 {
			n = min(n, a.Piece)
		}
		if _, err := io.WriteString(w, rest[:n]); err != nil {
			return
		}
		flush()
		rest = rest[n:]
	}
	flush()
	if a.Hold {
		<-r.Context().Done()
	}
	if a.Break {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close()
		}
	}
}

// SplitAt gives a [Split] for bodies whose messages are the top-level array of this name, such as
// "messages". The parts share the memory of a body.
func SplitAt(name string) Split {
	return func(body []byte) (membrane.Request, error) {
		l := canon.NewLexer(body)
		open, closed, named := -1, -1, false
		for {
			t, err := l.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return membrane.Request{}, fmt.Errorf("read the body: %w", err)
			}
			switch {
			case t.Depth == 1 && t.Key:
				named = string(t.Raw) == strconv.Quote(name)
				if named && closed >= 0 {
					return membrane.Request{}, fmt.Errorf("the body has %s twice", name)
				}
			case t.Depth == 1 && named && t.Kind == '[':
				open = t.Start + 1
			case t.Depth == 1 && named && t.Kind == ']':
				closed = t.Start
			}
		}
		if open < 0 || closed < open {
			return membrane.Request{}, fmt.Errorf("the body has no array %s", name)
		}
		return membrane.Request{Head: body[:open], Messages: body[open:closed], Tail: body[closed:]}, nil
	}
}
