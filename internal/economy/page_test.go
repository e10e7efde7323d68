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
  names. Where nothing is kept, or nothing says where, there is no such call. Its tokens are those of the call as the
  model writes it and of its result; that each call is one more request, which sends all before it again, is not counted.
* **Valid**: the text is UTF-8, and where it is less than the whole something in it says so.
* ` + "`raw`" + ` sends everything. ` + "`head`, `head and tail` and `clip 3/240`" + ` take the budget at four bytes a token; clip shortens
  arrays to 3 elements and strings to 240 characters. ` + "`spill, 1,500 characters`" + ` keeps the whole and shows its beginning
  with the path, whatever the budget: compare it at one size (below). The envelope runs at medium effort in the bare
  contract.

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
		fmt.Fprintf(&b, "\n## %d tokens\n\n%s", budget, columns)
		for _, way := range strategies {
			b.WriteString(figures(way, sums[key{way.name, "", budget}]))
		}
	}
	b.WriteString(atOneSize(sums) + goals(sums) + lean(t, count))
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

const columns = "| | valid | facts at first | within one call | calls | tokens at first | with calls | facts per 1,000 tokens at first | with calls |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n"

func figures(way strategy, s *tally) string {
	return fmt.Sprintf("| %s | %.0f %% | %.1f %% | %.1f %% | %d | %d | %d | %.2f | %.2f |\n", way.name, percent(s.valid, s.results),
		percent(s.kept, s.facts), percent(s.kept+s.reached, s.facts), s.calls, s.sent, s.sent+s.followed, s.density(), s.all())
}

// atOneSize compares the ways that keep the whole where they send about as much.
func atOneSize(sums map[key]*tally) string {
	var b strings.Builder
	b.WriteString("\n## At one size\n\nThe ways that keep the whole, where they send about as much at first: Weir's at a budget of " +
		fmt.Sprint(oneSize) + " tokens.\n\n" + columns)
	for _, way := range strategies {
		if way.kept {
			b.WriteString(figures(way, sums[key{way.name, "", oneSize}]))
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
	b.WriteString(missed(sums))
	return b.String()
}

// missed says which goal is not reached, by how much and why.
func missed(sums map[key]*tally) string {
	few, many := sums[key{"spill, 1,500 characters", "", 4000}], sums[key{"Weir envelope", "", 4000}]
	return fmt.Sprintf(`
**Missed**: at every budget at least as many facts per 1,000 tokens as each other way. Of what shows 1,500 characters whatever
the budget, Weir's ways are behind at 4,000 and 16,000 tokens at first, and from 1,000 tokens on with the calls, by the figures
in the table. The measure rewards sending little: where every fact can be searched for, and a search costs about a hundred
tokens, what is sent first is worth most when it is shortest, and the same way has more at 400 tokens than at 4,000. It does not
count what a call costs beside its own tokens: one more request, one more answer of the model to wait for, and all that stands
before it sent again. At 4,000 tokens the short beginning leaves %.0f %% of the facts to %d calls, the envelope %.0f %% to %d. Weir
fills the budget it is given, because who gives 4,000 tokens asks for fewer calls; who wants the density gives 400 or 750, and
there both of Weir's ways have more, at first and with the calls. No other way is ahead in sum.

By kind the envelope is behind mostly at 400 and 1,000 tokens: the notice (what is left out, where the whole is, the two calls
that get it) takes some 75 tokens of the budget, and the ways compared have none and count four bytes a token, so that of
digits and of Chinese they send more than the budget.
`, percent(few.facts-few.kept, few.facts), few.calls, percent(many.facts-many.kept, many.facts), many.calls)
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
