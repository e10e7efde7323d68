package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/envelope"
	"github.com/weir-run/weir/tool"
)

// newEnvelope has what is done with the envelope alone, without a store.
func newEnvelope(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "envelope",
		Short:   "Fit a result to a budget, as an opted-in tool's results are",
		Example: "  weir envelope fit result.json --budget 1000 --effort medium",
	}
	group(cmd, newEnvelopeFit(a))
	return cmd
}

// fitFlags are the flags of "weir envelope fit".
type fitFlags struct {
	budget, effort, class, path string
	lean, asJSON                bool
	primary, protected, narrow  []string
}

// fitted is what "envelope fit --json" prints.
type fitted struct {
	// Stage is 1 (unchanged) to 5 (a stub).
	Stage int `json:"stage"`
	// Effort and Budget are what was resolved, the budget in tokens.
	Effort string `json:"effort"`
	Budget int    `json:"budget"`
	// Estimate and Sent are the estimated tokens of the whole and of the text.
	Estimate int `json:"estimate"`
	Sent     int `json:"sent"`
	// Bytes and TextBytes are the sizes of both.
	Bytes     int `json:"bytes"`
	TextBytes int `json:"text_bytes"`
	// MaxResultSizeChars is what a host is told.
	MaxResultSizeChars int    `json:"max_result_size_chars"`
	Text               string `json:"text"`
}

func newEnvelopeFit(a *app) *cobra.Command {
	var f fitFlags
	cmd := &cobra.Command{
		Use:   "fit [--budget N] [--effort E] [--lean] [--json] FILE",
		Short: "Show what a model would be shown of a result",
		Long: `fit prints the text that a model gets of the result in FILE (- reads stdin), and on stderr its stage and its
tokens. The effective budget is N, or 4,000 tokens, times the factor of the effort: low 0.6, medium 1, high 1.3; an
explicit N is never exceeded. Without --effort it is WEIR_EFFORT_LEVEL, else high; without --lean the contract is
that of WEIR_RESPONSE_CONTRACT.

--json prints {stage, effort, budget, estimate, sent, bytes, text_bytes, max_result_size_chars, text}.`,
		Example: `  weir envelope fit result.json --budget 1000
  weir envelope fit build.log --budget 500 --effort low
  weir envelope fit result.json --primary summary --protected errors --lean`,
		Args: exactly(1, "one FILE (- reads stdin)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			lean := json.RawMessage(nil)
			if cmd.Flags().Changed("lean") {
				lean = strconv.AppendBool(nil, f.lean)
			}
			return a.fit(f, lean, args[0])
		},
	}
	cmd.Flags().StringVar(&f.budget, "budget", "", "the budget in `TOKENS`, a whole number of at least 1 (default 4000, times the effort's factor)")
	cmd.Flags().StringVar(&f.effort, "effort", "", "`low`, medium or high (default WEIR_EFFORT_LEVEL, else high)")
	cmd.Flags().BoolVar(&f.lean, "lean", false, "leave out scaffold, never an answer (default WEIR_RESPONSE_CONTRACT)")
	cmd.Flags().StringVar(&f.class, "class", "", "what a host may show: `primitive`, analysis or workflow")
	cmd.Flags().StringVar(&f.path, "path", "", "where the whole is kept, for the hint: a `PATH` such as tool-results/r1-1-grep.txt")
	cmd.Flags().StringArrayVar(&f.primary, "primary", nil, "a `FIELD` that comes first; may be repeated")
	cmd.Flags().StringArrayVar(&f.protected, "protected", nil, "a `FIELD` that is dropped last; may be repeated")
	cmd.Flags().StringArrayVar(&f.narrow, "narrow", nil, "an `ARGUMENT` that gives less, for the hint; may be repeated")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *app) fit(f fitFlags, lean json.RawMessage, file string) error {
	effort, err := envelope.ResolveEffort(f.effort, "", a.env("WEIR_EFFORT_LEVEL"))
	if err != nil {
		return misuse("%w", err)
	}
	if err := envelope.CheckClass(f.class); err != nil {
		return misuse("%w", err)
	}
	wish := envelope.Wish{Effort: effort}
	if f.budget != "" {
		wish.MaxTokens = json.RawMessage(f.budget)
	}
	budget, err := envelope.ResolveBudget(wish)
	if err != nil {
		return misuse("--budget: %w", err)
	}
	doc, err := a.document(file)
	if err != nil {
		return err
	}
	o := envelope.Options{
		Policy: tool.Fit{Class: f.class, Primary: f.primary, Protected: f.protected, Narrow: f.narrow},
		Budget: budget, Contract: envelope.ResolveContract(lean, a.env("WEIR_RESPONSE_CONTRACT")),
	}
	if f.path != "" {
		o.Offered = []string{"workspace--read", "workspace--grep"}
	}
	s := envelope.Fit(envelope.Result{Text: string(doc), Path: f.path}, o)
	if f.asJSON {
		return a.emitJSON(fitted{
			Stage: s.Stage, Effort: effort.String(), Budget: budget.Tokens, Estimate: s.Estimate, Sent: s.Sent,
			Bytes: len(doc), TextBytes: len(s.Text), MaxResultSizeChars: s.MaxResultSizeChars, Text: s.Text,
		})
	}
	a.note("weir: stage %d: %s of %s tokens are sent, for a budget of %s at effort %s",
		s.Stage, number(s.Sent), number(s.Estimate), number(budget.Tokens), effort)
	text := s.Text
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if err := a.emit([]byte(text)); err != nil {
		return fmt.Errorf("print the text: %w", err)
	}
	return nil
}
