package membranetest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ask(t *testing.T, url, body string) (status int, answer string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header.Get("Content-Type") + "|" + string(got), err
}

func TestServer(t *testing.T) {
	t.Parallel()
	s := Serve(t, Answer{Body: "data: one\n\n", Piece: 3})
	s.Add(Answer{Status: 529, Body: "{}"}, Answer{Header: http.Header{"Content-Type": {"text/html"}}}, Answer{Body: "half", Break: true})
	for i, want := range []string{"200 text/event-stream; charset=utf-8|data: one\n\n", "529 application/json|{}", "200 text/html|"} {
		status, answer, err := ask(t, s.URL, fmt.Sprint("body ", i))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, fmt.Sprint(status, " ", answer)); diff != "" {
			t.Error(diff)
		}
	}
	if _, answer, err := ask(t, s.URL, ""); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken answer: %q, %v", answer, err)
	}
	var bodies []string
	for _, b := range s.Bodies() {
		bodies = append(bodies, string(b))
	}
	if diff := cmp.Diff([]string{"body 0", "body 1", "body 2", ""}, bodies); diff != "" {
		t.Error(diff)
	}
	if r := s.Requests()[0]; r.Method != http.MethodPost || r.Path != "/v1" || r.Length != 6 {
		t.Errorf("%+v", r)
	}
}

func TestServerHasNoAnswerLeft(t *testing.T) {
	t.Parallel()
	s := Serve(t)
	var r errorfs
	s.t = &r
	if status, _, err := ask(t, s.URL, "x"); err != nil || status != 500 || len(r.texts) != 1 {
		t.Errorf("%d %v, reported %q", status, err, r.texts)
	}
}

// errorfs is a test that keeps what is reported to it.
type errorfs struct{ reports }

func (r *errorfs) Errorf(format string, args ...any) {
	r.texts = append(r.texts, fmt.Sprintf(format, args...))
}

func TestSplitAt(t *testing.T) {
	t.Parallel()
	split := SplitAt("messages")
	r, err := split([]byte(`{"tools":[{"messages":[1]}],"messages":[{"content":["]"]},[[2]]],"x":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{string(r.Head), string(r.Messages), string(r.Tail)}
	if diff := cmp.Diff([]string{`{"tools":[{"messages":[1]}],"messages":[`, `{"content":["]"]},[[2]]`, `],"x":[]}`}, got); diff != "" {
		t.Error(diff)
	}
	for body, want := range map[string]string{
		`{"messages":[`:                 "read the body: invalid JSON at byte 13: it ends before the value does",
		`{"messages":{}}`:               "the body has no array messages",
		`[1]`:                           "the body has no array messages",
		`{"messages":[],"messages":[]}`: "the body has messages twice",
	} {
		if _, err := split([]byte(body)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}
