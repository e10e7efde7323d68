package round_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// A job goes on when its caller leaves, reports how it is getting on, and gives its result to whoever asks.
func TestAJobOutlivesItsRequest(t *testing.T) {
	s := open(t)
	let := make(chan struct{})
	slow := body("slow", tool.Traits{}, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		tool.Report(ctx, "half")
		<-let
		return tool.Text("slow"), nil
	})
	l := line(t, s, round.Config{Tools: []tool.Tool{slow}})
	request, leave := context.WithCancel(t.Context())
	j, err := l.Start(context.WithoutCancel(request), tool.Call{Name: "slow", Args: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	leave()
	if _, err := j.Wait(request); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting ended with %v", err)
	}
	if err := j.HandOut(t.Context()); err != nil {
		t.Fatal(err)
	}
	for j.Progress() != "half" {
		time.Sleep(time.Millisecond)
	}
	close(let)
	again, err := l.Job(t.Context(), "r1-1")
	if err != nil {
		t.Fatal(err)
	}
	got, err := again.Wait(t.Context())
	if err != nil || got.Text != "slow" {
		t.Errorf("%q, %v", got.Text, err)
	}
	jobs, err := l.Jobs(t.Context())
	if err != nil || len(jobs) != 1 || jobs[0].State != history.JobEnded || jobs[0].Ended.IsZero() {
		t.Errorf("jobs: %+v, %v", jobs, err)
	}
	if _, err := l.Job(t.Context(), "r7-1"); !errors.Is(err, history.ErrNotFound) {
		t.Errorf("a job that is not there: %v", err)
	}
	sound(t, s, "mcp")
}

// A cancelled job is answered at once, within its grace time, and says so.
func TestAJobIsCancelled(t *testing.T) {
	s := open(t)
	hang := body("hang", tool.Traits{}, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	})
	l := line(t, s, round.Config{Tools: []tool.Tool{hang}})
	j, err := l.Start(t.Context(), tool.Call{Name: "hang"})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.HandOut(t.Context()); err != nil {
		t.Fatal(err)
	}
	j.Cancel()
	got, err := j.Wait(t.Context())
	if err != nil || !got.IsError || !j.Cancelled() {
		t.Errorf("%+v, %v", got, err)
	}
	jobs, err := l.Jobs(t.Context())
	if err != nil || len(jobs) != 1 || jobs[0].State != history.JobCancelled {
		t.Errorf("jobs: %+v, %v", jobs, err)
	}
}

// After a restart an old result is found in the store; a job that may be repeated runs again, and one that
// may not is of unknown outcome.
func TestJobsAfterARestart(t *testing.T) {
	s := open(t)
	var reads, writes atomic.Int32
	tools := []tool.Tool{
		body("read", tool.Traits{ReadOnly: true}, func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Text(fmt.Sprint("read ", reads.Add(1))), nil
		}),
		body("write", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Text(fmt.Sprint("written ", writes.Add(1))), nil
		}),
	}
	first := line(t, s, round.Config{Tools: tools})
	if _, err := first.Do(t.Context(), tool.Call{Name: "read"}); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	settler, err := round.New(&closing{Store: s}, round.Config{Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	dying, err := settler.Line(t.Context(), "mcp")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"read", "write"} {
		j, err := dying.Start(t.Context(), tool.Call{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.HandOut(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Wait(t.Context()); !errors.Is(err, errCrash) {
			t.Fatalf("the crash came as %v", err)
		}
	}
	_ = dying.Close(t.Context())
	// A crash leaves the rows as they were when the handle was given out.
	next := line(t, s, round.Config{Tools: tools})
	var got []string
	for _, id := range []string{"r1-1", "r2-1", "r3-1"} {
		j, err := next.Job(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		r, err := j.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %.60s", r.Outcome, r.Text))
	}
	want := []string{"done read 1", "done read 3", "unknown write has no result: it was interrupted: the process stopped"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	sound(t, s, "mcp")
}

// Many ended jobs cost no memory: the store has them.
func TestEndedJobsAreReadFromTheStore(t *testing.T) {
	l := line(t, open(t), round.Config{Tools: []tool.Tool{says("t", "text")}})
	for range round.MaxJobs + 5 {
		if _, err := l.Do(t.Context(), tool.Call{Name: "t"}); err != nil {
			t.Fatal(err)
		}
	}
	j, err := l.Job(t.Context(), "r1-1")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := j.Wait(t.Context()); err != nil || r.Text != "text" {
		t.Errorf("%q, %v", r.Text, err)
	}
}

// What came of a job when its line was closed is stored.
func TestAJobEndsWithItsLine(t *testing.T) {
	s := open(t)
	started := make(chan struct{})
	hang := body("hang", tool.Traits{}, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		close(started)
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	})
	l := line(t, s, round.Config{Tools: []tool.Tool{hang}})
	j, err := l.Start(t.Context(), tool.Call{Name: "hang"})
	if err != nil {
		t.Fatal(err)
	}
	<-started
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := j.Wait(t.Context()); err != nil || !r.IsError {
		t.Errorf("%+v, %v", r, err)
	}
	sound(t, s, "mcp")
}
