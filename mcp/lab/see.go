package lab

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tokens"
	"github.com/weir-run/weir/tool"
)

// What of a result is shown.
const (
	ShownText    = "text"
	ShownJSON    = "json"
	ShownBoth    = "both"
	ShownError   = "error"
	ShownNothing = "nothing"
)

// Cell is what one host makes of one tool's result.
type Cell struct {
	Tool string `json:"tool"`
	Host string `json:"host"`
	// Shown is [ShownText], [ShownJSON], [ShownBoth], [ShownError] or [ShownNothing].
	Shown string `json:"shown"`
	// Value is what the model sees.
	Value string `json:"value"`
	// Code is that of a refusal, -32602 or -32600; 0 for none.
	Code int `json:"code"`
	// Dropped says what the model does not see, Tokens what it costs.
	Dropped []string `json:"dropped,omitempty"`
	Tokens  int      `json:"tokens"`
	// Observed says that the eight tools were run against the host; else its source was read. Seen is when.
	Observed bool   `json:"observed"`
	Seen     string `json:"seen"`
}

// Table is the cells of tools and hosts, tool by tool. count counts tokens; nil estimates them.
func Table(tools []Tool, hosts []Host, count func(string) int) []Cell {
	if count == nil {
		count = func(s string) int { return int(tokens.Estimate(s)) }
	}
	var all []Cell
	for _, t := range tools {
		received := client.Receive(t.Result)
		verdict := client.Check(received, t.Output)
		for _, h := range hosts {
			all = append(all, see(t.Name, h, received, verdict, count))
		}
	}
	return all
}

// see applies one host's policy.
func see(name string, h Host, r client.Received, d client.Verdict, count func(string) int) Cell {
	if h.Unwrap {
		r.Structured = unwrapped(r.Structured)
	}
	seen := h.View.Show(r, d, count)
	return Cell{
		Tool: name, Host: h.Name, Shown: shown(h.View, r, seen), Value: seen.Text, Code: seen.Refused,
		Dropped: seen.Dropped, Tokens: count(seen.Text),
		Observed: h.Observed, Seen: h.Seen,
	}
}

// unwrapped takes a value out of {"result": x}.
func unwrapped(structured json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(structured, &members) == nil && len(members) == 1 && members["result"] != nil {
		return canon.Compact(members["result"])
	}
	return structured
}

// shown says which channels stand in what a model sees.
func shown(v client.View, r client.Received, s client.Seen) string {
	whole := result.Text(s.Result)
	switch {
	case s.Refused != 0 || r.Refused != "":
		return ShownError
	case whole == "":
		return ShownNothing
	}
	structured := r.Structured != nil && strings.Contains(whole, string(r.Structured))
	if word, ok := canon.Unquote(r.Structured); ok && word != "" {
		structured = strings.Contains(whole, word) // a string is shown without its quotes
	}
	envelope := v.Pick == client.Envelope || r.IsError && v.Errors == client.ErrorDump
	text := false
	for _, b := range r.Blocks {
		text = text || said(b, s.Result, envelope)
	}
	switch {
	case structured && text:
		return ShownBoth
	case structured:
		return ShownJSON
	}
	return ShownText
}

// said reports whether a block of the content stands in what is shown.
func said(b client.Block, r tool.Result, envelope bool) bool {
	if envelope {
		return true
	}
	switch data := r.Data.(type) {
	case string:
		return b.Text != "" && strings.Contains(data, b.Text)
	case []tool.Content:
		for _, c := range data {
			if c.Type == b.Type && (c.Type != "text" || b.Text != "" && strings.Contains(c.Text, b.Text)) {
				return true
			}
		}
	}
	return false
}

// JSON writes cells as a JSON array.
func JSON(cells []Cell) (json.RawMessage, error) {
	if cells == nil {
		cells = []Cell{}
	}
	raw, err := canon.Marshal(cells)
	if err != nil {
		return nil, fmt.Errorf("write the table: %w", err)
	}
	return raw, nil
}

// Markdown writes cells as a table with a row for each tool and a column for each host.
func Markdown(cells []Cell) string {
	hosts, tools, at := axes(cells)
	var b strings.Builder
	fmt.Fprintf(&b, "| tool | %s |\n|---|%s\n", strings.Join(hosts, " | "), strings.Repeat("---|", len(hosts)))
	for _, t := range tools {
		fmt.Fprintf(&b, "| `%s` |", t)
		for _, h := range hosts {
			fmt.Fprintf(&b, " %s |", brief(at[[2]string{t, h}]))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func axes(cells []Cell) (hosts, tools []string, at map[[2]string]Cell) {
	at = map[[2]string]Cell{}
	seenHost, seenTool := map[string]bool{}, map[string]bool{}
	for _, c := range cells {
		if !seenHost[c.Host] {
			seenHost[c.Host] = true
			hosts = append(hosts, c.Host)
		}
		if !seenTool[c.Tool] {
			seenTool[c.Tool] = true
			tools = append(tools, c.Tool)
		}
		at[[2]string{c.Tool, c.Host}] = c
	}
	return hosts, tools, at
}

// brief is a cell in a few words.
func brief(c Cell) string {
	const most = 60
	if c.Shown == ShownNothing || c.Shown == "" {
		return "nothing"
	}
	value, _, more := strings.Cut(c.Value, "\n")
	if r := []rune(value); len(r) > most {
		value, more = string(r[:most]), true
	}
	if more {
		value += "…"
	}
	value = strings.NewReplacer("|", `\|`, "`", "ˋ").Replace(value)
	if c.Code != 0 {
		return fmt.Sprintf("error %d: %s", c.Code, value)
	}
	return fmt.Sprintf("%s: `%s`", c.Shown, value)
}
