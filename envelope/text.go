package envelope

import (
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
	if text := ends(f.text, smallestRoom) + f.lines(4); len(text) <= f.stubLen() && f.inside(text, 4) {
		f.form = 4
		return Shown{Text: text, Stage: 4}
	}
	return Shown{Text: string(f.stub()), Stage: 5}
}

// shorter is the text at a stage: 85, 70 or 55 percent of the budget or of the whole, whichever is less,
// and less again until it fits.
func (f *fitter) shorter(stage int) (string, bool) {
	percent := map[int]int{2: 85, 3: 70, 4: 55}[stage]
	share := float64(min(f.estimate, f.o.Budget.Tokens)) * float64(percent) / 100 / float64(max(f.estimate, 1))
	notes := f.lines(stage)
	room := min(int(share*float64(len(f.text))), 3*f.unitCap(stage)) - len(notes)
	for ; room >= smallestRoom; room = room * 3 / 4 {
		text := ends(f.text, room) + notes
		if len(text) < len(f.text) && f.fits(text, stage) {
			return text, true
		}
	}
	return "", false
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
		if data := canon.AppendString(nil, ends(f.text, room)); Units(string(data)) <= most {
			return data
		}
	}
	return nil
}

// ends keeps about so many bytes of a text: three parts of the head and two of the tail, and of what is
// between them the lines that speak of an error, for up to a half. What is left out is told where it was.
func ends(text string, room int) string {
	if len(text) <= room {
		return text
	}
	const marks = 60 // for the marks around what is kept
	room = max(room-marks, 0)
	head, tail := room*3/5, room*2/5
	first := back(text, head)
	failed := failures(text[first:forward(text, len(text)-tail)], room/2)
	if failed != nil {
		used := 0
		for _, l := range failed {
			used += l.cost()
		}
		head, tail = (room-used)*3/5, (room-used)*2/5
	}
	from, to := back(text, head), forward(text, len(text)-tail)
	var b strings.Builder
	b.Grow(room + 8*marks)
	b.WriteString(text[:from])
	at := from
	for _, l := range failed {
		start, end := first+l.start, first+l.end
		gap(&b, text[at:start])
		b.WriteString(l.shown(text[start:end]))
		at = end
	}
	gap(&b, text[at:to])
	b.WriteString(text[to:])
	return b.String()
}

// gap writes the mark for what is left out.
func gap(b *strings.Builder, left string) {
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
	b.WriteString(count(utf8.RuneCountInString(left)) + " characters omitted …]\n")
}

// back is where a head of so many bytes ends: at the end of a line where there is one in its last fifth,
// else at a character.
func back(text string, at int) int {
	at = min(at, len(text))
	if i := strings.LastIndexByte(text[:at], '\n'); i >= 0 && i+1 >= at*4/5 {
		return i + 1
	}
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// forward is where a tail begins that may begin here: at the start of a line where there is one in its
// first fifth, else at a character.
func forward(text string, at int) int {
	at = max(at, 0)
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 && i+1 <= (len(text)-at)/5 {
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

// failures finds the first lines that speak of an error, for so many bytes, in their order.
func failures(text string, room int) (found []failure) {
	next := map[string]int{}
	for at := 0; at < len(text); {
		first := len(text)
		for _, w := range failureWords() {
			i, known := next[w]
			if !known || i < at {
				if i = strings.Index(text[at:], w); i < 0 {
					i = len(text)
				} else {
					i += at
				}
				next[w] = i
			}
			first = min(first, i)
		}
		if first == len(text) {
			return found
		}
		l := failure{start: strings.LastIndexByte(text[:first], '\n') + 1, end: len(text)}
		if i := strings.IndexByte(text[first:], '\n'); i >= 0 {
			l.end = first + i + 1
		}
		l.start = max(l.start, at)
		if room -= l.cost(); room < 0 {
			return found
		}
		found = append(found, l)
		at = l.end
	}
	return found
}
