package wire_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/wire"
)

// largeRequest has message bytes of about 4 MB.
func largeRequest() membrane.Request {
	return membrane.Request{Head: []byte(`{"messages":[`), Messages: []byte(strings.Repeat(`{"role":"user","content":"0123456789"},`, 107_000) + "{}"), Tail: []byte("]}")}
}

// consume answers with one word once the whole body was read.
func consume(t testing.TB) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		if n != r.ContentLength {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: a\n\ndata: .\n\n")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func ask(t testing.TB, c *wire.Client, r membrane.Request) {
	for _, err := range c.Stream(t.Context(), wire.Post{Path: "speak", Request: r, Answer: func() wire.Answer { return &words{} }}) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkRequest4MB sends 4 MB; the allocated bytes show that the conversation is not copied.
func BenchmarkRequest4MB(b *testing.B) {
	c, r := client(b, consume(b)), largeRequest()
	b.SetBytes(r.Len())
	b.ReportAllocs()
	for b.Loop() {
		ask(b, c, r)
	}
}

// A conversation of 4 MB goes to the socket from where it stands: both ends together allocate less than a
// tenth of it a request. It is no parallel test: allocations are counted for the whole process.
func TestBodyIsNotCopied(t *testing.T) {
	c, r := client(t, consume(t)), largeRequest()
	ask(t, c, r)
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			ask(b, c, r)
		}
	})
	if got, limit := result.AllocedBytesPerOp(), r.Len()/10; got > limit {
		t.Errorf("%d bytes are allocated for a request of %d", got, r.Len())
	}
}

// Requests that follow one another use one connection: what stands behind the last event is read as well.
func TestConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: a\n\ndata: .\n\n")
		_ = http.NewResponseController(w).Flush()
		time.Sleep(5 * time.Millisecond)
		_, _ = io.WriteString(w, ": the end\n\n")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	own := &http.Transport{} // servers of other tests close the idle connections of the default one
	t.Cleanup(own.CloseIdleConnections)
	c := client(t, server.URL, func(cfg *wire.Config) { cfg.HTTPClient = &http.Client{Transport: own} })
	for range 5 {
		ask(t, c, body)
		time.Sleep(20 * time.Millisecond) // a connection is given back a moment after its last byte
	}
	if n := opened.Load(); n > 2 { // a busy machine may miss the end once
		t.Errorf("%d connections for five requests", n)
	}
}
