package result

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// screenRows is how many rows a cursor can go back over.
const screenRows = 200

// screen is what a terminal shows, as far as it can still change. Rows that are too far up to change
// are written out.
type screen struct {
	out   strings.Builder
	rows  []row
	cur   int // the cursor's row; negative above the first, where nothing is known
	col   int // the cursor's column
	low   int // no row behind this one shows anything
	gone  int // rows that were written out
	moved motion
	pad   int // how many blanks may still be written for columns that were skipped

	savedRow, savedCol int

	wiped wiped
}

// motion tells whether what is printed next draws over what is there.
type motion byte

const (
	onward    motion = iota // it goes on where the last print ended
	returned                // the cursor was moved
	backspced               // it was moved back by one backspace
)

// row is one row of a screen.
type row struct {
	text   string // what it shows while it was printed in one piece,
	cells  []rune // and from then on
	ending string // the line ending that left it
	first  string // its first state, when there were others
	states int    // how many states were drawn over or erased
	inked  bool   // the present state has something visible
}

// wiped are rows one after the other that were drawn and left blank.
type wiped struct {
	first  string
	states int
	ending string
}

func newScreen(length int) *screen {
	s := &screen{rows: make([]row, 1, 2*screenRows), pad: length + 1024}
	s.out.Grow(length)
	return s
}

// here is the row to print on or to erase.
func (t *screen) here() *row {
	t.cur = max(t.cur, 0)
	return &t.rows[t.cur]
}

// print writes characters from the cursor on.
func (t *screen) print(text string) {
	r := t.here()
	t.low = max(t.low, t.cur)
	if t.col == 0 && r.text == "" && len(r.cells) == 0 {
		r.text = text
		r.inked = r.inked || !blank(text)
		t.col = utf8.RuneCountInString(text)
		t.moved = onward
		return
	}
	r.open()
	for _, c := range text {
		t.put(r, c)
	}
}

// put writes one character.
func (t *screen) put(r *row, c rune) {
	if t.col >= len(r.cells) {
		for t.col > len(r.cells) && t.pad > 0 {
			r.cells = append(r.cells, ' ')
			t.pad--
		}
		t.col = len(r.cells)
		r.cells = append(r.cells, c)
	} else {
		if t.moved != onward {
			old := r.cells[t.col]
			if overstrike := t.moved == backspced && (old == c || old == '_' || c == '_'); !overstrike {
				r.commit()
			} else if c == '_' {
				c = old // an underlined character, the line drawn second
			}
		}
		r.cells[t.col] = c
	}
	r.inked = r.inked || c != ' '
	t.col++
	t.moved = onward
}

// open makes the row's cells.
func (r *row) open() {
	if r.text != "" {
		r.cells, r.text = []rune(r.text), ""
	}
}

// shows is what the row shows.
func (r *row) shows() string {
	if r.text != "" {
		return r.text
	}
	return string(r.cells)
}

// commit ends the present state, if it shows anything.
func (r *row) commit() {
	if !r.inked {
		return
	}
	if r.states == 0 {
		r.first = strings.TrimRight(r.shows(), " ")
	}
	r.states++
	r.inked = false
}

// blank reports whether text is spaces only.
func blank(text string) bool { return strings.Trim(text, " ") == "" }

// column moves the cursor within its row.
func (t *screen) column(col int) {
	t.col = max(col, 0)
	t.moved = returned
}

// backspace moves the cursor back by one.
func (t *screen) backspace() {
	next := backspced
	if t.moved != onward {
		next = returned
	}
	t.column(t.col - 1)
	t.moved = next
}

// up and down move the cursor over the rows that there are.
func (t *screen) up(n int) {
	t.cur = max(t.cur-n, -screenRows, t.cur-screenRows)
	t.moved = returned
}

func (t *screen) down(n int) {
	t.cur = min(t.cur+n, len(t.rows)-1)
	t.moved = returned
}

// feed ends the line.
func (t *screen) feed(ending string) {
	if t.cur >= 0 {
		t.rows[t.cur].ending = ending
	}
	t.index()
	t.col = 0
}

// index moves the cursor down by one, onto a new row below the last.
func (t *screen) index() {
	t.cur++
	t.moved = returned
	if t.cur == len(t.rows) {
		t.append()
	}
}

// append adds a row, and writes out those that are too far up.
func (t *screen) append() {
	if len(t.rows) == 2*screenRows {
		for i := range t.rows[:screenRows] {
			t.write(&t.rows[i], t.rows[i].end())
		}
		n := copy(t.rows, t.rows[screenRows:])
		clear(t.rows[n:])
		t.rows = t.rows[:n]
		t.cur -= screenRows
		t.low = max(t.low-screenRows, 0)
		t.gone += screenRows
	}
	t.rows = append(t.rows, row{})
}

// clear goes to a fresh row below all others: a cleared screen, a place that was given absolutely.
func (t *screen) clear() {
	t.cur = len(t.rows) - 1
	if last := &t.rows[t.cur]; last.text != "" || len(last.cells) > 0 || last.states > 0 {
		t.cur++
		t.append()
	}
	t.column(0)
}

// save and restore keep the cursor's place.
func (t *screen) save() { t.savedRow, t.savedCol = t.gone+t.cur, t.col }

func (t *screen) restore() {
	t.cur = min(max(t.savedRow-t.gone, -screenRows), len(t.rows)-1)
	t.column(t.savedCol)
}

// erase erases in the cursor's row: 0 from the cursor on, 1 up to it, 2 all.
func (t *screen) erase(what int) {
	r := t.here()
	r.open()
	switch {
	case what == 0 && t.col > 0:
		if t.col < len(r.cells) {
			if t.moved != onward {
				r.commit()
			}
			r.cells = r.cells[:t.col]
		}
	case what == 1 && t.col+1 < len(r.cells):
		r.commit()
		if t.pad -= t.col + 1; t.pad < 0 {
			t.pad = 0
			return // more blanks than the text could ask for
		}
		for i := range r.cells[:t.col+1] {
			r.cells[i] = ' '
		}
	case what <= 2:
		r.wipe()
	}
}

// wipe erases the row.
func (r *row) wipe() {
	r.commit()
	r.text, r.cells = "", r.cells[:0]
}

// eraseBelow erases from the cursor to the end of the screen.
func (t *screen) eraseBelow() {
	t.erase(0)
	for i := t.cur + 1; i <= t.low; i++ {
		t.rows[i].wipe()
	}
	t.low = t.cur
}

// write writes a row out with the line ending that follows it.
func (t *screen) write(r *row, ending string) {
	line := r.shows()
	if r.states > 0 {
		line = strings.TrimRight(line, " ")
	}
	if line == "" && r.states > 0 {
		if t.wiped.states == 0 {
			t.wiped.first = r.first
		}
		t.wiped.states += r.states
		t.wiped.ending = ending
		return
	}
	t.writeWiped()
	if r.states > 1 {
		t.out.WriteString(r.first)
		t.out.WriteString(" [… " + redraws(r.states-1) + " …] ")
	}
	t.out.WriteString(line)
	t.out.WriteString(ending)
}

// writeWiped writes the rows that were left blank, if there are any.
func (t *screen) writeWiped() {
	if t.wiped.states > 1 {
		t.out.WriteString(t.wiped.first)
		t.out.WriteString(" [… " + redraws(t.wiped.states-1) + ", then erased]")
	}
	t.out.WriteString(t.wiped.ending)
	t.wiped = wiped{}
}

// finish writes out what is left.
func (t *screen) finish() string {
	last := len(t.rows) - 1
	for i := range t.rows[:last] {
		t.write(&t.rows[i], t.rows[i].end())
	}
	t.write(&t.rows[last], "") // nothing ended it
	t.writeWiped()
	return t.out.String()
}

// end is the row's line ending.
func (r *row) end() string {
	if r.ending == "" {
		return "\n"
	}
	return r.ending
}

// redraws counts in words.
func redraws(n int) string {
	if n == 1 {
		return "1 redraw"
	}
	return fmt.Sprintf("%d redraws", n)
}
