package membrane_test

import (
	"testing"

	"github.com/weir-run/weir/membrane"
)

func TestPrefixed(t *testing.T) {
	t.Parallel()
	request := func(head, messages string) membrane.Request {
		return membrane.Request{Head: []byte(head), Messages: []byte(messages), Tail: []byte("]}")}
	}
	for _, c := range []struct {
		name string
		a, b membrane.Request
		want bool
	}{
		{"the same again", request("h", `{"a":1}`), request("h", `{"a":1}`), true},
		{"one more", request("h", `{"a":1}`), request("h", `{"a":1},{"b":2}`), true},
		{"the first", request("h", ``), request("h", `{"a":1}`), true},
		{"another head", request("h", `{"a":1}`), request("H", `{"a":1},{"b":2}`), false},
		{"shorter", request("h", `{"a":1},{"b":2}`), request("h", `{"a":1}`), false},
		{"a changed byte", request("h", `{"a":1}`), request("h", `{"a":2},{"b":2}`), false},
		{"spacing", request("h", `{"a":1}`), request("h", `{"a": 1},{"b":2}`), false},
		{"within an element", request("h", `{"a":1}`), request("h", `{"a":1}}`), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := membrane.Prefixed(c.a, c.b); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
