package execute_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

type input struct {
	City string `json:"city" jsonschema:"the city"`
}

// made is a tool whose body is run.
func made(t *testing.T, name string, traits tool.Traits, run tool.Handler) *execute.Set {
	t.Helper()
	one, err := tool.Func(name, "test", func(context.Context, input) (string, error) { return "", nil })
	if err != nil {
		t.Fatal(err)
	}
	one.Traits, one.Run = traits, run
	set, err := execute.NewSet([]tool.Tool{one})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func text(r execute.Ran) string { return result.Text(r.Result) }

func TestRunEndings(t *testing.T) {
	fatal := errors.New("the disk is gone")
	for name, c := range map[string]struct {
		run     tool.Handler
		text    string
		outcome execute.Outcome
		fatal   bool
		stack   bool
	}{
		"text": {func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("fine"), nil }, "fine", execute.Done, false, false},
		"error": {func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{}, errors.New("no such city")
		}, "no such city", execute.Failed, false, false},
		"empty error": {func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, errors.New(" ") }, "has no text", execute.Failed, false, false},
		"error value": {func(context.Context, tool.Call) (tool.Result, error) { return tool.Error("bad"), nil }, "bad", execute.Failed, false, false},
		"fatal":       {func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, tool.Fatal(fatal) }, "the disk is gone", execute.Failed, true, false},
		"panic":       {func(context.Context, tool.Call) (tool.Result, error) { panic("boom\nat line 2") }, "t failed: it panicked: boom", execute.Failed, false, true},
		"of the runtime": {func(_ context.Context, c tool.Call) (tool.Result, error) {
			zero := len(c.ID)
			return tool.Text(strconv.Itoa(1 / zero)), nil
		}, "it panicked: runtime error: integer divide by zero", execute.Failed, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			set := made(t, "t", tool.Traits{}, c.run)
			got := execute.Run(t.Context(), set.Prepare(tool.Call{Name: "t", Args: []byte(`{"city":"Oslo"}`)}), execute.Env{})
			if !strings.Contains(text(got), c.text) || got.Outcome != c.outcome {
				t.Errorf("got %q, %s; want %q, %s", text(got), got.Outcome, c.text, c.outcome)
			}
			if (got.Fatal != nil) != c.fatal || (got.Stack != "") != c.stack {
				t.Errorf("fatal %v, stack %v; want %v, %v", got.Fatal, got.Stack != "", c.fatal, c.stack)
			}
			if c.outcome != execute.Done && !got.Result.IsError {
				t.Error("a failure is not marked as an error")
			}
			if strings.Contains(text(got), "line 2") {
				t.Error("more than the first line of a panic is told to the model")
			}
		})
	}
}

// A tool that ignores its context is given up after its limit and a grace time, and what it returns
// later is told apart from what was answered.
func TestLaw10ACallEndsAlsoWhenTheToolIgnoresItsContext(t *testing.T) {
	for name, c := range map[string]struct {
		traits tool.Traits
		cancel time.Duration
		want   string
		took   time.Duration
		of     execute.Outcome
	}{
		"absolute": {tool.Traits{Timeout: 5 * time.Second}, 0, "ran longer than its limit of 5s", 7 * time.Second, execute.Failed},
		"idle":     {tool.Traits{Timeout: time.Hour, Idle: 3 * time.Second}, 0, "no progress for 3s", 5 * time.Second, execute.Failed},
		"default":  {tool.Traits{}, 0, "its limit of 2m0s", 122 * time.Second, execute.Failed},
		"cancel":   {tool.Traits{}, 4 * time.Second, "was cancelled", 6 * time.Second, execute.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				set := made(t, "t", c.traits, func(context.Context, tool.Call) (tool.Result, error) {
					<-release
					return tool.Text("too late"), nil
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancel > 0 {
					time.AfterFunc(c.cancel, cancel)
				}
				late := make(chan string, 1)
				began := time.Now()
				got := execute.Run(ctx, set.Prepare(tool.Call{Name: "t", Args: []byte(`{"city":"x"}`)}), execute.Env{
					Late: func(r execute.Ran) { late <- text(r) },
				})
				if took := time.Since(began); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if !strings.Contains(text(got), c.want) || got.Outcome != c.of || !got.Abandoned {
					t.Errorf("got %q, %s, abandoned %v", text(got), got.Outcome, got.Abandoned)
				}
				close(release)
				if l := <-late; l != "too late" {
					t.Errorf("late result %q", l)
				}
			})
		})
	}
}

func TestProgressResetsTheIdleLimitAndNotTheAbsoluteOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := made(t, "t", tool.Traits{Timeout: 10 * time.Second, Idle: 2 * time.Second}, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			for {
				select {
				case <-ctx.Done():
					return tool.Result{}, ctx.Err()
				case <-time.After(time.Second):
					tool.Report(ctx, "working")
				}
			}
		})
		heard := 0
		got := execute.Run(t.Context(), set.Prepare(tool.Call{Name: "t", Args: []byte(`{"city":"x"}`)}), execute.Env{Progress: func(string) { heard++ }})
		if !strings.Contains(text(got), "longer than its limit of 10s") || heard < 8 {
			t.Errorf("got %q after %d reports", text(got), heard)
		}
	})
}

// A body that ends in its grace time has told what it did; that is the truth.
func TestARunThatEndsInItsGraceKeepsItsResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := made(t, "t", tool.Traits{Timeout: time.Second}, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Text("written half"), nil
		})
		got := execute.Run(t.Context(), set.Prepare(tool.Call{Name: "t", Args: []byte(`{"city":"x"}`)}), execute.Env{})
		if text(got) != "written half" || got.Outcome != execute.Done {
			t.Errorf("got %q, %s", text(got), got.Outcome)
		}
	})
}

func TestPrepareRefusesWithAReasonAndEchoesNoValue(t *testing.T) {
	set := made(t, "weather", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		t.Error("a refused call was run")
		return tool.Result{}, nil
	})
	for name, c := range map[string]struct {
		call tool.Call
		want []string
	}{
		"unknown tool":  {tool.Call{Name: "wether"}, []string{`no tool named "wether"`, "weather"}},
		"missing":       {tool.Call{Name: "weather"}, []string{`required and missing: "city"`}},
		"null":          {tool.Call{Name: "weather", Args: []byte("null")}, []string{`required and missing: "city"`}},
		"wrong type":    {tool.Call{Name: "weather", Args: []byte(`{"city":7}`)}, []string{"at /city: expected string, received"}},
		"all at once":   {tool.Call{Name: "weather", Args: []byte(`{"town":"x","zip":1}`)}, []string{`"town", "zip"`, `missing: "city"`}},
		"cut in middle": {tool.Call{Name: "weather", Args: []byte(`{"city":"Osl`)}, []string{"in the middle of a value", `{"city":"Osl`}},
		"bad name":      {tool.Call{Name: strings.Repeat("n", 5000)}, []string{"no tool named"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := set.Prepare(c.call)
			if p.Refusal == nil {
				t.Fatal("it was not refused")
			}
			got := text(execute.Run(t.Context(), p, execute.Env{}))
			for _, w := range c.want {
				if !strings.Contains(got, w) {
					t.Errorf("%q does not say %q", got, w)
				}
			}
			if len(got) > 2000 {
				t.Errorf("the refusal has %d bytes", len(got))
			}
		})
	}
}

func TestDigestBindsToolSchemaAndArguments(t *testing.T) {
	set := made(t, "t", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil })
	one := set.Prepare(tool.Call{Name: "t", Args: []byte(`{"city":"a"}`)}).Digest
	if d := cmp.Diff(one, set.Prepare(tool.Call{ID: "other", Name: "t", Args: []byte(`{"city":"a"}`)}).Digest); d != "" {
		t.Errorf("the provider's id is part of the digest: %s", d)
	}
	if one == set.Prepare(tool.Call{Name: "t", Args: []byte(`{"city": "a"}`)}).Digest {
		t.Error("other bytes of arguments have the same digest")
	}
}

func TestNewSetRefusesTwoToolsOfOneName(t *testing.T) {
	one, err := tool.Func("t", "", func(context.Context, input) (string, error) { return "", nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := execute.NewSet([]tool.Tool{one, one}); err == nil || !strings.Contains(err.Error(), "two tools are named t") {
		t.Errorf("got %v", err)
	}
}

// What a cancelled call is answered does not depend on whether its body or the cancel is seen first.
func TestACancelReadsTheSameWhoeverIsFirst(t *testing.T) {
	set, err := execute.NewSet([]tool.Tool{{Name: "t", Schema: []byte(`{}`), Run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		return tool.Result{}, ctx.Err()
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the body is over before anybody waits for it, now and then
	for range 20_000 {
		ran := execute.Run(ctx, set.Prepare(tool.Call{Name: "t"}), execute.Env{})
		if want := "t was cancelled before it ended. It may have taken effect."; ran.Result.Error != want || ran.Outcome != execute.Cancelled {
			t.Fatalf("%s: %q, want %q", ran.Outcome, ran.Result.Error, want)
		}
	}
}
