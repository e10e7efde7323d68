package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/scripting"
)

// say writes lines about a step to stdout; the first one about it bears its name.
func (d *demo) say(step string, lines ...string) error {
	most := 120
	if d.screen.both {
		most = d.screen.width()
	}
	var b strings.Builder
	for _, line := range lines {
		name := step
		if step == d.told {
			name = ""
		}
		d.told = step
		b.WriteString(clip(fmt.Sprintf("%-8s%s", name, printable(line)), most) + "\n")
	}
	d.screen.now("")
	return d.screen.say(b.String())
}

// intro says what is going on, and where.
func (d *demo) intro() error {
	return d.screen.say(fmt.Sprintf("An agent on a scripted model works on %s; no key, no network.\nIts state lies in %s.\n\n", d.on, d.report.Dir))
}

// show shows how far a call is.
func (d *demo) show(n news) {
	if p, ok := parseProgress(n.Text); ok && n.Tool == listTool {
		d.screen.advance(bar(int64(p.done), int64(p.of)) + " " + number(p.done) + " of " + plural(p.of, "file"))
		return
	}
	d.screen.advance(n.Result + " " + n.Tool + ": " + n.Text)
}

// showCount shows how far the counting of tokens is.
func (d *demo) showCount(done, of int64) {
	d.screen.advance(bar(done, of) + " tokens of " + size(done) + " of " + size(of))
}

// bar draws how much is done.
func bar(done, of int64) string {
	const width = 24
	n := width
	if of > 0 {
		n = int(min(done, of) * width / of)
	}
	return strings.Repeat("█", n) + strings.Repeat("░", width-n)
}

// advance changes what is said of what goes on; it goes on since it was first said.
func (s *screen) advance(doing string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doing == "" {
		s.since = time.Now()
	}
	s.doing = doing
}

// tellRound says what a round came to, one line for each call.
func (d *demo) tellRound(ctx context.Context, n int, step string) (err error) {
	store, err := d.app.openToRead(ctx)
	if err != nil {
		return err
	}
	defer closing(store, &err)
	calls, err := store.CallsOf(ctx, demoConversation, n)
	if err != nil {
		return err
	}
	var lines []string
	for _, c := range calls {
		r, err := store.ResultOf(ctx, demoConversation, c.ID)
		if err != nil {
			return err
		}
		if c.Tool == listTool && !r.IsError {
			lines = append(lines, d.listLines(r)...)
			continue
		}
		if c.Tool == scripting.Name && !r.IsError {
			lines = append(lines, d.tableLines(r)...)
			continue
		}
		lines = append(lines, fmt.Sprintf("%-5s %s%s", c.ID, c.Tool, gist(c, r)))
	}
	return d.say(step, lines...)
}

// inList is what a search says beside its figures; all searches of the demo are of the list.
var inList = regexp.MustCompile(` in \d+ files? \(.* searched\)`)

// gist is what a call asked and the first line of what the model was shown.
func gist(c history.Call, r history.Result) string {
	var args struct {
		Pattern string `json:"pattern"`
	}
	said := ""
	if json.Unmarshal(c.Args, &args) == nil && args.Pattern != "" {
		said = " " + quoted(args.Pattern)
	}
	shown := r.Shown
	if r.Same {
		shown = r.Whole
	}
	first, _, _ := strings.Cut(string(shown), "\n")
	if _, rest, ok := strings.Cut(first, ".txt: "); ok {
		first = rest // the path is the list's, as everywhere here
	}
	return said + ": " + clip(inList.ReplaceAllString(first, ""), 60)
}

// listLines are the lines about the list, whose figures the report takes over.
func (d *demo) listLines(r history.Result) []string {
	var f outlined
	if err := json.Unmarshal(r.Structured, &f); err != nil {
		return []string{fmt.Sprintf("%-5s %s: its figures cannot be read: %v", r.ID, r.Tool, err)}
	}
	d.report.FilesSearched, d.report.GoFiles, d.report.OtherFiles = f.Files, f.GoFiles, f.Others
	d.report.UnparsedFiles, d.report.Declarations = f.Unparsed, f.Declarations
	d.report.SkippedFiles, d.report.Skipped = f.Skipped, f.Left
	d.list = int(r.Lines)
	first := fmt.Sprintf("%-5s %s: %s, %s in %s", r.ID, r.Tool, plural(f.Files, "file"),
		plural(f.Declarations, "declaration"), took(r.Duration))
	if f.Skipped > 0 {
		first += fmt.Sprintf("; %s skipped", plural(f.Skipped, "file"))
	}
	second := fmt.Sprintf("      %s (%s), all of it shown: a larger folder gives more", size(r.Bytes), plural(r.Lines, "line"))
	if !r.Same {
		second = fmt.Sprintf("      %s kept whole (%s), %s of it shown", size(r.Bytes), plural(r.Lines, "line"),
			plural(utf8.RuneCount(r.Shown), "character"))
	}
	return []string{first, second}
}

// tableLines are the lines about the script, whose table is short.
func (d *demo) tableLines(r history.Result) []string {
	lines := []string{fmt.Sprintf("%-5s %s: all %s read, %s came back", r.ID, r.Tool, plural(d.list, "line"), plural(r.Lines, "line"))}
	for line := range strings.Lines(string(r.Whole)) {
		lines = append(lines, "      "+strings.TrimRight(line, "\n"))
	}
	return lines
}

// tellKill says what the process was killed in.
func (d *demo) tellKill(calls []history.Call) error {
	settled, running := []string{}, ""
	for _, c := range calls {
		if c.State == history.CallSettled {
			settled = append(settled, c.ID.String())
		} else {
			running = c.ID.String() + " " + c.Tool
		}
	}
	return d.say(stepKill, fmt.Sprintf("SIGKILL while %s runs; %s have their results", running, strings.Join(settled, ", ")))
}

// tellResume says what became of the calls of the killed process, and what came after.
func (d *demo) tellResume(ctx context.Context, r report) error {
	line := "a new process, weir resume"
	for _, s := range r.Results {
		if s.Outcome == string(history.OutcomeUnknown) {
			line += fmt.Sprintf("; %s is unknown and not run again", s.Result)
		}
	}
	if err := d.say(stepResume, line); err != nil {
		return err
	}
	rounds := demoRounds()
	for n := range rounds {
		if rounds[n].step == stepResume {
			if err := d.tellRound(ctx, n+1, stepResume); err != nil {
				return err
			}
		}
	}
	return d.say(stepResume, fmt.Sprintf("%q", r.Text))
}

// tellCheck says what was checked.
func (d *demo) tellCheck() error {
	held, verified := "each a byte prefix of the next", "clean"
	if !d.report.PrefixHeld {
		held = "NOT each a prefix of the next"
	}
	if !d.report.Verified {
		verified = "NOT clean"
	}
	return d.say(stepCheck, fmt.Sprintf("%s, %s; %s kept; verify: %s", plural(d.report.Requests, "request"), held,
		plural(d.report.Kept, "result"), verified))
}

// summary is what stands at the end: the figures, how to check them, where to look.
func (d *demo) summary() string {
	r := d.report
	t := &table{}
	t.add("", ">TOKENS", ">BYTES")
	t.add("shown to the model", number(r.ShownTokens), number(r.ShownBytes))
	t.add("stayed on disk", number(r.WholeTokens-r.ShownTokens), number(r.WholeBytes-r.ShownBytes))
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", t)
	fmt.Fprintf(&b, "It took %s. What the model received lies in %s.\n", took(time.Since(d.began)), filepath.Join(r.Dir, demoBodies))
	fmt.Fprintf(&b, "The same bytes before the kill and after it (cmp says nothing):\n  %s\n", d.compare())
	b.WriteString("Look around:\n")
	for _, next := range r.Next {
		fmt.Fprintf(&b, "  %s\n", next)
	}
	return b.String()
}

// compare is the command that compares the two bodies on both sides of the kill.
func (d *demo) compare() string {
	return fmt.Sprintf("cmp -n %d %s %s", d.report.cut.bytes, quoted(d.report.cut.before), quoted(d.report.cut.after))
}

// next are the commands to look around.
func (d *demo) next() []string {
	middle := theList{lines: d.list}.middle()
	return []string{
		d.command("history", "show", demoConversation),
		d.command("history", "verify"),
		d.command("read", fmt.Sprintf("r1-1:%d-%d", middle, middle+9)),
		d.command("grep", makers, "r1-1"),
	}
}

// command writes a command line that works on the demo's folder.
func (d *demo) command(words ...string) string {
	line := program() + " --dir " + quoted(d.report.Dir)
	for _, w := range words {
		line += " " + quoted(w)
	}
	return line
}
