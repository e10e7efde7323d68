package workspace

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/args"
	"github.com/weir-run/weir/internal/lines"
)

// roomOf says how many characters a page may have.
func roomOf(room int) (int, error) {
	if room == 0 {
		return MaxPage, nil
	}
	if room < MinPage {
		return 0, fmt.Errorf("there is room for %d characters only, and a page needs %d: make fewer calls at once", room, MinPage)
	}
	return min(room, MaxPage), nil
}

// call writes the call that goes on: all of its arguments, or where the ones that stay the same would
// take too much of the page only those that change. Which of the two does not depend on the latter, so
// that a header never grows when a number in it shrinks.
func call(room int, tool string, same, change []args.Arg) string {
	if utf8.RuneCountInString(tool+args.Object(same...)) > room/5-50 {
		return "the same call with " + args.Object(change...)
	}
	return tool + " " + args.Object(append(same[:len(same):len(same)], change...)...)
}

// title is a path at the head of a page; one that would take too much of it is left out, since the
// caller has just written it.
func title(room int, path string) string {
	if p := shown(path); p != "" && utf8.RuneCountInString(p) <= room/8 {
		return p + ": "
	}
	return ""
}

// writeClean writes text for a model: what is not valid UTF-8 as U+FFFD, NUL as U+2400, both one
// character for one, so that every count stays right.
func writeClean(b *bytes.Buffer, text []byte) {
	for len(text) > 0 {
		if c := text[0]; c < utf8.RuneSelf {
			end := 1
			for c != 0 && end < len(text) && text[end] < utf8.RuneSelf && text[end] != 0 {
				end++
			}
			if c == 0 {
				b.WriteRune('␀')
			} else {
				b.Write(text[:end])
			}
			text = text[end:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		b.WriteRune(r)
		text = text[size:]
	}
}

// paging is a page of items that are counted, such as matches or paths.
type paging struct {
	room int
	// title is the first line, for items from to to of the total; from is above to when none is shown.
	title func(from, to int64) string
	// tool and same make the call that goes on.
	tool string
	same []args.Arg
	// offset is how many items come before the first of n, total how many there are.
	offset, total int64
	n             int
	// notes are lines below the title.
	notes []string
	// item writes one item in at most so many characters if it can, its newlines included.
	item func(i, room int) string
}

// text makes the page: as many items as fit, at least one.
func (p paging) text() string {
	head := func(to int64, more bool) string {
		s := p.title(p.offset+1, to) + "\n"
		if more {
			s += "next: " + call(p.room, p.tool, p.same, []args.Arg{args.Number("offset", to)}) + "\n"
		}
		for _, note := range p.notes {
			s += note + "\n"
		}
		return s
	}
	budget := p.room - utf8.RuneCountInString(head(p.offset+int64(p.n), true))
	var body strings.Builder
	shown := 0
	for ; shown < p.n; shown++ {
		item := p.item(shown, budget)
		size := utf8.RuneCountInString(item)
		if size > budget && shown > 0 {
			break
		}
		if size > budget {
			item = item[:lines.Head(item, budget-2)] + "…\n"
			size = budget
		}
		body.WriteString(item)
		budget -= size
	}
	to := p.offset + int64(shown)
	return head(to, to < p.total) + body.String()
}

// extent says which items a page shows.
func extent(from, to, total int64) string {
	switch {
	case total == 0 || from > to:
		return ""
	case from == 1 && to == total:
		return "; all are shown"
	default:
		return fmt.Sprintf("; shown: %d–%d", from, to)
	}
}

// count writes a number with its noun.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}

// leftOut is the line that tells what was not looked at, in at most room characters; no line for
// nothing.
func leftOut(what string, skipped []Skipped, room int) []string {
	if len(skipped) == 0 {
		return nil
	}
	// As many names as fit: the same number for each reason, so that none is told without one.
	for names := MaxSkipped; ; names-- {
		parts := make([]string, len(skipped))
		for i, k := range skipped {
			parts[i] = fmt.Sprintf("%d %s", k.Count, k.Reason)
			if shown := k.Names[:min(names, len(k.Names))]; len(shown) > 0 {
				parts[i] += ": " + strings.Join(shown, ", ")
				if more := k.Count - int64(len(shown)); more > 0 {
					parts[i] += fmt.Sprintf(" and %d more", more)
				}
			}
		}
		line := what + strings.Join(parts, "; ")
		if names == 0 || utf8.RuneCountInString(line) <= room {
			return []string{line[:lines.Head(line, room)]}
		}
	}
}

// widthOf is how many characters of a line a page of matches shows.
func widthOf(room int) int { return min(max(room/8, 100), 400) }

// text is the page of a search.
func (g GrepResult) text(room int, tool string, same []args.Arg, offset int64) string {
	files := count(g.Searched, "file", "files") + " searched"
	if g.Unmatched > 0 {
		files += fmt.Sprintf(", %d left out by the glob", g.Unmatched)
	}
	figures := fmt.Sprintf("%s in %s", count(g.Matches, "match", "matches"), count(g.Files, "file", "files"))
	p := paging{
		room: room, tool: tool, same: same, offset: offset, total: g.Matches, n: len(g.List),
		title: func(from, to int64) string {
			return fmt.Sprintf("%s (%s)%s", figures, files, extent(from, to, g.Matches))
		},
		notes: leftOut("not searched: ", g.Skipped, room/4),
	}
	if g.TimedOut {
		p.notes = append([]string{fmt.Sprintf(
			"the search ended at its limit of %v: there may be more", g.Deadline)}, p.notes...)
	}
	last := shownLine{}
	p.item = func(i, room int) string {
		var next *Match
		if i+1 < len(g.List) {
			next = &g.List[i+1]
		}
		text, after := group(last, &g.List[i], next, p.room/4, true)
		if utf8.RuneCountInString(text) > room && i == 0 {
			text, after = group(last, &g.List[i], next, p.room/4, false)
		}
		last = after
		return text
	}
	return p.text()
}

// shownLine is the last line on a page of matches.
type shownLine struct {
	path    string
	line    int64
	context bool // the page has lines around matches
}

// group writes a match with the lines around it that are not on the page yet.
func group(last shownLine, m, next *Match, width int, context bool) (string, shownLine) {
	path := shown(m.Path)
	if n := utf8.RuneCountInString(path); n > width {
		path = "…" + path[lines.Head(path, n-width):]
	}
	var b bytes.Buffer
	around := func(c ContextLine) {
		fmt.Fprintf(&b, "%s-%d-", path, c.Line)
		writeClean(&b, c.Text)
		if c.Cut {
			b.WriteString("…")
		}
		b.WriteByte('\n')
	}
	before, after := m.Before, m.After
	hasContext := last.context || len(before)+len(after) > 0
	if !context {
		before, after = nil, nil
	}
	if last.path == m.Path {
		for len(before) > 0 && before[0].Line <= last.line {
			before = before[1:]
		}
	}
	if next != nil && next.Path == m.Path {
		for len(after) > 0 && after[len(after)-1].Line >= next.Line {
			after = after[:len(after)-1]
		}
	}
	first := m.Line
	if len(before) > 0 {
		first = before[0].Line
	}
	if hasContext && last.path != "" && (last.path != m.Path || first > last.line+1) {
		b.WriteString("--\n")
	}
	for _, c := range before {
		around(c)
	}
	fmt.Fprintf(&b, "%s:%d:", path, m.Line)
	writeMatch(&b, m)
	last = shownLine{m.Path, m.Line, hasContext}
	for _, c := range after {
		around(c)
		last.line = c.Line
	}
	return b.String(), last
}

// writeMatch writes a matching line; one that was cut says where the match is and how long the line is.
func writeMatch(b *bytes.Buffer, m *Match) {
	if !m.Cut {
		writeClean(b, m.Text)
		b.WriteByte('\n')
		return
	}
	if m.Column-int64(utf8.RuneCount(m.Text[:m.Start])) > 1 {
		b.WriteString("…")
	}
	writeClean(b, m.Text)
	if m.Column-1+int64(utf8.RuneCount(m.Text[m.Start:])) < m.Chars {
		b.WriteString("…")
	}
	fmt.Fprintf(b, " [match at column %d, the line has %d characters]\n", m.Column, m.Chars)
}

// text is the page of a glob.
func (g GlobResult) text(room int, tool string, same []args.Arg, offset int64) string {
	p := paging{
		room: room, tool: tool, same: same, offset: offset, total: g.Matches, n: len(g.Paths),
		title: func(from, to int64) string {
			return fmt.Sprintf("%s (%s looked at)%s", count(g.Matches, "file matches", "files match"),
				count(g.Files, "file", "files"), extent(from, to, g.Matches))
		},
		notes: leftOut("not looked at: ", g.Skipped, room/4),
		item:  func(i, _ int) string { return shown(g.Paths[i]) + "\n" },
	}
	if g.TimedOut {
		p.notes = append([]string{fmt.Sprintf(
			"the walk ended at its limit of %v: there may be more", g.Deadline)}, p.notes...)
	}
	return p.text()
}

// text is the page of a list; rows writes an entry.
func (l ListResult) text(room int, tool string, same []args.Arg, offset int64, noun [2]string, row func(Entry) string) string {
	return paging{
		room: room, tool: tool, same: same, offset: offset, total: int64(l.Total), n: len(l.Entries),
		title: func(from, to int64) string {
			return title(room, l.Path) + count(int64(l.Total), noun[0], noun[1]) + extent(from, to, int64(l.Total))
		},
		item: func(i, _ int) string { return row(l.Entries[i]) + "\n" },
	}.text()
}

// entryRow is an entry of a folder: name, size, lines where they are known, time in UTC.
func entryRow(e Entry) string {
	parts := []string{shown(e.Name)}
	switch e.Kind {
	case "file":
		parts = append(parts, count(e.Bytes, "byte", "bytes"))
	case "link":
		parts = append(parts, "symbolic link")
	case "special":
		parts = append(parts, "device, pipe or socket")
	}
	if e.Lines >= 0 {
		parts = append(parts, count(e.Lines, "line", "lines"))
	}
	if e.Tool != "" {
		parts = append(parts, e.Tool)
	}
	if !e.Changed.IsZero() {
		parts = append(parts, e.Changed.Format("2006-01-02T15:04:05Z"))
	}
	return strings.Join(parts, "\t")
}

// resultRow is a stored result: its id, its tool, its size, its path.
func resultRow(e Entry) string {
	parts := []string{e.Result, e.Tool, count(e.Bytes, "byte", "bytes")}
	if e.Lines >= 0 {
		parts = append(parts, count(e.Lines, "line", "lines"))
	}
	parts = append(parts, storedMount+"/"+shown(e.Name))
	if e.IsError {
		parts = append(parts, "error")
	}
	return strings.Join(parts, "\t")
}

// text is the answer to a write or an edit.
func (o Written) text() string {
	var b strings.Builder
	b.WriteString(shown(o.Path) + ": ")
	now := count(o.Bytes, "byte", "bytes") + " in " + count(o.Lines, "line", "lines")
	switch {
	case o.Places > 0:
		noun := "lines"
		if o.Places == 1 {
			noun = "line"
		}
		fmt.Fprintf(&b, "replaced at %s, %s %s; the file has %s now", count(o.Places, "place", "places"), noun, lineList(o.At, o.Places), now)
	case o.Created:
		b.WriteString("written, a new file of " + now)
	default:
		fmt.Fprintf(&b, "written, %s in place of %s", now, count(o.Before, "byte", "bytes"))
	}
	if o.Controls > 0 {
		var kinds []string
		for _, r := range o.Kinds {
			kinds = append(kinds, fmt.Sprintf("U+%04X", r))
		}
		fmt.Fprintf(&b, "; %s kept: %s", count(o.Controls, "control character was", "control characters were"), strings.Join(kinds, ", "))
	}
	return b.String() + "\n"
}
