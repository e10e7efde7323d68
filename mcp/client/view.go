package client

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

// View is the policy of a host: what of a result its model is shown. It is data and pure: the agent, the
// gateway and the lab use the same one. The zero value shows all text and hides nothing else than what it
// cannot show; [Default] is Weir's own.
type View struct {
	// Validate is [Off], [OnAlways] or [OnAfterList]: whether a result that breaks its output schema is refused.
	Validate string
	// Pick is which channel is shown; empty means [TextOnly].
	Pick string
	// Errors is what is shown of a result that is marked as an error; empty means what Pick says.
	Errors string
	// Audience keeps blocks for the user alone out of the model's text, with a mark that counts them.
	Audience bool
	// KeepRefused shows the data of a refused result, marked, after why it was refused. Without it only the
	// reason is shown.
	KeepRefused bool
	// MaxChars, MaxTokens and MaxLines cap what is shown, in Unicode code points, tokens and lines; 0 means
	// no cap of that kind.
	MaxChars, MaxTokens, MaxLines int
	// Overflow is what becomes of more than that: [Head], [Tail], [Middle], [File] or [Refuse]; empty is Head.
	Overflow string
}

// When a result is checked.
const (
	Off         = "off"
	OnAlways    = "on-always"
	OnAfterList = "on-after-list"
)

// Which channel of a result is shown.
const (
	// TextOnly shows the text blocks; nothing when there are none.
	TextOnly = "text-only"
	// TextFirst shows the content, or the structured content when no usable content came.
	TextFirst = "text-first"
	// StructuredReplacesAll shows structured content in the place of everything, images too.
	StructuredReplacesAll = "structured-replaces-all"
	// StructuredReplacesText shows it in the place of the text blocks and keeps the others.
	StructuredReplacesText = "structured-replaces-text-keeps-media"
	// StructuredIfAllText shows it when there are only text blocks, else the content.
	StructuredIfAllText = "structured-if-all-text"
	// BothUnlessEcho shows the content, and the structured content behind it when it says something that
	// the content does not.
	BothUnlessEcho = "both-unless-echo"
	// Envelope shows the whole result as JSON.
	Envelope = "envelope"
)

// What is shown of an error.
const (
	ErrorText       = "text"
	ErrorStructured = "structured"
	ErrorDump       = "dump"
	// ErrorIgnore shows it as if it were none.
	ErrorIgnore = "ignore"
)

// What becomes of a result over the cap.
const (
	// Head keeps the beginning, Tail the end, Middle leaves out the middle.
	Head   = "head"
	Tail   = "tail"
	Middle = "middle"
	// File keeps the whole in a file and shows where; Refuse shows an error.
	File   = "file"
	Refuse = "error"
)

// Default is Weir's own view. Caps are the runtime's: it keeps the whole of what it cuts.
func Default() View {
	return View{Validate: OnAlways, Pick: BothUnlessEcho, Audience: true, KeepRefused: true}
}

// Check fails for a word that is none of the constants, and for a negative cap.
func (v View) Check() error {
	for _, axis := range []struct {
		name, word string
		words      []string
	}{
		{"validate", v.Validate, []string{"", Off, OnAlways, OnAfterList}},
		{"pick", v.Pick, []string{"", TextOnly, TextFirst, StructuredReplacesAll, StructuredReplacesText, StructuredIfAllText, BothUnlessEcho, Envelope}},
		{"errors", v.Errors, []string{"", ErrorText, ErrorStructured, ErrorDump, ErrorIgnore}},
		{"overflow", v.Overflow, []string{"", Head, Tail, Middle, File, Refuse}},
	} {
		if !slices.Contains(axis.words, axis.word) {
			return fmt.Errorf("a view's %s is %.40q: it is one of %s", axis.name, axis.word, strings.Join(axis.words[1:], ", "))
		}
	}
	if v.MaxChars < 0 || v.MaxTokens < 0 || v.MaxLines < 0 {
		return fmt.Errorf("a view's caps are not negative")
	}
	return nil
}

// Seen is what a model is shown of a result.
type Seen struct {
	// Result is it as a tool's result: its content, the structured content as it was sent for machines, and
	// whether it is an error. Caps are not applied to it.
	Result tool.Result
	// Text is the whole text of Result, within the view's cap.
	Text string
	// Dropped says what is not shown, in plain words; empty when all is.
	Dropped []string
	// Refused is [CodeViolates] or [CodeMissing] when the view refuses the result, else 0.
	Refused int
	// Over says that the cap was reached.
	Over bool
}

// Show applies the view. count counts tokens for MaxTokens; nil estimates four characters a token.
func (v View) Show(r Received, d Verdict, count func(string) int) Seen {
	s := v.show(r, d)
	s.Result.Structured = r.Structured
	s.Text = result.Text(s.Result)
	if text, over := v.cap(s.Text, count); over {
		s.Text, s.Over = text, true
	}
	return s
}

// parts are what is shown: blocks, and the structured content alone or behind them.
type parts struct {
	blocks     []tool.Content
	structured json.RawMessage // alone, as JSON
	dropped    []string
}

func (p *parts) drop(format string, args ...any) {
	p.dropped = append(p.dropped, fmt.Sprintf(format, args...))
}

// say adds a line of Weir's own.
func (p *parts) say(first bool, line string) {
	block := tool.Content{Type: "text", Text: line}
	if p.structured != nil {
		p.blocks, p.structured = []tool.Content{{Type: "text", Text: string(p.structured)}}, nil
	}
	if first {
		p.blocks = append([]tool.Content{block}, p.blocks...)
		return
	}
	p.blocks = append(p.blocks, block)
}

func (v View) show(r Received, d Verdict) Seen {
	if r.Refused != "" {
		return Seen{Result: tool.Error(r.Refused)}
	}
	refused := d.Code != 0 && (v.Validate == OnAlways || v.Validate == OnAfterList && !d.Unlisted)
	if refused && !v.KeepRefused {
		return Seen{Result: tool.Error(strings.Trim(d.text(), "[]")), Refused: d.Code, Dropped: []string{"the whole result"}}
	}
	blocks, hidden := r.Blocks, 0
	if v.Audience {
		blocks = slices.DeleteFunc(slices.Clone(r.Blocks), func(b Block) bool { return b.UserOnly })
		hidden = len(r.Blocks) - len(blocks)
	}
	var p parts
	switch {
	case r.IsError && v.Errors != "" && v.Errors != ErrorIgnore:
		p = v.failed(r, blocks)
	default:
		p = v.picked(r, blocks)
	}
	if hidden > 0 {
		p.say(false, fmt.Sprintf("[%d of %d blocks are for the user only and are not shown]", hidden, len(r.Blocks)))
		p.drop("%s for the user", plural(hidden, "block"))
	}
	for _, odd := range r.Odd {
		p.say(false, "[note on this result: "+odd+"]")
	}
	if refused {
		p.say(true, d.text())
	}
	s := Seen{Result: p.result(), Dropped: p.dropped}
	s.Result.IsError = r.IsError && v.Errors != ErrorIgnore || refused
	if refused {
		s.Refused = d.Code
	}
	return s
}

// result makes a result of what is shown: text alone is one string.
func (p parts) result() tool.Result {
	if p.structured != nil {
		return tool.JSON(p.structured)
	}
	var texts []string
	for _, b := range p.blocks {
		if b.Type != "text" {
			return tool.Blocks(p.blocks...)
		}
		texts = append(texts, b.Text)
	}
	return tool.Text(strings.Join(texts, "\n"))
}

// picked shows a result by the view's pick.
func (v View) picked(r Received, blocks []Block) parts {
	present := r.Structured != nil && string(r.Structured) != "null"
	var p parts
	alone := func() parts {
		p.structured = r.Structured
		if len(blocks) > 0 {
			p.drop("%s", count(blocks))
		}
		return p
	}
	content := func() parts {
		for _, b := range blocks {
			p.blocks = append(p.blocks, b.Content)
		}
		if present {
			p.drop("the structured content")
		}
		return p
	}
	switch v.Pick {
	case TextFirst:
		if r.Structured != nil && !usable(blocks) {
			return alone()
		}
	case StructuredReplacesAll:
		if present {
			return alone()
		}
	case StructuredIfAllText:
		if present && !slices.ContainsFunc(blocks, func(b Block) bool { return b.Type != "text" }) {
			return alone()
		}
	case StructuredReplacesText:
		if present {
			return v.keepMedia(r, blocks)
		}
	case BothUnlessEcho:
		return v.both(r, blocks)
	case Envelope:
		p.structured = r.Raw
		return p
	default:
		return v.textOnly(r, blocks)
	}
	return content()
}

// textOnly shows the text blocks alone.
func (v View) textOnly(r Received, blocks []Block) parts {
	var p parts
	var left []Block
	for _, b := range blocks {
		if b.Type == "text" {
			p.blocks = append(p.blocks, b.Content)
		} else {
			left = append(left, b)
		}
	}
	if len(left) > 0 {
		p.drop("%s", count(left))
	}
	if r.Structured != nil {
		p.drop("the structured content")
	}
	return p
}

// keepMedia shows the structured content in the place of the text blocks.
func (v View) keepMedia(r Received, blocks []Block) parts {
	p := parts{blocks: []tool.Content{{Type: "text", Text: string(r.Structured)}}}
	for _, b := range blocks {
		if b.Type != "text" {
			p.blocks = append(p.blocks, b.Content)
		}
	}
	if n := len(blocks) + 1 - len(p.blocks); n > 0 {
		p.drop("%s", plural(n, "text block"))
	}
	if len(p.blocks) == 1 {
		return parts{structured: r.Structured, dropped: p.dropped}
	}
	return p
}

// both shows the content, and what the structured content adds to it.
func (v View) both(r Received, blocks []Block) parts {
	if r.Structured != nil && !usable(blocks) {
		return parts{structured: r.Structured}
	}
	var p parts
	for _, b := range blocks {
		p.blocks = append(p.blocks, b.Content)
	}
	if r.Structured != nil && !echo(blocks, r.Structured) {
		p.blocks = append(p.blocks, tool.Content{Type: "text", Text: withoutBulk(r.Structured, blocks)})
	}
	return p
}

// failed shows a result that is marked as an error.
func (v View) failed(r Received, blocks []Block) parts {
	switch v.Errors {
	case ErrorDump:
		return parts{structured: r.Raw}
	case ErrorStructured:
		if r.Structured != nil && string(r.Structured) != "null" {
			p := parts{structured: r.Structured}
			if len(blocks) > 0 {
				p.drop("%s", count(blocks))
			}
			return p
		}
	}
	return v.textOnly(r, blocks)
}

// usable reports whether content says anything.
func usable(blocks []Block) bool {
	return slices.ContainsFunc(blocks, func(b Block) bool { return b.Type != "text" || strings.TrimSpace(b.Text) != "" })
}

// count words how many blocks of which types there are, in the order of their first.
func count(blocks []Block) string {
	n := map[string]int{}
	var kinds []string
	for _, b := range blocks {
		if n[b.Type]++; n[b.Type] == 1 {
			kinds = append(kinds, b.Type)
		}
	}
	for i, k := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", n[k], k)
	}
	if len(blocks) == 1 {
		return kinds[0] + " block"
	}
	return strings.Join(kinds, ", ") + " blocks"
}

// plural words a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
