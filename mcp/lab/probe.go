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
	// Agree: text and structured content say the same, or only one of them was sent. Of prose, numbers and
	// strings are compared.
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
	// Skipped: the tool says of itself that it destroys something, and was not named.
	Skipped = "skipped"
)

// Finding is what a probe found out about one tool.
type Finding struct {
	// Server and Tool are their names; a server that cannot be used has no tool.
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

// Title is the tool's full name, server--tool, or the server's own when the finding is about no tool.
func (f Finding) Title() string {
	if f.Tool == "" {
		return f.Server
	}
	return client.Name(f.Server, f.Tool)
}

// maxWire is how much of a result a finding shows, in bytes.
const maxWire = 2000

// Probe calls tools of a set's servers with empty arguments, raw and through validation, and says of each
// what is on the wire and whether its two channels agree. names picks tools by their own or their full name
// (server--tool); none means all but those that say of themselves that they destroy something
// (destructiveHint). count counts tokens; nil estimates them. A tool that needs arguments answers with an
// error, which is a finding too. Only the end of ctx, or a name that no tool has, is an error: what was found
// before the end is given with it.
func Probe(ctx context.Context, set *client.Set, names []string, count func(string) int) ([]Finding, error) {
	if count == nil {
		count = func(s string) int { return int(tokens.Estimate(s)) }
	}
	var all []Finding
	var entries []entry
	found := map[string]bool{}
	for _, s := range set.Servers() {
		if s.Err != nil {
			all = append(all, Finding{Server: s.Name, Verdict: Failed, Detail: []string{s.Err.Error()}})
			continue
		}
		listed, err := set.ToolsRaw(s.Name)
		if err != nil {
			return all, fmt.Errorf("list the tools of %s: %w", s.Name, err)
		}
		for _, raw := range listed {
			e := entry{server: s.Name}
			if json.Unmarshal(raw, &e) != nil || e.Name == "" {
				all = append(all, Finding{Server: s.Name, Wire: brieflyWire(raw), Bytes: len(raw), Verdict: Lost, Detail: []string{"an entry of the list is no tool that can be called"}})
				continue
			}
			found[e.Name], found[client.Name(s.Name, e.Name)] = true, true
			if len(names) == 0 || slices.Contains(names, e.Name) || slices.Contains(names, client.Name(s.Name, e.Name)) {
				entries = append(entries, e)
			}
		}
	}
	for _, n := range names {
		if !found[n] {
			return all, fmt.Errorf("no server has a tool named %.60q", n)
		}
	}
	for _, e := range entries {
		if e.Annotations.DestructiveHint && len(names) == 0 {
			all = append(all, Finding{Server: e.server, Tool: e.Name, Verdict: Skipped, Detail: []string{"it says that it destroys something: name it to have it called"}})
			continue
		}
		f, err := probe(ctx, set, e, count)
		if err != nil {
			return all, err
		}
		all = append(all, f)
	}
	return all, nil
}

// entry is what of a listed tool a probe uses.
type entry struct {
	server       string
	Name         string          `json:"name"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  struct {
		DestructiveHint bool `json:"destructiveHint"`
	} `json:"annotations"`
}

// brieflyWire is the beginning of what was sent, cut at a character.
func brieflyWire(raw json.RawMessage) string {
	if len(raw) <= maxWire {
		return string(raw)
	}
	return strings.ToValidUTF8(string(raw[:maxWire]), "") + "…"
}

func probe(ctx context.Context, set *client.Set, e entry, count func(string) int) (Finding, error) {
	f := Finding{Server: e.server, Tool: e.Name}
	raw, refused, err := set.CallRaw(ctx, e.server, e.Name, json.RawMessage(`{}`))
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
	f.Wire, f.Bytes = brieflyWire(raw), len(raw)
	r := client.Receive(raw)
	var texts []string
	for _, b := range r.Blocks {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	f.TextTokens, f.StructuredTokens = count(strings.Join(texts, "\n")), count(string(r.Structured))
	f.Verdict, f.Detail = judge(r, client.Check(r, e.OutputSchema))
	return f, nil
}

// judge words what is wrong with a result, the worst first.
func judge(r client.Received, d client.Verdict) (string, []string) {
	switch {
	case r.Refused != "":
		return Lost, []string{r.Refused}
	case len(r.Odd) > 0:
		return Lost, r.Odd
	case len(broken(r)) > 0:
		return Lost, broken(r)
	case d.Code == client.CodeViolates:
		return Violates, d.Violations
	case d.Code == client.CodeMissing:
		return Missing, []string{"an output schema is declared, and no structured content was sent"}
	case d.Unchecked != "":
		return Violates, []string{"the output schema cannot be used: " + d.Unchecked}
	}
	if found := differences(r); len(found) > 0 {
		return Disagree, found
	}
	return Agree, nil
}

// broken names the blocks that clients drop, or fail the whole result for.
func broken(r client.Received) []string {
	var sent struct {
		Content []struct {
			Type string  `json:"type"`
			Text *string `json:"text"`
		} `json:"content"`
	}
	readable := json.Unmarshal(r.Raw, &sent) == nil && len(sent.Content) == len(r.Blocks)
	var all []string
	for i, b := range r.Blocks {
		switch {
		case b.Raw != nil:
			all = append(all, fmt.Sprintf("block %d is of the type %.40q, which clients do not know", i+1, b.Type))
		case b.Type == "text" && readable && (sent.Content[i].Type != "text" || sent.Content[i].Text == nil):
			all = append(all, fmt.Sprintf("block %d cannot be read: %.120s", i+1, b.Text))
		}
		if len(all) > maxDifferences {
			return append(all[:maxDifferences], "and more")
		}
	}
	return all
}

// FindingsMarkdown writes findings as a table.
func FindingsMarkdown(all []Finding) string {
	var b strings.Builder
	b.WriteString("| tool | verdict | text tokens | structured tokens | wire bytes | detail |\n|---|---|--:|--:|--:|---|\n")
	for _, f := range all {
		fmt.Fprintf(&b, "| `%s` | %s | %d | %d | %d | %s |\n", f.Title(), f.Verdict, f.TextTokens, f.StructuredTokens, f.Bytes,
			strings.NewReplacer("|", `\|`, "\n", " ").Replace(strings.Join(f.Detail, "; ")))
	}
	return b.String()
}
