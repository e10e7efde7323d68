package execute

import (
	"unicode/utf8"

	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/spill"
)

// Shown is what the model is shown of a result.
type Shown struct {
	Text string
	// Same says that it is the whole text, byte for byte.
	Same bool
	// Chars is its length in characters.
	Chars int
}

// Fit gives what is shown of a whole result in a room of so many characters. It is pure: the whole, the
// room and the offered tools decide, so the same round gives the same bytes on every machine. The whole
// must have been kept before, where [Whole.MustKeep] says so.
func (w Whole) Fit(room int, offered []string) Shown {
	n := w.notice(offered)
	n.Clean = func(piece string) string { return result.Clean(piece, w.Plain && !w.JSON) }
	if w.Ends != nil {
		return shorten(*w.Ends, room, n)
	}
	text, _ := w.Model(w.Plain)
	chars := utf8.RuneCountInString(text)
	if w.Page || chars <= room {
		return Shown{Text: text, Same: text == w.Text, Chars: chars}
	}
	x := spill.Of(w.Text)    // the figures are those of the text as it is kept
	x.Marks = []spill.Mark{} // what only looks like a placeholder is text
	for _, m := range w.Marks {
		x.Marks = append(x.Marks, spill.Mark{At: int64(m.At), Len: int64(m.Len), Text: m.Text})
	}
	return shorten(x, room, n)
}

func shorten(x spill.Excerpt, room int, n spill.Notice) Shown {
	text := spill.Preview(x, room, n)
	return Shown{Text: text, Chars: utf8.RuneCountInString(text)}
}

// The tools that a notice sends the model to, where they are offered.
const (
	readTool = "workspace--read"
	grepTool = "workspace--grep"
)

// notice says where the rest is and how to get it, naming only tools that can be called here.
func (w Whole) notice(offered []string) spill.Notice {
	n := spill.Notice{Reason: w.Unkept}
	if w.Kept == nil {
		return n
	}
	n.Path, n.Disk = w.Kept.Path(), spill.Mount+"/"+w.Kept.File
	for _, name := range offered {
		switch name {
		case readTool:
			n.Read = name
		case grepTool:
			n.Grep = name
		}
	}
	return n
}
