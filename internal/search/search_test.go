package search_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/internal/lines"
	"github.com/weir-run/weir/internal/search"
)

// hit is a line that matches, as the tests compare it.
type hit struct {
	Number, Offset int64
	Text           string
	Start, End     int
}

// oracle asks the standard regexp for every line on its own.
func oracle(re *regexp.Regexp, text string) (hits []hit, n int64) {
	at := int64(0)
	for line := range strings.Lines(text) {
		n++
		body, _ := lines.TrimEnding([]byte(line))
		if loc := re.FindIndex(body); loc != nil {
			hits = append(hits, hit{n, at, string(body), loc[0], loc[1]})
		}
		at += int64(len(line))
	}
	return hits, n
}

// scan collects what Scan yields.
func scan(t testing.TB, p *search.Pattern, r io.ReaderAt, size int64) ([]hit, search.Stats) {
	t.Helper()
	var hits []hit
	stats, err := p.Scan(t.Context(), r, size, func(l search.Line) search.Action {
		hits = append(hits, hit{l.Number, l.Offset, string(l.Text), l.Start, l.End})
		return search.Next
	})
	if err != nil {
		t.Fatal(err)
	}
	return hits, stats
}

// compile also makes the oracle of a pattern.
func compile(expr string, o search.Options) (*search.Pattern, *regexp.Regexp, error) {
	p, err := search.Compile(expr, o)
	if err != nil {
		return nil, nil, err
	}
	if o.Literal {
		expr = regexp.QuoteMeta(expr)
	}
	if o.IgnoreCase {
		expr = "(?i:" + expr + ")"
	}
	return p, regexp.MustCompile(expr), nil
}

// check holds a search of a text to the oracle, whole and counting only.
func check(t *testing.T, expr string, o search.Options, text string) {
	t.Helper()
	p, re, err := compile(expr, o)
	if err != nil {
		t.Fatal(err)
	}
	want, lines := oracle(re, text)
	got, stats := scan(t, p, strings.NewReader(text), int64(len(text)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q %+v (-regexp +search):\n%s", expr, o, diff)
	}
	wantStats := search.Stats{Matches: int64(len(want)), Lines: lines}
	if diff := cmp.Diff(wantStats, stats); diff != "" {
		t.Errorf("%q %+v (-want +got):\n%s", expr, o, diff)
	}
	counted, err := p.Scan(t.Context(), strings.NewReader(text), int64(len(text)),
		func(search.Line) search.Action { return search.Count })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantStats, counted); diff != "" {
		t.Errorf("%q %+v counting (-want +got):\n%s", expr, o, diff)
	}
}

// patterns has one of every way that a search can take.
var patterns = []string{
	"NEEDLE", "b", "^b$", "^param", "e$", `^$`, `^`, `$`, ``, `.`, `\bfoo\b`, `\Bo`, `\Aa`, `b\z`,
	`err(or)?: \d+`, `\w+@\w+\.com`, `foo|bar|bazqux`, `(?i)needle`, `(?i)kiss`, `(?i)task|skip`,
	`[^x]+`, `\s`, `\S+\s+\S+`, `a*`, `(foo|bar)+x`, `x{2,3}y`, `[Ff]oo`, `(?i:f)oo`, `f(?i:OO)`,
	`\x{FFFD}`, `a\x{FFFD}b`, `é`, `(?i)É`, `日本`, `(?s)a.b`, `b\r`, "a\r?", `\x00`, `TOKEN\x00?`,
	`a|b|c|d|e|f|g|h|i|j`, `one|two|three|four|five|six|seven|eight|nine|ten|eleven`,
	`(?i)one|two|three|four|five|six|seven|eight|nine|ten|k|s`, `foo(\n)?`, `[\n]?foo`, `(?m)^b`,
	`(?U)a+b`, `[[:alpha:]]+ing\b`, `\pL+`, `[ab][cd][ef][gh][ij]`, `(a|b)(c|d)(e|f)foo`, `\x{2028}`,
}

// texts has one of every kind of line and ending.
var texts = []string{
	"", "\n", "\n\n", "\r\n", "\r", "a", "b\n", "b\r\n", "a\r\nb\r\nc\r\n", "a\nb\r", "b\r\r\n",
	"alpha\nbeta\rmid\u2028x\u0085y\vz\fw\ngamma NEEDLE\n", "foo\nbar\nbazqux\nfoobar",
	"needle Needle NEEDLE\nnEeDlE", "KISS\nkiſs\n\u212aiss\nmaſk\ntask\nſkip\n",
	"invalid \xff here\na\xffb\n\xef\xbf\xbd\n\xe3\xc3\xa9\n", "é\nÉ\n日本語\n", "hello TOKEN here\x00more\n",
	"error: 12\nerr: 5\nerr:\nuser@host.com\n", "f\nfo\nfoo\nFOO\nFoo\nfOO\n xxy xxxy xy\n",
	"one\ntwo\nThree\nfourteen\nk\nS\nsingle\nabc\nacegi\nbdfhj\nacefoo\n",
	strings.Repeat("a line of no interest\n", 1000) + "NEEDLE\n" + strings.Repeat("x", 9000) + "NEEDLE",
}

func TestScanAgreesWithRegexp(t *testing.T) {
	t.Parallel()
	for _, expr := range patterns {
		for _, text := range texts {
			check(t, expr, search.Options{}, text)
			check(t, expr, search.Options{IgnoreCase: true}, text)
		}
	}
}

func TestLiteral(t *testing.T) {
	t.Parallel()
	text := "a.b\naxb\nA.B (x)\n$1 ^\n[z]\n\\d\n" + strings.Join(texts, "")
	for _, expr := range []string{"a.b", "(x)", "$1", "[z]", `\d`, "^", "é", "NEEDLE", "(", "a|b", "\ufffd", "kiss"} {
		check(t, expr, search.Options{Literal: true}, text)
		check(t, expr, search.Options{Literal: true, IgnoreCase: true}, text)
	}
}

// TestChunks puts lines across the ends of chunks.
func TestChunks(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := 0; b.Len() < 3*search.ChunkSize; i++ {
		fmt.Fprintf(&b, "%d %s\n", i, strings.Repeat("word ", i%97))
		if i%1000 == 7 {
			b.WriteString("here is a NEEDLE, error: 42\r\n")
		}
		if i == 500 {
			b.WriteString(strings.Repeat("long ", search.ChunkSize/2) + "NEEDLE\n")
		}
	}
	text := b.String()
	for _, expr := range []string{"NEEDLE", "(?i)needle", `error: \d+$`, `NEEDLE|absent`, `^\d+ $`, `99\d? word`} {
		check(t, expr, search.Options{}, text)
	}
}

func TestLongLine(t *testing.T) {
	t.Parallel()
	text := append([]byte("NEEDLE\n"), bytes.Repeat([]byte("x"), search.MaxLine+1)...)
	text = append(text, "NEEDLE\nlast NEEDLE\n"...)
	p, err := search.Compile("NEEDLE", search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hits, stats := scan(t, p, bytes.NewReader(text), int64(len(text)))
	want := []hit{{1, 0, "NEEDLE", 0, 6}, {3, int64(len(text)) - 12, "last NEEDLE", 5, 11}}
	if diff := cmp.Diff(want, hits); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(search.Stats{Matches: 2, Lines: 3, Long: []int64{2}, LongCount: 1}, stats); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A line of exactly the limit is searched.
	text = append(bytes.Repeat([]byte("x"), search.MaxLine-6), "NEEDLE"...)
	if hits, stats = scan(t, p, bytes.NewReader(text), int64(len(text))); len(hits) != 1 || stats.LongCount != 0 {
		t.Errorf("line of the limit: %d hits, %d long lines", len(hits), stats.LongCount)
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	p, err := search.Compile("a", search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := "a\nb\na\na\n"
	stats, err := p.Scan(t.Context(), strings.NewReader(text), int64(len(text)), func(l search.Line) search.Action {
		if l.Number == 3 {
			return search.Stop
		}
		return search.Next
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(search.Stats{Matches: 2, Lines: 3}, stats); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSyntaxErrors: what RE2 has not is named, the rest has the parser's reason.
func TestSyntaxErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ expr, construct, reason string }{
		{`a(?=b)`, "look-ahead", "not part of RE2"},
		{`a(?!b)`, "negative look-ahead", "not part of RE2"},
		{`(?<=a)b`, "look-behind", "not part of RE2"},
		{`x(?<!a)b`, "negative look-behind", "not part of RE2"},
		{`(a)\1`, "back-reference", "not part of RE2"},
		{`(?P<n>a)(?P=n)`, "back-reference", "not part of RE2"},
		{`(?<n>a)\k<n>`, "back-reference", "not part of RE2"},
		{`(?>a+)b`, "atomic group", "not part of RE2"},
		{`a++b`, "possessive quantifier", "not part of RE2"},
		{`a(?R)?b`, "recursion", "not part of RE2"},
		{`(`, "", "missing closing )"},
		{`a)(b`, "", "unexpected )"},
		{`[a`, "", "missing closing ]"},
		{`a\`, "", "trailing backslash"},
		{`*`, "", "missing argument to repetition operator"},
		{`a{1001}`, "", "at most 1000"},
		{"\xff", "", "not valid UTF-8"},
		{"foo\nbar", "", "across lines"},
		{`foo\n`, "", "across lines"},
		{strings.Repeat("a", search.MaxPattern+1), "", "at most 4096"},
		{`(.{0,900}x){1}(.{0,900}y){1}(.{0,900}z).{900}.{900}.{900}`, "", "at most 5000"},
	} {
		for _, o := range []search.Options{{}, {IgnoreCase: true}} {
			_, err := search.Compile(tt.expr, o)
			var se *search.SyntaxError
			if !errors.As(err, &se) {
				t.Errorf("%.40q %+v: no SyntaxError but %v", tt.expr, o, err)
				continue
			}
			if se.Construct != tt.construct || !strings.Contains(se.Error(), tt.reason) || strings.Contains(se.Error(), "\n") {
				t.Errorf("%.40q %+v: construct %q, error %q; want %q, …%s…", tt.expr, o, se.Construct, se, tt.construct, tt.reason)
			}
		}
	}
}

// TestCancelInsideLine: one long line and a large pattern end soon after the context does.
func TestCancelInsideLine(t *testing.T) {
	t.Parallel()
	p, err := search.Compile(`(x+x+)+[0-9a-z]{800}[^a-z]`, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", 8<<20)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = p.Scan(ctx, strings.NewReader(text), int64(len(text)), func(search.Line) search.Action { return search.Next })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it ended after %v", took)
	}
}

// brokenAt fails to read from a byte on.
type brokenAt struct {
	*strings.Reader
	at int64
}

func (b brokenAt) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > b.at {
		return 0, errors.New("input/output error")
	}
	return b.Reader.ReadAt(p, off)
}

func TestReadError(t *testing.T) {
	t.Parallel()
	p, err := search.Compile("row", search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("row\n", search.ChunkSize/2)
	stats, err := p.Scan(t.Context(), brokenAt{strings.NewReader(text), search.ChunkSize + 10}, int64(len(text)),
		func(search.Line) search.Action { return search.Next })
	if err == nil || !strings.Contains(err.Error(), "input/output error") {
		t.Errorf("error %v", err)
	}
	if stats.Matches != search.ChunkSize/4 {
		t.Errorf("%d matches before the error, want %d", stats.Matches, search.ChunkSize/4)
	}
}

// FuzzScan holds searches to the standard regexp, line by line.
func FuzzScan(f *testing.F) {
	for i, expr := range patterns {
		f.Add(expr, texts[i%len(texts)], i%2 == 0, i%3 == 0)
	}
	f.Fuzz(func(t *testing.T, expr, text string, literal, fold bool) {
		o := search.Options{Literal: literal, IgnoreCase: fold}
		if _, _, err := compile(expr, o); err != nil {
			return
		}
		check(t, expr, o, text)
	})
}
