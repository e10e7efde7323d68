package spill

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/lines"
)

// Preview is what stands in the place of a text that is longer than max characters: its beginning (about
// 60 % of the room), one notice, its end (about 40 %). A text that fits is returned as it is.
//
// The preview never has more than max characters, for every max from 1,000 on. It is cut at the end of a
// line where one lies within the last fifth of a part, else between two characters, not inside of what is
// seen as one character where that can be avoided. Placeholders such as "[image: …]" are never cut; those
// of the part left out follow the notice. A base64 run of 1,024 characters or more is not shown: a
// placeholder with its size stands for it. What is made from JSON is never valid JSON, because of the
// notice. A text is marked once: when all that was kept of it is a preview that says so, a smaller one is
// made as if of the whole. Where the whole was kept, a preview is to be made from that, not from another.
func Preview(x Excerpt, max int, n Notice) string {
	x = x.sound()
	if x.whole() {
		if text := x.shown(max, n.Clean); utf8.RuneCountInString(text) <= max {
			return text
		}
		if n.Path == "" && len(x.Marks) == 0 {
			if longer, ok := reopen(x.Head); ok {
				x = longer
			}
		}
	}
	// The notice is worded for the largest figures first; then it is known what room is left.
	most := gap{first: x.Lines, last: x.Lines + 1, firstCut: true, lastCut: true, from: x.Chars, chars: x.Chars, cleaned: n.Clean != nil}
	budget := max - max/5
	size, fits := n.room(most, x, budget)
	g, head, tail := x.cut(max-size-2, n.Clean) // a newline before the notice, one behind it
	list := ""
	if marks, held := x.leftOut(g); held > 0 {
		most.held, most.listed = math.MaxInt32, maxListed
		size, fits = n.room(most, x, budget)
		room := max - size - 2
		reserve := min(max/5, room/2, utf8.RuneCountInString(strings.Join(marks, "\n"))+1)
		if !fits[payloads] {
			reserve = 0
		}
		if g, head, tail = x.cut(room-reserve, n.Clean); head == "" && tail == "" {
			reserve = room // both ends are placeholders that did not fit
		}
		marks, g.held = x.leftOut(g)
		if fits[payloads] {
			list, g.listed = listing(marks, reserve)
		}
	}
	text := n.text(g, x, budget, size, fits) + list
	if head != "" && head[len(head)-1] != '\n' {
		head += "\n"
	}
	if tail != "" {
		text += "\n"
	}
	return head + text + tail
}

// maxListed is how many placeholders of the part left out are listed at most.
const maxListed = 20

// listing puts as many placeholders as fit, each on a line of its own.
func listing(marks []string, room int) (list string, listed int) {
	for _, m := range marks {
		if room -= utf8.RuneCountInString(m) + 1; room < 0 {
			break
		}
		list += "\n" + m
		listed++
	}
	return list, listed
}

// gap is what a preview leaves out.
type gap struct {
	// first and last are the lines that are not shown, or not whole; firstCut and lastCut tell that the
	// line is shown in part.
	first, last       int64
	firstCut, lastCut bool
	// from and chars are where the gap begins and how long it is, in characters of the whole text.
	from, chars int64
	// start and end are the same in bytes.
	start, end int64
	// held and listed count the placeholders in it and those of them that follow the notice.
	held, listed int
	// cleaned tells that what is shown was changed by Notice.Clean.
	cleaned bool
}

// shown is the whole text as the model reads it, or the text as it is when that is surely over max.
func (x Excerpt) shown(max int, clean func(string) string) string {
	if len(x.Marks) == 0 && clean == nil {
		return x.Head
	}
	w := window{text: x.Head, marks: x.Marks, clean: clean, runs: true}
	w.split()
	return w.render(0, len(w.text))
}

// cut takes the head and the tail out of an excerpt, together at most room characters.
func (x Excerpt) cut(room int, clean func(string) string) (g gap, head, tail string) {
	room = max(room, 0)
	share := room * 6 / 10
	front := x.headWindow(room, clean)
	head, end := front.head(share)
	rest := room - share
	if head == "" {
		rest = room
	}
	back := x.tailWindow(room, int64(end), clean)
	tail, start := back.tail(rest)
	if tail == "" && back.at+int64(start) > int64(end) {
		head, end = front.head(room)
		back = x.tailWindow(0, int64(end), clean)
		start = len(back.text)
	}
	shown, left := front.text[:end], back.text[start:]
	g.start, g.end = int64(end), back.at+int64(start)
	g.from = int64(utf8.RuneCountInString(shown))
	g.chars = max(x.Chars-g.from-int64(utf8.RuneCountInString(left)), 0)
	g.first = 1 + int64(strings.Count(shown, "\n"))
	g.firstCut = shown != "" && shown[end-1] != '\n'
	g.last = x.Lines
	if left != "" {
		g.last = x.newlines() - int64(strings.Count(left, "\n"))
		g.lastCut = start > 0 && back.text[start-1] != '\n' || start == 0 && g.firstCut
		if g.lastCut {
			g.last++
		}
	}
	g.last = max(g.last, g.first)
	if clean != nil {
		front.clean, back.clean = nil, nil
		g.cleaned = head != front.render(0, end) || tail != back.render(start, len(back.text))
	}
	return g, head, tail
}

// leftOut returns the first placeholders of the part left out, and how many there are.
func (x Excerpt) leftOut(g gap) (first []string, count int) {
	put := func(mark string) {
		if strings.HasSuffix(mark, runLabelEnd) {
			return // nothing is kept for it
		}
		if count++; len(first) < maxListed {
			first = append(first, mark)
		}
	}
	if x.Marks != nil {
		for _, m := range x.Marks {
			if m.At >= g.start && m.At+m.Len <= g.end {
				put(oneLine(m.Text, maxMark))
			}
		}
		return first, count
	}
	if !x.whole() {
		return nil, 0
	}
	s := x.Head[g.start:g.end]
	for at := 0; at < len(s); {
		next := strings.IndexByte(s[at:], '[')
		if next < 0 {
			break
		}
		at += next
		end := markEnd(s, at)
		if end < 0 {
			at++
			continue
		}
		put(s[at:end])
		at = end
	}
	return first, count
}

// head returns what is shown of the beginning of a window, in at most limit characters, and where that
// ends.
func (w window) head(limit int) (shown string, end int) {
	return w.fill(limit, func(limit int) (string, int) {
		end := w.headEnd(limit)
		return w.render(0, end), end
	})
}

// tail returns what is shown of the end of a window, in at most limit characters, and where that begins.
func (w window) tail(limit int) (shown string, start int) {
	return w.fill(limit, func(limit int) (string, int) {
		start := w.tailStart(limit)
		return w.render(start, len(w.text)), start
	})
}

// fill takes an end of a window so that what is shown of it fills limit characters. take counts them
// before the text is cleaned; cleaning makes it shorter, now and then longer.
func (w window) fill(limit int, take func(limit int) (string, int)) (shown string, bound int) {
	shown, bound = take(limit)
	if w.clean == nil || limit == 0 {
		return shown, bound
	}
	// What fits lies between good and bad; the rest of the search gets near to it.
	good, bad := 0, limit
	if size := utf8.RuneCountInString(shown); size > limit {
		shown, bound = take(0)
	} else {
		for good = limit; bad <= len(w.text); good = bad {
			bad *= 2
			more, b := take(bad)
			if utf8.RuneCountInString(more) > limit {
				break
			}
			shown, bound = more, b
		}
	}
	for range 8 {
		half := good + (bad-good)/2
		more, b := take(half)
		if utf8.RuneCountInString(more) > limit {
			bad = half
			continue
		}
		good, shown, bound = half, more, b
	}
	return shown, bound
}

// headEnd returns where the first limit characters that are shown of a window end.
func (w window) headEnd(limit int) int {
	free, fits, end := limit, 0, 0
	for _, p := range w.pieces {
		size := w.size(p)
		if size > free {
			break
		}
		free -= size
		end = p.to
		fits++
	}
	if fits == len(w.pieces) {
		return end
	}
	if p := w.pieces[fits]; p.plain() && free > 0 {
		cut := p.from + lines.Head(w.text[p.from:p.to], free)
		if end = clusterBefore(w.text, p.from, cut); end == p.from && fits == 0 {
			end = cut
		}
	}
	return w.lineBefore(end, limit/5)
}

// tailStart returns where the last limit characters that are shown of a window begin.
func (w window) tailStart(limit int) int {
	free, fits, start := limit, len(w.pieces), len(w.text)
	for ; fits > 0; fits-- {
		size := w.size(w.pieces[fits-1])
		if size > free {
			break
		}
		free -= size
		start = w.pieces[fits-1].from
	}
	if fits == 0 {
		return start
	}
	if p := w.pieces[fits-1]; p.plain() && free > 0 {
		cut := p.from + lines.Tail(w.text[p.from:p.to], free)
		if start = clusterAfter(w.text, cut, p.to); start == p.to && fits == len(w.pieces) {
			start = cut
		}
	}
	return w.lineAfter(start, limit/5)
}
