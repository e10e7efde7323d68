package cases

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// header is what the head of a page of workspace--read says.
type header struct {
	first string // its first line
	next  string // the arguments of the call that goes on, empty at the end
	then  string // those of the call for what follows a line that was cut
}

// pageOf takes a page apart into its head and what it shows.
func pageOf(t *testing.T, a answer) (header, string) {
	t.Helper()
	if a.isError {
		t.Fatalf("an error instead of a page: %s", a.text)
	}
	if a.file != "" || a.text != a.whole {
		t.Error("a page was kept as a file or shortened")
	}
	var h header
	first, rest, _ := strings.Cut(a.text, "\n")
	h.first = first
	for _, part := range []struct {
		prefix string
		into   *string
	}{{"next: workspace--read ", &h.next}, {"then: workspace--read ", &h.then}} {
		if line, after, found := strings.Cut(rest, "\n"); found && strings.HasPrefix(line, part.prefix) {
			*part.into, rest = strings.TrimPrefix(line, part.prefix), after
			if !json.Valid([]byte(*part.into)) {
				t.Errorf("the next call is no JSON: %s", *part.into)
			}
		}
	}
	return h, rest
}

// shownLine is a line of a page of lines: its number, a tab and its text.
var shownLine = regexp.MustCompile(`(?m)^(\d+)\t`)

// follow reads a file from a first call on, by the calls that the pages name, to its end. It gives the
// texts of the pages without numbers, and fails when a page shows nothing or there are more than limit.
func (w *world) follow(args string, limit int) (pages []answer, texts []string) {
	w.t.Helper()
	seen := map[string]bool{}
	for args != "" {
		if seen[args] || len(pages) == limit {
			w.t.Fatalf("the reading does not get on: page %d is asked for with %s", len(pages)+1, args)
		}
		seen[args] = true
		a := w.call("workspace--read", args)
		h, text := pageOf(w.t, a)
		if strings.Contains(h.first, ": lines ") {
			text = shownLine.ReplaceAllString(text, "")
		}
		if strings.TrimSuffix(text, "…") == "" {
			w.t.Fatalf("an empty page: %q", a.text)
		}
		pages, texts = append(pages, a), append(texts, text)
		args = h.next
	}
	return pages, texts
}
