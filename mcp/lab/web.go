package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Handler records what comes in over HTTP before next answers it: the messages that next takes, and of every
// other request how it was answered. It reads no more than next does.
func (r *Recorder) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		t := &tap{ResponseWriter: w, body: req.Body, request: req, recorder: r}
		req.Body = t
		next.ServeHTTP(answering{t}, req)
		t.begin(http.StatusOK)
	})
}

// tap keeps the body of a request as it is read, until the answer begins.
type tap struct {
	http.ResponseWriter
	body     io.ReadCloser
	request  *http.Request
	recorder *Recorder
	seen     bytes.Buffer
	begun    bool
}

// Read reads the body; what is beyond [MaxLine] is not kept.
func (t *tap) Read(b []byte) (int, error) {
	n, err := t.body.Read(b)
	if room := MaxLine - t.seen.Len(); room > 0 && !t.begun {
		t.seen.Write(b[:min(n, room)])
	}
	return n, err
}

// Close closes the body.
func (t *tap) Close() error { return t.body.Close() }

// begin records the request, once.
func (t *tap) begin(status int) {
	if t.begun {
		return
	}
	t.begun = true
	r := t.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.request.Method != http.MethodPost || status >= http.StatusBadRequest {
		what, err := json.Marshal(map[string]int{"status": status})
		if err != nil {
			what = nil
		}
		r.write(fmt.Sprintf("HTTP %.10s", t.request.Method), fmt.Sprintf("answered with %d %s", status, http.StatusText(status)), what)
	}
	if t.request.Method != http.MethodPost || status == http.StatusUnauthorized || status == http.StatusForbidden {
		return
	}
	body := bytes.TrimSpace(t.seen.Bytes())
	var batch []json.RawMessage // revision 2025-03-26 has them
	if json.Unmarshal(body, &batch) != nil {
		batch = []json.RawMessage{body}
	}
	for _, m := range batch {
		m = bytes.TrimSpace(m)
		r.heard(m, len(m) > 0 && m[0] == '{')
	}
}

// answering is the response, whose beginning is told to the tap.
type answering struct{ *tap }

// WriteHeader tells that the answer begins.
func (a answering) WriteHeader(status int) {
	a.begin(status)
	a.ResponseWriter.WriteHeader(status)
}

// Write tells that the answer begins.
func (a answering) Write(b []byte) (int, error) {
	a.begin(http.StatusOK)
	return a.ResponseWriter.Write(b)
}

// Unwrap gives the response to [http.ResponseController].
func (a answering) Unwrap() http.ResponseWriter { return a.ResponseWriter }
