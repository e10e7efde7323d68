package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/scripting"
)

// The demo's turn.
const (
	demoSystem = "You find your way in a source tree by a list of its declarations. The list is long: search it, and read it by line."
	demoAsk    = "What does the source tree declare, what in it makes something new, and what stands in the middle of the list? Publish a short report, once."
)

// demoRound is one round of the demo: what the model does when it is asked.
type demoRound struct {
	// step is the demo's step that the round belongs to.
	step string
	// killed says that the process is killed while the round's last call runs.
	killed bool
	// play answers from what the model is shown.
	play func(scripted.Seen) (scripted.Step, error)
}

// The steps of the demo.
const (
	stepList   = "list"
	stepLook   = "look"
	stepScript = "script"
	stepKill   = "kill"
	stepResume = "resume"
	stepCheck  = "check"
)

// demoRounds are the rounds in their order; the answer follows the last of them.
func demoRounds() []demoRound {
	return []demoRound{
		{step: stepList, play: playList},
		{step: stepLook, play: playSearch},
		{step: stepLook, play: playMiddle},
		{step: stepScript, play: playScript},
		{step: stepKill, killed: true, play: playPublish},
		{step: stepResume, play: playPublished},
	}
}

// demoScript is what the model of the demo plays.
func demoScript() scripted.Script {
	s := scripted.Script{Name: "demo"}
	for _, r := range demoRounds() {
		s.Steps = append(s.Steps, scripted.Step{Play: r.play})
	}
	s.Steps = append(s.Steps, scripted.Step{Play: playAnswer})
	return s
}

// What the model looks for in the list.
const (
	makers  = `:func New\w*$`
	readers = `:type \w*(Reader|Writer)$`
)

func playList(scripted.Seen) (scripted.Step, error) {
	return scripted.Step{Text: "I list what there is.", Calls: []scripted.Call{callOf(listTool)}}, nil
}

func playSearch(seen scripted.Seen) (scripted.Step, error) {
	list, err := listOf(seen)
	if err != nil {
		return scripted.Step{}, err
	}
	return scripted.Step{
		Text:  fmt.Sprintf("The list has %d lines and is kept. I search it for what makes something new.", list.lines),
		Calls: []scripted.Call{callOf("workspace--grep", "pattern", makers, "path", list.path)},
	}, nil
}

func playMiddle(seen scripted.Seen) (scripted.Step, error) {
	list, err := listOf(seen)
	if err != nil {
		return scripted.Step{}, err
	}
	return scripted.Step{
		Text: fmt.Sprintf("I read on from line %d, the middle, and search for readers and writers meanwhile.", list.middle()),
		Calls: []scripted.Call{
			callOf("workspace--read", "path", list.path, "offset", list.middle(), "limit", 40),
			callOf("workspace--grep", "pattern", readers, "path", list.path, "max_matches", 20),
		},
	}, nil
}

// tableCode counts, over the whole list, what is declared how often, and where most of it is.
const tableCode = `const kinds = {};
for (const line of await results.get(args.list)) {
  const [path] = line.split(":", 1);
  const kind = /:\d+:(\w+)/.exec(line)?.[1] ?? "other";
  const folder = path.slice(0, path.lastIndexOf("/") + 1) || "./";
  const k = kinds[kind] ??= {n: 0, folders: {}};
  k.n++;
  k.folders[folder] = (k.folders[folder] ?? 0) + 1;
}
const most = o => Object.entries(o).reduce((a, b) => b[1] > a[1] ? b : a);
return Object.entries(kinds).sort((a, b) => b[1].n - a[1].n).slice(0, 8)
  .map(([kind, k]) => [kind.padEnd(8), String(k.n).padStart(7), " most in", ...most(k.folders)].join(" "))
  .join("\n") || "nothing is declared";`

func playScript(seen scripted.Seen) (scripted.Step, error) {
	if _, err := listOf(seen); err != nil {
		return scripted.Step{}, err
	}
	return scripted.Step{
		Text:  "A script counts what is declared over the whole list, so that I need not read it.",
		Calls: []scripted.Call{{Tool: scripting.Name, Args: append(canon.AppendString([]byte(`{"code":`), tableCode), `,"args":{"list":"r1-1"}}`...)}},
	}, nil
}

func playPublish(seen scripted.Seen) (scripted.Step, error) {
	list, err := listOf(seen)
	if err != nil {
		return scripted.Step{}, err
	}
	text := fmt.Sprintf("%d lines; %s make something new; line %d is %q", list.lines, matchesOf(seen, 0), list.middle(), lineOf(seen, list.middle()))
	return scripted.Step{
		Text: "I publish the report, and look at both ends of the list beside it.",
		Calls: []scripted.Call{
			callOf("workspace--read", "path", list.path, "offset", 1, "limit", 5),
			callOf("workspace--read", "path", list.path, "offset", -1),
			callOf(publishTool, "title", "Declarations", "text", text),
		},
	}, nil
}

func playPublished(seen scripted.Seen) (scripted.Step, error) {
	text := "The report is published. I look at what is there."
	if results := seen.Results(); len(results) > 0 && results[len(results)-1].IsError {
		text = "Nobody knows whether the report was published. I look before I do it again."
	}
	return scripted.Step{Text: text, Calls: []scripted.Call{callOf(publishedTool)}}, nil
}

func playAnswer(seen scripted.Seen) (scripted.Step, error) {
	list, err := listOf(seen)
	if err != nil {
		return scripted.Step{}, err
	}
	published, _ := resultOf(seen, publishedTool, 0)
	return scripted.Step{Text: fmt.Sprintf("%d lines, %s make something new; the report was published %s.",
		list.lines, matchesOf(seen, 0), howOften(strings.Count(published.Text, "\n")))}, nil
}

func howOften(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// callOf makes a call; the arguments are names and values in turn.
func callOf(name string, args ...any) scripted.Call {
	var b []byte
	for i := 0; i+1 < len(args); i += 2 {
		b = append(b, ',')
		b = canon.AppendString(b, fmt.Sprint(args[i]))
		b = append(b, ':')
		switch v := args[i+1].(type) {
		case string:
			b = canon.AppendString(b, v)
		default:
			b = fmt.Append(b, v)
		}
	}
	return scripted.Call{Tool: name, Args: []byte("{" + strings.TrimPrefix(string(b), ",") + "}")}
}

// theList is what the model knows of the list: where it is and how long.
type theList struct {
	path  string
	lines int
}

// middle is the line in the middle, counted from 1.
func (l theList) middle() int { return max(1, l.lines/2) }

// keptAt is what the notice of an excerpt says.
var keptAt = regexp.MustCompile(`(?m)^The whole is kept at (\S+): (\d+) lines?,`)

// errNoList says that the model cannot go on.
var errNoList = errors.New("the list of declarations is not there: see its result")

// listOf finds the list by what the model was shown of it: the notice of the excerpt, or, of a short one,
// the text itself.
func listOf(seen scripted.Seen) (theList, error) {
	r, ok := resultOf(seen, listTool, 0)
	switch m := keptAt.FindStringSubmatch(r.Text); {
	case !ok || r.IsError:
		return theList{}, errNoList
	case m != nil:
		n, err := strconv.Atoi(m[2])
		return theList{m[1], n}, err
	}
	return theList{"tool-results/r1-1", strings.Count(r.Text, "\n")}, nil
}

// resultOf finds the nth result of a tool, counted from 0.
func resultOf(seen scripted.Seen, tool string, n int) (membrane.Result, bool) {
	for _, m := range seen.Messages {
		for _, r := range m.Results {
			if r.Tool != tool {
				continue
			}
			if n == 0 {
				return r, true
			}
			n--
		}
	}
	return membrane.Result{}, false
}

// matchesOf is how many lines the nth search found, in its own words.
func matchesOf(seen scripted.Seen, n int) string {
	r, _ := resultOf(seen, "workspace--grep", n)
	words := strings.Fields(r.Text)
	if len(words) == 0 || r.IsError {
		return "an unknown number"
	}
	return words[0]
}

// lineOf is the text of a line in the first page that was read.
func lineOf(seen scripted.Seen, n int) string {
	r, _ := resultOf(seen, "workspace--read", 0)
	for l := range strings.Lines(r.Text) {
		if text, ok := strings.CutPrefix(l, strconv.Itoa(n)+"\t"); ok {
			return strings.TrimRight(text, "\n")
		}
	}
	return ""
}
