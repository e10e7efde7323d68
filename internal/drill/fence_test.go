//go:build unix

package drill

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/scripted"
)

// expired is a clock for which a lease that was just taken has expired.
const expired = history.LeaseTime + time.Second

// TestFenceStoppedProcess stops a process in the middle of its calls, lets another one take the
// conversation over, and lets the first go on: what it writes then changes neither rows nor files, and
// what its calls came to is recorded as late.
func TestFenceStoppedProcess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// calls are the tools of the round; their bodies are let go one after the other.
		calls string
		// resume takes over by [agent.Agent.TakeOver] instead of by the turn's key.
		resume bool
		// late are the calls whose late results are recorded, by what they gave.
		late map[string]string
		// orphan is the file that the stopped process leaves without a row.
		orphan string
		// wait is how long it stays stopped.
		wait time.Duration
	}{
		{name: "one call", calls: "once", late: map[string]string{"r1-1": lateText("r1-1")}},
		{
			name: "a large result", calls: "once-big", resume: true, orphan: "r1-1-once-big.f1.txt",
			late: map[string]string{"r1-1": strings.Repeat(lateText("r1-1")+"\n", 3000)},
		},
		{
			name: "a call that is run again", calls: "quick+again-big", orphan: "r1-2-again-big.f1.txt",
			late: map[string]string{"r1-2": strings.Repeat(lateText("r1-2")+"\n", 3000)},
		},
		{
			name: "calls that end one after the other", calls: "once+once+once", resume: true,
			late: map[string]string{"r1-1": lateText("r1-1"), "r1-2": lateText("r1-2"), "r1-3": lateText("r1-3")},
		},
		{
			name: "a call that was not begun", calls: "serial+serial",
			late: map[string]string{"r1-1": lateText("r1-1")},
		},
		{
			name: "stopped for longer than a renewal", calls: "heeds", wait: history.LeaseTime/3 + time.Second,
			late: map[string]string{"r1-1": "heeds was cancelled before it ended. It may have taken effect."},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.wait > 0 && !*full {
				t.Skipf("it takes %s: -full runs it", c.wait)
			}
			f := &fence{t: t, dir: t.TempDir(), calls: strings.Split(c.calls, "+")}
			old := f.stopped()
			stopped := time.Now()
			f.takeOver(c.calls, c.resume)
			before := f.rows()
			time.Sleep(time.Until(stopped.Add(c.wait)))
			f.goOn(old, len(c.late))
			after := f.rows()
			if diff := cmp.Diff(c.late, f.lateTexts(before, after, c.late)); diff != "" {
				t.Errorf("late results (-want +got):\n%s", diff)
			}
			delete(before, "events")
			delete(after, "events")
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the process that was taken over changed rows (-before +after):\n%s", diff)
			}
			f.intact(c.orphan)
		})
	}
}

type fence struct {
	t     *testing.T
	dir   string
	calls []string
}

func (f *fence) order() order {
	return order{Role: "hold", Dir: f.dir, Conversation: "c", Key: strings.Join(f.calls, "+")}
}

// stopped starts a process, waits for its bodies and stops it. It is never stopped in the middle of a
// write: then the database would be locked for everybody, which no fence can help.
func (f *fence) stopped() *process {
	p := start(f.t, os.Args[0], f.order())
	want := map[string]bool{}
	for i, name := range f.calls {
		switch {
		case name == "quick":
			want[fmt.Sprintf("settled r1-%d", i+1)] = true // it is stored before the others end
		case f.runs(i):
			want[fmt.Sprintf("at r1-%d", i+1)] = true
		}
	}
	for len(want) > 0 {
		fields := strings.Fields(p.await(""))
		if len(fields) > 1 {
			delete(want, fields[0]+" "+fields[1])
		}
	}
	for {
		time.Sleep(50 * time.Millisecond)
		if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			f.t.Fatal(err)
		}
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
			f.t.Fatalf("the process was not stopped: %v, status %x", err, status)
		}
		if f.writable() {
			return p
		}
		if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			f.t.Fatal(err)
		}
	}
}

// runs reports whether a slow body of this call runs when the process is stopped.
func (f *fence) runs(i int) bool { return f.calls[i] != "quick" && (f.calls[i] != "serial" || i == 0) }

// database opens the rows themselves.
func (f *fence) database(timeout time.Duration) *sql.DB {
	f.t.Helper()
	path := url.PathEscape(filepath.Join(f.dir, "state", "weir.db"))
	db, err := sql.Open("sqlite", fmt.Sprintf("file:%s?_txlock=immediate&_busy_timeout=%d", path, timeout.Milliseconds()))
	if err != nil {
		f.t.Fatal(err)
	}
	return db
}

func (f *fence) writable() bool {
	db := f.database(100 * time.Millisecond)
	defer db.Close()
	tx, err := db.BeginTx(f.t.Context(), nil)
	return err == nil && tx.Rollback() == nil
}

// takeOver takes the conversation from the stopped process: in vain before its lease expires, and in vain
// without being told to, then for good. The new process answers the calls and ends the turn.
func (f *fence) takeOver(calls string, resume bool) {
	f.t.Helper()
	try := func(o order) *process {
		o.Resume = resume
		return start(f.t, os.Args[0], o)
	}
	early, unasked, now := f.order(), f.order(), f.order()
	early.TakeOver = true
	unasked.Ahead = expired
	now.TakeOver, now.Ahead = true, expired
	for _, o := range []order{early, unasked} {
		p := try(o)
		got, want := p.await("busy", "ended", "stopped"), "conversation c is being run by another process: wait for it to end, or stop it"
		if !strings.HasPrefix(got, "false ") || !strings.HasSuffix(got, want) {
			f.t.Errorf("a take-over of %+v: %q, want %q", o, got, want)
		}
		p.leave()
	}
	p := try(now)
	settled := 0
	for p.out.Scan() {
		fields := strings.Fields(p.out.Text())
		switch {
		case fields[0] == "settled":
			settled++
			id, err := history.ParseCallID(fields[1])
			if err != nil {
				f.t.Fatal(err)
			}
			want := history.OutcomeUnknown
			if !f.runs(id.Index-1) || fields[2] == "again-big" {
				want = history.OutcomeDone
			}
			if fields[3] != string(want) {
				f.t.Errorf("%s is answered as %q, want %q", fields[1], fields[3], want)
			}
		case fields[0] == "ended" && fields[1] == "done":
			if want := len(f.calls) - strings.Count(calls, "quick"); settled != want {
				f.t.Errorf("%d calls were answered, want %d", settled, want)
			}
			p.leave()
			return
		case fields[0] == "busy" || fields[0] == "stopped":
			f.t.Fatalf("the take-over: %s", p.out.Text())
		}
	}
	f.t.Fatalf("the turn did not end: %v", p.end())
}

// leave lets a process close its store and end well.
func (p *process) leave() {
	p.t.Helper()
	p.tell("")
	if err := p.end(); err != nil {
		p.t.Fatal(err)
	}
}

// goOn lets the stopped process go on, its bodies end one after the other, and waits until what they gave
// is recorded.
func (f *fence) goOn(old *process, late int) {
	f.t.Helper()
	if err := old.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		f.t.Fatal(err)
	}
	store := openStore(f.t, f.dir, sqlite.Config{ReadOnly: true})
	seen := 0
	for i, name := range f.calls {
		if !f.runs(i) {
			continue
		}
		if name != "heeds" {
			go1 := filepath.Join(f.dir, fmt.Sprintf("go-r1-%d", i+1))
			if err := os.WriteFile(go1, nil, 0o600); err != nil {
				f.t.Fatal(err)
			}
		}
		seen++
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			events, err := store.Events(f.t.Context(), "c", 0)
			if err != nil {
				f.t.Fatal(err)
			}
			if count(events, "late_result") >= min(seen, late) {
				break
			}
			if time.Now().After(deadline) {
				f.t.Fatalf("%s: no late result was recorded", name)
			}
		}
		if seen == 1 {
			if got := old.await("stale", "ended", "stopped"); !strings.Contains(got, history.ErrStale.Error()) {
				f.t.Errorf("the process that was taken over says %q", got)
			}
		}
	}
	old.leave()
}

func count(events []history.Event, kind string) int {
	n := 0
	for _, e := range events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// rows reads all that is stored of the conversation, but who drives it.
func (f *fence) rows() map[string][]string {
	f.t.Helper()
	db := f.database(5 * time.Second)
	defer db.Close()
	rows := map[string][]string{}
	for _, table := range []string{
		"turns", "epochs", "messages", "fragments", "rounds", "calls", "spills", "results", "approvals", "requests", "events",
	} {
		rows[table] = f.table(db, table)
	}
	return rows
}

func (f *fence) table(db *sql.DB, table string) []string {
	f.t.Helper()
	// The first columns are the key; a table's own order is by them, or by when a row was written.
	rows, err := db.QueryContext(f.t.Context(), "SELECT * FROM "+table+" ORDER BY 1, 2, 3")
	if err != nil {
		f.t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		f.t.Fatal(err)
	}
	var all []string
	for rows.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			f.t.Fatal(err)
		}
		line := ""
		for i, name := range columns {
			if b, ok := values[i].([]byte); ok {
				values[i] = string(b)
			}
			line += fmt.Sprintf("%s=%q ", name, fmt.Sprint(values[i]))
		}
		all = append(all, line)
	}
	if err := rows.Err(); err != nil {
		f.t.Fatal(err)
	}
	return all
}

// lateTexts are the late results that were recorded since: each once, and nothing else was. A text whose
// hash is that of the wanted one stands for it.
func (f *fence) lateTexts(before, after map[string][]string, want map[string]string) map[string]string {
	f.t.Helper()
	n := len(before["events"])
	if diff := cmp.Diff(before["events"], after["events"][:n]); diff != "" {
		f.t.Errorf("events were changed (-before +after):\n%s", diff)
	}
	store := openStore(f.t, f.dir, sqlite.Config{ReadOnly: true})
	events, err := store.Events(f.t.Context(), "c", int64(n))
	if err != nil {
		f.t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range events {
		var late struct {
			ID     string
			Bytes  int
			SHA256 string
		}
		if err := json.Unmarshal(e.Data, &late); err != nil || e.Kind != "late_result" || got[late.ID] != "" {
			f.t.Errorf("after the take-over: %s %s (%v)", e.Kind, e.Data, err)
		}
		got[late.ID] = string(e.Data)
		text := want[late.ID]
		if sum := sha256.Sum256([]byte(text)); late.SHA256 == hex.EncodeToString(sum[:]) && late.Bytes == len(text) {
			got[late.ID] = text
		}
	}
	return got
}

// intact holds the conversation to its promises after both processes have left.
func (f *fence) intact(orphan string) {
	f.t.Helper()
	store := openStore(f.t, f.dir, sqlite.Config{})
	clean(f.t, store, "c")
	membranetest.Prefix(f.t, scripted.Split, membranetest.Bodies(f.t, filepath.Join(f.dir, "bodies-c"))...)
	refs, err := store.SpillsOf(f.t.Context(), "c")
	if err != nil {
		f.t.Fatal(err)
	}
	for _, ref := range refs {
		file, err := store.Spills().Open(f.t.Context(), ref.File)
		if err != nil {
			f.t.Fatal(err)
		}
		text, err := io.ReadAll(io.NewSectionReader(file, 0, file.Size()))
		if err != nil || !strings.HasPrefix(string(text), "of the one who took over\n") || !strings.HasSuffix(ref.File, ".f2.txt") {
			f.t.Errorf("%s is %s: %.40q, %v", ref.Name, ref.File, text, err)
		}
		_ = file.Close()
	}
	left := filepath.Join(f.dir, "state", "tool-results", "c", orphan)
	if _, err := os.Stat(left); orphan != "" && err != nil {
		f.t.Errorf("the late file was not published under its own name: %v", err)
	}
	swept, err := store.Sweep(f.t.Context(), time.Now().Add(time.Hour))
	if want := len(orphan) > 0; err != nil || (swept == 1) != want || swept > 1 {
		f.t.Errorf("%d files without a row, %v, want one: %t", swept, err, want)
	}
	clean(f.t, store, "c")
}

// TestFenceDeadProcess takes a conversation over at once when the process that drove it is dead.
func TestFenceDeadProcess(t *testing.T) {
	t.Parallel()
	f := &fence{t: t, dir: t.TempDir(), calls: []string{"once"}}
	p := start(t, os.Args[0], f.order())
	p.await("at ")
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.end()
	next := f.order()
	next.Resume = true
	p = start(t, os.Args[0], next)
	if got := p.await("settled r1-1 once", "busy"); !strings.HasPrefix(got, "unknown") {
		t.Errorf("the call is answered as %q, want unknown", got)
	}
	if got := p.await("ended"); got != "done" {
		t.Errorf("the turn ended as %q", got)
	}
	p.leave()
	f.intact("")
}
