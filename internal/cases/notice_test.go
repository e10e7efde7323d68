package cases

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// notice is what stands in the middle of a shortened text, read as a model would read it.
type notice struct {
	// head and tail are what is shown before and behind it.
	head, tail string
	// first and last are the lines that are left out or cut, of lines; chars is how many characters are
	// left out, from character from on.
	first, last, lines int64
	chars, from        int64
	// path is where the whole is kept, with its lines, characters and bytes.
	path string
	size [3]int64
	// read and grep are the arguments of the two calls that stand ready; empty for none.
	read, grep string
	// json is what is told of the whole when it is JSON.
	json string
}

var (
	leftOut = regexp.MustCompile(`^\[Excerpt: (?:lines (\d+)-(\d+) of|part of line (\d+) of|line (\d+) of) (\d+) (?:is|are) left out here, ` +
		`(\d+) of (\d+) characters? from char_offset (\d+)\.`)
	keptAt = regexp.MustCompile(`(?m)^The whole is kept at (\S+): (\d+) lines?, (\d+) characters?, (\d+) bytes?\.`)
	readOn = regexp.MustCompile(`(?m)^Read on: workspace--read (\{.*?\})\]?$`)
	search = regexp.MustCompile(`(?m)^Search: workspace--grep (\{.*?\})\]?$`)
	isJSON = regexp.MustCompile(`(?m)^The whole is JSON: (.*?)\.?\]?$`)
)

// noticeIn finds the one notice of a shortened text.
func noticeIn(t *testing.T, shown string) notice {
	t.Helper()
	at := strings.Index(shown, "[Excerpt: ")
	if at < 0 || at > 0 && shown[at-1] != '\n' || strings.Count(shown, "[Excerpt: ") != 1 {
		t.Fatalf("not one notice at the start of a line: %.2000q", shown)
	}
	text, tail, ended := strings.Cut(shown[at:], "]\n")
	if !ended {
		text = strings.TrimSuffix(text, "]")
	}
	n := notice{head: shown[:at], tail: tail}
	m := leftOut.FindStringSubmatch(text)
	k := keptAt.FindStringSubmatch(text)
	if m == nil || k == nil {
		t.Fatalf("the notice does not say what is left out and where the whole is:\n%s", text)
	}
	n.first = number(t, m[1]+m[3]+m[4])
	n.last = n.first
	if m[2] != "" {
		n.last = number(t, m[2])
	}
	n.lines, n.chars, n.from = number(t, m[5]), number(t, m[6]), number(t, m[8])
	n.path, n.size = k[1], [3]int64{number(t, k[2]), number(t, k[3]), number(t, k[4])}
	if total := number(t, m[7]); total != n.size[1] {
		t.Errorf("the notice says %d characters and %d characters", total, n.size[1])
	}
	for re, into := range map[*regexp.Regexp]*string{readOn: &n.read, search: &n.grep, isJSON: &n.json} {
		if m := re.FindStringSubmatch(text); m != nil {
			*into = m[1]
		}
	}
	return n
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// excerpt holds a shortened answer to every figure of its notice, counted anew from the whole: the head
// and the tail are both ends of it, the totals are those of all that there was, the gap is where the
// notice stands, and no more than max characters are shown.
func excerpt(t *testing.T, a answer, max int) notice {
	t.Helper()
	n := noticeIn(t, a.text)
	if c := utf8.RuneCountInString(a.text); c > max {
		t.Errorf("%d characters are shown, the cap is %d", c, max)
	}
	whole := a.whole
	if !strings.HasPrefix(whole, n.head) {
		n.head = strings.TrimSuffix(n.head, "\n") // a line that is cut ends where the notice begins
	}
	if n.head == "" || n.tail == "" || !strings.HasPrefix(whole, n.head) || !strings.HasSuffix(whole, n.tail) {
		t.Fatalf("both ends are to be shown as they are: %d and %d characters", len(n.head), len(n.tail))
	}
	from, end := len(n.head), len(whole)-len(n.tail)
	want := notice{
		head: n.head, tail: n.tail, path: "tool-results/" + a.row.Spill.Name, size: sizeOf(whole), read: n.read, grep: n.grep, json: n.json,
		lines: sizeOf(whole)[0], from: int64(utf8.RuneCountInString(n.head)), chars: int64(utf8.RuneCountInString(whole[from:end])),
		first: 1 + int64(strings.Count(n.head, "\n")), last: 1 + int64(strings.Count(whole[:end-1], "\n")),
	}
	if d := cmp.Diff(want, n, cmp.AllowUnexported(notice{})); d != "" {
		t.Errorf("the notice against the whole:\n%s", d)
	}
	return n
}
