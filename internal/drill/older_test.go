package drill

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/internal/lines"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/anthropic"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// What an older serializer made of results: the text as a JSON string, escapes and all. One of them was
// shown shortened.
const (
	oldPlain = `"line\nline"`
	oldHard  = `"a \"quoted\" \\ path\tand \u003ctag\u003e \u0026 \u2028 \ud83d\ude00 é\r\n"`
	oldLong  = `"row 1\nrow 2\nrow 3\nrow 4"`
	oldShown = `"row 1\n… (truncated)`
	oldOpen  = `"the round\nwas open"`
)

// note is what the tool gives now.
func note(n int) string { return fmt.Sprintf("note %d:\n\tis \"plain\" <&>\n", n) }

// noting is an agent of today whose model says these steps.
func noting(t *testing.T, store history.Store, model membrane.Model) *agent.Agent {
	t.Helper()
	notes, err := tool.Func("notes", "Read a note.", func(_ context.Context, in struct {
		N int `json:"n"`
	},
	) (string, error) {
		return note(in.N), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	notes.ReadOnly = true
	a, err := agent.New(store, model, agent.Config{
		System: "Read notes.", Tools: []tool.Tool{notes}, Bare: true, Limits: agent.Limits{Wall: 100 * 365 * 24 * time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func noteModel(t *testing.T, bodies string) membrane.Model {
	t.Helper()
	answered := scripted.Step{Text: "It was answered before."}
	model, err := scripted.New(scripted.Script{Name: "notes", Steps: []scripted.Step{
		answered, answered, {Calls: []scripted.Call{{Tool: "notes", Args: []byte(`{"n":5}`)}}}, {Text: "Done."},
	}}, scripted.Config{Bodies: bodies})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// older is a conversation as an older build of the program left it, in rows.
type older struct {
	t         *testing.T
	db        *sql.DB
	head      []byte
	fragments [][]byte
}

// makeOlder writes the conversation "old": a round that is closed and one that is open, in which one of
// two calls has its result.
func makeOlder(t *testing.T, dir string) *older {
	t.Helper()
	if err := openStore(t, dir, sqlite.Config{}).Close(); err != nil { // the schema
		t.Fatal(err)
	}
	path := url.PathEscape(filepath.Join(dir, "state", "weir.db"))
	db, err := sql.Open("sqlite", "file:"+path+"?_foreign_keys=1")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	o := &older{t: t, db: db}
	o.put("conversations", "id", "old", "title", "Notes", "created_at", 1_700_000_000_000, "parent", "", "fork_round", 0)
	o.put("turns", "n", 1, "first_seq", 1, "state", "open", "reason", "", "rounds", 2, "tokens", 20, "started_at", 1_700_000_000_000)
	o.epoch()
	o.message("user", 0, `{"role":"user","blocks":[{"type":"text","text":"What do the notes say?"}]}`,
		`{"role": "user", "content": [{"type": "text", "text": "What do the notes say?"}]}`)
	o.request(1, 1)
	o.message("assistant", 0,
		`{"role":"assistant","blocks":[{"type":"call","id":"c1","tool":"notes","args":"{\"n\":1}"},{"type":"call","id":"c2","tool":"notes","args":"{\"n\":2}"},{"type":"call","id":"c3","tool":"notes","args":"{\"n\":6}"}]}`,
		`{"role": "assistant", "content": [{"type": "call", "id": "c1", "tool": "notes", "args": {"n":1}}, {"type": "call", "id": "c2", "tool": "notes", "args": {"n":2}}, {"type": "call", "id": "c3", "tool": "notes", "args": {"n":6}}]}`)
	o.round(1, 3, 3)
	o.call(1, 1, "c1", `{"n":1}`, "answered", oldPlain, "")
	o.call(1, 2, "c2", `{"n":2}`, "answered", oldHard, "")
	o.call(1, 3, "c3", `{"n":6}`, "answered", oldLong, oldShown)
	o.message("results", 1, "", fmt.Sprintf(
		`{"role": "results", "content": [{"id": "c1", "tool": "notes", "text": %s}, {"id": "c2", "tool": "notes", "text": %s}, {"id": "c3", "tool": "notes", "text": %s}]}`,
		quoted(oldPlain), quoted(oldHard), quoted(oldShown)))
	o.request(2, 3)
	o.message("assistant", 0,
		`{"role":"assistant","blocks":[{"type":"call","id":"c4","tool":"notes","args":"{\"n\":3}"},{"type":"call","id":"c5","tool":"notes","args":"{\"n\":4}"}]}`,
		`{"role": "assistant", "content": [{"type": "call", "id": "c4", "tool": "notes", "args": {"n":3}}, {"type": "call", "id": "c5", "tool": "notes", "args": {"n":4}}]}`)
	o.round(2, 0, 2)
	o.call(2, 1, "c4", `{"n":3}`, "settled", oldOpen, "")
	o.call(2, 2, "c5", `{"n":4}`, "pending", "", "")
	return o
}

// quoted is a text as the older serializer put it into a request.
func quoted(text string) string {
	raw, _ := json.Marshal(text) // a string always marshals
	return string(raw)
}

// put inserts one row of the conversation; pairs are names and values of its columns.
func (o *older) put(table string, pairs ...any) {
	o.t.Helper()
	if table != "conversations" {
		pairs = append(pairs, "conversation", "old")
	}
	var names, marks []string
	var values []any
	for i := 0; i < len(pairs); i += 2 {
		names, marks, values = append(names, fmt.Sprint(pairs[i])), append(marks, "?"), append(values, pairs[i+1])
	}
	query := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(names, ", "), strings.Join(marks, ", "))
	if _, err := o.db.ExecContext(o.t.Context(), query, values...); err != nil {
		o.t.Fatalf("%s: %v", query, err)
	}
}

// epoch stores a head that means what the agent of today would send, in the bytes of an older encoder.
func (o *older) epoch() {
	o.t.Helper()
	scratch := openStore(o.t, o.t.TempDir(), sqlite.Config{})
	if _, err := noting(o.t, scratch, noteModel(o.t, "")).Run(o.t.Context(), agent.Turn{Conversation: "c", Text: "Go."}).Collect(); err != nil {
		o.t.Fatal(err)
	}
	epochs, err := scratch.Epochs(o.t.Context(), "c")
	if err != nil {
		o.t.Fatal(err)
	}
	o.head = bytes.Replace(epochs[0].Head, []byte(`{"model":`), []byte(`{ "model": `), 1)
	sum := sha256.Sum256(o.head)
	o.put("epochs", "n", 1, "dialect", "scripted", "reason", "start", "base", 0, "base_count", 0, "head_sha256", sum[:],
		"fingerprint", epochs[0].Fingerprint, "head", o.head, "tail", epochs[0].Tail)
}

// chain is that of the last fragment.
func (o *older) chain() []byte {
	var chain [32]byte
	for _, f := range o.fragments {
		chain = history.Chain(chain, f)
	}
	return chain[:]
}

// messages are the fragments as they were sent.
func (o *older) messages() []byte { return bytes.Join(o.fragments, []byte(",")) }

func (o *older) message(role string, round int, body, fragment string) {
	o.t.Helper()
	o.fragments = append(o.fragments, []byte(fragment))
	seq, sum := len(o.fragments), sha256.Sum256([]byte(body))
	o.put("messages", "seq", seq, "turn", 1, "round", round, "role", role, "codec", membrane.Codec, "sha256", sum[:], "body", []byte(body))
	o.put("fragments", "epoch", 1, "pos", seq, "seq", seq, "encoder", "0", "chain", o.chain(), "bytes", []byte(fragment))
}

func (o *older) request(n, last int) {
	o.t.Helper()
	sum := sha256.Sum256(o.head)
	size := len(o.messages())
	o.put("requests", "n", n, "epoch", 1, "last_pos", last, "head_sha256", sum[:], "chain", o.chain(), "message_bytes", size,
		"total_bytes", len(o.head)+size+len("]}"), "usage_in", 1, "usage_out", 1, "cache_read", 0, "cache_write", 0, "latency_ns", 1,
		"outcome", "ok")
}

func (o *older) round(n, results, calls int) {
	o.t.Helper()
	closed := min(results, 1)
	o.put("rounds", "n", n, "turn", 1, "key", fmt.Sprint("message-", 2*n), "digest", make([]byte, 32), "seq", 0,
		"results_seq", results, "closed", closed, "calls", calls)
}

// call stores a call, with its result unless it is pending.
func (o *older) call(round, index int, id, args, state, whole, shown string) {
	o.t.Helper()
	outcome := "done"
	if state == "pending" {
		outcome = ""
	}
	asked := sha256.Sum256([]byte(args))
	o.put("calls", "round", round, "idx", index, "sub", 0, "provider_id", id, "tool", "notes", "state", state, "outcome", outcome,
		"attempt", 1, "fence", 1, "created_at", 1, "started_at", 0, "settled_at", 1, "args_sha256", asked[:], "args", []byte(args))
	if state == "pending" {
		return
	}
	x, sum := lines.Of([]byte(whole)), sha256.Sum256([]byte(whole))
	pairs := []any{
		"round", round, "idx", index, "sub", 0, "is_error", 0, "bytes", x.Bytes, "lines", x.Lines, "chars", x.Chars,
		"sha256", sum[:], "tokens", 1, "duration_ns", 1, "whole", []byte(whole),
	}
	if shown != "" {
		pairs = append(pairs, "shown", []byte(shown))
	}
	o.put("results", pairs...)
}

// TestOlderResultsReplayAsStored goes on with a conversation whose results an older serializer made JSON
// strings. They go out byte for byte as they are stored, also where a message is made of them only now;
// what is made today is plain text.
func TestOlderResultsReplayAsStored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := makeOlder(t, dir)
	store := openStore(t, dir, sqlite.Config{})
	clean(t, store, "old")
	out, err := noting(t, store, noteModel(t, filepath.Join(dir, "bodies"))).Resume(t.Context(), "old").Collect()
	if err != nil || out.Reason != "done" {
		t.Fatalf("%+v, %v", out, err)
	}
	sent := membranetest.Bodies(t, filepath.Join(dir, "bodies"))
	membranetest.Prefix(t, scripted.Split, sent...)
	first, err := scripted.Split(sent[0])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(o.head), string(first.Head)); diff != "" {
		t.Errorf("head of the first request (-stored +sent):\n%s", diff)
	}
	rest, ok := bytes.CutPrefix(first.Messages, append(o.messages(), ','))
	if !ok {
		t.Fatalf("the first request does not begin with what was stored:\nstored: %s\nsent:   %s", o.messages(), first.Messages)
	}
	want := fmt.Sprintf(`{"role":"results","content":[{"id":"c4","tool":"notes","text":%s},{"id":"c5","tool":"notes","text":%s}]}`,
		plainly(t, oldOpen), plainly(t, note(4)))
	if diff := cmp.Diff(want, string(rest)); diff != "" {
		t.Errorf("the round that was open (-want +got):\n%s", diff)
	}
	if want := []byte(`"text":` + plainly(t, note(5))); !bytes.Contains(sent[1], want) {
		t.Errorf("a new result is not plain: %s does not hold %s", sent[1], want)
	}
	for id, text := range map[string]string{"r1-1": oldPlain, "r1-2": oldHard, "r1-3": oldLong, "r2-1": oldOpen, "r2-2": note(4), "r3-1": note(5)} {
		call, err := history.ParseCallID(id)
		if err != nil {
			t.Fatal(err)
		}
		r, err := store.ResultOf(t.Context(), "old", call)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, string(r.Whole)); diff != "" {
			t.Errorf("%s (-want +stored):\n%s", id, diff)
		}
	}
	if epochs, err := store.Epochs(t.Context(), "old"); err != nil || len(epochs) != 1 {
		t.Errorf("%d epochs, %v, want the stored one", len(epochs), err)
	}
	clean(t, store, "old")
	if !t.Failed() {
		olderInAnotherDialect(t, store)
	}
}

// plainly is a text as a request of today holds it.
func plainly(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

// olderInAnotherDialect goes on with a model of another wire: every message is encoded anew, from what the
// model was shown.
func olderInAnotherDialect(t *testing.T, store history.Store) {
	t.Helper()
	server := membranetest.Serve(t, membranetest.Answer{Body: (&provider{}).anthropic("claude-test", turnRounds+1)})
	model, err := anthropic.New("claude-test", anthropic.Config{APIKey: "a-key", BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := noting(t, store, model).Run(t.Context(), agent.Turn{Conversation: "old", Text: "And now?"}).Collect(); err != nil {
		t.Fatal(err)
	}
	var body struct {
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(server.Bodies()[0], &body); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range body.Messages {
		var blocks []struct {
			ID      string `json:"tool_use_id"`
			Content json.RawMessage
		}
		if err := json.Unmarshal(m.Content, &blocks); err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			var text string
			if b.ID != "" && json.Unmarshal(b.Content, &text) == nil {
				got[b.ID] = text
			}
		}
	}
	want := map[string]string{"c1": oldPlain, "c2": oldHard, "c3": oldShown, "c4": oldOpen, "c5": note(4), "call-1": note(5)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results in another dialect (-want +got):\n%s", diff)
	}
	clean(t, store, "old")
}
