package spill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/lines"
)

// Excerpt is a text of which at least both ends are at hand, with the figures of the whole. It is made
// by [Of] from a text in memory, by [Load] from a kept file and by a [Spool] from a stream. Whichever made
// it, the same text gives the same preview, as long as it has no base64 and no marks.
type Excerpt struct {
	// Head is how the text begins; the whole text when it is as long as Bytes says.
	Head string
	// Tail is how the text ends; it may overlap with Head and is empty when Head is the whole.
	Tail string
	// Bytes, Lines and Chars measure the whole text; lines are counted as grep -n counts them,
	// characters are code points.
	Bytes, Lines, Chars int64
	// JSON says what the whole text is when it is one JSON value, such as "an array of 3 elements".
	JSON string
	// Marks are places of the whole text where a placeholder is to be shown, in order. What lies outside
	// of the text or overlaps with one before is left alone. With marks, those in the part that a preview
	// leaves out are what it lists, and an empty list says that there are none; nil lists whatever looks
	// like a placeholder.
	Marks []Mark
}

// Mark says that a placeholder stands for a stretch of the whole text.
type Mark struct {
	// At and Len say which bytes.
	At, Len int64
	// Text is the placeholder.
	Text string
}

// sound returns an excerpt without what contradicts itself: figures that are too small, and marks that are not in order, not in the text or empty.
func (x Excerpt) sound() Excerpt {
	for _, part := range []string{x.Head, x.Tail} {
		x.Bytes = max(x.Bytes, int64(len(part)))
	}
	x.Chars, x.Lines = max(x.Chars, 0), max(x.Lines, 0)
	marks := x.Marks
	if x.Marks = nil; marks != nil {
		x.Marks = []Mark{}
	}
	done := int64(0)
	for _, m := range marks {
		if m.At >= done && m.Len > 0 && m.Len <= x.Bytes-m.At && m.Text != "" {
			done = m.At + m.Len
			x.Marks = append(x.Marks, m)
		}
	}
	return x
}

// Of returns the excerpt that holds all of text.
func Of(text string) Excerpt {
	var s synopsis
	for rest := text; rest != "" && !s.bad; {
		n := min(len(rest), chunk)
		s.write([]byte(rest[:n]))
		rest = rest[n:]
	}
	x := Excerpt{Head: text, Bytes: int64(len(text)), Chars: int64(utf8.RuneCountInString(text)), JSON: s.line()}
	x.Lines = int64(strings.Count(text, "\n"))
	if text != "" && text[len(text)-1] != '\n' {
		x.Lines++
	}
	return x
}

// Load returns the excerpt of a kept file with the first and the last characters of it, chars of each:
// as many as the largest preview that it will be used for. It reads the whole file once if that may be
// JSON, else only both ends.
func Load(ctx context.Context, s Store, ref Ref, chars int) (Excerpt, error) {
	f, err := s.Open(ctx, ref.File)
	if err != nil {
		return Excerpt{}, err
	}
	defer f.Close()
	x, err := load(ctx, f, ref, max(chars, 0))
	if err != nil {
		return Excerpt{}, fmt.Errorf("read spilled result %s: %w", ref.File, err)
	}
	return x, nil
}

func load(ctx context.Context, f File, ref Ref, chars int) (Excerpt, error) {
	size := f.Size()
	if size != ref.Index.Bytes {
		return Excerpt{}, fmt.Errorf("it has %d bytes and should have %d", size, ref.Index.Bytes)
	}
	x := Excerpt{Bytes: size, Lines: ref.Index.Lines, Chars: ref.Index.Chars}
	most := min(size, int64(chars)*utf8.UTFMax)
	head, err := readAt(f, 0, most)
	if err != nil {
		return Excerpt{}, err
	}
	if x.Chars <= int64(chars) {
		x.Head = head // then most is all of it
	} else {
		tail, err := readAt(f, size-most, most)
		if err != nil {
			return Excerpt{}, err
		}
		x.Head = head[:lines.Head(head, chars)]
		x.Tail = tail[lines.Tail(tail, chars):]
	}
	var scan synopsis
	r := io.NewSectionReader(f, 0, size)
	buf := make([]byte, chunk)
	for !scan.bad {
		if err := ctx.Err(); err != nil {
			return Excerpt{}, err
		}
		n, err := r.Read(buf)
		scan.write(buf[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Excerpt{}, err
		}
	}
	x.JSON = scan.line()
	return x, nil
}

func readAt(r io.ReaderAt, from, n int64) (string, error) {
	b := make([]byte, n)
	if _, err := r.ReadAt(b, from); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return string(b), nil
}

// whole tells that Head is all of the text.
func (x Excerpt) whole() bool { return int64(len(x.Head)) == x.Bytes }

// headWindow is how the text begins, so much of it that at least n characters can be shown, if it has them.
func (x Excerpt) headWindow(n int, clean func(string) string) window {
	w := window{marks: x.Marks, clean: clean}
	for size := n; ; size *= 2 {
		w.text = x.Head[:lines.Head(x.Head, size)]
		w.openEnd = int64(len(w.text)) < x.Bytes
		if w.split(); len(w.text) == len(x.Head) || w.enough(n) {
			return w
		}
	}
}

// tailWindow is how the text ends, in the same way. No byte before from is in it.
func (x Excerpt) tailWindow(n int, from int64, clean func(string) string) window {
	end := x.Tail
	if x.whole() {
		end = x.Head
	}
	if at := x.Bytes - int64(len(end)); at < from {
		end = end[from-at:]
	}
	w := window{marks: x.Marks, clean: clean}
	for size := n; ; size *= 2 {
		w.text = end[lines.Tail(end, size):]
		w.at = x.Bytes - int64(len(w.text))
		w.openStart = w.at > from
		if w.split(); len(w.text) == len(end) || w.enough(n) {
			return w
		}
	}
}

// newlines is how many newlines the whole text has.
func (x Excerpt) newlines() int64 {
	last := x.Tail
	if last == "" {
		last = x.Head
	}
	if x.Bytes == 0 || last != "" && last[len(last)-1] == '\n' {
		return x.Lines
	}
	return x.Lines - 1
}

// The lines of a notice from which reopen reads its figures.
var (
	gapLine   = regexp.MustCompile(`^(?:part of )?lines? \d+(?:-\d+)? of (\d+) (?:is|are) left out here, (\d+) of (\d+) characters? from char_offset (\d+)\.`)
	unkept    = regexp.MustCompile(`^The rest was NOT kept: .* The whole had (\d+) lines?, (\d+) characters?, (\d+) bytes?\. Narrow the call to see more\.$`)
	labelText = regexp.MustCompile(`\[base64: (\d{1,8})` + runLabelEnd[:len(runLabelEnd)-1] + `\]`)
)

// reopen takes a text apart that is all that was kept of a longer one: a preview that says so. It returns
// what that preview was made from, as far as it shows it, and false when the text is anything else. The
// figures must agree with the text, so what merely looks like a notice is text.
func reopen(text string) (Excerpt, bool) {
	at := strings.Index(text, open)
	if at < 0 || at > 0 && text[at-1] != '\n' || strings.Contains(text[at+1:], "\n"+open) {
		return Excerpt{}, false
	}
	notice, tail, cut := strings.Cut(text[at+len(open):], "]\n")
	if !cut {
		notice = strings.TrimSuffix(notice, "]")
	}
	said := strings.Split(notice, "\n")
	if len(said) < 2 {
		return Excerpt{}, false
	}
	whole := unkept.FindStringSubmatch(said[1])
	if whole == nil {
		return Excerpt{}, false
	}
	x := Excerpt{Lines: figure(whole[1]), Chars: figure(whole[2]), Bytes: figure(whole[3])}
	for _, line := range said[2:] {
		if kind, ok := strings.CutPrefix(line, "The whole is JSON: "); ok {
			x.JSON = strings.TrimSuffix(kind, ".")
		}
	}
	var tailMarks []Mark
	x.Head, x.Marks = expand(text[:at])
	x.Tail, tailMarks = expand(tail)
	for _, m := range tailMarks {
		m.At += x.Bytes - int64(len(x.Tail))
		x.Marks = append(x.Marks, m)
	}
	shown := func() int64 { return int64(utf8.RuneCountInString(x.Head) + utf8.RuneCountInString(x.Tail)) }
	if said[0] == onlyRuns {
		if shown() == x.Chars+1 {
			x.Head = strings.TrimSuffix(x.Head, "\n") // the one before the notice
		}
		x.Head, x.Tail = x.Head+x.Tail, ""
		return x, x.whole() && shown() == x.Chars
	}
	gap := gapLine.FindStringSubmatch(said[0])
	if gap == nil {
		return Excerpt{}, false
	}
	all, chars, total, from := figure(gap[1]), figure(gap[2]), figure(gap[3]), figure(gap[4])
	if from > 0 && strings.HasPrefix(x.Head, "\ufeff") {
		from++
	}
	inLine := strings.HasPrefix(said[0], "part of ") || strings.HasSuffix(said[0], " shown in part.")
	if inLine && int64(utf8.RuneCountInString(x.Head)) == from+1 {
		x.Head = strings.TrimSuffix(x.Head, "\n")
	}
	agree := int64(utf8.RuneCountInString(x.Head)) == from && shown()+chars == x.Chars && all == x.Lines && total == x.Chars
	return x, agree && chars > 0 && int64(len(x.Head)+len(x.Tail)) < x.Bytes
}

// figure reads a number of a notice; what is no number agrees with nothing.
func figure(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return math.MinInt64
	}
	return n
}

// expand puts something of the same length in the place of each base64 run that is not shown, with a mark
// that shows its label again.
func expand(shown string) (text string, marks []Mark) {
	var b strings.Builder
	done := 0
	for _, l := range labelText.FindAllStringSubmatchIndex(shown, -1) {
		n, err := strconv.Atoi(shown[l[2]:l[3]])
		if err != nil || n < minRun {
			continue
		}
		b.WriteString(shown[done:l[0]])
		marks = append(marks, Mark{At: int64(b.Len()), Len: int64(n), Text: shown[l[0]:l[1]]})
		b.WriteString(strings.Repeat("=", n))
		done = l[1]
	}
	b.WriteString(shown[done:])
	return b.String(), marks
}
