package canon_test

import (
	"encoding/json"
	"fmt"

	"github.com/weir-run/weir/internal/canon"
)

// Text stays text, and raw JSON stays what it was.
func ExampleMarshal() {
	out, err := canon.Marshal(struct {
		Query string          `json:"query"`
		Raw   json.RawMessage `json:"raw"`
		ID    int64           `json:"id"`
	}{"a < b && c", json.RawMessage(`{"z":1.0, "a":"\u003c"}`), 9007199254740993})
	fmt.Println(string(out), err)

	_, err = canon.Marshal(map[string]any{"done": make(chan int)})
	fmt.Println(err)
	// Output:
	// {"query":"a < b && c","raw":{"z":1.0, "a":"\u003c"},"id":9007199254740993} <nil>
	// marshal map[string]interface {}: chan int: it has no JSON form
}

// Half a surrogate pair becomes a replacement character; nothing else changes.
func ExampleCleanJSON() {
	clean, replaced := canon.CleanJSON([]byte(`{"n":1.50, "whole":"\ud83d\ude00", "half":"\ud83d"}`))
	fmt.Println(string(clean), replaced)
	// Output:
	// {"n":1.50, "whole":"\ud83d\ude00", "half":"\ufffd"} 1
}

// Two spellings of one value are one identity, as long as their digits agree.
func ExampleCanonical() {
	for _, raw := range []string{`{"b":[1, 2], "a":"\u0078"}`, `{"a":"x","b":[1,2]}`, `{"a":"x","b":[1.0,2]}`} {
		out, err := canon.Canonical([]byte(raw))
		fmt.Println(string(out), err)
	}
	// Output:
	// {"a":"x","b":[1,2]} <nil>
	// {"a":"x","b":[1,2]} <nil>
	// {"a":"x","b":[1.0,2]} <nil>
}
