// Package membranetest holds adapters and loops to the laws of the wire, by the request bodies that
// were recorded: the prefix holds within an epoch. [Run] holds a dialect to what holds for all.
package membranetest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-run/weir/membrane"
)

// Split takes a recorded body of one dialect apart, such as scripted.Split.
type Split func(body []byte) (membrane.Request, error)

// Prefix reports an error unless the bodies, in the order in which they were sent, are of one epoch as
// law 3 has it: all heads are equal, and the message bytes of each are the first message bytes of the
// next, up to the end of an element. The report names the two bodies and shows where they part.
func Prefix(t testing.TB, split Split, bodies ...[]byte) {
	t.Helper()
	if err := prefix(split, bodies); err != nil {
		t.Error(err)
	}
}

// Bodies reads the files NNN.json of a folder in the order of their numbers.
func Bodies(t testing.TB, dir string) [][]byte {
	t.Helper()
	bodies, err := read(dir)
	if err != nil {
		t.Error(err)
	}
	return bodies
}

func prefix(split Split, bodies [][]byte) error {
	if len(bodies) == 0 {
		return fmt.Errorf("there are no bodies to compare")
	}
	var before membrane.Request
	for i, body := range bodies {
		r, err := split(body)
		if err != nil {
			return fmt.Errorf("body %d: %w", i+1, err)
		}
		if i > 0 && !membrane.Prefixed(before, r) {
			return fmt.Errorf("body %d does not go on where body %d ended: %s", i+1, i, parting(before, r))
		}
		before = r
	}
	return nil
}

// parting says where two requests part.
func parting(a, b membrane.Request) string {
	part, x, y := "head", a.Head, b.Head
	if bytes.Equal(x, y) {
		part, x, y = "messages", a.Messages, b.Messages
	}
	at := 0
	for at < min(len(x), len(y)) && x[at] == y[at] {
		at++
	}
	around := func(text []byte) string {
		return strconv.Quote(string(text[max(0, at-40):min(len(text), at+80)]))
	}
	return fmt.Sprintf("the %s (%d and %d bytes) part at byte %d\nbefore: %s\nafter:  %s", part, len(x), len(y), at, around(x), around(y))
}

func read(dir string) ([][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := map[int]string{}
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), ".json")
		if n, err := strconv.Atoi(stem); ok && err == nil {
			files[n] = e.Name()
		}
	}
	var numbers []int
	for n := range files {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	var bodies [][]byte
	for _, n := range numbers {
		body, err := os.ReadFile(filepath.Join(dir, files[n]))
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}
