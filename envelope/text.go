package envelope

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/canon"
)

// plain fits a result that is no JSON: both ends of it, with the lines between that speak of an error
// first. Signals follow as lines in brackets.
func (f *fitter) plain() Shown {
	all := f.text + f.lines(whole)
	first := f.lightest()
	if first == whole && f.fits(all, whole) || len(all) <= f.longestStub() && len(all) <= f.stubLen() && f.inside(all, whole) {
		f.form = whole
		return Shown{Text: all, Stage: whole}
	}
	for k := max(first, 2); k <= 4; k++ {
		if text, ok := f.shorter(k); ok {
			f.form = k
			return Shown{Text: text, Stage: k}
		}
	}
	if f.fits(all, whole) {
		f.form = whole
		return Shown{Text: all, Stage: whole}
	}
	// Next to nothing of a text is shorter than a stub with as much of it.
	if text := f.ends(smallestRoom) + f.lines(4); len(text) <= f.stubLen() && f.inside(text, 4) {
		f.form = 4
		return Shown{Text: text, Stage: 4}
	}
	return Shown{Text: string(f.stub()), Stage: 5}
}

// shorter is the text at a stage: 85, 70 or 55 percent of the whole, or as much of that as fits. The lengths
// that are tried do not depend on the budget, so a smaller one never gets a longer one.
func (f *fitter) shorter(stage int) (string, bool) {
	percent := map[int]int{2: 85, 3: 70, 4: 55}[stage]
	notes := f.lines(stage)
	most := min(int(float64(len(f.text))*float64(percent)/100), 3*f.unitCap(stage)) - (len(notes) - len(count(f.o.Budget.Tokens)))
	var rooms []int
	for room := most; room >= smallestRoom; room -= max(room/32, 1) {
		rooms = append(rooms, room)
	}
	at := func(i int) (string, bool) {
		text := f.ends(rooms[i]) + notes
		return text, len(text) < len(f.text) && f.fits(text, stage)
	}
	// What is longer takes more tokens, but for a line's end or a name: the first that fits is between these.
	over, within, best := -1, len(rooms), ""
	for over+1 < within {
		// Most of a text fits at once, or a third: the first half is looked through last.
		i := over + (within-over)/2
		if over < 0 && within == len(rooms) {
			i = 0
		}
		if text, ok := at(i); ok {
			within, best = i, text
		} else {
			over = i
		}
	}
	return best, best != ""
}

// smallestRoom is the least that is worth showing of a text, in bytes.
const smallestRoom = 120

// lines are the signals of a text, each in brackets on a line of its own.
func (f *fitter) lines(stage int) string {
	var b strings.Builder
	say := func(name, text string) {
		if text == "" {
			return
		}
		if b.Len() > 0 || !strings.HasSuffix(f.text, "\n") && f.text != "" {
			b.WriteByte('\n')
		}
		b.WriteString("[" + name + ": " + text + "]")
	}
	s := f.o.Signals
	if s.Error != "" && s.Error != f.text {
		say("error", oneLine(s.Error))
	}
	say("recovery_hint", oneLine(s.RecoveryHint))
	if s.Retryable {
		say("retryable", "true")
	}
	if stage > whole {
		say(keyTruncated, "stage "+strconv.Itoa(stage)+", the whole has "+count(f.estimate)+" tokens for a budget of "+count(f.o.Budget.Tokens)+"; "+f.hint(stage))
	}
	say(keyLoop, s.Loop)
	if s.Freshness != nil && (s.Freshness.Bucket != Fresh || s.Freshness.Warning != "") {
		say(keyFreshness, string(s.Freshness.JSON()))
	}
	say("suggested_next_tools", strings.Join(s.NextTools, ", "))
	if calls, _ := nextCalls(s.NextCalls); calls != nil {
		say("suggested_next_calls", string(calls))
	}
	return b.String()
}

// plainPreview is the data of a stub of a text: a JSON string of both its ends.
func (f *fitter) plainPreview(most int) []byte {
	for room := min(most, smallestRoom); room >= 40; room /= 2 {
		if data := canon.AppendString(nil, f.ends(room)); Units(string(data)) <= most {
			return data
		}
	}
	return nil
}

// ends is what is kept of the text in about so many bytes.
func (f *fitter) ends(room int) string {
	if len(f.text) > room && !f.searched {
		f.failed, f.searched = failures(f.text), true
	}
	return ends(f.text, f.failed, room)
}

// ends keeps about so many bytes of a text: three parts of the head and two of the tail, and of what is
// between them the lines that speak of an error, for up to a half. What is left out is told where it was;
// so is a line that had to be cut.
func ends(text string, failed []failure, room int) string {
	if len(text) <= room {
		return text
	}
	const marks = 60 // for the marks around what is kept
	room = max(room-marks, 0)
	from, to := bothEnds(text, room)
	if failed = between(failed, from, to, room/2); failed != nil {
		for _, l := range failed {
			room -= l.cost()
		}
		from, to = bothEnds(text, room)
	}
	var b strings.Builder
	b.Grow(room + 8*marks)
	b.WriteString(text[:from])
	at := from
	for _, l := range failed {
		gap(&b, text, at, l.start)
		b.WriteString(l.shown(text[l.start:l.end]))
		at = l.end
	}
	gap(&b, text, at, to)
	b.WriteString(text[to:])
	return b.String()
}

// bothEnds is where the head of a text ends and its tail begins, in so many bytes together. What the head
// leaves of its part, to end with a line, the tail has.
func bothEnds(text string, room int) (from, to int) {
	from = back(text, room*3/5)
	return from, max(forward(text, len(text)-(room-from)), from)
}

// between are the first of the lines that lie between the ends, for so many bytes.
func between(failed []failure, from, to, room int) []failure {
	first := sort.Search(len(failed), func(i int) bool { return failed[i].start >= from })
	last := first
	for last < len(failed) && failed[last].end <= to {
		if room -= failed[last].cost(); room < 0 {
			break
		}
		last++
	}
	if first == last {
		return nil
	}
	return failed[first:last]
}

// gap writes the mark for what is left out, and whether a line is cut by it.
func gap(b *strings.Builder, text string, from, to int) {
	left := text[from:to]
	if strings.Trim(left, "\n") == "" {
		b.WriteString(left)
		return
	}
	if s := b.String(); s != "" && s[len(s)-1] != '\n' {
		b.WriteByte('\n')
	}
	b.WriteString("[… ")
	if n := strings.Count(strings.Trim(left, "\n"), "\n") + 1; n > 1 {
		b.WriteString(count(n) + " lines, ")
	}
	b.WriteString(count(utf8.RuneCountInString(left)) + " characters omitted")
	before, after := from > 0 && text[from-1] != '\n', to < len(text) && text[to-1] != '\n'
	switch {
	case before && after:
		b.WriteString("; the lines before and after this are cut")
	case before:
		b.WriteString("; the line before this is cut")
	case after:
		b.WriteString("; the line after this is cut")
	}
	b.WriteString(" …]\n")
}

// back is where a head of so many bytes ends: at the end of a line where there is one in its second half,
// else at a character.
func back(text string, at int) int {
	at = max(min(at, len(text)), 0)
	if i := strings.LastIndexByte(text[:at], '\n'); i >= 0 && i+1 >= at/2 {
		return i + 1
	}
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// forward is where a tail begins that may begin here: at the start of a line where there is one in its
// first half, else at a character.
func forward(text string, at int) int {
	at = max(at, 0)
	if at == 0 || text[at-1] == '\n' {
		return at
	}
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 && i+1 <= (len(text)-at)/2 {
		return at + i + 1
	}
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return at
}

// failure is a line that speaks of an error, in bytes.
type failure struct{ start, end int }

// maxFailure is how many bytes of such a line are shown.
const maxFailure = 240

func (l failure) cost() int { return min(l.end-l.start, maxFailure+40) + 45 }

// shown is the line, or its start.
func (l failure) shown(line string) string {
	if len(line) <= maxFailure+40 {
		return line
	}
	cut := maxFailure
	for !utf8.RuneStart(line[cut]) {
		cut--
	}
	return line[:cut] + string(appendMark(nil, utf8.RuneCountInString(strings.TrimSuffix(line[cut:], "\n")))) + "\n"
}

// words are what a line has that speaks of an error.
func failureWords() []string {
	return []string{"error", "Error", "ERROR", "FAIL", "failed", "Failed", "panic", "fatal", "FATAL", "Fatal", "Exception", "Traceback", "CRITICAL"}
}

// failures finds the lines that speak of an error, in their order.
func failures(text string) (found []failure) {
	words := failureWords()
	next := make([]int, len(words)) // where each word stands next
	for i := range next {
		next[i] = -1
	}
	for at := 0; at < len(text); {
		first := len(text)
		for k, w := range words {
			if next[k] < at {
				if next[k] = strings.Index(text[at:], w); next[k] < 0 {
					next[k] = len(text)
				} else {
					next[k] += at
				}
			}
			first = min(first, next[k])
		}
		if first == len(text) {
			return found
		}
		l := failure{start: max(strings.LastIndexByte(text[:first], '\n')+1, at), end: len(text)}
		if i := strings.IndexByte(text[first:], '\n'); i >= 0 {
			l.end = first + i + 1
		}
		found = append(found, l)
		at = l.end
	}
	return found
}
