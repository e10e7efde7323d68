package drill

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// openMany opens the store of each folder that it is told, and says how that went.
func openMany(order) error {
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		store, err := sqlite.Open(context.Background(), in.Text(), loud())
		if err == nil {
			_, err = store.Conversations(context.Background(), 0)
			err = errors.Join(err, store.Close())
		}
		fmt.Println("opened", err)
	}
	return in.Err()
}

// loud is a store that tells what goes wrong.
func loud() sqlite.Config {
	return sqlite.Config{Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
}

// many drives conversations at once, each of as many rounds, and says when it is ready and when done.
func many(o order) error {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, o.state(), loud())
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	a, err := busyAgent(store, o.Rounds, func(context.Context, struct{}) (string, error) { return "done", nil })
	if err != nil {
		return err
	}
	errs := make([]error, o.Conversations)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			id := fmt.Sprintf("%s-%d", o.Conversation, i+1)
			out, err := a.Run(ctx, agent.Turn{Conversation: id, Text: "Go."}).Collect()
			if errs[i] = err; err == nil && (out.Reason != "done" || out.Rounds != o.Rounds) {
				errs[i] = fmt.Errorf("%s ended as %q after %d rounds", id, out.Reason, out.Rounds)
			}
		})
	}
	all.Wait()
	fmt.Println("done")
	return errors.Join(append(errs, store.Close())...)
}

// busyAgent calls one tool in each of so many rounds.
func busyAgent(store history.Store, rounds int, body func(context.Context, struct{}) (string, error)) (*agent.Agent, error) {
	steps := make([]scripted.Step, rounds, rounds+1)
	for i := range steps {
		steps[i].Calls = []scripted.Call{{Tool: "nothing", Args: []byte("{}")}}
	}
	model, err := scripted.New(scripted.Script{Steps: append(steps, scripted.Step{Text: "That is all."})}, scripted.Config{})
	if err != nil {
		return nil, err
	}
	nothing, err := tool.Func("nothing", "Do nothing.", body)
	if err != nil {
		return nil, err
	}
	return agent.New(store, model, agent.Config{Tools: []tool.Tool{nothing}, Bare: true, Calls: agent.CallLimits{Loops: agent.IgnoreLoops}})
}

// TestManyProcessesOpenAtOnce lets processes open a store that is not there yet, all at the same moment.
func TestManyProcessesOpenAtOnce(t *testing.T) {
	processes, times := 8, 3
	if *full {
		times = 20
	}
	var all []*process
	for range processes {
		p := start(t, os.Args[0], order{Role: "open"})
		p.await("ready")
		all = append(all, p)
	}
	failures := 0
	for i := range times {
		dir := filepath.Join(t.TempDir(), fmt.Sprint("store-", i))
		for _, p := range all {
			p.tell(dir)
		}
		for _, p := range all {
			if got := p.await("opened"); got != "<nil>" {
				t.Errorf("opening %d: %s", i+1, got)
				failures++
			}
		}
	}
	for _, p := range all {
		p.leaves()
	}
	fmt.Printf("%d processes opened a new store at once %d times: %d failures\n", processes, times, failures)
}

// leaves closes what a process reads and wants it to end without a word of trouble.
func (p *process) leaves() {
	p.t.Helper()
	_ = p.in.Close()
	if err := p.end(); err != nil || p.stderr.Len() > 0 {
		p.t.Errorf("a process ended: %v, and said %s", err, p.stderr.String())
	}
}

// TestManyProcessesWrite lets processes drive conversations in one store, several in each of them.
func TestManyProcessesWrite(t *testing.T) {
	processes, conversations, rounds := 4, 4, 10
	if *full {
		processes, conversations, rounds = 8, 8, 40
	}
	dir := t.TempDir()
	var all []*process
	for i := range processes {
		p := start(t, os.Args[0], order{
			Role: "many", Dir: dir, Conversation: fmt.Sprint("p", i+1), Conversations: conversations, Rounds: rounds,
		})
		p.await("ready")
		all = append(all, p)
	}
	began := time.Now()
	for _, p := range all {
		p.tell("")
	}
	for _, p := range all {
		p.await("done")
	}
	took := time.Since(began)
	for _, p := range all {
		p.leaves()
	}
	store := openStore(t, dir, sqlite.Config{})
	stored, err := store.Conversations(t.Context(), 0)
	if want := processes * conversations; err != nil || len(stored) != want {
		t.Fatalf("%d conversations, %v, want %d", len(stored), err, want)
	}
	for _, c := range stored {
		made, err := store.RoundsOf(t.Context(), c.ID)
		if err != nil || len(made) != rounds || !made[len(made)-1].Closed {
			t.Errorf("%s has %d rounds, %v, want %d, all closed", c.ID, len(made), err, rounds)
		}
	}
	clean(t, store)
	total := processes * conversations * rounds
	fmt.Printf("%d processes, %d conversations each, %d rounds each: %d rounds in %.1f s, %.0f rounds/s\n",
		processes, conversations, rounds, total, took.Seconds(), float64(total)/took.Seconds())
}

// TestManyProcessesOneConversation lets a second run of a conversation find it taken: by another process,
// by another handle, and by the same one. It says so at once, and nothing of it is stored.
func TestManyProcessesOneConversation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := start(t, os.Args[0], order{Role: "hold", Dir: dir, Conversation: "theirs", Key: "once"})
	other.await("at ")
	store := openStore(t, dir, sqlite.Config{})
	began, letGo := make(chan struct{}), make(chan struct{})
	a, err := busyAgent(store, 1, func(ctx context.Context, _ struct{}) (string, error) {
		close(began)
		select {
		case <-letGo:
		case <-ctx.Done():
		}
		return "done", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := a.Run(t.Context(), agent.Turn{Conversation: "ours", Text: "Go."}).Collect()
		ended <- err
	}()
	<-began
	for _, c := range []struct {
		name, conversation, want string
		store                    history.Store
		here                     bool
	}{
		{"another process", "theirs", "conversation theirs is being run by another process: wait for it to end, or stop it", store, false},
		{"the same handle", "ours", "conversation ours is being run in this process already: wait for that run to end", store, true},
		{"another handle", "ours", "conversation ours is being run in this process already: wait for that run to end", openStore(t, dir, sqlite.Config{}), true},
	} {
		again, err := busyAgent(c.store, 1, func(context.Context, struct{}) (string, error) { return "", nil })
		if err != nil {
			t.Fatal(err)
		}
		for _, takeOver := range []bool{false, true} {
			_, err = again.Run(t.Context(), agent.Turn{Conversation: c.conversation, Text: "Me too.", TakeOver: takeOver}).Collect()
			var busy *history.BusyError
			if !errors.As(err, &busy) || busy.Here != c.here || busy.Conversation != c.conversation || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("%s, taking over %t: %v, want *BusyError (here: %t): %s", c.name, takeOver, err, c.here, c.want)
			}
			if busy != nil && !busy.Until.After(time.Now()) {
				t.Errorf("%s: the lease is said to end at %s", c.name, busy.Until)
			}
		}
	}
	close(letGo)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go-r1-1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other.await("ended done")
	other.tell("")
	other.leaves()
	for _, id := range []string{"ours", "theirs"} {
		turns, err := store.TurnsOf(t.Context(), id)
		if err != nil || len(turns) != 1 || turns[0].Reason != "done" {
			t.Errorf("turns of %s: %+v, %v", id, turns, err)
		}
	}
	clean(t, store)
}
