package openai_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/openai"
)

// answers is a transport that answers with a stream and no network.
type answers string

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

// checkAnswer plays a stream and holds what came of it to what is true of every answer.
func checkAnswer(t *testing.T, body string) {
	m := newModel(t, "http://local.test", "m", func(c *openai.Config) { c.HTTPClient = &http.Client{Transport: answers(lines(body))} })
	for e, err := range m.Stream(t.Context(), membrane.Request{Head: []byte(`{"messages":[`), Tail: []byte("]}")}) {
		var typed *membrane.Error
		if err != nil && (!errors.As(err, &typed) || strings.Contains(err.Error(), "\n")) {
			t.Fatalf("%v", err)
		}
		done, ok := e.(membrane.Done)
		if !ok {
			continue
		}
		stored, err := membrane.Encode(done.Message)
		if err != nil {
			t.Fatal(err)
		}
		message, err := membrane.Decode(membrane.Codec, stored)
		if err != nil {
			t.Fatal(err)
		}
		again, err := m.EncodeMessage(message)
		if err != nil || string(again) != string(done.Fragment) {
			t.Errorf("%q\nlive   %s\nstored %s\n%v", body, done.Fragment, again, err)
		}
		if len(done.Fragment) > 0 && (!json.Valid(done.Fragment) || !utf8.Valid(done.Fragment)) {
			t.Errorf("%q becomes no JSON: %s", body, done.Fragment)
		}
	}
}
