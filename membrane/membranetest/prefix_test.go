package membranetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
)

// cut splits at bars: head|messages|tail.
func cut(body []byte) (membrane.Request, error) {
	parts := strings.Split(string(body), "|")
	if len(parts) != 3 {
		return membrane.Request{}, errors.New("it has no three parts")
	}
	return membrane.Request{Head: []byte(parts[0]), Messages: []byte(parts[1]), Tail: []byte(parts[2])}, nil
}

// reports is a test that keeps what is reported to it.
type reports struct {
	testing.TB
	texts []string
}

func (r *reports) Helper()           {}
func (r *reports) Error(args ...any) { r.texts = append(r.texts, fmt.Sprint(args...)) }

func TestPrefix(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		bodies []string
		want   []string
	}{
		{"holds", []string{"h[||]", "h[|{1}|]", "h[|{1}|]", "h[|{1},{2}|]"}, nil},
		{"nothing", nil, []string{"there are no bodies to compare"}},
		{"no body", []string{"h[||]", "x"}, []string{"body 2: it has no three parts"}},
		{
			"head",
			[]string{"h[|{1}|]", "H[|{1}|]"},
			[]string{"body 2 does not go on where body 1 ended: the head (2 and 2 bytes) part at byte 0\nbefore: \"h[\"\nafter:  \"H[\""},
		},
		{
			"messages",
			[]string{"h[||]", "h[|{1},{2}|]", "h[|{1},{3},{4}|]"},
			[]string{"body 3 does not go on where body 2 ended: the messages (7 and 11 bytes) part at byte 5\nbefore: \"{1},{2}\"\nafter:  \"{1},{3},{4}\""},
		},
		{
			"shorter",
			[]string{"h[|{1},{2}|]", "h[|{1}|]"},
			[]string{"body 2 does not go on where body 1 ended: the messages (7 and 3 bytes) part at byte 3\nbefore: \"{1},{2}\"\nafter:  \"{1}\""},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var bodies [][]byte
			for _, b := range c.bodies {
				bodies = append(bodies, []byte(b))
			}
			var r reports
			Prefix(&r, cut, bodies...)
			if diff := cmp.Diff(c.want, r.texts); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"002.json", "010.json", "1000.json", "999.json", "001.json", "note.txt", "x.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, body := range Bodies(t, dir) {
		got = append(got, string(body))
	}
	if diff := cmp.Diff([]string{"001.json", "002.json", "010.json", "999.json", "1000.json"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var r reports
	if bodies := Bodies(&r, filepath.Join(dir, "none")); len(bodies) != 0 || len(r.texts) != 1 {
		t.Errorf("a folder that is not there: %v, reports %v", bodies, r.texts)
	}
}
