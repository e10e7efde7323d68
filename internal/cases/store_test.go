package cases

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

var seconds = flag.Int("seconds", 3, "how long C103 writes and moves the log; the report has 20")

// storeCases are the database under load: topics sqlite-locked and sqlite-corrupt.
func storeCases() map[string]runner {
	return map[string]runner{"C101": firstOpens, "C102": busyOnce, "C103": writersAndCheckpoints}
}

func firstOpens(t *testing.T, c field) {
	in := inputOf[struct {
		Kind    string `json:"kind"`
		Openers int    `json:"openers"`
		DB      string `json:"db"`
	}](t, c)
	if in.DB != "does not exist yet" {
		t.Fatal(in.DB)
	}
	w := newWorld(t)
	w.dir = filepath.Join(w.dir, "not", "there", "yet")
	var openers []*child
	for range in.Openers {
		openers = append(openers, w.child(job{Open: true, Wait: true}))
	}
	for _, p := range openers {
		p.until("ready")
	}
	for _, p := range openers {
		p.tell()
	}
	for _, p := range openers {
		p.done()
	}
	if got := w.value("PRAGMA integrity_check"); got != "ok" {
		t.Errorf("integrity: %s", got)
	}
	// The same within one process.
	w.dir += "-2"
	var opened sync.WaitGroup
	for range in.Openers {
		opened.Go(func() {
			s, err := sqlite.Open(t.Context(), w.dir, sqlite.Config{})
			if err == nil {
				_, err = s.Conversations(t.Context(), 0)
				err = errors.Join(err, s.Close())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	opened.Wait()
	w.turn("Go on.", scripted.Step{Text: "Done."}) // and it is a store
}

func busyOnce(t *testing.T, c field) {
	in := inputOf[struct {
		Kind  string `json:"kind"`
		At    string `json:"at"`
		Error string `json:"error"`
		Times int    `json:"times"`
	}](t, c)
	if in.At != "second INSERT of a round" || in.Error != "SQLITE_BUSY" || in.Times != 1 {
		t.Fatalf("%+v", in)
	}
	pair := []scripted.Call{asks("c1", "f", "{}"), asks("c2", "f", "{}")}
	// A second insert that fails takes the first one along: nothing of the round is stored, nothing of it
	// has run, and when the fault is over it is stored as one.
	ran := atomic.Int32{}
	w := newWorld(t, handler("f", func(context.Context, tool.Call) (tool.Result, error) {
		ran.Add(1)
		return tool.Text("ran"), nil
	}))
	w.turn("Go on.", scripted.Step{Text: "Fine."})
	w.sql(`CREATE TRIGGER fault BEFORE INSERT ON calls WHEN NEW.idx = 2 BEGIN SELECT RAISE(ABORT, 'a fault'); END`)
	w.steps = append(w.steps, scripted.Step{Calls: pair}, scripted.Step{Text: "Done."})
	w.process(func(a *agent.Agent, _ *sqlite.Store) {
		if _, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Again."}).Collect(); err == nil || !strings.Contains(err.Error(), "a fault") {
			t.Errorf("with the fault: %v", err)
		}
	})
	for table, want := range map[string]string{"calls": "0", "rounds": "0", "results": "0", "messages": "3"} {
		if n := w.value("SELECT count(*) FROM " + table); n != want {
			t.Errorf("%s has %s rows, want %s", table, n, want)
		}
	}
	if ran.Load() != 0 {
		t.Error("a call ran that is not stored")
	}
	w.sql("DROP TRIGGER fault")
	w.process(func(a *agent.Agent, _ *sqlite.Store) {
		if out, err := a.Resume(t.Context(), talk).Collect(); err != nil || out.Text != "Done." {
			t.Errorf("resumed to %q, %v", out.Text, err)
		}
	})
	if n := w.value("SELECT count(*) FROM results"); n != "2" || ran.Load() != 2 {
		t.Errorf("%s results of %d runs", n, ran.Load())
	}
	// A database that somebody else holds for longer than one try waits is tried again: the round is stored,
	// whole, and nobody sees half of it.
	w = newWorld(t, handler("f", func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("ran"), nil }))
	w.store.BusyTimeout = 250 * time.Millisecond
	w.steps = []scripted.Step{{Calls: pair}, {Text: "Done."}}
	w.turn("Go on.")
	w.steps = append(w.steps, scripted.Step{Calls: pair}, scripted.Step{Text: "Done."})
	w.process(func(a *agent.Agent, s *sqlite.Store) {
		locked, free := make(chan struct{}), make(chan struct{})
		go w.hog(400*time.Millisecond, locked, free)
		<-locked
		out, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Again."}).Collect()
		<-free
		if err != nil || out.Text != "Done." {
			t.Errorf("while the database was held: %q, %v", out.Text, err)
		}
		calls, err := s.CallsOf(t.Context(), talk, 2)
		if err != nil || len(calls) != 2 || calls[1].State != history.CallAnswered {
			t.Errorf("the round has %d calls, %v", len(calls), err)
		}
	})
}

// hog holds the database for writing, from outside, and says when it has it and when it has let go.
func (w *world) hog(d time.Duration, locked, free chan<- struct{}) {
	defer close(free)
	db := w.database()
	defer func() { _ = db.Close() }()
	_, err := db.ExecContext(w.t.Context(), "BEGIN IMMEDIATE")
	close(locked)
	time.Sleep(d)
	if err == nil {
		_, err = db.ExecContext(w.t.Context(), "ROLLBACK")
	}
	if err != nil {
		w.t.Errorf("hold the database: %v", err)
	}
}

func writersAndCheckpoints(t *testing.T, c field) {
	in := inputOf[struct {
		Kind          string `json:"kind"`
		Writers       int    `json:"writers"`
		Checkpointers int    `json:"checkpointers"`
		Seconds       int    `json:"seconds"`
		Then          string `json:"then"`
	}](t, c)
	w := newWorld(t)
	if err := w.open().Close(); err != nil {
		t.Fatal(err)
	}
	// The report names the versions up to 3.51.2.
	var version [3]int
	if _, err := fmt.Sscanf(w.value("SELECT sqlite_version()"), "%d.%d.%d", &version[0], &version[1], &version[2]); err != nil {
		t.Fatal(err)
	}
	if v := version[0]*1_000_000 + version[1]*1_000 + version[2]; v <= 3_051_002 {
		t.Errorf("the store embeds SQLite %v", version)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	written := make([]int, in.Writers)
	var all, begun sync.WaitGroup
	begun.Add(in.Writers)
	for n := range in.Writers {
		all.Go(func() { written[n] = w.write(ctx, fmt.Sprint("c", n), begun.Done) })
	}
	for n := range in.Checkpointers {
		all.Go(func() { w.checkpoint(ctx, []string{"TRUNCATE", "RESTART"}[n%2]) })
	}
	begun.Wait() // every writer has made a commit; from here on the time counts
	time.Sleep(time.Duration(min(*seconds, in.Seconds)) * time.Second)
	end()
	all.Wait()
	if got := w.value(in.Then); got != "ok" {
		t.Errorf("%s: %s", in.Then, got)
	}
	for n, want := range written {
		if got := w.value("SELECT count(*) FROM events WHERE conversation = ?", fmt.Sprint("c", n)); got != fmt.Sprint(want) || want == 0 {
			t.Errorf("writer %d was told of %d commits, and %s are there", n, want, got)
		}
	}
}

// write commits one event after the other on a handle of its own, until ctx ends, and counts them. It says
// when the first one is made.
func (w *world) write(ctx context.Context, conversation string, begun func()) (n int) {
	begun = sync.OnceFunc(begun)
	defer begun()
	s, err := sqlite.Open(w.t.Context(), w.dir, sqlite.Config{})
	if err != nil {
		w.t.Error(err)
		return 0
	}
	defer func() {
		if err := s.Close(); err != nil {
			w.t.Error(err)
		}
	}()
	lease, err := s.TakeLease(w.t.Context(), history.Take{
		Conversation: conversation, Create: &history.Conversation{ID: conversation}, Run: "writer", Now: time.Now(),
	})
	if err != nil {
		w.t.Error(err)
		return 0
	}
	data := []byte(`"` + strings.Repeat("x", 4000) + `"`)
	for ctx.Err() == nil {
		if _, err := s.Append(w.t.Context(), lease, history.Append{Events: []history.Event{{Kind: "k", Data: data}}}); err != nil {
			w.t.Errorf("write %d of %s: %v", n+1, conversation, err)
			return n
		}
		n++
		begun()
	}
	return n
}

// checkpoint moves the log into the database, from outside, again and again until ctx ends.
func (w *world) checkpoint(ctx context.Context, mode string) {
	db := w.database()
	defer func() { _ = db.Close() }()
	for ctx.Err() == nil {
		var busy, log, moved int
		if err := db.QueryRowContext(w.t.Context(), "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &log, &moved); err != nil {
			w.t.Errorf("checkpoint: %v", err)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
