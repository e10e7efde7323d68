package form

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-run/weir/membrane/internal/object"
)

// NotFound is what to check of an address whose server answers 404: that it ends in a version, as that of
// nearly every server does.
func NotFound(baseURL string) string {
	if strings.Contains(baseURL, "/v1") {
		return ""
	}
	return "(as a rule it ends in /v1)"
}

// Settings reads further parameters of a request. No member may be one that the head writes itself,
// which are the reserved ones.
func Settings(raw json.RawMessage, reserved ...string) ([]object.Member, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	all, err := object.Read(raw)
	if err != nil {
		return nil, fmt.Errorf("the settings are not a JSON object: %w", err)
	}
	seen := map[string]bool{}
	for _, s := range all {
		if slices.Contains(reserved, s.Key) {
			return nil, fmt.Errorf("the settings hold %q, which the head has already", s.Key)
		}
		if seen[s.Key] {
			return nil, fmt.Errorf("the settings hold %.40q twice", s.Key)
		}
		seen[s.Key] = true
	}
	return all, nil
}

// Over puts members in the place of those with their names, or behind the others.
func Over(all, own []object.Member) []object.Member {
	out := slices.Clone(all)
	for _, s := range own {
		if at := slices.IndexFunc(out, func(o object.Member) bool { return o.Key == s.Key }); at >= 0 {
			out[at] = s
			continue
		}
		out = append(out, s)
	}
	return out
}
