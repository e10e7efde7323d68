package child

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/scripting/internal/pipe"
)

// hostile programs stand in for one that was named by mistake or wants to do harm.
var hostile = map[string]func(){
	"hangs":    func() { time.Sleep(time.Hour) },
	"ends":     func() {},
	"fails":    func() { fmt.Fprintln(os.Stderr, "first\nno such flag: -x\x1b[31m"); os.Exit(2) },
	"prints":   func() { fmt.Println("usage: some other program"); os.Exit(1) },
	"garbage":  func() { fmt.Print(pipe.Magic, strings.Repeat("garbage", 1000)) },
	"floods":   func() { flood() },
	"protocol": func() { greet(pipe.Greeting{Protocol: 99}) },
	"older":    func() { greet(pipe.Greeting{Protocol: pipe.Protocol, Weir: "v0.0.1", Build: "x"}) },
	"rebuilt":  func() { greet(pipe.Greeting{Protocol: pipe.Protocol, Weir: devel, Build: "another"}) },
	"program":  program,
	"works":    func() { greet(pipe.Greeting{Protocol: pipe.Protocol, Weir: devel, Build: "another"}) },
}

// program has a busy script process, says which, and waits to be killed.
func program() {
	c, err := SelfCommand()
	if err != nil {
		os.Exit(1)
	}
	p, err := Start(context.Background(), c, Self(), 512<<20)
	if err != nil || p.Writer.Send(pipe.KindStart, 0, pipe.Job{Wall: time.Minute}, []byte("console.log('on'); while (true) {}")) != nil {
		os.Exit(1)
	}
	if _, err := p.Reader.Next(); err != nil {
		os.Exit(1)
	}
	fmt.Println(p.proc.Pid)
	time.Sleep(time.Hour)
}

func flood() {
	for {
		if _, err := os.Stdout.WriteString("flood\n"); err != nil {
			return
		}
	}
}

func greet(g pipe.Greeting) {
	fmt.Print("a word before\n", pipe.Magic)
	_ = pipe.NewWriter(os.Stdout).Send(pipe.KindHello, 0, g, nil)
	time.Sleep(time.Hour)
}

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "hostile" {
		hostile[os.Args[2]]()
		os.Exit(0)
	}
	if heap, asked := Asked(os.Args); asked {
		Serve(heap)
	}
	os.Exit(m.Run())
}

// A program that is not a script process, or of another build, is an error that says what is wrong, and
// leaves nothing behind.
func TestProgramsThatAreNone(t *testing.T) {
	t.Parallel()
	released := Build{Weir: "v1.2.3", Build: "here"}
	for _, c := range []struct {
		name string
		same bool
		want string
	}{
		{"hangs", false, "was not ready within " + Ready.String()},
		{"ends", false, "main must begin with scripting.Main()"},
		{"fails", false, "it said: no such flag: -x[31m"},
		{"prints", false, "it said: usage: some other program"},
		{"garbage", false, "main must begin with scripting.Main()"},
		{"floods", false, "main must begin with scripting.Main()"},
		{"protocol", false, "speaks protocol 99"},
		{"older", false, "use one version for both"},
		{"rebuilt", true, "was replaced while it runs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, err := Start(t.Context(), Command{Path: os.Args[0], Args: []string{"hostile", c.name}, Same: c.same}, released, 64<<20)
			if err == nil {
				p.Close()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want one line with %q", err, c.want)
			}
		})
	}
}

func TestProgramOfAnotherBuild(t *testing.T) {
	t.Parallel()
	p, err := Start(t.Context(), Command{Path: os.Args[0], Args: []string{"hostile", "works"}}, Build{Weir: "v1.2.3"}, 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	if _, err := Start(t.Context(), Command{Path: "/nowhere/weir"}, Self(), 64<<20); err == nil || !strings.Contains(err.Error(), "/nowhere/weir") {
		t.Errorf("a program that is not there: %v", err)
	}
}

// A start that nobody waits for any more is given up, and its process with it.
func TestStartIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	began := time.Now()
	if _, err := Start(ctx, Command{Path: os.Args[0], Args: []string{"hostile", "hangs"}}, Self(), 64<<20); err == nil {
		t.Error("it started")
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %s", took)
	}
}

// own starts a real script process.
func own(t *testing.T, heap int64) *Process {
	t.Helper()
	c, err := SelfCommand()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(t.Context(), c, Self(), heap)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// ends waits for the end of a process.
func ends(t *testing.T, p *Process) {
	t.Helper()
	select {
	case <-p.Ended():
	case <-time.After(10 * time.Second):
		t.Fatal("the process is still there")
	}
}

// send sends a script.
func send(t *testing.T, p *Process, code string) {
	t.Helper()
	if err := p.Writer.Send(pipe.KindStart, 0, pipe.Job{Wall: time.Minute}, []byte(code)); err != nil {
		t.Fatal(err)
	}
}

// The process ends when its input closes: while it waits, and while a script keeps it busy.
func TestEndsWithItsInput(t *testing.T) {
	t.Parallel()
	idle, busy := own(t, 512<<20), own(t, 512<<20)
	send(t, busy, "console.log('on'); while (true) {}")
	if f, err := busy.Reader.Next(); err != nil || string(f.Text) != "on\n" {
		t.Fatalf("got %q, %v", f.Text, err)
	}
	for _, p := range []*Process{idle, busy} {
		_ = p.in.Close()
		ends(t, p)
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ said, want string }{
		{"fatal error: runtime: out of memory\n\nruntime stack:\n", "more memory than its limit of 64 MiB"},
		{"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort", "more memory than its limit"},
		{"runtime: cannot allocate memory", "more memory than its limit"},
		{"runtime: goroutine stack exceeds 134217728-byte limit\nfatal error: stack overflow", "nested too deeply"},
		{"panic: runtime error: index out of range\n\ngoroutine 1 [running]:", "a fault of the engine"},
		{"", "ended before the script did"},
	} {
		p := &Process{heap: 64 << 20, words: &words{}}
		_, _ = p.words.Write([]byte(c.said))
		reason, _ := p.Reason()
		if !strings.Contains(reason, c.want) || strings.ContainsAny(reason, "\n") || strings.Contains(reason, "goroutine 1") {
			t.Errorf("%q: got %q, want %q", c.said, reason, c.want)
		}
	}
}

func TestBuildsFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b Build
		same bool
		fits bool
	}{
		{Build{"v1", "x"}, Build{"v1", "x"}, true, true},
		{Build{"v1", "x"}, Build{"v1", "y"}, true, false},
		{Build{"v1", "x"}, Build{"v1", "y"}, false, true},
		{Build{"v1", "x"}, Build{"v2", "x"}, false, false},
		{Build{devel, "x"}, Build{"v2", "y"}, false, true},
	} {
		if err := c.a.fits(c.b, c.same); (err == nil) != c.fits {
			t.Errorf("%v and %v, same %v: %v", c.a, c.b, c.same, err)
		}
	}
}
