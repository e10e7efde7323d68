package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/args"
	"github.com/weir-run/weir/internal/document"
	"github.com/weir-run/weir/internal/lines"
)

// ReadRequest asks for one page of a file: a window of lines, or one of characters.
type ReadRequest struct {
	// Conversation is whose stored results tool-results/ are.
	Conversation string
	// Path is mount/relative/path.
	Path string
	// Offset is the first line, counted from 1; a negative one counts from the end, -1 is the last
	// line; 0 means 1.
	Offset int64
	// Limit is the most lines; 0 means as many as fit.
	Limit int64
	// Chars asks for characters (code points) instead of lines.
	Chars bool
	// CharOffset is the first character, counted from 0, CharLimit the most; 0 means as many as fit.
	CharOffset, CharLimit int64
	// Room is how many characters the page may have, at least [MinPage]; 0 means [MaxPage], which it
	// never exceeds.
	Room int
	// Tool is how the next call is named in the page; empty means workspace--read.
	Tool string
	// Result is the id of the result to be, such as r3-1: what a later page names when the file has changed
	// since. Empty is nobody.
	Result string
}

// ReadPage is one page of a file.
type ReadPage struct {
	// Text is the page: a header of one to three lines, then the window. It never has more characters
	// than the room.
	Text string
	// First and Last are the lines shown, counted from 1, of Lines; both 0 in an empty file and in a
	// window of characters.
	First, Last, Lines int64
	// From and To are the characters shown, counted from 0, To not included, of Chars; only in a window
	// of characters and for a line that was cut.
	From, To, Chars int64
	// Next are the arguments of the call that goes on, as JSON; empty at the end.
	Next string
	// Changed says that the file is not what the conversation last saw of it, Since which result that was;
	// empty where nobody knows.
	Changed bool
	Since   string
}

// Read makes one page. An offset that the file does not have is an error that states the valid range;
// other errors are those of the path. Its cost is that of the window, once the file has an index.
func (w *Workspace) Read(ctx context.Context, req ReadRequest) (ReadPage, error) {
	room, err := roomOf(req.Room)
	if err != nil {
		return ReadPage{}, err
	}
	if req.Limit < 0 || req.CharLimit < 0 {
		return ReadPage{}, errors.New("a limit is at least 1")
	}
	d, ix, err := w.indexed(ctx, req.Conversation, req.Path, false)
	if err != nil {
		return ReadPage{}, err
	}
	defer d.close()
	r := &reading{doc: d, ix: ix, req: req, room: room}
	who, now := saw{req.Conversation, req.Result}, Stamp{Bytes: d.Disk, Changed: d.changed, Sum: ix.Sum}
	if d.mount != nil {
		r.changed, r.since = w.sights.drifted(ctx, who, d.path, now)
	}
	var page ReadPage
	if req.Chars {
		page, err = r.chars(ctx)
	} else {
		page, err = r.lines(ctx)
	}
	if err == nil && d.mount != nil {
		w.sights.note(ctx, who, d.path, now)
	}
	page.Changed, page.Since = r.changed, r.since
	return page, pathError(d.path, err)
}

// reading is one page in the making.
type reading struct {
	doc  *file
	ix   *document.Index
	req  ReadRequest
	room int
	// changed and since are those of the page.
	changed bool
	since   string
}

// head writes the header: what is shown, and the calls that go on.
func (r *reading) head(what string, next, then []args.Arg) string {
	same := []args.Arg{args.String("path", r.doc.path)}
	tool := cmp.Or(r.req.Tool, nameRead)
	s := title(r.room, r.doc.path) + what
	switch {
	case r.changed && r.since != "":
		s += "; changed since " + r.since
	case r.changed:
		s += "; changed since it was last read"
	}
	s += "\n"
	if next != nil {
		s += "next: " + call(r.room, tool, same, next) + "\n"
	}
	if then != nil {
		s += "then: " + call(r.room, tool, same, then) + "\n"
	}
	return s
}

// next are the arguments of the call that goes on, whole.
func (r *reading) next(change []args.Arg) string {
	if change == nil {
		return ""
	}
	return args.Object(append([]args.Arg{args.String("path", r.doc.path)}, change...)...)
}

// form says what the text has that is not shown: line endings of \r\n, a mark at its start.
func (r *reading) form(crlf, ended int64) string {
	s := ""
	switch {
	case crlf > 0 && crlf == ended:
		s = ", CRLF"
	case crlf > 0:
		s = fmt.Sprintf(", CRLF in %d of them", crlf)
	}
	if r.doc.Form != document.Plain {
		s += ", " + string(r.doc.Form)
	}
	return s
}

// window checks the lines that were asked for. An empty file has the window 0 to 0.
func (r *reading) window() (first, last int64, err error) {
	n := r.ix.Lines
	first = r.req.Offset
	switch {
	case n == 0 && (first == 0 || first == 1):
		return 0, 0, nil
	case n == 0:
		return 0, 0, fmt.Errorf("offset %d is out of range: the file is empty, it has 0 lines", first)
	case first == 0:
		first = 1
	case first < 0:
		first += n + 1
	}
	if first < 1 || first > n {
		return 0, 0, fmt.Errorf("offset %d is out of range: the file has %d lines, valid are 1 to %d, or -1 to -%d from its end",
			r.req.Offset, n, n, n)
	}
	last = n
	if r.req.Limit > 0 && r.req.Limit < n-first+1 {
		last = first + r.req.Limit - 1
	}
	return first, last, nil
}

// after are the arguments of the call for what follows line shown, when lines up to last were asked
// for; nil at the end of the file.
func (r *reading) after(shown, last int64) []args.Arg {
	if shown >= r.ix.Lines {
		return nil
	}
	change := []args.Arg{args.Number("offset", shown+1)}
	switch {
	case r.req.Limit > 0 && shown < last:
		change = append(change, args.Number("limit", last-shown))
	case r.req.Limit > 0:
		change = append(change, args.Number("limit", r.req.Limit))
	}
	return change
}

// lines makes a page of lines.
func (r *reading) lines(ctx context.Context) (ReadPage, error) {
	first, last, err := r.window()
	if err != nil {
		return ReadPage{}, err
	}
	n := r.ix.Lines
	page := ReadPage{First: first, Last: last, Lines: n}
	if first == 0 {
		page.Text = r.head("the file is empty, 0 lines"+r.form(0, 0), nil, nil)
		return page, nil
	}
	from, err := r.ix.Seek(r.doc.Text, first)
	if err != nil {
		return ReadPage{}, err
	}
	head := func(shown, crlf, ended int64, next []args.Arg) string {
		return r.head(fmt.Sprintf("lines %d–%d of %d%s", first, shown, n, r.form(crlf, ended)), next, nil)
	}
	// The longest header that this page can get decides how much room is left for lines.
	longest := head(n, n, n+1, []args.Arg{args.Number("offset", n), args.Number("limit", max(r.req.Limit, 1))})
	budget := r.room - utf8.RuneCountInString(longest)
	// No more bytes than that can be shown: four for a character, two for a line's ending.
	data := make([]byte, min(r.ix.Bytes-from, int64(budget)*utf8.UTFMax+2))
	if err := document.ReadFull(r.doc.Text, data, from); err != nil {
		return ReadPage{}, err
	}
	b := fill(data, first, last, budget, from+int64(len(data)) == r.ix.Bytes)
	if b.next == first {
		return r.cutLine(ctx, page, from, last)
	}
	page.Last = b.next - 1
	next := r.after(page.Last, last)
	page.Next = r.next(next)
	page.Text = head(page.Last, b.crlf, b.ended, next) + b.String()
	return page, nil
}

// body is the lines of a page.
type body struct {
	bytes.Buffer
	next        int64 // the first line that is not in it
	crlf, ended int64 // lines that end in \r\n; in any newline
}

// fill writes lines first to last of data while they fit. Whole says that data reaches to the end of the
// text; else its last line may be cut and is not written.
func fill(data []byte, first, last int64, budget int, whole bool) *body {
	b := &body{next: first}
	for ; b.next <= last && len(data) > 0; b.next++ {
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 {
			if !whole {
				break
			}
			end = len(data)
		}
		text, crlf := lines.TrimEnding(data[:end])
		number := strconv.FormatInt(b.next, 10)
		if budget -= len(number) + 1 + utf8.RuneCount(text) + 1; budget < 0 {
			break
		}
		b.WriteString(number + "\t")
		writeClean(&b.Buffer, text)
		b.WriteByte('\n')
		if data[end-1] == '\n' {
			b.ended++
		}
		if crlf {
			b.crlf++
		}
		data = data[end:]
	}
	return b
}

// cutLine makes a page of a line that is longer than the page.
func (r *reading) cutLine(ctx context.Context, page ReadPage, from, last int64) (ReadPage, error) {
	_, to, err := r.ix.Range(r.doc.Text, page.First, page.First)
	if err != nil {
		return ReadPage{}, err
	}
	tail := make([]byte, min(2, to-from))
	if err := document.ReadFull(r.doc.Text, tail, to-int64(len(tail))); err != nil {
		return ReadPage{}, err
	}
	text, crlf := lines.TrimEnding(tail)
	to -= int64(len(tail) - len(text))
	form := r.form(0, 0)
	if crlf {
		form = r.form(1, 1)
	}
	start, err := r.ix.Char(ctx, r.doc.Text, from)
	if err != nil {
		return ReadPage{}, err
	}
	end, err := r.ix.Char(ctx, r.doc.Text, to)
	if err != nil {
		return ReadPage{}, err
	}
	head := func(count int64) string {
		what := fmt.Sprintf("lines %d–%d of %d%s; line %d has %d characters and is cut after %d",
			page.First, page.First, r.ix.Lines, form, page.First, end-start, count)
		return r.head(what, []args.Arg{args.Number("char_offset", start+count)}, r.after(page.First, last))
	}
	number := strconv.FormatInt(page.First, 10)
	count := min(end-start, int64(r.room-utf8.RuneCountInString(head(end-start))-len(number)-2))
	data := make([]byte, min(to-from, count*utf8.UTFMax))
	if err := document.ReadFull(r.doc.Text, data, from); err != nil {
		return ReadPage{}, err
	}
	var b bytes.Buffer
	b.WriteString(head(count) + number + "\t")
	writeClean(&b, data[:document.SkipRunes(data, count)])
	b.WriteString("…")
	page.Last, page.From, page.To, page.Chars = page.First, start, start+count, r.ix.Chars
	page.Next = r.next([]args.Arg{args.Number("char_offset", page.To)})
	page.Text = b.String()
	return page, nil
}

// chars makes a page of characters.
func (r *reading) chars(ctx context.Context) (ReadPage, error) {
	n, from := r.ix.Chars, r.req.CharOffset
	page := ReadPage{Lines: r.ix.Lines, From: from, To: from, Chars: n}
	switch {
	case n == 0 && from == 0:
		page.Text = r.head("the file is empty, 0 characters"+r.form(0, 0), nil, nil)
		return page, nil
	case n == 0:
		return ReadPage{}, fmt.Errorf("char_offset %d is out of range: the file is empty, it has 0 characters", from)
	case from < 0 || from >= n:
		return ReadPage{}, fmt.Errorf("char_offset %d is out of range: the file has %d characters, valid are 0 to %d", from, n, n-1)
	}
	after := func(to int64) []args.Arg {
		change := []args.Arg{args.Number("char_offset", to)}
		if r.req.CharLimit > 0 {
			change = append(change, args.Number("char_limit", r.req.CharLimit))
		}
		return change
	}
	head := func(to int64, next []args.Arg) string {
		return r.head(fmt.Sprintf("characters %d–%d of %d%s", from, to-1, n, r.form(0, 0)), next, nil)
	}
	count := min(n-from, int64(r.room-utf8.RuneCountInString(head(n, after(n)))))
	if r.req.CharLimit > 0 {
		count = min(count, r.req.CharLimit)
	}
	at, err := r.ix.Byte(ctx, r.doc.Text, from)
	if err != nil {
		return ReadPage{}, err
	}
	data := make([]byte, min(r.ix.Bytes-at, count*utf8.UTFMax))
	if err := document.ReadFull(r.doc.Text, data, at); err != nil {
		return ReadPage{}, err
	}
	page.To = from + count
	var next []args.Arg
	if page.To < n {
		next = after(page.To)
	}
	page.Next = r.next(next)
	var b bytes.Buffer
	b.WriteString(head(page.To, next))
	writeClean(&b, data[:document.SkipRunes(data, count)])
	page.Text = b.String()
	return page, nil
}
