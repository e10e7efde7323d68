package anthropic_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/anthropic"
	"github.com/weir-run/weir/membrane/membranetest"
)

var update = flag.Bool("update", false, "write what is seen into testdata")

// secret is the key of all tests: it must stand in no error.
const secret = "sk-test-secret"

func newModel(t testing.TB, url string, more ...func(*anthropic.Config)) *anthropic.Model {
	t.Helper()
	cfg := anthropic.Config{APIKey: secret, BaseURL: url}
	for _, f := range more {
		f(&cfg)
	}
	m, err := anthropic.New("claude-test", cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// request makes a request of a head with some tools and of message bytes.
func request(t testing.TB, m *anthropic.Model, messages string) membrane.Request {
	t.Helper()
	head, err := m.EncodeHead(membrane.Head{System: "Be brief.", Tools: []membrane.ToolSpec{{Name: "files.read", Description: "reads"}, {Name: "git"}}})
	if err != nil {
		t.Fatal(err)
	}
	return membrane.Request{Head: head.Head, Messages: []byte(messages), Tail: head.Tail}
}

// stream writes events, a line of JSON each, as they stand on the wire.
func stream(t testing.TB, lines string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(lines) {
		var e struct{ Type string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", e.Type, strings.TrimSpace(line))
	}
	return out.String()
}

// play asks once and tells everything that came back, a line each.
func play(t testing.TB, m *anthropic.Model, r membrane.Request) string {
	t.Helper()
	var out strings.Builder
	for e, err := range m.Stream(t.Context(), r) {
		switch e := e.(type) {
		case nil:
			var typed *membrane.Error
			if !errors.As(err, &typed) {
				t.Fatalf("an error of another type: %v", err)
			}
			fmt.Fprintf(&out, "error %s status=%d retry_after=%s\n%s\n", typed.Kind, typed.Status, typed.RetryAfter, err)
			if strings.Contains(err.Error(), secret) || len([]rune(typed.Text)) > membrane.MaxLine || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error holds the key, or is no line: %s", err)
			}
		case membrane.TextDelta:
			fmt.Fprintf(&out, "text %q\n", e.Text)
		case membrane.ThinkingDelta:
			fmt.Fprintf(&out, "thinking %q\n", e.Text)
		case membrane.Done:
			body, err := membrane.Encode(e.Message)
			if err != nil {
				t.Fatal(err)
			}
			again, err := m.EncodeMessage(e.Message)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(e.Fragment), string(again)); diff != "" {
				t.Errorf("the answer is encoded otherwise when it is encoded again (-live +again):\n%s", diff)
			}
			fmt.Fprintf(&out, "done %s in=%d out=%d cache_read=%d cache_write=%d\nmessage %s\nfragment %s\n",
				e.Stop, e.Usage.In, e.Usage.Out, e.Usage.CacheRead, e.Usage.CacheWrite, body, e.Fragment)
		}
	}
	return out.String()
}

// TestStream plays what a provider can answer: each file of testdata/stream holds an answer, as it
// stands on the wire or as events, and what becomes of it.
func TestStream(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/stream/*.txtar")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			messages := `{"role":"user","content":[{"type":"text","text":"Go."}]}`
			var answer membranetest.Answer
			var want *txtar.File
			for i, f := range a.Files {
				text := string(f.Data)
				switch f.Name {
				case "head":
					answer.Header = headers(text)
					answer.Status, err = strconv.Atoi(answer.Header.Get("Status"))
					if err != nil {
						t.Fatal(err)
					}
					answer.Header.Del("Status")
				case "messages":
					messages = strings.TrimSpace(text)
				case "body":
					answer.Body = text
				case "events":
					answer.Body = stream(t, text)
				case "want":
					want = &a.Files[i]
				}
			}
			var seen []string
			for _, piece := range []int{0, 1} { // at once, and byte by byte
				answer.Piece = piece
				server := membranetest.Serve(t, answer)
				m := newModel(t, server.URL)
				r := request(t, m, messages)
				seen = append(seen, strings.ReplaceAll(play(t, m, r), server.URL, "http://server"))
				if got := server.Bodies(); len(got) != 1 || string(got[0]) != string(r.Head)+messages+string(r.Tail) {
					t.Errorf("another body was sent: %q", got)
				}
			}
			if diff := cmp.Diff(seen[0], seen[1]); diff != "" {
				t.Errorf("byte by byte it is another answer:\n%s", diff)
			}
			if *update {
				want.Data = []byte(seen[0])
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want.Data), seen[0]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", a.Comment, diff)
			}
		})
	}
}

func headers(text string) http.Header {
	h := http.Header{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		h.Set(textproto.CanonicalMIMEHeaderKey(name), value)
	}
	return h
}
