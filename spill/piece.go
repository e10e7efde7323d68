package spill

import (
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/weir-run/weir/internal/canon"
)

// Limits of what is recognised inside a text.
const (
	// minRun is from how many characters on a base64 run is not shown.
	minRun = 1 << 10
	// maxMark is the longest placeholder, in bytes.
	maxMark = 300
)

// openings begin the placeholders that stand for payloads.
var openings = []string{"[image: ", "[audio: ", "[video: ", "[blob: ", "[base64: "}

// markEnd returns where the placeholder that begins at s[at] ends, or -1 when none begins there.
func markEnd(s string, at int) int {
	rest := s[at:min(len(s), at+maxMark)]
	for _, m := range openings {
		if !strings.HasPrefix(rest, m) {
			continue
		}
		end := strings.IndexAny(rest[1:], "]\n[")
		if end < 0 || rest[1+end] != ']' {
			return -1
		}
		return at + 1 + end + 1
	}
	return -1
}

// runEnd returns where the run of base64 characters that begins at s[at] ends, and whether it looks like
// data: long, of one of its two alphabets (RFC 4648), with capitals, small letters and digits. A long
// word, a hexadecimal dump or a row of one letter does not.
func runEnd(s string, at int) (end int, data bool) {
	var upper, lower, digit, std, url bool
run:
	for end = at; end < len(s); end++ {
		switch c := s[end]; {
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= 'A' && c <= 'Z':
			upper = true
		case c >= '0' && c <= '9':
			digit = true
		case c == '+' || c == '/':
			std = true
		case c == '-' || c == '_':
			url = true
		default:
			break run
		}
	}
	for pad := 0; pad < 2 && end < len(s) && s[end] == '='; pad++ {
		end++
	}
	return end, end-at >= minRun && upper && lower && digit && !(std && url)
}

// window is a part of a text, one end of a preview is taken from it.
type window struct {
	text string
	// at is where it begins in the text, in bytes; openStart and openEnd tell that the text goes on there.
	at                 int64
	openStart, openEnd bool
	// runs tells that base64 runs are shown.
	runs  bool
	marks []Mark
	clean func(string) string
	// pieces are what the window consists of, once it was split.
	pieces []piece
}

// piece is a part of a window: plain text that may be cut anywhere, or something shown whole or not at all.
type piece struct {
	from, to int
	// stands is what is shown in its place; empty for plain text.
	stands string
}

func (p piece) plain() bool { return p.stands == "" }

// size is how many characters are shown of a piece, before it is cleaned.
func (w window) size(p piece) int {
	if p.plain() {
		return utf8.RuneCountInString(w.text[p.from:p.to])
	}
	return utf8.RuneCountInString(p.stands)
}

// render is what is shown of the window from one byte to another; neither lies inside a placeholder.
func (w window) render(from, to int) string {
	var b strings.Builder
	for _, p := range w.pieces {
		if p.to <= from || p.from >= to {
			continue
		}
		if !p.plain() {
			b.WriteString(p.stands)
			continue
		}
		text := w.text[max(p.from, from):min(p.to, to)]
		if w.clean != nil {
			text, _ = canon.CleanUTF8(w.clean(text))
		}
		b.WriteString(text)
	}
	return b.String()
}

// split finds the placeholders and the base64 runs in a window. A placeholder that reaches over an open edge
// is left out; of a run the part in the window has its own label.
func (w *window) split() {
	lo, hi, marks := w.edges()
	w.pieces = nil
	plain := lo
	put := func(from, to int, stands string) {
		if from > plain {
			w.pieces = append(w.pieces, piece{plain, from, ""})
		}
		if to > from {
			w.pieces = append(w.pieces, piece{from, to, stands})
		}
		plain = max(plain, to)
	}
	for at := lo; at < hi; {
		limit := hi
		if len(marks) > 0 {
			if limit = marks[0].from; at == limit {
				put(at, marks[0].to, marks[0].stands)
				at, marks = marks[0].to, marks[1:]
				continue
			}
		}
		if w.text[at] == '[' {
			if end := markEnd(w.text[:limit], at); end > 0 {
				put(at, end, w.text[at:end])
				at = end
				continue
			}
		}
		end, data := runEnd(w.text[:limit], at)
		if data && !w.runs {
			put(at, end, runLabel(end-at))
		}
		at = max(end, at+1)
	}
	put(hi, hi, "")
}

// enough tells that n characters can be shown of the window.
func (w *window) enough(n int) bool {
	if w.clean != nil {
		return utf8.RuneCountInString(w.render(0, len(w.text))) >= n
	}
	for _, p := range w.pieces {
		n -= w.size(p)
	}
	return n <= 0
}

// edges returns where the window is to begin and to end so that no placeholder is cut by it, and the marks
// between.
func (w window) edges() (lo, hi int, marks []piece) {
	lo, hi = 0, len(w.text)
	if w.openStart {
		lo = afterEdge(w.text)
	}
	if w.openEnd {
		hi = beforeEdge(w.text)
	}
	for _, m := range w.marks {
		from, to := m.At-w.at, m.At+m.Len-w.at
		switch {
		case to <= int64(lo) || from >= int64(hi):
		case from < int64(lo):
			lo = int(min(to, int64(hi)))
		case to > int64(hi):
			hi = int(from)
		default:
			marks = append(marks, piece{int(from), int(to), m.Text})
		}
	}
	return lo, hi, marks
}

// beforeEdge returns where a window ends whose text goes on: before a placeholder that is not closed.
func beforeEdge(win string) int {
	open := strings.LastIndexByte(win, '[')
	if open < 0 || len(win)-open >= maxMark || strings.ContainsAny(win[open:], "]\n") {
		return len(win)
	}
	for _, m := range openings {
		if strings.HasPrefix(win[open:], m) || strings.HasPrefix(m, win[open:]) {
			return open
		}
	}
	return len(win)
}

// afterEdge returns where a window begins whose text has more before it: behind its first character, so
// that it is known what stands before, and behind what may be the rest of a placeholder.
func afterEdge(win string) int {
	_, size := utf8.DecodeRuneInString(win)
	if end := strings.IndexAny(win[size:min(len(win), maxMark)], "[]\n"); end >= 0 && win[size+end] == ']' {
		return size + end + 1
	}
	return size
}

// lookBack is how many bytes before a cut, and behind it, are looked at for the bounds of what is seen as
// one character.
const lookBack = 512

// lineBefore moves a cut back to the end of a line if one lies at most that many shown characters before.
func (w window) lineBefore(cut, within int) int {
	win := w.text
	for i := len(w.pieces) - 1; i >= 0; i-- {
		p := w.pieces[i]
		if p.from >= cut {
			continue
		}
		if !p.plain() {
			if within -= utf8.RuneCountInString(p.stands); within < 0 {
				return cut
			}
			continue
		}
		for at := min(p.to, cut); at > p.from; {
			if win[at-1] == '\n' {
				return at
			}
			_, size := utf8.DecodeLastRuneInString(win[p.from:at])
			at -= size
			if within--; within < 0 {
				return cut
			}
		}
	}
	return cut
}

// lineAfter moves a cut forward to the beginning of a line if one lies at most that many shown characters
// behind it and something of the window is left then.
func (w window) lineAfter(cut, within int) int {
	win := w.text
	if cut > 0 && win[cut-1] == '\n' {
		return cut
	}
	for _, p := range w.pieces {
		if p.to <= cut {
			continue
		}
		if !p.plain() {
			if within -= utf8.RuneCountInString(p.stands); within < 0 {
				return cut
			}
			continue
		}
		for at := max(p.from, cut); at < p.to; {
			r, size := utf8.DecodeRuneInString(win[at:p.to])
			at += size
			if r == '\n' && at < len(win) {
				return at
			}
			if within--; within < 0 {
				return cut
			}
		}
	}
	return cut
}

// clusterBefore returns the last bound of a grapheme cluster (Unicode Annex 29) in win at or before cut,
// not before lo; cut itself when none is near.
func clusterBefore(win string, lo, cut int) int {
	sure := sureBound(win, lo, cut)
	at, best, state := sure, sure, -1
	rest := win[at:min(len(win), cut+lookBack)]
	for at < cut && rest != "" {
		best = at
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		at += len(cluster)
	}
	if at == cut || best == sure && cut-sure > lookBack/2 {
		return cut
	}
	return best
}

// clusterAfter returns the first bound of a grapheme cluster in win at or behind cut, not behind hi; cut
// itself when none is near.
func clusterAfter(win string, cut, hi int) int {
	at := sureBound(win, 0, cut)
	rest := win[at:min(len(win), cut+lookBack)]
	state := -1
	for at < cut && rest != "" {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		at += len(cluster)
	}
	if rest == "" && at < len(win) || at > hi {
		return cut
	}
	return at
}

// sureBound returns a place at or before cut where a cluster surely ends: between two ASCII characters
// that are no CR LF. When none is near it is the beginning of a character.
func sureBound(win string, lo, cut int) int {
	floor := max(lo, cut-lookBack)
	for at := cut; at > floor; at-- {
		if at < len(win) && win[at] < utf8.RuneSelf && win[at-1] < utf8.RuneSelf && !(win[at-1] == '\r' && win[at] == '\n') {
			return at
		}
	}
	for floor < cut && !utf8.RuneStart(win[floor]) {
		floor++
	}
	return floor
}
