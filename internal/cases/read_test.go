package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/tool"
)

// readCases are pages of files: topics read-* and single-line.
func readCases() map[string]runner {
	return map[string]runner{
		"C041": func(t *testing.T, c field) { longLine(t, c, `{"path":"%s","offset":1,"limit":2000}`) },
		"C042": func(t *testing.T, c field) { longLine(t, c, `{"path":"%s","offset":1}`) },
		"C105": finalNewline,
		"C107": lastLine,
		"C109": carriageReturns,
		"C110": byteOrderMark,
		"C112": lineSeparators,
	}
}

// operation is what a case does with a file or a folder.
type operation struct {
	Tool     string   `json:"tool"`
	Offset   *int64   `json:"offset"`
	Limit    *int64   `json:"limit"`
	Pattern  string   `json:"pattern"`
	Context  int      `json:"context"`
	PageSize int      `json:"page_size"`
	Root     string   `json:"root"`
	Paths    []string `json:"paths"`
}

// document is the input of kind file.
type document struct {
	output
	B64      string    `json:"b64"`
	Op       operation `json:"op"`
	CapBytes int       `json:"cap_bytes"`
}

func (d document) text(t *testing.T) string {
	t.Helper()
	if d.B64 != "" {
		return string(unbase64(t, d.B64))
	}
	return d.build(t)
}

// places puts the text of a case where the workspace serves it from: a project file, a stored result that
// lies in its row, and one that lies in a file. It gives their paths. What stands before the text of the
// last, to make it long, is pad.
func places(t *testing.T, text, pad string) (w *world, paths []string) {
	t.Helper()
	w = newWorld(t, gives("inline", tool.Text(text)), gives("spilled", tool.Text(pad+text), limit(1000)))
	w.put("f.txt", text)
	got := w.round(asks("", "inline", "{}"), asks("", "spilled", "{}"))
	if got[0].file != "" {
		t.Fatal("the short result lies in a file")
	}
	if pad == "" {
		return w, []string{"project/f.txt", "tool-results/r1-1-inline.txt"}
	}
	if got[1].file == "" || got[1].whole != pad+text {
		t.Fatalf("the long result: file %q, %d bytes", got[1].file, len(got[1].whole))
	}
	return w, []string{"project/f.txt", "tool-results/r1-1-inline.txt", "tool-results/r1-2-spilled.txt"}
}

// longLine reads a line that is longer than a page, by the calls that the pages name, to its last
// character: each page shows something and no character is shown twice or left out.
func longLine(t *testing.T, c field, first string) {
	in := inputOf[document](t, c)
	text := in.text(t)
	w := newWorld(t, gives("sh", tool.Text(text)))
	w.put("f.json", text)
	if a := w.call("sh", "{}"); a.file == "" {
		t.Fatal("the result is not over the cap")
	}
	for _, path := range []string{"project/f.json", "tool-results/r1-1-sh.txt"} {
		pages, texts := w.follow(fmt.Sprintf(first, path), 10)
		for i, a := range pages {
			if n := utf8.RuneCountInString(a.text); n > 20_000 {
				t.Errorf("%s: page %d has %d characters", path, i+1, n)
			}
			if i < len(pages)-1 {
				texts[i] = strings.TrimSuffix(texts[i], "…")
			}
		}
		if got := strings.TrimSuffix(strings.Join(texts, ""), "\n"); got != text {
			t.Errorf("%s: %d pages give %d characters, want %d", path, len(pages), len(got), len(text))
		}
		h, _ := pageOf(t, pages[0])
		if want := fmt.Sprintf("lines 1–1 of 1; line 1 has %d characters and is cut after ", len(text)); !strings.Contains(h.first, want) {
			t.Errorf("%s: the first page says %q, want %q in it", path, h.first, want)
		}
	}
}

func finalNewline(t *testing.T, c field) {
	in := inputOf[document](t, c)
	w, paths := places(t, in.text(t), "")
	for _, path := range paths {
		args := fmt.Sprintf(`{"path":%q,"offset":%d,"limit":%d}`, path, *in.Op.Offset, *in.Op.Limit)
		h, body := pageOf(t, w.call("workspace--read", args))
		want := header{first: path + ": lines 1–2 of 3", next: fmt.Sprintf(`{"path":%q,"offset":3,"limit":2}`, path)}
		if h != want || body != "1\ta\n2\tb\n" {
			t.Errorf("%+v %q, want %+v", h, body, want)
		}
		h, body = pageOf(t, w.call("workspace--read", h.next))
		if want := (header{first: path + ": lines 3–3 of 3"}); h != want || body != "3\tc\n" {
			t.Errorf("the next page: %+v %q, want %+v", h, body, want)
		}
		if a := w.call("workspace--read", fmt.Sprintf(`{"path":%q,"offset":4}`, path)); !a.isError || !strings.Contains(a.text, "the file has 3 lines, valid are 1 to 3") {
			t.Errorf("line 4 of 3: %q", a.text)
		}
	}
}

func lastLine(t *testing.T, c field) {
	in := inputOf[document](t, c)
	text := in.text(t)
	w, paths := places(t, text, "")
	for _, path := range paths {
		a := w.call("workspace--read", fmt.Sprintf(`{"path":%q,"offset":%d}`, path, *in.Op.Offset))
		h, body := pageOf(t, a)
		if h.first != path+": lines 3–3 of 3" || h.next != "" || body != "3\tline3\n" {
			t.Errorf("%+v %q", h, body)
		}
	}
	// The same where the file does not end in a newline.
	w.put("open.txt", strings.TrimSuffix(text, "\n"))
	if _, body := pageOf(t, w.call("workspace--read", `{"path":"project/open.txt","offset":-1}`)); body != "3\tline3\n" {
		t.Errorf("without a final newline: %q", body)
	}
}

func carriageReturns(t *testing.T, c field) {
	in := inputOf[document](t, c)
	text := in.text(t)
	w, paths := places(t, text, strings.Repeat("pad\r\n", 1000))
	for i, path := range paths {
		line := 2
		if i == 2 {
			line += 1000
		}
		a := w.call("workspace--grep", fmt.Sprintf(`{"path":%q,"pattern":%q}`, path, in.Op.Pattern))
		want := fmt.Sprintf("1 match in 1 file (1 file searched); all are shown\n%s:%d:b\n", path, line)
		if d := cmp.Diff(want, a.text); d != "" {
			t.Errorf("searched (-want +got):\n%s", d)
		}
		page := w.call("workspace--read", fmt.Sprintf(`{"path":%q,"offset":%d,"limit":1}`, path, line))
		if h, body := pageOf(t, page); !strings.HasSuffix(h.first, ", CRLF") || body != fmt.Sprintf("%d\tb\n", line) {
			t.Errorf("read: %q", page.text)
		}
	}
	// The stored bytes keep them; places has held the results to theirs.
	disk, err := os.ReadFile(filepath.Join(w.project, "f.txt"))
	if err != nil || string(disk) != "a\r\nb\r\nc\r\n" {
		t.Errorf("the file on the disk: %q, %v", disk, err)
	}
}

func byteOrderMark(t *testing.T, c field) {
	in := inputOf[document](t, c)
	text := in.text(t)
	if !strings.HasPrefix(text, "\ufeff") {
		t.Fatal("the file has no mark")
	}
	// As bytes of a tool the mark goes from the text and stays in the file of the bytes as they came.
	w := newWorld(t, gives("bytes", tool.Result{Data: []byte(text)}), prints("sh", inPieces(text, 1), 0), gives("text", tool.Text(text)))
	w.put("f.ps1", text)
	got := w.round(asks("", "bytes", "{}"), asks("", "sh", "{}"), asks("", "text", "{}"))
	bare := strings.TrimPrefix(text, "\ufeff")
	for i, want := range []string{bare, bare + "[exit 0]", text} {
		if got[i].text != want {
			t.Errorf("%s is shown as %q, want %q", got[i].call.Tool, got[i].text, want)
		}
	}
	for _, path := range []string{"tool-results/r1-1-bytes.raw", "tool-results/r1-2-sh.raw"} {
		if raw := w.kept(path); raw != text {
			t.Errorf("%s has %q", path, raw)
		}
	}
	for _, path := range []string{"project/f.ps1", "tool-results/r1-1-bytes.txt", "tool-results/r1-3-text.txt"} {
		a := w.call("workspace--grep", fmt.Sprintf(`{"path":%q,"pattern":%q}`, path, in.Op.Pattern))
		want := fmt.Sprintf("1 match in 1 file (1 file searched); all are shown\n%s:1:param($x)\n", path)
		if d := cmp.Diff(want, a.text); d != "" {
			t.Errorf("searched (-want +got):\n%s", d)
		}
		page := w.call("workspace--read", fmt.Sprintf(`{"path":%q,"limit":1}`, path))
		if _, body := pageOf(t, page); body != "1\tparam($x)\n" {
			t.Errorf("read: %q", page.text)
		}
	}
	disk, err := os.ReadFile(filepath.Join(w.project, "f.ps1"))
	if err != nil || string(disk) != text {
		t.Errorf("the file on the disk: %q, %v", disk, err)
	}
}

func lineSeparators(t *testing.T, c field) {
	in := inputOf[document](t, c)
	text := in.text(t)
	for _, inside := range []string{"\r", "\u2028", "\u0085", "\v"} {
		if !strings.Contains(text, inside) {
			t.Errorf("the file has no %q", inside)
		}
	}
	text = strings.Replace(text, "\v", "\v\f\u2029\x1c", 1) // what else somebody takes for the end of a line
	if strings.Count(text, "\n") != 3 {
		t.Fatalf("%q", text)
	}
	w, paths := places(t, text, strings.Repeat("pad\n", 1000))
	for i, path := range paths {
		line := 3
		if i == 2 {
			line += 1000
		}
		a := w.call("workspace--grep", fmt.Sprintf(`{"path":%q,"pattern":%q}`, path, in.Op.Pattern))
		if want := fmt.Sprintf("%s:%d:gamma NEEDLE\n", path, line); !strings.HasSuffix(a.text, "shown\n"+want) {
			t.Errorf("searched: %q, want %q", a.text, want)
		}
		page := w.call("workspace--read", fmt.Sprintf(`{"path":%q,"offset":%d}`, path, line))
		h, body := pageOf(t, page)
		if want := fmt.Sprintf("%s: lines %d–%d of %d", path, line, line, line); h.first != want || body != fmt.Sprintf("%d\tgamma NEEDLE\n", line) {
			t.Errorf("read: %q, want %q", page.text, want)
		}
	}
	// The notice of the spilled one counts the same lines.
	spilled := w.answer(resultOf(t, "r1-2"))
	if n := excerpt(t, spilled, 1000); n.lines != 1003 {
		t.Errorf("the notice counts %d lines", n.lines)
	}
}
