package cases

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// field is one case of the file.
type field struct {
	ID     string          `json:"id"`
	Topic  string          `json:"topic"`
	Source string          `json:"source"`
	Input  json.RawMessage `json:"input"`
	Expect string          `json:"expect"`
}

// runner runs one case.
type runner func(t *testing.T, c field)

// families are the runners by the id of their case, a map for each family of topics.
func families() []map[string]runner {
	return []map[string]runner{
		terminalCases(), textCases(), jsonCases(), excerptCases(), readCases(), grepCases(), pathCases(),
		orphanCases(), callCases(), argumentCases(), cacheCases(), compactionCases(), storeCases(), tornCases(), shellCases(), loopCases(), scriptCases(), dialectCases(), mcpClientCases(), mcpGatewayCases(),
	}
}

// runners puts the families together.
func runners(t *testing.T) map[string]runner {
	t.Helper()
	all := map[string]runner{}
	for _, family := range families() {
		for id, run := range family {
			if all[id] != nil {
				t.Errorf("%s has two runners", id)
			}
			all[id] = run
		}
	}
	return all
}

// load reads the file of cases.
func load(t *testing.T) []field {
	t.Helper()
	raw, err := os.ReadFile("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []field
	for line := range bytes.Lines(raw) {
		var c field
		strict(t, line, &c)
		all = append(all, c)
	}
	return all
}

// TestCases runs every case that has a runner, as a subtest of the case's id.
func TestCases(t *testing.T) {
	t.Parallel()
	run := runners(t)
	for _, c := range load(t) {
		if run[c.ID] == nil {
			continue // TestPending holds that it is pending
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			run[c.ID](t, c)
			if t.Failed() {
				t.Logf("%s (%s): %s\n%s", c.ID, c.Topic, c.Expect, c.Source)
			}
		})
	}
}

// TestPending holds that no case is left out without a word: each one runs or is pending, never both, and
// nothing here speaks of a case or a topic that is not in the file.
func TestPending(t *testing.T) {
	t.Parallel()
	run := runners(t)
	ids, topics, used := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range load(t) {
		if ids[c.ID] {
			t.Errorf("%s is in the file twice", c.ID)
		}
		ids[c.ID], topics[c.Topic] = true, true
		byTopic, byCase := pendingTopics[c.Topic], pendingCases[c.ID]
		used[c.Topic] = byTopic != ""
		switch {
		case run[c.ID] == nil && byTopic == "" && byCase == "":
			t.Errorf("%s (%s) neither runs nor is pending", c.ID, c.Topic)
		case run[c.ID] != nil && byTopic != "":
			t.Errorf("%s runs, and its topic %s is pending for: %s", c.ID, c.Topic, byTopic)
		case run[c.ID] != nil && byCase != "":
			t.Errorf("%s runs and is pending for: %s", c.ID, byCase)
		case byTopic != "" && byCase != "":
			t.Errorf("%s is pending twice, with its topic and by its id", c.ID)
		}
	}
	for id := range run {
		if !ids[id] {
			t.Errorf("%s has a runner and is not in the file", id)
		}
	}
	for topic, why := range pendingTopics {
		if !topics[topic] || why == "" {
			t.Errorf("pending topic %s: in the file: %v, because: %q", topic, topics[topic], why)
		}
	}
	for id, why := range pendingCases {
		if !ids[id] || why == "" {
			t.Errorf("pending case %s: in the file: %v, because: %q", id, ids[id], why)
		}
	}
}

// strict decodes JSON and refuses a member that is not known: no part of an input is left out unseen.
func strict(t *testing.T, raw []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("decode %.200s: %v", raw, err)
	}
}

// inputOf decodes the input of a case.
func inputOf[T any](t *testing.T, c field) T {
	t.Helper()
	var in T
	strict(t, c.Input, &in)
	return in
}

// part is a piece of text: a literal, or one that is repeated.
type part struct {
	Text   string `json:"t"`
	Repeat string `json:"rep"`
	Times  int    `json:"n"`
}

// output is a text in parts.
type output struct {
	Kind  string `json:"kind"`
	Parts []part `json:"parts"`
	Total int    `json:"total_bytes"`
}

// build puts the parts together and holds them to their size.
func (o output) build(t *testing.T) string {
	t.Helper()
	text := join(o.Parts)
	if len(text) != o.Total {
		t.Fatalf("the parts have %d bytes, the case says %d", len(text), o.Total)
	}
	return text
}

func join(parts []part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
		b.WriteString(strings.Repeat(p.Repeat, p.Times))
	}
	return b.String()
}

// blob is the input of kind bytes.
type blob struct {
	Kind string `json:"kind"`
	B64  string `json:"b64"`
	Note string `json:"note"`
	// Codepage is that of the host, a number of Windows.
	Codepage int `json:"host_codepage"`
}

func (b blob) bytes(t *testing.T) []byte { t.Helper(); return unbase64(t, b.B64) }

func unbase64(t *testing.T, s string) []byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// rawJSON is the input of kind raw_json: a value exactly as it was received.
type rawJSON struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// happening is one of the events of a case. ID is nil where the provider sent none.
type happening struct {
	Event    string          `json:"ev"`
	ID       *string         `json:"id"`
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args"`
	Text     string          `json:"text"`
	Escaped  bool            `json:"escaped"`
	IsError  bool            `json:"is_error"`
	B64      string          `json:"b64"`
	Parts    []part          `json:"parts"`
	Into     int             `json:"into"`
	Names    []string        `json:"names"`
	Time     string          `json:"t"`
	Zone     string          `json:"TZ"`
	MCP      string          `json:"mcp"`
	N        int             `json:"n"`
	KeepLast int             `json:"keep_last"`
	Drop     int             `json:"drop_first"`
}

// happenings is the input of kind events.
type happenings struct {
	Kind   string      `json:"kind"`
	Events []happening `json:"events"`
}

// story gives the events of a case and holds them to the kinds that its runner plays, in order, so that a
// changed case is not run as the old one.
func story(t *testing.T, c field, kinds ...string) []happening {
	t.Helper()
	in := inputOf[happenings](t, c)
	var found []string
	for _, e := range in.Events {
		found = append(found, e.Event)
	}
	if !slices.Equal(found, kinds) {
		t.Fatalf("the events are %v, the runner plays %v", found, kinds)
	}
	return in.Events
}

// id is the id as the provider sent it; none is empty.
func (h happening) id() string {
	if h.ID == nil {
		return ""
	}
	return *h.ID
}

func (h happening) String() string { return fmt.Sprintf("%s %s %s", h.Event, h.id(), h.Name) }
