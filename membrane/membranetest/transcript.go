package membranetest

import (
	"fmt"
	"net/http"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// transcript is what a provider answers in one scenario.
type transcript struct {
	archive *txtar.Archive
}

func readTranscript(t *testing.T, file string) *transcript {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatalf("the scenario has no transcript, and Lacks does not say why: %v", err)
	}
	return &transcript{archive: a}
}

// part gives a part of the transcript.
func (s *transcript) part(name string) (string, bool) {
	for _, f := range s.archive.Files {
		if f.Name == name {
			return string(f.Data), true
		}
	}
	return "", false
}

// size is how many bytes the answers have, about.
func (s *transcript) size() int {
	n := 0
	for _, f := range s.archive.Files {
		if strings.HasSuffix(f.Name, ".body") || strings.HasSuffix(f.Name, ".events") {
			n += len(f.Data)
		}
	}
	return n
}

// answers are the answers in their order.
func (s *transcript) answers(t *testing.T, frame func(string) string) []Answer {
	t.Helper()
	if frame == nil {
		frame = Data
	}
	var all []Answer
	for n := 1; ; n++ {
		head, any := s.part(fmt.Sprint(n, ".head"))
		body, raw := s.part(fmt.Sprint(n, ".body"))
		events, framed := s.part(fmt.Sprint(n, ".events"))
		end, ends := s.part(fmt.Sprint(n, ".end"))
		if !any && !raw && !framed && !ends {
			break
		}
		answer := Answer{Header: http.Header{}, Body: body, Break: strings.TrimSpace(end) == "break"}
		for line := range strings.Lines(head) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if name == "Status" {
				status, err := strconv.Atoi(value)
				if err != nil {
					t.Fatalf("answer %d: %v", n, err)
				}
				answer.Status = status
				continue
			}
			answer.Header[textproto.CanonicalMIMEHeaderKey(name)] = []string{value}
		}
		for line := range strings.Lines(events) {
			answer.Body += frame(strings.TrimSuffix(line, "\n"))
		}
		all = append(all, answer)
	}
	if len(all) == 0 {
		t.Fatal("the transcript has no answer")
	}
	return all
}

// golden compares the transcript with what was seen, or writes it.
func (s *transcript) golden(t *testing.T, file string, at *played, update bool) {
	t.Helper()
	want := map[string]string{"want": at.told()}
	names := []string{}
	for i, r := range at.recorded {
		name := fmt.Sprint(i+1, ".request")
		names = append(names, name)
		want[name] = string(r.Body) + "\n"
	}
	if update {
		for _, name := range append(names, "want") {
			s.set(name, want[name])
		}
		if err := os.WriteFile(file, txtar.Format(s.archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range append(names, "want") {
		text, _ := s.part(name)
		if diff := cmp.Diff(text, want[name]); diff != "" {
			t.Errorf("%s of %s (-want +got):\n%s", name, file, diff)
		}
	}
}

func (s *transcript) set(name, text string) {
	for i, f := range s.archive.Files {
		if f.Name == name {
			s.archive.Files[i].Data = []byte(text)
			return
		}
	}
	s.archive.Files = append(s.archive.Files, txtar.File{Name: name, Data: []byte(text)})
}
