package envelope

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/tokens"
)

// sample is a result with facts planted in it: texts that an answer would be made of.
type sample struct {
	kind, text string
	facts      []string
	tokens     int
}

// corpus are 240 results of twelve kinds, small and large, from a fixed seed.
func corpus() (all []sample) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 240 {
		size := []int{4, 30, 120, 400, 1000}[n%5]
		s := makers()[n%12](r, size)
		s.tokens = tokens.Estimate(s.text)
		all = append(all, s)
	}
	return all
}

// makers make a result of each kind with so many records.
func makers() []func(r *rand.Rand, n int) sample {
	needle := func(r *rand.Rand) string { return fmt.Sprintf("n%07d", r.IntN(1e7)) }
	lined := func(kind, format, bad string) func(r *rand.Rand, n int) sample {
		return func(r *rand.Rand, n int) sample {
			first, failed, last := needle(r), needle(r), needle(r)
			var b strings.Builder
			fmt.Fprintf(&b, format+"\n", 0, first)
			at := r.IntN(n)
			for i := range n {
				if i == at {
					fmt.Fprintf(&b, bad+"\n", failed)
				}
				fmt.Fprintf(&b, format+"\n", i, "x")
			}
			fmt.Fprintf(&b, format+"\n", n, last)
			return sample{kind: kind, text: b.String(), facts: []string{first, failed, last}}
		}
	}
	listed := func(kind, head, row, bad, tail string) func(r *rand.Rand, n int) sample {
		return func(r *rand.Rand, n int) sample {
			first, failed, last, total := needle(r), needle(r), needle(r), fmt.Sprint(100_000+r.IntN(900_000))
			var b strings.Builder
			b.WriteString(head)
			fmt.Fprintf(&b, row+",", 0, first)
			at := r.IntN(n)
			for i := range n {
				if i == at {
					fmt.Fprintf(&b, bad+",", failed)
				}
				fmt.Fprintf(&b, row+",", i, "x")
			}
			fmt.Fprintf(&b, row, n, last)
			fmt.Fprintf(&b, tail, total)
			return sample{kind: kind, text: b.String(), facts: []string{first, failed, last, total}}
		}
	}
	return []func(r *rand.Rand, n int) sample{
		lined("log", "2026-01-02T03:04:05Z INFO request %d served path=/v1/%s", "2026-01-02T03:04:05Z ERROR worker %s: connection refused"),
		lined("tests", "ok   example.com/pkg/p%d  0.01s %s", "--- FAIL: Test_%s (0.00s)"),
		lined("build", "[%d/900] compiling src/module/%s.c", "src/x.c:10:4: fatal error: %s not found"),
		lined("trace", "    at frame%d (internal/%s.js:10:20)", "Exception in thread main: %s"),
		lined("listing", "-rw-r--r-- 1 user user %d Jan 1 00:00 file-%s.txt", "ls: error reading %s"),
		lined("cjk", "第%d行：这里没有任何有用的内容 %s", "第行 ERROR：连接失败 %s"),
		listed("search", `{"query":"q","hits":[`, `{"path":"src/f%d.go","line":10,"text":"func %s() {","level":"info"}`, `{"path":"src/bad.go","line":1,"text":"%s","level":"error"}`, `],"total":%s}`),
		listed("api", `{"ok":true,"data":{"items":[`, `{"id":%d,"name":"%s","address":{"city":"Bern","zip":"3000"},"tags":["a","b","c"],"status":"active"}`, `{"id":-1,"name":"%s","status":"failed"}`, `]},"meta":{"total":%s}}`),
		listed("rows", `[`, `{"n":%d,"value":"%s","at":"2026-01-02"}`, `{"n":-1,"value":"%s","error":"bad row"}`, `,{"sum":%s}]`),
		listed("jobs", `{"jobs":[`, `{"job":%d,"host":"%s","exit_code":0,"log":"done without a word of it"}`, `{"job":-1,"host":"%s","exit_code":3}`, `],"seconds":%s}`),
		listed("table", `{"columns":["n","v"],"rows":[`, `[%d,"%s",1.5,2.5,null,true]`, `["bad","%s",0,0,null,false]`, `],"count":%s}`),
		listed("wide", `{"note":"a report","parts":[`, `{"part":%d,"title":"%s","body":"`+strings.Repeat("words of a paragraph ", 20)+`"}`, `{"part":-1,"title":"%s","severity":"critical"}`, `],"pages":%s}`),
	}
}

// ways are how a text can be shortened to a budget.
func ways() map[string]func(text string, whole, budget int) string {
	return map[string]func(text string, whole, budget int) string{
		"raw": func(text string, _, _ int) string { return text },
		"head and tail": func(text string, whole, budget int) string {
			if whole <= budget {
				return text
			}
			room := len(text) * budget / whole
			return text[:back(text, room*3/5)] + "\n…\n" + text[forward(text, len(text)-room*2/5):]
		},
		"clip": func(text string, _, _ int) string {
			if tr, ok := parse([]byte(text), nil, nil); ok {
				return clip(tr, 0)
			}
			return text[:back(text, min(len(text), 240))]
		},
		"fit": func(text string, _, budget int) string {
			return Fit(Result{Text: text, Path: "tool-results/r1-1-x.txt"}, Options{Budget: Budget{Tokens: budget, Effort: Medium}, Contract: Lean, Offered: []string{readTool}}).Text
		},
	}
}

// clip is the plain baseline: three elements of a list, 240 characters of a text, whatever the budget.
func clip(t *tree, i int32) string {
	n := &t.nodes[i]
	var parts []string
	for _, c := range children(t, i) {
		if n.kind == '[' && len(parts) == 3 {
			break
		}
		parts = append(parts, strings.TrimPrefix(string(t.key(&t.nodes[c]))+":", ":")+clip(t, c))
	}
	switch {
	case n.kind == '[':
		return "[" + strings.Join(parts, ",") + "]"
	case n.kind == '{':
		return "{" + strings.Join(parts, ",") + "}"
	case n.kind == '"' && n.end-n.start > 242:
		text, _ := canon.Unquote(t.src[n.start:n.end])
		return string(canon.AppendString(nil, text[:back(text, 240)]+"..."))
	}
	return string(t.src[n.start:n.end])
}

// TestFactsKept measures facts per 1,000 tokens actually sent, over the corpus at three budgets, beside the
// plain ways. An answer without the facts counts for nothing, however short it is.
func TestFactsKept(t *testing.T) {
	t.Parallel()
	all := corpus()
	if len(all) < 200 {
		t.Fatalf("the corpus has %d results", len(all))
	}
	for _, budget := range []int{1000, 4000, 16_000} {
		share, per := map[string]float64{}, map[string]float64{}
		for _, name := range slices.Sorted(maps.Keys(ways())) {
			way := ways()[name]
			kept, planted, sent, over := 0, 0, 0, 0
			for _, s := range all {
				text := way(s.text, s.tokens, budget)
				n := s.tokens
				if text != s.text {
					n = tokens.Estimate(text)
				}
				sent += n
				if n > budget {
					over++
				}
				for _, f := range s.facts {
					planted++
					if strings.Contains(text, f) {
						kept++
					}
				}
				if isJSON := canon.Valid([]byte(s.text)); name == "fit" && (isJSON && !canon.Valid([]byte(text)) || Units(text) > capPrimitive) {
					t.Errorf("budget %d, %s: valid %v, %d units", budget, s.kind, canon.Valid([]byte(text)), Units(text))
				}
			}
			share[name], per[name] = float64(kept)/float64(planted), float64(kept)*1000/float64(sent)
			t.Logf("budget %6d  %-14s %5.1f %% of the facts, %6.2f a thousand tokens, %8d tokens, %d of %d over the budget",
				budget, name, share[name]*100, per[name], sent, over, len(all))
			if name == "fit" && over > 0 {
				t.Errorf("budget %d: %d results are over it", budget, over)
			}
		}
		if share["fit"] < 0.95 {
			t.Errorf("budget %d: %.1f %% of the facts are kept", budget, share["fit"]*100)
		}
		for _, other := range []string{"raw", "head and tail"} {
			if per["fit"] < per[other] {
				t.Errorf("budget %d: %.2f facts a thousand tokens, %s has %.2f", budget, per["fit"], other, per[other])
			}
		}
		if share["fit"] < share["clip"] {
			t.Errorf("budget %d: the plain clip keeps %.1f %% of the facts", budget, share["clip"]*100)
		}
	}
}
