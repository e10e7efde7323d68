package cases

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// cacheCases are what a provider's cache lives on, equal bytes: topics cache-* and time-zone.
func cacheCases() map[string]runner {
	return map[string]runner{
		"C083": toolOrder,
		"C084": schemaBytes,
		"C085": rowOrder,
		"C087": fixedDate,
		"C090": injectedText,
		"C091": storedTools,
		"C092": changedTools,
		"C170": timeZones,
	}
}

// split takes a body apart.
func split(t *testing.T, body []byte) membrane.Request {
	t.Helper()
	r, err := scripted.Split(body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// named are tools of these names.
func named(names ...string) (tools []tool.Tool) {
	for _, n := range names {
		tools = append(tools, gives(n, tool.Text("from "+n)))
	}
	return tools
}

func toolOrder(t *testing.T, c field) {
	in := inputOf[struct {
		Kind   string     `json:"kind"`
		Orders [][]string `json:"orders"`
	}](t, c)
	var heads []string
	for _, order := range in.Orders {
		w := newWorld(t, named(order...)...)
		w.turn("Go on.", scripted.Step{Text: "Done."})
		heads = append(heads, string(split(t, w.last()).Head))
		var names []string
		for _, x := range parseBody(t, w.last()).Tools {
			names = append(names, x.Name)
		}
		if !slices.IsSorted(names) || !slices.Contains(names, "c") {
			t.Errorf("the tools stand as %v", names)
		}
	}
	if len(heads) != 2 || heads[0] != heads[1] {
		t.Errorf("the head depends on the order of registration:\n%s", cmp.Diff(heads[0], heads[1]))
	}
}

func schemaBytes(t *testing.T, c field) {
	in := inputOf[struct {
		Kind  string `json:"kind"`
		Raw   string `json:"raw"`
		Times int    `json:"encode_times"`
	}](t, c)
	x := gives("f", tool.Text("ran"))
	x.Schema = json.RawMessage(in.Raw)
	w := newWorld(t, x)
	w.steps = []scripted.Step{{Text: "Done."}}
	// Every time another agent for another conversation.
	w.process(func(_ *agent.Agent, s *sqlite.Store) {
		for n := range in.Times {
			if _, err := w.agent(s).Run(t.Context(), agent.Turn{Conversation: "c" + strconv.Itoa(n), Text: "Go on."}).Collect(); err != nil {
				t.Fatal(err)
			}
		}
	})
	bodies := w.received()
	if len(bodies) != in.Times || !bytes.Contains(bodies[0], []byte(in.Raw)) {
		t.Fatalf("%d bodies, the first: %s", len(bodies), bodies[0])
	}
	for i, b := range bodies {
		if !bytes.Equal(b, bodies[0]) {
			t.Errorf("body %d is not the first one:\n%s", i+1, cmp.Diff(string(bodies[0]), string(b)))
		}
	}
}

func rowOrder(t *testing.T, c field) {
	in := inputOf[struct {
		Kind  string   `json:"kind"`
		Order []string `json:"insert_order"`
		After string   `json:"after"`
	}](t, c)
	if in.After != "delete and reinsert the first row" {
		t.Fatal(in.After)
	}
	w := newWorld(t, gives("read", tool.Text(strings.Repeat("row\n", 1000)), limit(1000)))
	var calls []scripted.Call
	for _, name := range in.Order {
		calls = append(calls, asks("", "read", `{"path":"`+name+`"}`))
	}
	w.round(calls...)
	listed := func() []string {
		all := regexp.MustCompile(`(?m)^r1-.*$`).FindAllString(w.call("results--list", "{}").text, -1)
		found := w.call("workspace--grep", `{"pattern":"^row","path":"tool-results","glob":"r1-*","max_matches":3}`).text
		return append(all, regexp.MustCompile(`, \d+ left out by the glob`).ReplaceAllString(found, ""))
	}
	before := listed()
	for _, table := range []string{"epochs", "messages", "fragments", "rounds", "calls", "spills", "results", "requests", "events"} {
		w.again(table)
	}
	if d := cmp.Diff(before, listed()); d != "" {
		t.Errorf("after its first row was deleted and stored again:\n%s", d)
	}
	// The world holds the prefix over all of that. And no query for more than one row leaves the order to
	// the database.
	files, err := filepath.Glob("../../history/sqlite/queries/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	many := 0
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range regexp.MustCompile(`(?s)-- name: (\w+) :many\n(.*?);`).FindAllStringSubmatch(string(text), -1) {
			many++
			if !strings.Contains(q[2], "ORDER BY") {
				t.Errorf("the query %s has no order", q[1])
			}
		}
	}
	if many < 8 {
		t.Errorf("only %d queries were found", many)
	}
}

// again deletes the first row of a table and stores it again, from outside of the program: it gets a new
// place in the file.
func (w *world) again(table string) {
	w.t.Helper()
	// What keeps the program from deleting rows is off for that moment.
	kept := w.value("SELECT coalesce(group_concat(sql, ';' || char(10)), '') FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?", table)
	var names []string
	for _, m := range regexp.MustCompile(`CREATE TRIGGER (\w+)`).FindAllStringSubmatch(kept, -1) {
		names = append(names, "DROP TRIGGER "+m[1])
	}
	columns := w.value("SELECT group_concat(name) FROM pragma_table_info(?)", table)
	key := w.value("SELECT group_concat(name) FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", table)
	first := "(" + key + ") = (SELECT " + key + " FROM " + table + " ORDER BY " + key + " LIMIT 1)"
	statements := append([]string{"PRAGMA foreign_keys = off"}, names...)
	statements = append(statements,
		"CREATE TEMP TABLE one AS SELECT "+columns+" FROM "+table+" WHERE "+first,
		"DELETE FROM "+table+" WHERE "+first,
		"INSERT INTO "+table+" ("+columns+") SELECT "+columns+" FROM one")
	if kept != "" {
		for _, text := range strings.Split(kept, ";\nCREATE") {
			statements = append(statements, "CREATE"+strings.TrimPrefix(text, "CREATE"))
		}
	}
	w.sql(statements...)
}

func fixedDate(t *testing.T, c field) {
	events := story(t, c, "clock", "next_request", "clock", "next_request")
	var now time.Time
	w := newWorld(t)
	w.config.Now = func() time.Time { return now }
	ask := func(clock, facts string) {
		var err error
		if now, err = time.Parse(time.RFC3339, clock); err != nil {
			t.Fatal(err)
		}
		w.steps = append(w.steps, scripted.Step{Text: "Fine."})
		w.process(func(a *agent.Agent, _ *sqlite.Store) {
			if _, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Go on.", Context: facts}).Collect(); err != nil {
				t.Fatal(err)
			}
		})
	}
	ask(events[0].Time, "Today is 2026-01-01.")
	ask(events[2].Time, "")
	// Over midnight: the date of the first turn is the stored one, and nobody adds today's.
	if body := string(w.last()); strings.Count(body, "2026-01-01") != 1 || strings.Contains(body, "2026-01-02") || strings.Contains(string(split(t, w.last()).Head), "2026") {
		t.Errorf("the second request: %s", body)
	}
	ask(events[2].Time, "Today is 2026-01-02.")
	want := []string{`user "Today is 2026-01-01." "Go on."`, `assistant "Fine."`, `user "Go on."`, `assistant "Fine."`, `user "Today is 2026-01-02." "Go on."`}
	if d := cmp.Diff(want, parseBody(t, w.last()).outline()); d != "" {
		t.Errorf("a new date stands where it was said (-want +got):\n%s", d)
	}
	w.look(func(s *sqlite.Store) {
		turns, err := s.TurnsOf(t.Context(), talk)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"2026-01-02T04:59:30Z", "2026-01-02T05:00:30Z"} {
			if got := turns[i].StartedAt.Format(time.RFC3339); got != want {
				t.Errorf("turn %d began at %s, want %s", i+1, got, want)
			}
		}
	})
}

func injectedText(t *testing.T, c field) {
	events := story(t, c, "inject", "next_request", "close", "resume", "user", "next_request")
	if events[0].Into != 0 {
		t.Fatalf("into message %d", events[0].Into)
	}
	w := newWorld(t)
	w.steps = []scripted.Step{{Text: "Fine."}}
	w.process(func(a *agent.Agent, _ *sqlite.Store) {
		if _, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Go on.", Context: events[0].Text}).Collect(); err != nil {
			t.Fatal(err)
		}
	})
	w.turn(events[4].Text, scripted.Step{Text: "Done."})
	want := []string{`user "skills" "Go on."`, `assistant "Fine."`, `user "more"`}
	if d := cmp.Diff(want, parseBody(t, w.last()).outline()); d != "" {
		t.Errorf("the request after the restart (-want +got):\n%s", d)
	}
	first, second := split(t, w.body(1)), split(t, w.body(2))
	if !bytes.HasPrefix(second.Messages, append(bytes.Clone(first.Messages), ',')) || !bytes.Equal(first.Head, second.Head) {
		t.Error("the first message is not what it was")
	}
}

// opened are the reasons of the epochs that a run opened, with what each costs in bytes.
func opened(out agent.Outcome) (reasons []string, bytes int64) {
	for _, e := range out.Events {
		if e, ok := e.(agent.EpochOpened); ok {
			reasons, bytes = append(reasons, e.Reason), bytes+e.Bytes
		}
	}
	return reasons, bytes
}

func storedTools(t *testing.T, c field) {
	events := story(t, c, "tools", "next_request", "resume", "next_request")
	if events[2].MCP != "connecting" {
		t.Fatal(events[2].MCP)
	}
	all := named(events[0].Names...)
	w := newWorld(t, all...)
	w.turn("Go on.", scripted.Step{Text: "Fine."})
	// The servers of m1 and m2 have not answered yet: the stored list is offered, and a call of what is not
	// there yet is answered.
	w.tools, w.config.KeepHead = all[:1], true
	out := w.turn("Go on.", scripted.Step{Calls: []scripted.Call{asks("k1", "m1", "{}")}}, scripted.Step{Text: "Fine."})
	if reasons, _ := opened(out); reasons != nil {
		t.Errorf("epochs were opened: %v", reasons)
	}
	if got := texts(t, w.last()); len(got) != 1 || !strings.Contains(got[0], `k1=there is no tool named "m1"`) {
		t.Errorf("a call of a tool that is not there yet is answered %q", got)
	}
	// They have answered.
	w.tools = all
	w.turn("Go on.", scripted.Step{Calls: []scripted.Call{asks("k2", "m1", "{}")}}, scripted.Step{Text: "Fine."})
	if got := texts(t, w.last()); !slices.Equal(got, []string{"k2=from m1"}) {
		t.Errorf("when it is there it is answered %q", got)
	}
	for i, body := range w.received() {
		if !bytes.Equal(split(t, body).Head, split(t, w.body(1)).Head) {
			t.Errorf("the head of request %d is not that of the first", i+1)
		}
	}
	// The list changes at a point that the host chooses, and not before.
	w.tools, w.config.KeepHead = all[:1], false
	if reasons, _ := opened(w.turn("Go on.", scripted.Step{Text: "Fine."})); !slices.Equal(reasons, []string{"tools"}) {
		t.Errorf("epochs: %v", reasons)
	}
}

func changedTools(t *testing.T, c field) {
	events := story(t, c, "tools", "next_request", "list_changed", "next_request")
	w := newWorld(t, named(events[0].Names...)...)
	w.turn("Go on.", scripted.Step{Text: "Fine."})
	w.tools = named(events[2].Names...)
	out := w.turn("Go on.", scripted.Step{Calls: []scripted.Call{asks("", "c", "{}")}}, scripted.Step{Text: "Done."})
	first, second := split(t, w.body(1)), split(t, w.body(2))
	if !bytes.HasPrefix(second.Messages, first.Messages) || bytes.Equal(first.Head, second.Head) {
		t.Error("the earlier messages changed, or the tools did not")
	}
	if got := texts(t, w.last()); len(got) != 1 || !strings.HasSuffix(got[0], "=from c") {
		t.Errorf("the new tool is answered %q", got)
	}
	// The boundary is an event that says why and what of the prompt the cache will not have: the new head
	// and all that was said before.
	said := bytes.LastIndex(second.Messages, []byte(`,{"role":"user"`))
	reasons, cost := opened(out)
	if want := int64(len(second.Head) + said); !slices.Equal(reasons, []string{"tools"}) || cost != want {
		t.Errorf("epochs %v cost %d bytes, want the %d of head and earlier messages", reasons, cost, want)
	}
}

func timeZones(t *testing.T, c field) {
	events := story(t, c, "env", "round", "close", "env", "resume", "next_request")
	w := newWorld(t)
	began := time.Now()
	w.put("f.txt", "a file\n")
	list := []scripted.Call{asks("", "workspace--list", `{"path":"tool-results"}`), asks("", "workspace--list", `{"path":"project"}`)}
	w.steps = []scripted.Step{{Calls: []scripted.Call{asks("", "sh", "{}")}}, {Calls: list}, {Text: "Fine."}}
	tools := []jobTool{{Name: "sh", Text: "ran"}}
	w.child(job{Text: "Go on.", Tools: tools}, "TZ="+events[0].Zone).done()
	early := w.received()
	w.steps = append(w.steps, scripted.Step{Calls: list}, scripted.Step{Text: "Done."})
	w.child(job{Text: "More.", Tools: tools}, "TZ="+events[3].Zone).done()
	ended := time.Now()
	// The world holds the prefix, byte for byte. What was shown is what was stored when it was written.
	first := w.answer(resultOf(t, "r2-1"))
	second := w.answer(resultOf(t, "r3-1"))
	at := regexp.MustCompile(`(?m)^r1-1-sh\.txt\t.*\t(\S+)$`)
	one, two := at.FindStringSubmatch(first.text), at.FindStringSubmatch(second.text)
	if one == nil || two == nil || one[1] != two[1] || len(early) != 3 {
		t.Fatalf("the times of one result in two zones: %v in %q, %v in %q", one, first.text, two, second.text)
	}
	shown, err := time.Parse("2006-01-02T15:04:05Z", one[1])
	if err != nil || shown.Before(began.Truncate(time.Second)) || shown.After(ended) {
		t.Errorf("shown is %s, which is no UTC between %s and %s: %v", one[1], began.UTC(), ended.UTC(), err)
	}
	info, err := os.Stat(filepath.Join(w.project, "f.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"r2-2", "r3-2"} {
		if a := w.answer(resultOf(t, id)); !strings.Contains(a.text, "\nf.txt\t7 bytes\t"+info.ModTime().UTC().Format("2006-01-02T15:04:05Z")+"\n") {
			t.Errorf("the file is of %s, listed is %q", info.ModTime().UTC(), a.text)
		}
	}
	for _, column := range []string{"created_at FROM conversations", "min(started_at) FROM turns", "max(started_at) FROM turns", "min(created_at) FROM calls", "max(settled_at) FROM calls"} {
		ms, err := strconv.ParseInt(w.value("SELECT "+column), 10, 64)
		if err != nil || ms < began.UnixMilli() || ms > ended.UnixMilli() {
			t.Errorf("%s is %d, which is not between %d and %d: %v", column, ms, began.UnixMilli(), ended.UnixMilli(), err)
		}
	}
	w.look(func(s *sqlite.Store) {
		turns, err := s.TurnsOf(t.Context(), talk)
		if err != nil || len(turns) != 2 || turns[0].StartedAt.Location() != time.UTC {
			t.Errorf("turns: %v, %v", turns, err)
		}
	})
}
