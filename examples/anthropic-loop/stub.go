package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// wire is what the stub reads of a request.
type wire struct {
	Messages []struct {
		Role    string
		Content []struct {
			Type    string
			Content []struct{ Text string }
		}
	}
}

// stub serves the Messages API for one question. It answers by the number of answers that a request holds,
// so it serves any run of the program the same way.
func stub(w http.ResponseWriter, r *http.Request) {
	var in wire
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n, last := 0, ""
	for _, m := range in.Messages {
		if m.Role == "assistant" {
			n++
		}
		for _, block := range m.Content {
			for _, part := range block.Content {
				last = part.Text
			}
		}
	}
	content, stop := scripted(n, last), "tool_use"
	if content["type"] == "text" {
		stop = "end_turn"
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": fmt.Sprintf("msg_%02d", n+1), "type": "message", "role": "assistant", "model": "stub",
		"content": []any{content}, "stop_reason": stop, "usage": map[string]int{"input_tokens": 1, "output_tokens": 1},
	})
}

// In a preview the notice names the file; in a search each match has path, line and text; in a page each
// line has its number.
var (
	keptFile = regexp.MustCompile(`tool-results/[A-Za-z0-9._-]+\.txt`)
	match    = regexp.MustCompile(`(tool-results/[^:\n]+):([0-9]+):func`)
	numbered = regexp.MustCompile(`(?m)^[0-9]+\t(.*)$`)
)

// scripted is the n-th answer: fetch the documentation, search what was kept of it, read there, answer.
func scripted(n int, last string) map[string]any {
	call := func(name string, args map[string]any) map[string]any {
		return map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%02d", n+1), "name": name, "input": args}
	}
	switch found := match.FindStringSubmatch(last); {
	case n == 0:
		return call("go--doc", map[string]any{"package": "net/http"})
	case n == 1:
		return call("workspace--grep", map[string]any{"pattern": `^func \(.*Server\) Shutdown`, "path": keptFile.FindString(last)})
	case n == 2 && found != nil:
		return call("workspace--read", map[string]any{"path": found[1], "offset": found[2], "limit": 12})
	case n == 2:
		return map[string]any{"type": "text", "text": "The documentation does not tell."}
	}
	var page []string
	for _, l := range numbered.FindAllStringSubmatch(last, -1) {
		page = append(page, l[1])
	}
	return map[string]any{"type": "text", "text": strings.Join(page, "\n")}
}
