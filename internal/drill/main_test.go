package drill

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
)

var (
	kills = flag.Int("kills", 5, "how many times the running conversation is killed")
	seed  = flag.Uint64("seed", 0, "the seed of the moments; 0 takes a new one, which is printed")
	full  = flag.Bool("full", false, "run what has a small and a full size in its full size")
)

// orderEnv makes the test binary one of the processes of a test: it holds an [order] as JSON.
const orderEnv = "WEIR_DRILL_ORDER"

// order is what a process is told to do.
type order struct {
	// Role names what it does.
	Role string
	// Dir holds the store, the request bodies and what tools leave behind.
	Dir          string
	Conversation string
	// Key is the key of the turn that it drives.
	Key string
	// TakeOver takes the conversation from a holder that lives, Resume goes on without a key.
	TakeOver, Resume bool
	// Ahead is how far its clock goes ahead.
	Ahead time.Duration
	// URL is the address of a provider; empty means the scripted model.
	URL string
	// Conversations and Rounds are how many it drives at once, and how long each is.
	Conversations, Rounds int
}

// state is where the store of an order lies.
func (o order) state() string { return filepath.Join(o.Dir, "state") }

// now is the process's clock.
func (o order) now() time.Time { return time.Now().Add(o.Ahead) }

func TestMain(m *testing.M) {
	told := os.Getenv(orderEnv)
	if told == "" {
		os.Exit(m.Run())
	}
	if err := obey([]byte(told)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func obey(told []byte) error {
	var o order
	if err := json.Unmarshal(told, &o); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	roles := map[string]func(order) error{"drive": drive, "hold": hold, "open": openMany, "many": many, "long": long}
	role := roles[o.Role]
	if role == nil {
		return fmt.Errorf("there is no role %q", o.Role)
	}
	return role(o)
}

// process is a child of a test.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr strings.Builder
}

// start runs a binary, this one as a rule, with an order.
func start(t testing.TB, binary string, o order) *process {
	t.Helper()
	told, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.CommandContext(t.Context(), binary)}
	p.cmd.Env = append(os.Environ(), orderEnv+"="+string(told))
	p.cmd.Stderr = &p.stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
	return p
}

// patience is how long a process may stay silent.
const patience = time.Minute

// await reads on to a line that begins with this, and gives what follows. A line that begins with one of
// the others is an error.
func (p *process) await(begin string, others ...string) string {
	p.t.Helper()
	silent := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer silent.Stop()
	for p.out.Scan() {
		if rest, ok := strings.CutPrefix(p.out.Text(), begin); ok {
			return strings.TrimSpace(rest)
		}
		for _, other := range others {
			if strings.HasPrefix(p.out.Text(), other) {
				p.t.Fatalf("a process says %q, want %q", p.out.Text(), begin)
			}
		}
	}
	p.t.Fatalf("a process ended without a line that begins with %q: %v", begin, p.end())
	return ""
}

// tell writes a line to the process.
func (p *process) tell(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatalf("tell a process %q: %v: %v", line, err, p.end())
	}
}

// end reads what is left and waits: nil when the process ended well, else its error with what it said
// about it. One that was killed is [errKilled].
func (p *process) end() error {
	for p.out.Scan() {
		continue
	}
	err := errors.Join(p.out.Err(), p.cmd.Wait())
	switch {
	case err == nil:
		return nil
	case p.cmd.ProcessState.ExitCode() == -1:
		return errKilled
	}
	return fmt.Errorf("%w: %s", err, strings.TrimSpace(p.stderr.String()))
}

// errKilled says that a process did not end by itself.
var errKilled = errors.New("the process was killed")

// openStore opens the store of a test.
func openStore(t testing.TB, dir string, cfg sqlite.Config) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "state"), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// clean verifies conversations, all of them when none is named.
func clean(t testing.TB, store history.Store, conversations ...string) {
	t.Helper()
	if len(conversations) == 0 {
		all, err := store.Conversations(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			conversations = append(conversations, c.ID)
		}
	}
	for _, id := range conversations {
		problems, err := history.Verify(t.Context(), store, id)
		if err != nil {
			t.Errorf("verify %s: %v", id, err)
		}
		for _, p := range problems {
			t.Errorf("verify %s: %v", id, p)
		}
	}
}
