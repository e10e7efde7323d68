package scripted_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
)

func body(t *testing.T, r membrane.Request) string {
	t.Helper()
	data, err := io.ReadAll(r.Body())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestBodies(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run", "bodies")
	s := scripted.Script{AfterEnd: scripted.Repeat, Steps: []scripted.Step{{Text: "one two"}}}
	k := newTalk(t, s, scripted.Config{Bodies: dir})
	k.say(membrane.UserText("<Go>"))
	var want []string
	for i := range 2 {
		want = append(want, body(t, k.request()))
		for _, err := range k.model.Stream(t.Context(), k.request()) {
			if err != nil {
				t.Fatal(err)
			}
			// It is there, whole, when the first event comes.
			got, err := os.ReadFile(filepath.Join(dir, []string{"001.json", "002.json"}[i]))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[i], string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			break
		}
		k.say(membrane.UserText("more"))
	}

	// Another process goes on behind the last, also behind a gap and past 999.
	for _, name := range []string{"007.json", "notes.txt", "x.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("kept"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	again := newTalk(t, s, scripted.Config{Bodies: dir})
	again.next()
	if err := os.WriteFile(filepath.Join(dir, "009.json"), []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	again.next() // 009 was taken in the meantime
	if err := os.WriteFile(filepath.Join(dir, "999.json"), []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	newTalk(t, s, scripted.Config{Bodies: dir}).next()
	if diff := cmp.Diff([]string{
		"001.json", "002.json", "007.json", "008.json", "009.json", "010.json", "1000.json", "999.json", "notes.txt", "x.json",
	}, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, name := range []string{"007.json", "009.json", "999.json"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != "kept" {
			t.Errorf("%s was replaced: %q, %v", name, got, err)
		}
	}
}

// TestBodiesAtOnce has several models with one folder asked at the same time.
func TestBodiesAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		k := newTalk(t, scripted.Script{AfterEnd: scripted.Repeat, Steps: []scripted.Step{{Text: "ok"}}}, scripted.Config{Bodies: dir})
		for range 2 {
			wg.Go(func() {
				for range 5 {
					if _, _, err := k.ask(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if got := names(t, dir); len(got) != 40 || got[0] != "001.json" || got[39] != "040.json" {
		t.Errorf("files %v", got)
	}
}

func TestBodiesThatCannotBeKept(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	k := newTalk(t, scripted.Script{Steps: []scripted.Step{{Text: "ok"}}}, scripted.Config{Bodies: file})
	deltas, _, err := k.ask()
	if err == nil || !strings.Contains(err.Error(), "keep the request: ") || len(deltas) > 0 {
		t.Errorf("error %v after %v", err, deltas)
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, head, messages, tail string }{
		{"none", `{"messages":[`, ``, `]}`},
		{"names within", `{"system":"\"messages\":[{","tools":[{"messages":[{}]}],"messages":[`, `{"messages":[{"a":1}]},{"b":"],}"}`, `]}`},
		{"spacing", "{ \"messages\" : [", " {} , {} ", "] , \"more\":[1] }\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := scripted.Split([]byte(c.head + c.messages + c.tail))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{c.head, c.messages, c.tail}, []string{string(r.Head), string(r.Messages), string(r.Tail)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, c := range []struct{ name, body, want string }{
		{"empty", ``, `read the request: invalid JSON at byte 0: it ends before the value does`},
		{"an array", `[]`, `read the request: it is not a JSON object`},
		{"no messages", `{"message":[]}`, `read the request: it has no array of messages`},
		{"messages are no array", `{"messages":{}}`, `read the request: it has no array of messages`},
		{"twice", `{"messages":[],"messages":[]}`, `read the request: it has messages twice`},
		{"a missing comma", `{"messages":[{}{}]}`, `read the request: invalid JSON at byte 15: a comma or the end of the array or object is missing`},
		{"a comma too many", `{"messages":[{},]}`, `read the request: invalid JSON at byte 16`},
		{"no element", `{"messages":[{},1]}`, `read the request: at byte 16 stands a message that is not a JSON object`},
		{"an array in it", `{"messages":[[{}]]}`, `read the request: at byte 13 stands a message that is not a JSON object`},
		{"cut", `{"messages":[{}`, `read the request: invalid JSON at byte 15: it ends before the value does`},
		{"after it", `{"messages":[]}]`, `read the request: invalid JSON at byte 15: more follows after the value`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := scripted.Split([]byte(c.body))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

// TestHostileRequests sends bodies that no program of this module makes.
func TestHostileRequests(t *testing.T) {
	t.Parallel()
	m, err := scripted.New(scripted.Script{Steps: []scripted.Step{{Text: "ok", Expect: []scripted.Expect{{In: "all", NotContains: "x"}}}}}, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ body, want string }{
		{`{`, `read the request: invalid JSON`},
		{`{"messages":[{"role":"assistant","step":"x"}]}`, `read message 1: json: cannot unmarshal string`},
		{`{"messages":[{"role":"robot","content":[{}]}]}`, `read message 1: its role is "robot"`},
		{`{"messages":[{"role":"user","content":"text"}]}`, `read message 1: json: cannot unmarshal string`},
		{`{"messages":[{"role":"results","content":[1]}]}`, `read message 1: json: cannot unmarshal number`},
		{`{"system":1,"messages":[]}`, `read the head: json: cannot unmarshal number`},
		{`{"messages":[{"role":"assistant","step":99999999999}]}`, `holds 99999999999 answers`},
	} {
		t.Run(c.body, func(t *testing.T) {
			t.Parallel()
			for e, err := range m.Stream(t.Context(), membrane.Request{Head: []byte(c.body)}) {
				if err == nil || kind(err) != membrane.InvalidRequest || !strings.Contains(err.Error(), c.want) {
					t.Errorf("event %v, error %v, want %s", e, err, c.want)
				}
			}
		})
	}
}

func FuzzStream(f *testing.F) {
	for _, s := range []string{
		`{"system":"s","tools":[{"name":"a"}],"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`,
		`{"messages":[{"role":"assistant","step":2,"content":[{"type":"call","args":{}}]},{"role":"results","content":[{"text":"a","images":[{}]}]}]}`,
		`{"messages":[{"step":-1}]}`, `{"messages":[]`, `[`,
	} {
		f.Add([]byte(s))
	}
	m, err := scripted.New(scripted.Script{AfterEnd: scripted.Loop, Steps: []scripted.Step{
		{Text: "one", Expect: []scripted.Expect{{In: "all", NotContains: "x"}, {Result: 1, Contains: "a"}}},
		{Play: func(s scripted.Seen) (scripted.Step, error) { return scripted.Step{Text: s.Text()}, nil }},
	}}, scripted.Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := slices.Clone(body)
		last := false
		for e, err := range m.Stream(t.Context(), membrane.Request{Head: body}) {
			if last {
				t.Error("something comes after the end")
			}
			_, done := e.(membrane.Done)
			last = done || err != nil
		}
		if !last {
			t.Error("the stream ended without its last event")
		}
		r, err := scripted.Split(body)
		if joined := slices.Concat(r.Head, r.Messages, r.Tail); err == nil && string(joined) != string(body) {
			t.Errorf("split gives %q", joined)
		}
		if string(before) != string(body) {
			t.Error("the request was changed")
		}
	})
}
