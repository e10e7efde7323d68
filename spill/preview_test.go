package spill

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"

	"github.com/weir-run/weir/internal/lines"
)

var kept = Notice{Path: "tool-results/r3-1-grep.txt", Read: "workspace--read", Grep: "workspace--grep"}

// said is what a notice says.
type said struct {
	first, last, lines, omitted, chars, from int64
	allLines, allChars, allBytes             int64
	read, search                             map[string]any
	head, tail                               string
}

var (
	gapSaid   = regexp.MustCompile(`(?m)^\[Excerpt: (?:part of )?lines? (\d+)(?:-(\d+))? of (\d+) (?:is|are) left out here, (\d+) of (\d+) characters? from char_offset (\d+)\.`)
	wholeSaid = regexp.MustCompile(`(?m)(\d+) lines?, (\d+) characters?, (\d+) bytes?\.`)
	callSaid  = regexp.MustCompile(`(?m)^(Read on|Search): workspace--(read|grep) (\{.*?\})\]?$`)
	heldSaid  = regexp.MustCompile(`(?m)^The part left out holds (\d+) payloads?, (?:the first (\d+) )?listed next\.`)
)

func parse(t testing.TB, preview string) said {
	t.Helper()
	num := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		return n
	}
	if at := strings.Index(preview, open+onlyRuns); at >= 0 {
		preview = preview[:at] + "[Excerpt: line 0 of 0 is left out here, 0 of 0 characters from char_offset 9999999." + preview[at+len(open+onlyRuns):]
	}
	g := gapSaid.FindStringSubmatchIndex(preview)
	if g == nil {
		t.Fatalf("no notice in %.2000q", preview)
	}
	at := func(i int) string { return preview[g[2*i]:g[2*i+1]] }
	s := said{first: num(at(1)), lines: num(at(3)), omitted: num(at(4)), chars: num(at(5)), from: num(at(6))}
	s.last = s.first
	if g[4] >= 0 {
		s.last = num(at(2))
	}
	s.head = preview[:g[0]]
	rest := preview[g[0]:]
	end := strings.Index(rest, "]\n")
	notice := rest
	if end >= 0 {
		notice, s.tail = rest[:end+1], rest[end+2:]
	}
	w := wholeSaid.FindStringSubmatch(notice)
	if w == nil {
		t.Fatalf("no totals in %q", notice)
	}
	s.allLines, s.allChars, s.allBytes = num(w[1]), num(w[2]), num(w[3])
	for _, c := range callSaid.FindAllStringSubmatch(notice, -1) {
		var args map[string]any
		if err := json.Unmarshal([]byte(c[3]), &args); err != nil {
			t.Fatalf("call %q: %v", c[0], err)
		}
		if c[2] == "read" {
			s.read = args
		} else {
			s.search = args
		}
	}
	if h := heldSaid.FindStringSubmatch(notice); h != nil {
		listed := num(h[1])
		if h[2] != "" {
			listed = num(h[2])
		}
		for range listed {
			_, s.tail, _ = strings.Cut(s.tail, "\n")
		}
	}
	return s
}

var labelSaid = regexp.MustCompile(`\[base64: (\d+) characters, not shown\]`)

// putBack puts the base64 runs of text back into what is shown of it from an offset on.
func putBack(shown, text string, at int) string {
	var b strings.Builder
	for {
		l := labelSaid.FindStringSubmatchIndex(shown)
		if l == nil || strings.HasPrefix(text[min(len(text), at+l[0]):], shown[l[0]:l[1]]) {
			return b.String() + shown
		}
		n, _ := strconv.Atoi(shown[l[2]:l[3]])
		b.WriteString(shown[:l[0]])
		at += l[0]
		b.WriteString(text[at:min(len(text), at+n)])
		at += n
		shown = shown[l[1]:]
	}
}

// checkPreview holds a preview to everything that is promised about it.
func checkPreview(t testing.TB, text string, most int, n Notice) string {
	t.Helper()
	got := Preview(Of(text), most, n)
	size := utf8.RuneCountInString(got)
	if size > most {
		t.Fatalf("%d characters, at most %d allowed:\n%s", size, most, got)
	}
	if !utf8.ValidString(got) {
		t.Fatalf("not valid UTF-8: %q", got)
	}
	if utf8.RuneCountInString(text) <= most {
		if got != text {
			t.Fatalf("a text that fits was changed to %q", got)
		}
		return got
	}
	if json.Valid([]byte(got)) {
		t.Fatalf("the preview is valid JSON: %q", got)
	}
	if strings.Contains(text, open) || strings.Contains(got, "only base64 data is left out") {
		return got
	}
	s := parse(t, got)
	want := said{
		lines: lines.Count([]byte(text)), allLines: lines.Count([]byte(text)),
		chars: int64(utf8.RuneCountInString(text)), allChars: int64(utf8.RuneCountInString(text)), allBytes: int64(len(text)),
	}
	totals := said{lines: s.lines, allLines: s.allLines, chars: s.chars, allChars: s.allChars, allBytes: s.allBytes}
	if diff := cmp.Diff(want, totals, cmp.AllowUnexported(said{})); diff != "" {
		t.Fatalf("totals (-want +got):\n%s", diff)
	}
	from := s.from
	if from > 0 && strings.HasPrefix(text, "\ufeff") {
		from++
	}
	start := lines.Head(text, int(from))
	end := start + lines.Head(text[start:], int(s.omitted))
	head := putBack(s.head, text, 0)
	if head != text[:start] && head != text[:start]+"\n" {
		t.Fatalf("the head is not the text up to character %d:\n%q\n%q", from, s.head, text[:start])
	}
	tail := s.tail
	if l := labelSaid.FindString(tail); l != "" {
		tail = putBack(tail, text, end)
	}
	if tail != text[end:] {
		t.Fatalf("the tail is not the text from character %d on:\n%q\n%q", from+s.omitted, s.tail, text[end:])
	}
	first := 1 + int64(strings.Count(text[:start], "\n"))
	last := lines.Count([]byte(text[:end]))
	if s.first != first || s.last != last || s.omitted <= 0 {
		t.Fatalf("lines %d-%d with %d characters, want %d-%d", s.first, s.last, s.omitted, first, last)
	}
	if !strings.Contains(string(lines.Slice([]byte(text), s.first, s.last)), text[start:end]) {
		t.Fatalf("lines %d-%d do not hold what is left out", s.first, s.last)
	}
	if s.head == "" && s.tail == "" && !heldSaid.MatchString(got) {
		t.Fatalf("nothing of the text is shown:\n%s", got)
	}
	if s.read != nil {
		offset, line := s.read["char_offset"], s.read["offset"]
		whole := start == 0 || text[start-1] == '\n'
		if whole && (offset != nil || line != float64(s.first)) || !whole && (line != nil || offset != float64(s.from)) {
			t.Fatalf("read call %v for a gap from line %d, character %d", s.read, s.first, s.from)
		}
	}
	return got
}

func numbered(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "%d: what the tool printed here\n", i)
	}
	return b.String()
}

// bulk is base64 of n characters as random bytes give it.
func bulk(n int) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	rnd := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rnd.IntN(64)]
	}
	copy(b, "aB3")
	return string(b)
}

func image(n int) string {
	return fmt.Sprintf("[image: image/png, ~%dKB, tool-results/r3-1-shot.%d.png]", n, n)
}

// texts are awkward texts, each longer than 1,000 characters.
func awkward() map[string]string {
	mixed := numbered(200) + image(1) + "\n" + bulk(5000) + "\n" + numbered(200) + image(2) + image(3) + "\n" + numbered(100) + image(4)
	return map[string]string{
		"lines":                numbered(1000),
		"no newline at end":    strings.TrimSuffix(numbered(1000), "\n"),
		"CRLF":                 strings.ReplaceAll(numbered(1000), "\n", "\r\n"),
		"one line":             strings.Repeat("n", 60_000),
		"one line and newline": strings.Repeat("n", 1<<20) + "\n",
		"newlines":             strings.Repeat("\n", 5000),
		"long then short":      strings.Repeat("x", 30_000) + "\n" + numbered(20),
		"short then long":      numbered(20) + strings.Repeat("x", 30_000),
		"JSON array":           `[{"notes":"` + strings.Repeat("n", 60_000) + `"}]`,
		"JSON object":          `{"file":"` + strings.Repeat("k", 8000) + `"}`,
		"JSON numbers":         "[" + strings.Repeat("1,", 16_000) + "1]",
		"JSON lines":           strings.Repeat("{\"a\":1}\n", 3000),
		"wide characters":      strings.Repeat("日本語\n", 4000),
		"boxes":                strings.Repeat("a", 199) + "─" + strings.Repeat("b", 5000),
		"families":             strings.Repeat("👩‍👩‍👧‍👦", 900),
		"flags":                strings.Repeat("🇩🇪🇫🇷", 900),
		"combining":            "e" + strings.Repeat("\u0301", 4000),
		"devanagari":           strings.Repeat("क्षि", 2000),
		"BOM":                  "\ufeff" + strings.Repeat("x", 5000),
		"NUL":                  strings.Repeat("a\x00b", 3000),
		"separators":           strings.Repeat("a\u2028b\u0085c\vd\fe\rf", 1000),
		"base64":               bulk(40_000),
		"data URI":             `{"img":"data:image/png;base64,` + bulk(30_000) + `==","name":"x"}` + "\n" + numbered(300),
		"base64 at both ends":  bulk(5000) + "\n" + numbered(2000) + bulk(5000),
		"base64 in text":       strings.Repeat(numbered(10)+bulk(2000)+"\n", 12),
		"hex":                  strings.Repeat("0123456789abcdef", 1000),
		"images":               mixed,
		"only images":          strings.Repeat(image(7)+"\n", 400),
		"long placeholder":     "[image: " + strings.Repeat("p", 280) + "]" + strings.Repeat("x", 3000) + "[image: " + strings.Repeat("q", 280) + "]",
		"broken placeholder":   strings.Repeat("[image: no end ", 500),
		"brackets":             strings.Repeat("[", 4000),
	}
}

func TestPreviewPromises(t *testing.T) {
	t.Parallel()
	notices := map[string]Notice{
		"kept":      kept,
		"read only": {Path: kept.Path, Read: "workspace--read"},
		"grep only": {Path: kept.Path, Grep: "workspace--grep"},
		"disk":      {Path: kept.Path, Disk: "/home/somebody/.weir/tool-results/c1/r3-1-grep.f7.txt"},
		"not kept":  {Reason: "no space left on device"},
		"long path": {Path: "tool-results/r999999999-999999999.999999999-" + strings.Repeat("t", 40) + ".txt", Read: "workspace--read", Grep: "workspace--grep"},
		"very long": {Path: "tool-results/" + strings.Repeat("ä/", 3000), Read: "workspace--read", Grep: "workspace--grep", Disk: strings.Repeat("/d", 3000)},
		"reason":    {Reason: strings.Repeat("because\n", 200)},
	}
	for name, text := range awkward() {
		for notice, n := range notices {
			t.Run(name+"/"+notice, func(t *testing.T) {
				t.Parallel()
				for _, most := range []int{1000, 1001, 1237, 2000, 4096, 8000, 24_000} {
					checkPreview(t, text, most, n)
				}
			})
		}
	}
}

// The numbers are those of sed -n and grep -n on the file.
func TestLaw07NumbersOfSedAndGrep(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"sed", "grep"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: there is nothing to compare with", tool)
		}
	}
	for _, text := range []string{numbered(1000), strings.TrimSuffix(numbered(1000), "\n"), strings.ReplaceAll(numbered(1000), ":", "\u2028\f\r")} {
		file := filepath.Join(t.TempDir(), "text")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := parse(t, checkPreview(t, text, 3000, kept))
		out, err := exec.CommandContext(t.Context(), "sed", "-n", fmt.Sprintf("%d,%dp", s.first, s.last), file).Output()
		if err != nil {
			t.Fatal(err)
		}
		if s.head+string(out)+s.tail != text {
			t.Errorf("head + lines %d-%d of sed + tail are not the text", s.first, s.last)
		}
		out, err = exec.CommandContext(t.Context(), "grep", "-n", "-a", "", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		line := strings.Split(string(out), "\n")[s.first-1]
		want := fmt.Sprintf("%d:%s", s.first, strings.TrimSuffix(string(lines.Slice([]byte(text), s.first, s.first)), "\n"))
		if diff := cmp.Diff(want, line); diff != "" {
			t.Errorf("grep -n of the first line left out (-want +got):\n%s", diff)
		}
	}
}

func TestPreviewShares(t *testing.T) {
	t.Parallel()
	for _, most := range []int{2000, 8000, 24_000, 100_000} {
		s := parse(t, checkPreview(t, numbered(20_000), most, kept))
		head, tail := utf8.RuneCountInString(s.head), utf8.RuneCountInString(s.tail)
		room := most - 400
		if head < room*45/100 || head > most*62/100 || tail < room*30/100 || tail > most*42/100 {
			t.Errorf("of %d: head %d, tail %d", most, head, tail)
		}
		if !strings.HasSuffix(s.head, "\n") || !strings.HasPrefix(strings.TrimLeft(s.tail, "0123456789"), ": what") {
			t.Errorf("not cut at lines: %.40q … %.40q", s.head[max(0, len(s.head)-40):], s.tail)
		}
	}
}

// A long line with its newline still has both ends, and a newline at the very end is no line.
func TestPreviewOfOneLongLine(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("n", 1<<20) + "\n", strings.Repeat("n", 1<<20)} {
		for most := 1000; most < 1100; most += 9 {
			s := parse(t, checkPreview(t, text, most, kept))
			if len(s.head) < 200 || len(s.tail) < 120 || s.lines != 1 || s.first != 1 || s.last != 1 {
				t.Fatalf("at %d: head %d, tail %d, lines %d-%d of %d", most, len(s.head), len(s.tail), s.first, s.last, s.lines)
			}
		}
	}
}

// At the smallest cap the notice wins, but both ends are still there.
func TestPreviewAtTheSmallestCap(t *testing.T) {
	t.Parallel()
	n := kept
	n.Path = "tool-results/r123456789-123456789.123456789-" + strings.Repeat("t", 40) + ".txt"
	got := checkPreview(t, strings.Repeat("some text without an end ", 90_000), 1000, n)
	s := parse(t, got)
	if len(s.head) < 60 || len(s.tail) < 40 {
		t.Errorf("head %d, tail %d characters", len(s.head), len(s.tail))
	}
	if s.read["path"] != n.Path || s.search["path"] != n.Path {
		t.Errorf("calls %v, %v: want both with the path", s.read, s.search)
	}
}

func TestPreviewSplitsNoCluster(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]string{"families": "👩‍👩‍👧‍👦", "accents": "e\u0301\u0302", "hangul": "\u1112\u1161\u11ab", "CRLF": "\r\n"} {
		text := strings.Repeat(unit, 3000)
		for most := 1000; most < 1030; most++ {
			s := parse(t, checkPreview(t, text, most, kept))
			if name != "CRLF" {
				s.head = strings.TrimSuffix(s.head, "\n")
			}
			for _, part := range []string{s.head, s.tail} {
				if uniseg.GraphemeClusterCount(part)*len(unit) != len(part) {
					t.Fatalf("%s: a cluster is split in %q", name, part)
				}
			}
		}
	}
}

func TestPreviewShowsNoBase64(t *testing.T) {
	t.Parallel()
	long := regexp.MustCompile(`[A-Za-z0-9+/=]{1000}`)
	for name, text := range awkward() {
		if !strings.Contains(name, "base64") && name != "data URI" && name != "images" {
			continue
		}
		for _, most := range []int{1000, 4096, 24_000, 39_000} {
			got := checkPreview(t, text, most, kept)
			for _, run := range long.FindAllString(got, -1) {
				if _, data := runEnd(run, 0); data || len(run) >= minRun {
					t.Errorf("%s at %d: %d characters of base64 are shown", name, most, len(run))
				}
			}
		}
	}
	got := Preview(Of("begin "+bulk(30_000)+" end "+numbered(10)), 24_000, kept)
	if !strings.HasPrefix(got, "begin ") || !strings.Contains(got, " end 1: what the tool printed here\n") {
		t.Errorf("what stands around the run is missing:\n%s", got)
	}
	got = Preview(Of(numbered(10)+bulk(5000)+"\n"+numbered(900)), 24_000, kept)
	if !strings.Contains(got, "\n[base64: 5000 characters, not shown]\n1: what") {
		t.Errorf("no label for the run:\n%s", got)
	}
}

// When nothing but base64 is left out the notice says just that.
func TestPreviewOfTextWithoutItsBase64(t *testing.T) {
	t.Parallel()
	text := numbered(100) + bulk(1200) + "\n" + numbered(100)
	most := utf8.RuneCountInString(text) - 1
	got := Preview(Of(text), most, kept)
	want := "[Excerpt: only base64 data is left out, where it says so.\nThe whole is kept at tool-results/r3-1-grep.txt: 201 lines, "
	if !strings.Contains(got, want) || !strings.Contains(got, "[base64: 1200 characters, not shown]") {
		t.Errorf("preview:\n%s", got)
	}
	if l := utf8.RuneCountInString(got); l > most {
		t.Errorf("%d characters, at most %d allowed", l, most)
	}
}

func TestPreviewListsPlaceholders(t *testing.T) {
	t.Parallel()
	text := numbered(300)
	var all []string
	for i := range 30 {
		all = append(all, image(i))
		text += image(i) + "\n"
	}
	text += numbered(300)
	got := checkPreview(t, text, 24_000, kept)
	if got != text {
		t.Fatal("it fits and was changed")
	}
	got = checkPreview(t, text, 5000, kept)
	at := strings.Index(got, "The part left out holds 30 payloads, the first ")
	if at < 0 {
		t.Fatalf("the payloads are not counted:\n%s", got)
	}
	list := strings.Split(got[strings.Index(got[at:], "]\n")+at+2:], "\n")
	for i, p := range all[:10] {
		if list[i] != p {
			t.Errorf("line %d of the list is %q, want %q", i, list[i], p)
		}
	}
	for most := 1000; most < 6000; most += 37 {
		got := checkPreview(t, text, most, kept)
		for _, p := range regexp.MustCompile(`\[image: [^\n]*`).FindAllString(got, -1) {
			if !strings.Contains(text, p) {
				t.Fatalf("at %d a placeholder is cut: %q", most, p)
			}
		}
	}
	row := strings.Repeat(strings.Join(all, " and "), 5)
	for most := 1000; most < 2000; most += 7 {
		got := checkPreview(t, row, most, kept)
		s := parse(t, got)
		if h := strings.LastIndexByte(s.head, '['); h >= 0 && !strings.Contains(s.head[h:], ".png]") {
			t.Fatalf("at %d a placeholder is cut: %q", most, s.head[h:])
		}
		if e := strings.IndexByte(s.tail, ']'); e >= 0 && !strings.Contains(s.tail[:e], "[image: ") {
			t.Fatalf("at %d a placeholder is cut: %q", most, s.tail[:e+1])
		}
	}
}

// A placeholder that is cut by the edge of what is at hand is not shown in part.
func TestPreviewAtTheEdgeOfWhatIsAtHand(t *testing.T) {
	t.Parallel()
	front, back := "begin "+bulk(2500)+" ", " "+bulk(2500)+" end"
	text := front + image(1) + strings.Repeat(" middle", 3000) + image(2) + back
	for extra := range len(image(1)) + 10 {
		x := Of(text)
		x.Head, x.Tail = text[:len(front)+extra], text[len(text)-len(back)-extra:]
		for _, marked := range []bool{false, true} {
			if marked {
				// The placeholders stand for other stretches of the same places.
				x.Marks = []Mark{
					{int64(len(front)), int64(len(image(1))), "[image: one]"},
					{int64(len(text) - len(back) - len(image(2))), int64(len(image(2))), "[image: two]"},
				}
			}
			got := Preview(x, 3000, kept)
			s := parse(t, got)
			want := "begin [base64: 2500 characters, not shown] "
			if extra >= len(image(1)) {
				if marked {
					want += "[image: one]"
				} else {
					want += image(1)
				}
			}
			head := strings.TrimSuffix(s.head, "\n")
			if !strings.HasPrefix(head, want) || strings.Contains(head[len(want):], "[") {
				t.Fatalf("%d characters of it at hand, marked %v: head %q", extra, marked, head)
			}
			if i := strings.IndexAny(s.tail, "[]"); i < 0 || s.tail[i] != '[' || strings.Contains(s.tail[:i], "image") {
				t.Fatalf("%d characters of it at hand, marked %v: tail %q", extra, marked, s.tail)
			}
			if !strings.HasSuffix(s.tail, "[base64: 2500 characters, not shown] end") {
				t.Fatalf("tail %q", s.tail)
			}
		}
	}
}

// Of a short end behind a placeholder something is left, its newline is no line.
func TestPreviewOfAShortEnd(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 3000) + "[image: " + strings.Repeat("q", 280) + "]ab\n"
	if s := parse(t, checkPreview(t, text, 1000, kept)); s.tail != "ab\n" {
		t.Errorf("tail %q", s.tail)
	}
}

// What result finds in a text stands in the preview as it says, and the figures stay those of the text.
func TestPreviewWithMarks(t *testing.T) {
	t.Parallel()
	run := bulk(20_000)
	head, mid := `{"a":"`+strings.Repeat("x y ", 300)+`","img":"`, `","rows":[`+strings.Repeat("1,", 20_000)+`1],"last":"`
	text := head + run + mid + run + `"}`
	marks := []Mark{
		{At: -5, Len: 10, Text: "[bad]"},
		{At: int64(len(head)), Len: int64(len(run)), Text: "[base64: image/png, ~15KB, tool-results/r3-1-x.png]"},
		{At: int64(len(head)) + 5, Len: 10, Text: "[overlaps]"},
		{At: int64(len(head + run + mid)), Len: int64(len(run)), Text: "[base64: image/png, ~15KB, tool-results/r3-1-x.2.png]"},
		{At: int64(len(text)) + 1, Len: 4, Text: "[outside]"},
	}
	x := Of(text)
	x.Marks = marks
	got := Preview(x, 30_000, kept)
	s := parse(t, got)
	wantHead := head + marks[1].Text + mid
	shown := strings.TrimSuffix(s.head, "\n")
	if !strings.HasPrefix(wantHead, shown) || !strings.Contains(shown, marks[1].Text) {
		t.Errorf("head: %.2000q", s.head)
	}
	if want := int64(len(shown) - len(marks[1].Text) + len(run)); s.from != want {
		t.Errorf("the gap begins at %d, want %d", s.from, want)
	}
	if !strings.HasSuffix(s.tail, marks[3].Text+`"}`) {
		t.Errorf("tail: %.200q", s.tail)
	}
	if s.chars != int64(len(text)) {
		t.Errorf("%d characters, want %d", s.chars, len(text))
	}
	short := Of(text)
	short.Marks = marks[1:4]
	if got := Preview(short, len(text)-1, kept); got != head+marks[1].Text+mid+marks[3].Text+`"}` {
		t.Errorf("what fits with its placeholders is cut: %.300q", got)
	}
	if got := Preview(x, 1000, kept); !strings.Contains(got, "holds 1 payload, listed next.\nThe whole is JSON: an object with 4 keys: \"a\", \"img\", \"rows\", \"last\".]\n"+marks[1].Text+"\n") {
		t.Errorf("the payload left out is not listed:\n%s", got)
	}
}

// A mark that reaches beyond what is at hand is left out, not shown in part.
func TestPreviewWithMarksAtTheEdge(t *testing.T) {
	t.Parallel()
	text := "begin " + strings.Repeat("1", 20_000) + " middle " + strings.Repeat("2", 20_000) + " end"
	x := Of(text)
	x.Head, x.Tail = text[:3000], text[len(text)-3000:]
	x.Marks = []Mark{{6, 20_000, "[base64: one]"}, {20_014, 20_000, "[base64: two]"}}
	s := parse(t, Preview(x, 2000, kept))
	if s.head != "begin \n" || s.from != 6 || s.tail != " end" {
		t.Errorf("head %.100q, %d characters, tail %.100q", s.head, s.from, s.tail)
	}
}

func TestPreviewCleans(t *testing.T) {
	t.Parallel()
	clean := func(s string) string {
		s = regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(s, "")
		return strings.ReplaceAll(s, "\x00", "\u2400")
	}
	n := kept
	n.Clean = clean
	text := strings.ReplaceAll(numbered(2000), ":", "\x1b[1;31m:\x1b[0m\x00")
	got := Preview(Of(text), 4000, n)
	if strings.ContainsAny(got, "\x1b\x00") || utf8.RuneCountInString(got) > 4000 || utf8.RuneCountInString(got) < 3300 {
		t.Errorf("%d characters: %.300q", utf8.RuneCountInString(got), got)
	}
	if !strings.Contains(got, "\nWhat is shown is cleaned of control codes, the file is not.]\n") {
		t.Errorf("the notice does not say that the text was cleaned:\n%s", got)
	}
	s := parse(t, got)
	start := lines.Head(text, int(s.from))
	if s.head != clean(text[:start]) || s.tail != clean(text[start+lines.Head(text[start:], int(s.omitted)):]) {
		t.Error("head and tail are not the cleaned ends of the text that the notice tells")
	}
	if got := Preview(Of(text), len(text), n); got != clean(text) {
		t.Errorf("a text that fits: %.100q", got)
	}
	if got := Preview(Of(numbered(2000)), 4000, n); strings.Contains(got, "cleaned") {
		t.Errorf("nothing was cleaned:\n%s", got)
	}
	for name, hostile := range map[string]func(string) string{
		"longer":    func(s string) string { return strings.Repeat(s, 5) },
		"constant":  func(string) string { return strings.Repeat("y", 3000) },
		"nothing":   func(string) string { return "" },
		"not UTF-8": func(s string) string { return s + "\xff" },
	} {
		n.Clean = hostile
		got := Preview(Of(numbered(2000)), 1500, n)
		if utf8.RuneCountInString(got) > 1500 || !utf8.ValidString(got) {
			t.Errorf("%s: %d characters", name, utf8.RuneCountInString(got))
		}
	}
}

func TestLaw08PreviewIsNoJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`[` + strings.Repeat(`"a",`, 3000) + `"a"]`,
		`{"a":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`,
		strings.Repeat(" ", 3000) + "1" + strings.Repeat(" ", 3000),
		strings.Repeat("9", 5000),
		`{"a":"` + bulk(3000) + `"}`,
		"[\n" + strings.Repeat("1,\n", 3000) + "1\n]",
	} {
		for most := 1000; most < 3100; most += 100 {
			got := Preview(Of(text), most, kept)
			if json.Valid([]byte(got)) || !strings.Contains(got, "[Excerpt: ") {
				t.Errorf("at %d: %.200q", most, got)
			}
			if !strings.Contains(got, "The whole is JSON: ") {
				t.Errorf("at %d: it does not say what it is:\n%s", most, got)
			}
		}
	}
}

func TestLaw09PreviewIsDeterministic(t *testing.T) {
	t.Parallel()
	text := awkward()["images"]
	want := Preview(Of(text), 3000, kept)
	for range 20 {
		if diff := cmp.Diff(want, Preview(Of(text), 3000, kept)); diff != "" {
			t.Fatalf("another preview (-want +got):\n%s", diff)
		}
	}
}

// What could not be kept may have to be cut again: the figures stay those of the whole.
func TestPreviewOfAPreviewThatIsAllThereIs(t *testing.T) {
	t.Parallel()
	n := Notice{Reason: "no space left on device"}
	for name, text := range awkward() {
		if name == "images" || name == "only images" || name == "long placeholder" || strings.Contains(text, open) {
			continue // placeholders of what was left out before are not known any more
		}
		for _, sizes := range [][2]int{{8000, 3000}, {24_000, 8000}, {1500, 1000}, {2500, 2400}} {
			first := Preview(Of(text), sizes[0], n)
			if first == text {
				continue
			}
			again := Preview(Of(first), sizes[1], n)
			if size := utf8.RuneCountInString(again); size > sizes[1] || strings.Count(again, open) != 1 {
				t.Errorf("%s at %v: %d characters:\n%s", name, sizes, size, again)
			}
			if strings.Contains(again, "===") || strings.Contains(again, "payload") {
				t.Errorf("%s at %v: what stands for a run is shown or listed:\n%s", name, sizes, again)
			}
			a, b := parse(t, first), parse(t, again)
			if a.allLines != b.allLines || a.allChars != b.allChars || a.allBytes != b.allBytes || b.from > a.from {
				t.Errorf("%s at %v: the figures are of the preview:\n%s", name, sizes, again)
			}
			if !strings.Contains(name, "base64") && name != "data URI" && sizes[0] > sizes[1]*5/4 {
				if diff := cmp.Diff(Preview(Of(text), sizes[1], n), again); diff != "" {
					t.Errorf("%s at %v: not the preview of the whole (-want +got):\n%s", name, sizes, diff)
				}
			}
		}
	}
	// What only looks like a notice is text.
	first := Preview(Of(numbered(1000)), 3000, n)
	for _, fake := range []string{"x" + first, strings.Replace(first, "\n2: ", "\n2; and more ", 1), first + "x"} {
		got := parse(t, Preview(Of(fake), 1500, n))
		if got.allChars != int64(utf8.RuneCountInString(fake)) {
			t.Errorf("the figures of a fake are believed: %d characters, want %d", got.allChars, utf8.RuneCountInString(fake))
		}
	}
}

// An excerpt that contradicts itself gives no nonsense.
func TestPreviewOfBadExcerpts(t *testing.T) {
	t.Parallel()
	long := numbered(500)
	for _, x := range []Excerpt{
		{},
		{Bytes: 1 << 40, Lines: 1 << 30, Chars: 1 << 40},
		{Head: long},
		{Tail: long},
		{Head: long, Tail: long},
		{Head: long, Tail: long, Bytes: -1, Lines: -1, Chars: -1},
		{Head: long, Tail: long, Bytes: math.MaxInt64, Lines: math.MaxInt64 - 1, Chars: math.MaxInt64},
		{Head: long, Bytes: 1 << 40, Lines: 1, Chars: 1 << 40},
		{Head: "\xff\xfe" + long, Tail: "\xff", Bytes: 1 << 20, Chars: 1 << 20, Lines: 4},
		{Head: long, Bytes: int64(len(long)), Marks: []Mark{{At: -1, Len: math.MaxInt64, Text: "x"}, {At: 3, Len: math.MaxInt64, Text: "y"}}},
	} {
		for _, most := range []int{-1, 0, 1, 10, 500, 1000, 5000} {
			got := Preview(x, most, kept)
			if size := utf8.RuneCountInString(got); size > max(most, 1) && most > 0 {
				t.Errorf("%d characters, at most %d allowed: %q", size, most, got)
			}
			if regexp.MustCompile(`(^|[^a-z0-9]) ?-\d`).MatchString(got) {
				t.Errorf("a figure is below 0:\n%s", got)
			}
		}
	}
}

func FuzzPreview(f *testing.F) {
	for _, text := range awkward() {
		if len(text) < 20_000 {
			f.Add(text, uint16(200), "", uint8(3))
		}
	}
	f.Add("a\nb", uint16(0), "tool-results/\n", uint8(0))
	f.Add(Preview(Of(numbered(400)+bulk(5000)+"\n"+numbered(900)), 3000, Notice{}), uint16(10), "", uint8(0))
	f.Add(Preview(Of(numbered(10)+bulk(2000)), 1000, Notice{}), uint16(900), "", uint8(0))
	f.Add("e\u0301\u0301", uint16(9), "", uint8(1))
	f.Fuzz(func(t *testing.T, seed string, over uint16, path string, flags uint8) {
		text := strings.ToValidUTF8(seed, "\ufffd")
		if text == "" {
			return
		}
		if flags&16 != 0 {
			text += bulk(1500) + text
		}
		if flags&32 != 0 {
			text = text + image(1) + text + image(2) + "\n" + text
		}
		text = strings.Repeat(text, 1+(1100+int(over))/len(text))
		if len(text) > 100_000 {
			text = strings.ToValidUTF8(text[:100_000], "")
		}
		n := Notice{Path: path, Reason: path}
		if path == "" && flags&1 != 0 {
			n.Path = kept.Path
		}
		if flags&2 != 0 {
			n.Read = "workspace--read"
		}
		if flags&4 != 0 {
			n.Grep = "workspace--grep"
		}
		if flags&8 != 0 {
			n.Disk = path + path
		}
		if strings.Contains(path, "(") || strings.ContainsAny(path, "0123456789]}\n\r") {
			n.Path, n.Disk, n.Reason = kept.Path, "", "" // the test could not read the notice
		}
		got := checkPreview(t, text, 1000+int(over), n)
		if again := Preview(Of(got), 1000+int(over)/2, Notice{Reason: path}); utf8.RuneCountInString(again) > 1000+int(over)/2 {
			t.Fatalf("cut again it has %d characters", utf8.RuneCountInString(again))
		}
	})
}
