package workspace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/workspace"
)

// read reads one page of project/f.
func read(t testing.TB, w *workspace.Workspace, req workspace.ReadRequest) workspace.ReadPage {
	t.Helper()
	if req.Path == "" {
		req.Path = "project/f"
	}
	page, err := w.Read(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func TestReadLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		req        workspace.ReadRequest
		want       string
	}{
		{"all", "a\nb\nc\n", workspace.ReadRequest{}, "project/f: lines 1–3 of 3\n1\ta\n2\tb\n3\tc\n"},
		{
			"a final newline starts no line", "a\nb\nc\n",
			workspace.ReadRequest{Offset: 1, Limit: 2},
			"project/f: lines 1–2 of 3\nnext: workspace--read {\"path\":\"project/f\",\"offset\":3,\"limit\":2}\n1\ta\n2\tb\n",
		},
		{"no final newline", "a\nb", workspace.ReadRequest{}, "project/f: lines 1–2 of 2\n1\ta\n2\tb\n"},
		{"from the end", "line1\nline2\nline3\n", workspace.ReadRequest{Offset: -1}, "project/f: lines 3–3 of 3\n3\tline3\n"},
		{"first from the end", "a\nb\n", workspace.ReadRequest{Offset: -2}, "project/f: lines 1–2 of 2\n1\ta\n2\tb\n"},
		{"limit beyond the end", "a\nb\n", workspace.ReadRequest{Offset: 2, Limit: 50}, "project/f: lines 2–2 of 2\n2\tb\n"},
		{"empty", "", workspace.ReadRequest{}, "project/f: the file is empty, 0 lines\n"},
		{"one newline", "\n", workspace.ReadRequest{}, "project/f: lines 1–1 of 1\n1\t\n"},
		{"CRLF", "a\r\nb\r\nc\r\n", workspace.ReadRequest{}, "project/f: lines 1–3 of 3, CRLF\n1\ta\n2\tb\n3\tc\n"},
		{"CRLF, last without", "a\r\nb", workspace.ReadRequest{}, "project/f: lines 1–2 of 2, CRLF\n1\ta\n2\tb\n"},
		{"mixed endings", "a\r\nb\nc\r\n", workspace.ReadRequest{}, "project/f: lines 1–3 of 3, CRLF in 2 of them\n1\ta\n2\tb\n3\tc\n"},
		{"lone CR is text", "a\rb\n", workspace.ReadRequest{}, "project/f: lines 1–1 of 1\n1\ta\rb\n"},
		{
			"nothing else breaks a line", "mid\u2028x\u0085y\vz\fw\ngamma NEEDLE\n",
			workspace.ReadRequest{},
			"project/f: lines 1–2 of 2\n1\tmid\u2028x\u0085y\vz\fw\n2\tgamma NEEDLE\n",
		},
		{
			"BOM", "\xef\xbb\xbfparam($x)\r\nend\r\n",
			workspace.ReadRequest{},
			"project/f: lines 1–2 of 2, CRLF, UTF-8 byte order mark\n1\tparam($x)\n2\tend\n",
		},
		{"only a BOM", "\xef\xbb\xbf", workspace.ReadRequest{}, "project/f: the file is empty, 0 lines, UTF-8 byte order mark\n"},
		{
			"UTF-16LE", "\xff\xfeh\x00i\x00\r\x00\n\x00\x3d\xd8\x00\xde",
			workspace.ReadRequest{},
			"project/f: lines 1–2 of 2, CRLF, UTF-16LE\n1\thi\n2\t😀\n",
		},
		{"UTF-16BE", "\xfe\xff\x00h\x00i\xd8\x3d", workspace.ReadRequest{}, "project/f: lines 1–1 of 1, UTF-16BE\n1\thi\ufffd\n"},
		{"invalid UTF-8", "a\xff\xc3b\n", workspace.ReadRequest{}, "project/f: lines 1–1 of 1\n1\ta\ufffd\ufffdb\n"},
		{"escapes stay", "\x1b[31mred\x1b[0m\n", workspace.ReadRequest{}, "project/f: lines 1–1 of 1\n1\t\x1b[31mred\x1b[0m\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			page := read(t, serve(t, map[string]string{"f": tt.text}), tt.req)
			if diff := cmp.Diff(tt.want, page.Text); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReadRange: what is out of range is an error that states what is not.
func TestReadRange(t *testing.T) {
	t.Parallel()
	w := serve(t, map[string]string{"f": "a\nb\nc\n", "empty": ""})
	for _, tt := range []struct {
		req  workspace.ReadRequest
		want string
	}{
		{workspace.ReadRequest{Path: "project/f", Offset: 4}, `path "project/f": offset 4 is out of range: the file has 3 lines, valid are 1 to 3, or -1 to -3 from its end`},
		{workspace.ReadRequest{Path: "project/f", Offset: -4}, `path "project/f": offset -4 is out of range: the file has 3 lines, valid are 1 to 3, or -1 to -3 from its end`},
		{workspace.ReadRequest{Path: "project/f", Offset: -1 << 63}, `offset -9223372036854775808 is out of range`},
		{workspace.ReadRequest{Path: "project/f", Offset: 1<<63 - 1, Limit: 1<<63 - 1}, `offset 9223372036854775807 is out of range`},
		{workspace.ReadRequest{Path: "project/f", Chars: true, CharOffset: 6}, `char_offset 6 is out of range: the file has 6 characters, valid are 0 to 5`},
		{workspace.ReadRequest{Path: "project/f", Chars: true, CharOffset: -1}, `char_offset -1 is out of range`},
		{workspace.ReadRequest{Path: "project/empty", Offset: 2}, `offset 2 is out of range: the file is empty, it has 0 lines`},
		{workspace.ReadRequest{Path: "project/empty", Offset: -1}, `offset -1 is out of range: the file is empty, it has 0 lines`},
		{workspace.ReadRequest{Path: "project/empty", Chars: true, CharOffset: 1}, `char_offset 1 is out of range: the file is empty, it has 0 characters`},
		{workspace.ReadRequest{Path: "project/f", Limit: -1}, `a limit is at least 1`},
		{workspace.ReadRequest{Path: "project/f", Room: workspace.MinPage - 1}, `make fewer calls at once`},
	} {
		_, err := w.Read(t.Context(), tt.req)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: error %v, want …%s…", tt.req, err, tt.want)
		}
	}
}

func TestReadBinary(t *testing.T) {
	t.Parallel()
	w := serve(t, map[string]string{"f": "hello TOKEN here\x00more text\n", "late": strings.Repeat("x", 9000) + "\x00\n"})
	_, err := w.Read(t.Context(), workspace.ReadRequest{Path: "project/f"})
	if !errors.Is(err, workspace.ErrBinary) || !strings.Contains(err.Error(), "binary file of 27 bytes") {
		t.Errorf("error %v", err)
	}
	// A NUL further on is shown, as one character for one.
	page := read(t, w, workspace.ReadRequest{Path: "project/late"})
	if !strings.HasSuffix(page.Text, "x␀\n") {
		t.Errorf("page ends in %q", page.Text[len(page.Text)-10:])
	}
}

// next reads the arguments of the next call into a request.
func next(t testing.TB, req workspace.ReadRequest, args string) workspace.ReadRequest {
	t.Helper()
	var a struct {
		Path       string
		Offset     int64
		Limit      int64
		CharOffset *int64 `json:"char_offset"`
		CharLimit  int64  `json:"char_limit"`
	}
	d := json.NewDecoder(strings.NewReader(args))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		t.Fatalf("next call %s: %v", args, err)
	}
	req.Path, req.Offset, req.Limit, req.Chars, req.CharOffset, req.CharLimit = a.Path, a.Offset, a.Limit, false, 0, 0
	if a.CharOffset != nil {
		req.Chars, req.CharOffset, req.CharLimit = true, *a.CharOffset, a.CharLimit
	}
	return req
}

// body returns what stands below a page's header.
func body(page string) string {
	_, rest, _ := strings.Cut(page, "\n")
	for strings.HasPrefix(rest, "next: ") || strings.HasPrefix(rest, "then: ") {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	return rest
}

// TestLaw06PagesTile: for texts of every kind and pages of every size, no page is larger than its room,
// following the next call shows every line once, and the same pages come again.
func TestLaw06PagesTile(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"short":   strings.Repeat("row\n", 3000),
		"long":    strings.Repeat(strings.Repeat("word ", 30)+"\n", 200),
		"wide":    strings.Repeat("日本語の文章、とても長い行です。😀\n", 400),
		"crlf":    strings.Repeat("a\r\n\r\n", 900),
		"empty":   strings.Repeat("\n", 4000),
		"nul":     "x\n" + strings.Repeat(strings.Repeat("y", 100)+"\n", 100) + strings.Repeat("\x00\n", 500),
		"invalid": strings.Repeat("bad \xff\xfe\xfd bytes \xc3\n", 500),
	}
	for name, text := range texts {
		for _, room := range []int{workspace.MinPage, 1237, 0} {
			for _, limit := range []int64{0, 1, 61} {
				t.Run(fmt.Sprint(name, "/", room, "/", limit), func(t *testing.T) {
					t.Parallel()
					checkTiles(t, text, workspace.ReadRequest{Path: "project/f", Room: room, Limit: limit})
				})
			}
		}
	}
}

func checkTiles(t *testing.T, text string, req workspace.ReadRequest) {
	w := serve(t, map[string]string{"f": text})
	var want strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		var clean strings.Builder
		for _, r := range line {
			if r == 0 {
				r = '␀'
			}
			clean.WriteRune(r)
		}
		fmt.Fprintf(&want, "%d\t%s\n", n, &clean)
	}
	if req.Limit == 1 {
		n = min(n, 40)
	}
	room := req.Room
	if room == 0 {
		room = workspace.MaxPage
	}
	var got strings.Builder
	for pages := 0; ; pages++ {
		page := read(t, w, req)
		if chars := utf8.RuneCountInString(page.Text); chars > room {
			t.Fatalf("a page of %d characters in room for %d", chars, room)
		}
		if again := read(t, w, req); again != page {
			t.Fatal("the same call gave another page")
		}
		if !utf8.ValidString(page.Text) {
			t.Fatal("a page that is not valid UTF-8")
		}
		got.WriteString(body(page.Text))
		if page.Next == "" || page.Last >= int64(n) {
			break
		}
		if pages > 5000 {
			t.Fatal("no end")
		}
		req = next(t, req, page.Next)
	}
	if whole := want.String(); !strings.HasPrefix(whole, got.String()) || req.Limit != 1 && got.Len() != len(whole) {
		t.Error("the pages do not tile the text")
	}
}

// TestLaw06LongLine: a line longer than a page is readable to its end by the calls that pages name.
func TestLaw06LongLine(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"ascii": `{"summary":"` + strings.Repeat("s", 40000) + `","ok":true}`,
		"list":  "[" + strings.Repeat("1,", 300_000) + "1]",
		"wide":  strings.Repeat("日本語😀é\xff", 20000),
		"nul":   strings.Repeat("ab\x00", 30000),
	} {
		for _, room := range []int{workspace.MinPage, 1000, 20000} {
			if room < 1000 && len(line) > 100_000 {
				continue
			}
			t.Run(fmt.Sprint(name, room), func(t *testing.T) {
				t.Parallel()
				head, tail := strings.Repeat("first é\n", 3), "\r\nlast\n"
				if name == "nul" {
					head = strings.Repeat("x", 9000) + "\n"
				}
				text := head + line + tail
				w := serve(t, map[string]string{"f": text})
				at := int64(strings.Count(head, "\n") + 1)
				req := workspace.ReadRequest{Path: "project/f", Offset: at, Room: room}
				page := read(t, w, req)
				chars := utf8.RuneCountInString(line)
				if want := fmt.Sprintf("line %d has %d characters and is cut after %d", at, chars, page.To-page.From); !strings.Contains(page.Text, want) {
					t.Errorf("the header does not say %q:\n%.300s", want, page.Text)
				}
				if want := fmt.Sprintf(`{"path":"project/f","offset":%d}`, at+1); !strings.Contains(page.Text, want) {
					t.Errorf("the header does not name the call for the next line:\n%.300s", page.Text)
				}
				got := strings.TrimSuffix(strings.TrimPrefix(body(page.Text), fmt.Sprintf("%d\t", at)), "…")
				for page.Next != "" {
					if n := utf8.RuneCountInString(page.Text); n > room {
						t.Fatalf("a page of %d characters in room for %d", n, room)
					}
					req = next(t, req, page.Next)
					before := page.To
					page = read(t, w, req)
					if page.From != before || page.To <= page.From {
						t.Fatalf("characters %d to %d after %d", page.From, page.To, before)
					}
					got += body(page.Text)
				}
				want := strings.ReplaceAll(strings.ToValidUTF8(line, "\ufffd"), "\x00", "␀") + tail
				if got != want {
					t.Errorf("%d of %d bytes came back", len(got), len(want))
				}
			})
		}
	}
}

// TestLaw06LongPath: where the path would take the page, the page leaves it out.
func TestLaw06LongPath(t *testing.T) {
	t.Parallel()
	for n := 1; n < 250; n += 9 {
		name := strings.Repeat("p", n)
		w := serve(t, map[string]string{name: "a\r\n" + strings.Repeat("long ", 3_000) + "\r\nz\n"})
		for _, room := range []int{workspace.MinPage, 640, 1000} {
			req := workspace.ReadRequest{Path: "project/" + name, Offset: 2, Limit: 1<<63 - 1, Room: room}
			for range 3 {
				page := read(t, w, req)
				if chars := utf8.RuneCountInString(page.Text); chars > room || page.To <= page.From {
					t.Fatalf("path of %d: %d characters in room for %d, %d to %d", n, chars, room, page.From, page.To)
				}
				req = next(t, req, page.Next)
				req.Room = room
			}
		}
	}
}

// TestReadChars holds windows of characters to the runes of the text.
func TestReadChars(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("aé日😀\xff\xe6\x97\r\n", 40_000) // blocks end inside of characters
	runes := []rune(text)
	w := serve(t, map[string]string{"f": text, "bom": "\xef\xbb\xbfaé"})
	for _, from := range []int64{0, 1, 7, 65535, 65536, 65537, 100_003, int64(len(runes)) - 1} {
		page := read(t, w, workspace.ReadRequest{Chars: true, CharOffset: from, CharLimit: 11})
		want := string(runes[from:min(from+11, int64(len(runes)))])
		if got := body(page.Text); got != want {
			t.Errorf("from %d: %q, want %q", from, got, want)
		}
	}
	page := read(t, w, workspace.ReadRequest{Path: "project/bom", Chars: true})
	if want := "project/bom: characters 0–1 of 2, UTF-8 byte order mark\naé"; page.Text != want {
		t.Errorf("%q, want %q", page.Text, want)
	}
}

// TestReadStale: the index of a file that changed is made again.
func TestReadStale(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"f": "a\nb\n"})
	w := open(t, workspace.Config{Mounts: []workspace.Mount{{Name: "project", Dir: dir}}})
	old := time.Now().Add(-time.Hour)
	name := filepath.Join(dir, "f")
	write := func(text string, at time.Time) {
		t.Helper()
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), os.Chtimes(name, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	write("a\nb\n", old)
	read(t, w, workspace.ReadRequest{})
	// Another text of the same length at another time.
	write("a.b\n", old.Add(time.Second))
	if page := read(t, w, workspace.ReadRequest{}); page.Lines != 1 {
		t.Errorf("%d lines after a change of time, want 1", page.Lines)
	}
	// Another length at the same time.
	write("a\nb\nc\n", old.Add(time.Second))
	if page := read(t, w, workspace.ReadRequest{}); page.Lines != 3 {
		t.Errorf("%d lines after a change of length, want 3", page.Lines)
	}
	// Within one tick of the clock neither changes: an index of so new a file is not kept.
	now := time.Now()
	write("a\nb\nc\n", now)
	read(t, w, workspace.ReadRequest{})
	write("a\nbcd\n", now)
	if page := read(t, w, workspace.ReadRequest{}); page.Lines != 2 {
		t.Errorf("%d lines after a change that leaves length and time, want 2", page.Lines)
	}
}

// corpus is a set of files as they occur.
func corpus() map[string]string {
	var log strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&log, "2026-01-02T03:04:05Z INFO request %d served in %d ms\n", i, i%977)
	}
	return map[string]string{
		"log.txt": log.String(), "crlf.txt": strings.ReplaceAll(log.String()[:20000], "\n", "\r\n"),
		"nonl.txt": "one\ntwo\nthree INFO", "bom.txt": "\xef\xbb\xbfINFO first\nsecond\n", "empty.txt": "", "nl.txt": "\n\n\n",
		"one.json": `{"a":"` + strings.Repeat("x", 600_000) + `INFO"}`, "latin1.txt": "caf\xe9 INFO\nna\xefve\n",
		"sep.txt": "a\u2028b\u0085c\vd\fe\rf INFO\nnext\n", "wide.txt": strings.Repeat("日本語 INFO\n", 9000),
		"binary.bin": "INFO\x00\x01\nINFO\n",
	}
}

// TestReadAgreesWithSed: numbers and bytes are those of sed and grep.
func TestReadAgreesWithSed(t *testing.T) {
	t.Parallel()
	files := corpus()
	dir := tree(t, files)
	w := open(t, workspace.Config{Mounts: []workspace.Mount{{Name: "project", Dir: dir}}})
	for name, text := range files {
		n := strings.Count(text, "\n")
		if text != "" && !strings.HasSuffix(text, "\n") {
			n++
		}
		if got := strings.TrimSpace(run(t, dir, "grep", "-ac", "", name)); got != fmt.Sprint(n) {
			t.Errorf("%s: grep -c counts %s lines, not %d", name, got, n)
		}
		if name != "binary.bin" {
			if page := read(t, w, workspace.ReadRequest{Path: "project/" + name}); page.Lines != int64(n) {
				t.Errorf("%s: %d lines, want %d", name, page.Lines, n)
			}
		}
		for _, r := range [][2]int{{1, 1}, {1, n}, {n, n}, {n/2 + 1, n/2 + 3}, {2, n + 100}} {
			if r[0] < 1 || r[0] > n {
				continue
			}
			want := run(t, dir, "sed", "-n", fmt.Sprintf("%d,%dp", r[0], r[1]), name)
			var got bytes.Buffer
			err := w.WriteLines(t.Context(), &got, workspace.LineRange{Path: "project/" + name, First: int64(r[0]), Last: int64(r[1])})
			if err != nil || got.String() != want {
				t.Errorf("%s %v: %d bytes and %v, sed prints %d", name, r, got.Len(), err, len(want))
			}
		}
	}
}

// TestReadAgreesWithIconv: UTF-16 reads as what iconv makes of it.
func TestReadAgreesWithIconv(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("grüße 日本 😀 INFO\r\nzwei\n", 300)
	dir := tree(t, map[string]string{"utf8.txt": text})
	for _, form := range []string{"UTF-16LE", "UTF-16BE"} {
		mark := map[string]string{"UTF-16LE": "\xff\xfe", "UTF-16BE": "\xfe\xff"}[form]
		coded := mark + run(t, dir, "iconv", "-f", "UTF-8", "-t", form, "utf8.txt")
		if err := os.WriteFile(filepath.Join(dir, form), []byte(coded), 0o600); err != nil {
			t.Fatal(err)
		}
		w := open(t, workspace.Config{Mounts: []workspace.Mount{{Name: "project", Dir: dir}}})
		var got bytes.Buffer
		if err := w.WriteLines(t.Context(), &got, workspace.LineRange{Path: "project/" + form}); err != nil {
			t.Fatal(err)
		}
		if got.String() != text {
			t.Errorf("%s: the text is not that of iconv", form)
		}
		found, err := w.Grep(t.Context(), workspace.GrepRequest{Path: "project/" + form, Pattern: "INFO$"})
		if err != nil || found.Matches != 300 || found.List[1].Line != 3 {
			t.Errorf("%s: %d matches, %v", form, found.Matches, err)
		}
	}
}

// run gives what a program prints.
func run(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 && name == "grep" {
		err = nil // nothing matched
	}
	if err != nil {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	return string(out)
}

func TestWriteLines(t *testing.T) {
	t.Parallel()
	w := serve(t, map[string]string{"f": "\xef\xbb\xbfa\r\nb\nc", "empty": ""})
	for _, tt := range []struct {
		req  workspace.LineRange
		want string
	}{
		{workspace.LineRange{}, "\xef\xbb\xbfa\r\nb\nc"},
		{workspace.LineRange{First: 2, Last: 2}, "b\n"},
		{workspace.LineRange{First: 3}, "c"},
		{workspace.LineRange{First: 1, Last: 2, Number: true}, "1\ta\r\n2\tb\n"},
		{workspace.LineRange{Path: "project/empty"}, ""},
	} {
		if tt.req.Path == "" {
			tt.req.Path = "project/f"
		}
		var got bytes.Buffer
		if err := w.WriteLines(t.Context(), &got, tt.req); err != nil || got.String() != tt.want {
			t.Errorf("%+v: %q, %v, want %q", tt.req, &got, err, tt.want)
		}
	}
	err := w.WriteLines(t.Context(), &bytes.Buffer{}, workspace.LineRange{Path: "project/f", First: 4})
	if err == nil || !strings.Contains(err.Error(), "valid lines are 1 to 3") {
		t.Errorf("beyond the end: %v", err)
	}
	err = w.WriteLines(t.Context(), &bytes.Buffer{}, workspace.LineRange{Path: "project/none"})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
}
