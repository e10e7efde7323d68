package cli

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// pool takes what several goroutines write.
type pool struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (p *pool) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.Write(b)
}

func (p *pool) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.String()
}

const shakeHands = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// Over HTTP a token is made where none is given, and only who has it comes in; an interrupt ends the server.
func TestMCPServeHTTP(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]string{"made": "", "given": "a-token-of-the-test"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			errs := &pool{}
			a := &app{in: strings.NewReader(""), out: &pool{}, err: errs, env: func(name string) string {
				if name == tokenEnv {
					return env
				}
				return ""
			}}
			done := make(chan int, 1)
			go func() {
				done <- a.run(ctx, []string{"--dir", t.TempDir(), "mcp", "serve", "--http", "127.0.0.1:0", "--no-scripts"})
			}()
			url, token := awaitLine(t, errs, `serving MCP on (http://\S+/mcp)\n`), env
			if env == "" {
				token = awaitLine(t, errs, `bearer token: ([a-z0-9]{20,})\n`)
			}
			for who, want := range map[string]int{token: 200, token + "x": 401, "": 401} {
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(shakeHands))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", "Bearer "+who)
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				if resp.StatusCode != want {
					t.Errorf("%q: %d, want %d", who, resp.StatusCode, want)
				}
			}
			if env != "" && strings.Contains(errs.String(), env) {
				t.Errorf("a token that was given is printed: %s", errs.String())
			}
			stop()
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				t.Fatal("the server did not end")
			}
		})
	}
}

// awaitLine waits for what a pattern's first group matches.
func awaitLine(t *testing.T, p *pool, pattern string) string {
	t.Helper()
	want := regexp.MustCompile(pattern)
	for range 400 {
		if m := want.FindStringSubmatch(p.String()); m != nil {
			return m[1]
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatalf("no %s in: %s", pattern, p.String())
	return ""
}

// A port that is in use is said in one line that names it.
func TestMCPServeOnATakenPort(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	errs := &pool{}
	a := &app{in: strings.NewReader(""), out: &pool{}, err: errs, env: func(string) string { return "" }}
	status := a.run(t.Context(), []string{"--dir", t.TempDir(), "mcp", "serve", "--http", l.Addr().String(), "--no-scripts"})
	want := "weir: " + l.Addr().String() + " is in use by another program: stop it, or name another port with --http\n"
	if status != statusFailed || errs.String() != want {
		t.Errorf("status %d: %s", status, errs.String())
	}
}
