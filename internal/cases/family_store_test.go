package cases

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// familyStore are the items of family J: the store under load.
func familyStore() map[string]item {
	return map[string]item{
		"J01": writersWait, "J02": smallPieces, "J03": noTransactionOverACall, "J04": manyResume, "J05": storeFailureStops, "J06": fenced,
	}
}

// alone runs a turn of another conversation, with a store and an agent of its own.
func (w *world) alone(conversation string) error {
	s, err := sqlite.Open(w.t.Context(), w.dir, w.store)
	if err != nil {
		return err
	}
	a, err := w.agentFor(s)
	if err == nil {
		_, err = a.Run(w.t.Context(), agent.Turn{Conversation: conversation, Text: "Go on."}).Collect()
	}
	return errors.Join(err, s.Close())
}

// agentFor makes an agent of the world's steps that leaves no bodies.
func (w *world) agentFor(s history.Store) (*agent.Agent, error) {
	model, err := scripted.New(scripted.Script{Steps: w.steps}, scripted.Config{})
	if err != nil {
		return nil, err
	}
	cfg := w.config
	cfg.Tools = w.tools
	return agent.New(s, model, cfg)
}

func writersWait(t *testing.T) {
	w := quick(t, gives("t", tool.Text("ran")))
	w.turn("First.", scripted.Step{Text: "Fine."})
	w.steps = nil
	for range 5 {
		w.steps = append(w.steps, scripted.Step{Calls: []scripted.Call{asks("", "t", "{}"), asks("", "t", "{}")}})
	}
	w.steps = append(w.steps, scripted.Step{Text: "Done."})
	var writers sync.WaitGroup
	locked, free := make(chan struct{}), make(chan struct{})
	go w.hog(200*time.Millisecond, locked, free)
	<-locked
	for n := range 6 {
		writers.Go(func() {
			if err := w.alone(fmt.Sprint("c", n)); err != nil {
				t.Errorf("writer %d: %v", n, err)
			}
		})
	}
	writers.Wait()
	<-free
	if n := w.value("SELECT count(*) FROM results"); n != "60" {
		t.Errorf("%s of 60 results are stored", n)
	}
}

func smallPieces(t *testing.T) {
	w := quick(t, gives("t", tool.Text(rows(3000))))
	var calls []scripted.Call
	for range 30 {
		calls = append(calls, asks("", "t", "{}"))
	}
	w.turn("Go on.", scripted.Step{Calls: calls}, scripted.Step{Text: "Done."})
	if n := len(w.files()); n != 30 {
		t.Errorf("30 results lie in %d files", n)
	}
	// Nothing of them lies in the database.
	if n := w.value("SELECT count(*) FROM results WHERE whole IS NOT NULL"); n != "0" {
		t.Errorf("%s results lie in their rows, too", n)
	}
}

func noTransactionOverACall(t *testing.T) {
	var begun atomic.Int32
	w := quick(t)
	w.tools = []tool.Tool{handler("t", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		begun.Add(1)
		// While it runs, another program writes at once.
		db, err := sql.Open("sqlite", "file:"+filepath.Join(w.dir, "weir.db")+"?_pragma=busy_timeout(2000)")
		if err != nil {
			return tool.Result{}, err
		}
		db.SetMaxOpenConns(1)
		for _, s := range []string{"BEGIN IMMEDIATE", "ROLLBACK"} {
			if _, err := db.ExecContext(context.WithoutCancel(ctx), s); err != nil {
				return tool.Result{}, errors.Join(fmt.Errorf("%s: %w", s, err), db.Close())
			}
		}
		return tool.Text("wrote"), db.Close()
	})}
	if a := w.call("t", "{}"); a.text != "wrote" || begun.Load() != 1 {
		t.Errorf("the tool says %q", a.text)
	}
	// A turn that was cancelled leaves no transaction either.
	var cancel atomic.Pointer[context.CancelFunc]
	w.tools = append(w.tools, stop("stops", &cancel, 1))
	w.aborted(&cancel, scripted.Step{Calls: []scripted.Call{asks("", "stops", "{}")}})
	if a := w.call("t", "{}"); a.text != "wrote" {
		t.Errorf("after a cancel the tool says %q", a.text)
	}
}

func manyResume(t *testing.T) {
	const n = 14
	w := quick(t, gives("t", tool.Text("ran")))
	w.steps = []scripted.Step{{Calls: []scripted.Call{asks("", "t", "{}")}}, {Text: "Done."}}
	s := w.open()
	for i := range n {
		a, err := w.agentFor(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Run(t.Context(), agent.Turn{Conversation: fmt.Sprint("c", i), Text: "Go on."}).Collect(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := w.dump(everything)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			s, err := sqlite.Open(t.Context(), w.dir, w.store)
			if err != nil {
				t.Errorf("open %d: %v", i, err)
				return
			}
			a, err := w.agentFor(s)
			if err == nil {
				_, err = a.Resume(t.Context(), fmt.Sprint("c", i)).Collect()
			}
			if !errors.Is(err, agent.ErrNothingToResume) {
				t.Errorf("resume %d: %v", i, err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("close %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if d := cmp.Diff(before, w.dump(everything)); d != "" {
		t.Errorf("resuming what has ended changed what is stored:\n%s", d)
	}
}

func storeFailureStops(t *testing.T) {
	w := quick(t, gives("t", tool.Text("ran")))
	w.turn("Go on.", scripted.Step{Text: "Fine."})
	w.steps = append(w.steps, scripted.Step{Calls: []scripted.Call{asks("", "t", "{}")}}, scripted.Step{Text: "Done."})
	w.sql(`CREATE TRIGGER fault BEFORE INSERT ON results BEGIN SELECT RAISE(ABORT, 'a fault'); END`)
	sent := len(w.received())
	w.process(func(a *agent.Agent, s *sqlite.Store) {
		out, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "More."}).Collect()
		if err == nil || !strings.Contains(err.Error(), "a fault") || !strings.Contains(err.Error(), "round 1 of "+talk) || out.Reason != "" {
			t.Errorf("ended as %q, %v", out.Reason, err)
		}
		// No lock and no lease is left: the same handle goes on as soon as the fault is over.
		w.sql(`DROP TRIGGER fault`)
		if out, err := a.Resume(t.Context(), talk).Collect(); err != nil || out.Text != "Done." {
			t.Errorf("resumed to %q, %v", out.Text, err)
		}
		_ = s
	})
	if n := len(w.received()); n != sent+2 {
		t.Errorf("%d requests were sent, want one before the failure and one after it", n-sent)
	}
	// A store that is closed under a run, and one that may not be written, have errors that can be told.
	w.steps = append(w.steps, scripted.Step{Text: "Hm."})
	s := w.open()
	a := w.agent(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "More."}).Collect(); !errors.Is(err, sqlite.ErrClosed) {
		t.Errorf("a closed store: %v", err)
	}
	w.look(func(s *sqlite.Store) {
		if _, err := w.agent(s).Run(t.Context(), agent.Turn{Conversation: talk, Text: "More."}).Collect(); !errors.Is(err, sqlite.ErrReadOnly) {
			t.Errorf("a store for reading: %v", err)
		}
	})
}

func fenced(t *testing.T) {
	w := quick(t)
	w.turn("Go on.", scripted.Step{Text: "Fine."})
	s, other := w.open(), w.open()
	defer func() { _, _ = s.Close(), other.Close() }()
	now := time.Now()
	first, err := s.TakeLease(t.Context(), history.Take{Conversation: talk, Run: "first", Now: now})
	if err != nil {
		t.Fatal(err)
	}
	// While it is held nobody else gets it, and everybody is told by whom.
	for name, store := range map[string]*sqlite.Store{"here": s, "another handle": other} {
		var busy *history.BusyError
		_, err := store.TakeLease(t.Context(), history.Take{Conversation: talk, Run: "second", Now: now, TakeOver: true})
		if !errors.As(err, &busy) || busy.Conversation != talk || busy.Holder == "" || busy.Until.IsZero() {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := w.agent(store).Run(t.Context(), agent.Turn{Conversation: talk, Text: "More."}).Collect(); !errors.As(err, &busy) {
			t.Errorf("a run, %s: %v", name, err)
		}
	}
	// After it has expired it can be taken, and then the first one writes nothing more.
	second, err := other.TakeLease(t.Context(), history.Take{Conversation: talk, Run: "second", Now: now.Add(history.LeaseTime + time.Second), TakeOver: true})
	if err != nil || second.Fence <= first.Fence {
		t.Fatalf("taken over with fence %d after %d: %v", second.Fence, first.Fence, err)
	}
	before := w.dump(everything)
	_, err1 := s.Append(t.Context(), first, history.Append{Now: now, Events: []history.Event{{Kind: "k", Data: []byte("{}")}}})
	_, err2 := s.RenewLease(t.Context(), first, now)
	_, err3 := round.Settle(t.Context(), s, round.Request{Conversation: talk, Lease: &first, Calls: []tool.Call{{ID: "x", Name: "t"}}}, round.Config{})
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, history.ErrStale) {
			t.Errorf("a write with the old fence: %v", err)
		}
	}
	if d := cmp.Diff(before, w.dump(everything)); d != "" {
		t.Errorf("it was written:\n%s", d)
	}
	if err := other.ReleaseLease(t.Context(), second); err != nil {
		t.Error(err)
	}
}
