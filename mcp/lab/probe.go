package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/tokens"
)

// Verdicts of a probe.
const (
	// Agree: text and structured content say the same, or only one of them was sent.
	Agree = "agree"
	// Disagree: the text says something that the structured content does not, or the other way round.
	Disagree = "disagree"
	// Lost: what was sent is not what a result is made of, so that clients drop it.
	Lost = "lost"
	// Violates: the structured content does not fit the declared output schema.
	Violates = "violates"
	// Missing: an output schema is declared and no structured content was sent.
	Missing = "missing"
	// Failed: there was no result.
	Failed = "failed"
)

// Finding is what a probe found out about one tool.
type Finding struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	// Wire is the result as it was sent; for a long one its beginning, with Bytes its length.
	Wire  string `json:"wire"`
	Bytes int    `json:"bytes"`
	// Verdict is one of the words above, Detail why.
	Verdict string   `json:"verdict"`
	Detail  []string `json:"detail,omitempty"`
	// TextTokens and StructuredTokens are what each channel costs a model.
	TextTokens       int `json:"text_tokens"`
	StructuredTokens int `json:"structured_tokens"`
}

// maxWire is how much of a result a finding shows, in bytes.
const maxWire = 2000

// Probe calls tools of a set's servers with empty arguments, raw and through validation, and says of each
// what is on the wire and whether its two channels agree. names picks tools by their own or their full name
// (server--tool); none means all. count counts tokens; nil estimates them. A tool that needs arguments
// answers with an error, which is a finding too. Only the end of ctx, or a name that no tool has, is an error.
func Probe(ctx context.Context, set *client.Set, names []string, count func(string) int) ([]Finding, error) {
	if count == nil {
		count = func(s string) int { return int(tokens.Estimate(s)) }
	}
	var all []Finding
	found := map[string]bool{}
	for _, s := range set.Servers() {
		if s.Err != nil {
			all = append(all, Finding{Server: s.Name, Verdict: Failed, Detail: []string{s.Err.Error()}})
			continue
		}
		entries, err := set.ToolsRaw(s.Name)
		if err != nil {
			return all, fmt.Errorf("list the tools of %s: %w", s.Name, err)
		}
		for _, raw := range entries {
			var entry struct {
				Name         string          `json:"name"`
				OutputSchema json.RawMessage `json:"outputSchema"`
			}
			if json.Unmarshal(raw, &entry) != nil || entry.Name == "" {
				continue // the server's status says what is wrong with it
			}
			full := client.Name(s.Name, entry.Name)
			if len(names) > 0 && !slices.Contains(names, entry.Name) && !slices.Contains(names, full) {
				continue
			}
			found[entry.Name], found[full] = true, true
			f, err := probe(ctx, set, s.Name, entry.Name, entry.OutputSchema, count)
			if err != nil {
				return all, err
			}
			all = append(all, f)
		}
	}
	for _, n := range names {
		if !found[n] {
			return all, fmt.Errorf("no server has a tool named %.60q", n)
		}
	}
	return all, nil
}

func probe(ctx context.Context, set *client.Set, server, name string, output json.RawMessage, count func(string) int) (Finding, error) {
	f := Finding{Server: server, Tool: name}
	raw, refused, err := set.CallRaw(ctx, server, name, json.RawMessage(`{}`))
	switch {
	case ctx.Err() != nil:
		return f, ctx.Err()
	case err != nil:
		f.Verdict, f.Detail = Failed, []string{err.Error()}
		return f, nil
	case refused != nil:
		f.Verdict, f.Detail = Failed, []string{refused.Error()}
		return f, nil
	}
	f.Wire, f.Bytes = string(raw), len(raw)
	if len(raw) > maxWire {
		f.Wire = strings.ToValidUTF8(string(raw[:maxWire]), "") + "…"
	}
	r := client.Receive(raw)
	var texts []string
	for _, b := range r.Blocks {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	f.TextTokens, f.StructuredTokens = count(strings.Join(texts, "\n")), count(string(r.Structured))
	f.Verdict, f.Detail = judge(r, client.Check(r, output))
	return f, nil
}

// judge words what is wrong with a result, the worst first.
func judge(r client.Received, d client.Verdict) (string, []string) {
	switch {
	case r.Refused != "":
		return Lost, []string{r.Refused}
	case len(r.Odd) > 0:
		return Lost, r.Odd
	case d.Code == client.CodeViolates:
		return Violates, d.Violations
	case d.Code == client.CodeMissing:
		return Missing, []string{"an output schema is declared, and no structured content was sent"}
	case d.Unchecked != "":
		return Violates, []string{"the output schema cannot be used: " + d.Unchecked}
	}
	if r.Structured == nil || len(r.Blocks) == 0 {
		return Agree, nil
	}
	both := client.View{Pick: client.BothUnlessEcho}.Show(r, client.Verdict{}, nil)
	if strings.Contains(both.Text, string(r.Structured)) && !echoed(r) {
		return Disagree, []string{"the structured content says something that the text does not"}
	}
	return Agree, nil
}

// echoed reports whether a text block is the structured content, byte for byte.
func echoed(r client.Received) bool {
	return slices.ContainsFunc(r.Blocks, func(b client.Block) bool { return b.Text == string(r.Structured) })
}

// FindingsMarkdown writes findings as a table.
func FindingsMarkdown(all []Finding) string {
	var b strings.Builder
	b.WriteString("| tool | verdict | text tokens | structured tokens | wire bytes | detail |\n|---|---|--:|--:|--:|---|\n")
	for _, f := range all {
		fmt.Fprintf(&b, "| `%s` | %s | %d | %d | %d | %s |\n", client.Name(f.Server, f.Tool), f.Verdict, f.TextTokens, f.StructuredTokens, f.Bytes,
			strings.NewReplacer("|", `\|`, "\n", " ").Replace(strings.Join(f.Detail, "; ")))
	}
	return b.String()
}
