package economy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/envelope"
	"github.com/weir-run/weir/tokens"
)

const intro = `# Token economy

What a model learns from a result for the tokens it is sent. ` + "`make bench-tokens`" + ` measures it and writes this page
(` + "`internal/economy`" + `; a small corpus is a test).

The corpus is made from what a machine with Go has, the same on each run: the output of ` + "`go test -v`" + ` with failures and of
` + "`go build`" + ` with errors, ` + "`go list -json`, `go doc -all`" + `, listings of grep, CSV, diffs, stack traces, the JSON of an API,
Chinese, Japanese and Korean text, and base64 in JSON; 20 of each, from some hundred bytes to some hundred kilobytes. Each
holds five facts or more, at places from the beginning to the end. Tokens are counted exactly (o200k_base).

* **At first**: what is shown when the result comes, and the facts that are in it.
* **Within one call**: the facts that are there, or are brought by one call more for each: a search (` + "`workspace--grep`" + `)
  of the kept result for a word that whoever asks knows, such as the number of an order; else the call that the notice
  names. Where nothing is kept, or nothing says where, there is no such call.
* **Valid**: the text is UTF-8, and where it is less than the whole something in it says so.
* ` + "`raw`" + ` sends everything. ` + "`head`, `head and tail` and `clip 3/240`" + ` take the budget at four bytes a token; clip shortens
  arrays to 3 elements and strings to 240 characters. ` + "`spill, 1,500 characters`" + ` keeps the whole and shows its beginning
  with the path, whatever the budget: compare it at 400 tokens, which is its own size. The envelope runs at medium
  effort in the bare contract.

`

// page words the figures.
func page(t testing.TB, samples []sample, sums map[key]*tally, count *tokens.Encoding) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(intro)
	whole, facts := 0, 0
	for _, s := range samples {
		whole += count.Count(s.text)
		facts += len(s.facts)
	}
	fmt.Fprintf(&b, "%d results of %d kinds, %d tokens, %d facts.\n", len(samples), len(kinds), whole, facts)
	for _, budget := range budgets {
		fmt.Fprintf(&b, "\n## %d tokens\n\n| | valid | facts at first | within one call | calls | tokens at first | with calls | facts per 1,000 tokens at first | with calls |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n", budget)
		for _, way := range strategies {
			s := sums[key{way.name, "", budget}]
			fmt.Fprintf(&b, "| %s | %.0f %% | %.1f %% | %.1f %% | %d | %d | %d | %.2f | %.2f |\n", way.name, percent(s.valid, s.results),
				percent(s.kept, s.facts), percent(s.kept+s.reached, s.facts), s.calls, s.sent, s.sent+s.followed, s.density(), s.all())
		}
	}
	b.WriteString(goals(sums) + lean(t, count))
	b.WriteString("\n## By kind: facts per 1,000 tokens at first (facts at first)\n")
	for _, budget := range budgets {
		fmt.Fprintf(&b, "\n%d tokens:\n\n|", budget)
		for _, way := range strategies {
			fmt.Fprintf(&b, " | %s", way.name)
		}
		b.WriteString(" |\n|---" + strings.Repeat("|--:", len(strategies)) + "|\n")
		for _, k := range kinds {
			fmt.Fprintf(&b, "| %s", k.name)
			for _, way := range strategies {
				s := sums[key{way.name, k.name, budget}]
				fmt.Fprintf(&b, " | %.2f (%.0f %%)", s.density(), percent(s.kept, s.facts))
			}
			b.WriteString(" |\n")
		}
	}
	return b.String()
}

// goals says which goals are reached, from the figures, and where not.
func goals(sums map[key]*tally) string {
	var b strings.Builder
	b.WriteString("\n## Goals\n\n| goal | Weir preview | Weir envelope |\n|---|---|---|\n")
	row := func(goal string, met func(way strategy) string) {
		b.WriteString("| " + goal)
		for _, way := range strategies {
			if way.weir {
				b.WriteString(" | " + met(way))
			}
		}
		b.WriteString(" |\n")
	}
	row("95 % of the facts within one call at 4,000 tokens", func(way strategy) string {
		s := sums[key{way.name, "", 4000}]
		return fmt.Sprintf("%.1f %%", percent(s.kept+s.reached, s.facts))
	})
	row("100 % valid", func(way strategy) string {
		valid, results := 0, 0
		for _, budget := range budgets {
			s := sums[key{way.name, "", budget}]
			valid, results = valid+s.valid, results+s.results
		}
		return fmt.Sprintf("%.1f %%", percent(valid, results))
	})
	row("in sum, at least as many facts per 1,000 tokens at first as each other way, by budget", func(way strategy) string {
		return behind(sums, way, []string{""}, tally.density)
	})
	row("the same, with the calls", func(way strategy) string { return behind(sums, way, []string{""}, tally.all) })
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	row("the same at first, kind by kind, among the ways that fill the budget", func(way strategy) string {
		return behind(sums, way, names, tally.density)
	})
	b.WriteString("\nWhat sends less has more facts for its tokens, and fewer facts: a way that shows 1,500 characters whatever the budget is\n" +
		"denser than any that fills 4,000 tokens, and leaves two thirds of the facts to further calls, each of which is one more\n" +
		"request to the model. At its own size, 400 tokens, it has fewer facts per token than Weir's ways.\n")
	return b.String()
}

// behind lists where another way has more; by kind only those that use the budget are compared.
func behind(sums map[key]*tally, way strategy, of []string, figure func(tally) float64) string {
	var places []string
	n, ahead := 0, 0
	for _, budget := range budgets {
		for _, kind := range of {
			mine := figure(*sums[key{way.name, kind, budget}])
			for _, other := range strategies {
				if other.weir || kind != "" && other.kept {
					continue
				}
				n++
				if theirs := figure(*sums[key{other.name, kind, budget}]); theirs <= mine {
					ahead++
				} else if kind == "" {
					places = append(places, fmt.Sprintf("%s at %d (%.2f to %.2f)", other.name, budget, theirs, mine))
				}
			}
		}
	}
	text := fmt.Sprintf("%d of %d", ahead, n)
	if len(places) > 0 {
		text += "; behind: " + strings.Join(places, ", ")
	}
	return text
}

// lean compares the contracts on an answer of one symbol, with its body and without.
func lean(t testing.TB, count *tokens.Encoding) string {
	t.Helper()
	body := "func Load(name string) (*Config, error) {\n" + strings.Repeat("\tif err != nil {\n\t\treturn fmt.Errorf(\"read %s: %w\", name, err)\n\t}\n", 20) + "}\n"
	var b strings.Builder
	b.WriteString("\n## The lean contract\n\nOne symbol was found; what is said beside it is two tools and a call to go on with, the time, the route and that it is fresh.\n\n| answer | full, indented | full | lean | lean saves |\n|---|--:|--:|--:|--:|\n")
	for _, c := range []struct{ name, body string }{{"one symbol, without its body", ""}, {"one symbol with its body", body}} {
		answer := map[string]any{"name": "Load", "kind": "function", "file": "config/load.go", "line": 41, "signature": "func Load(name string) (*Config, error)"}
		if c.body != "" {
			answer["body"] = c.body
		}
		raw, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		fresh := envelope.Judge(time.Unix(0, 0), time.Unix(1, 0), nil)
		r := envelope.Result{Text: string(raw)}
		o := envelope.Options{Offered: []string{"symbols--references", "symbols--search"}, Signals: envelope.Signals{
			NextTools: []string{"symbols--references", "symbols--search"},
			NextCalls: []envelope.NextCall{{
				Tool: "symbols--references", Args: json.RawMessage(`{"name":"Load"}`),
				Reason: "the callers of a symbol show what a change of it breaks, so look at them before an edit of its signature",
			}},
			Freshness: &fresh, Routing: "sync", Elapsed: 12 * time.Millisecond,
		}}
		full := envelope.Fit(r, o).Text
		o.Contract = envelope.Lean
		short := envelope.Fit(r, o).Text
		var indented any
		if err := json.Unmarshal([]byte(full), &indented); err != nil {
			t.Fatal(err)
		}
		pretty, err := json.MarshalIndent(indented, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		p, f, l := count.Count(string(pretty)), count.Count(full), count.Count(short)
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %.0f %% of full, %.0f %% of indented |\n", c.name, p, f, l, percent(f-l, f), percent(p-l, p))
	}
	return b.String()
}
