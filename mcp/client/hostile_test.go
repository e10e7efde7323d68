//go:build unix

package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/mcp/client"
)

// hostileEnv makes the test binary a server: its value is the script that it plays.
const hostileEnv = "WEIR_HOSTILE_SERVER"

func TestMain(m *testing.M) {
	if script := os.Getenv(hostileEnv); script != "" {
		play(script)
		os.Exit(0)
	}
	if turn := os.Getenv(agentEnv); turn != "" {
		var k killed
		if err := json.Unmarshal([]byte(turn), &k); err != nil {
			panic(err)
		}
		_, err := k.play(context.Background(), false)
		fmt.Fprintln(os.Stderr, "the turn ended:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// script is how a server of the tests behaves. It speaks the handshake era and answers with raw bytes.
type script struct {
	// Before is written to stdout before anything else, Stderr to stderr.
	Before, Stderr string
	// Tools are the pages of tools/list, raw results; the cursor of a page is its number. The last one is
	// given for every further page.
	Tools []string
	// After is the list once tool "change" was called.
	After string
	// Call are raw results of tools/call by tool. Words in front of them act: see act.
	Call map[string]string
	// Mute answers nothing to the methods that it names.
	Mute string
	// Era is "2026-07-28" for a server without a handshake.
	Era string
}

// hostile gives a server that plays a script.
func hostile(t *testing.T, s script) client.Server {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return client.Server{Command: os.Args[0], Env: map[string]string{hostileEnv: string(raw)}}
}

// list is a tools/list result of tools with these names and no further members.
func list(names ...string) string {
	var all []string
	for _, n := range names {
		all = append(all, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, n))
	}
	return `{"tools":[` + strings.Join(all, ",") + `]}`
}

// say writes to the client. When nobody reads any more, the end of stdin ends the server.
func say(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, format, args...) }

func play(raw string) {
	var s script
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		panic(err)
	}
	say("%s", s.Before)
	fmt.Fprint(os.Stderr, s.Stderr)
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	changed := false
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Meta   map[string]json.RawMessage `json:"_meta"`
				Name   string                     `json:"name"`
				Cursor *string                    `json:"cursor"`
			} `json:"params"`
		}
		if json.Unmarshal([]byte(line), &m) != nil {
			continue
		}
		if record := os.Getenv("WEIR_HOSTILE_LOG"); record != "" {
			f, _ := os.OpenFile(record, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			_, _ = f.WriteString(line)
			_ = f.Close()
		}
		if m.ID == nil || strings.Contains(s.Mute, m.Method) {
			continue
		}
		answer := func(result string) {
			say(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		}
		switch m.Method {
		case "server/discover":
			if s.Era == "" {
				say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
				continue
			}
			answer(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
		case "initialize":
			answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"hostile","version":"1"}}`)
		case "tools/list":
			page := 0
			if m.Params.Cursor != nil {
				page, _ = strconv.Atoi(*m.Params.Cursor)
			}
			switch {
			case changed:
				answer(s.After)
			case len(s.Tools) == 0:
				answer(list("a"))
			default:
				answer(s.Tools[min(page, len(s.Tools)-1)])
			}
		case "tools/call":
			if m.Params.Name == "change" {
				changed = true
				say("%s\n", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			}
			act(s.Call[m.Params.Name], m.Params.Meta["progressToken"], m.ID, answer)
		default:
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
		}
	}
}

// act answers a call. DIE ends the process, HANG answers nothing, FLOOD n and TAIL n send a result of n bytes with
// the id before or behind it, NOISE n writes n bytes that are no message, PROGRESS n ms reports n times,
// LINE is a whole message with ID in the place of the id.
func act(what string, token, id json.RawMessage, answer func(string)) {
	word, rest, _ := strings.Cut(what, " ")
	n, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	switch word {
	case "DIE":
		fmt.Fprint(os.Stderr, rest)
		os.Exit(7)
	case "ENV":
		env, _ := json.Marshal(os.Environ())
		text, _ := json.Marshal(string(env))
		answer(`{"content":[{"type":"text","text":` + string(text) + `}]}`)
	case "HANG":
	case "FLOOD", "TAIL":
		before, behind := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,`, id), "}"
		if word == "TAIL" {
			before, behind = "{", fmt.Sprintf(`,"jsonrpc":"2.0","id":%s}`, id)
		}
		say("%s%s", before, `"result":{"content":[{"type":"text","text":"`)
		chunk := strings.Repeat("a", 1<<20)
		for ; n > 0; n -= len(chunk) {
			say("%s", chunk[:min(n, len(chunk))])
		}
		say("%s%s\n", `"}]}`, behind)
	case "NOISE":
		chunk := strings.Repeat("x", 1<<20)
		for ; n > 0; n -= len(chunk) {
			say("%s", chunk[:min(n, len(chunk))])
		}
		say("\n")
		answer(`{"content":[{"type":"text","text":"after the noise"}]}`)
	case "PROGRESS":
		ms, _ := strconv.Atoi(strings.Fields(rest)[1])
		for i := range n {
			say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":%d,"message":"step"}}`+"\n", token, i+1, n)
			time.Sleep(time.Duration(ms) * time.Millisecond)
		}
		answer(`{"content":[{"type":"text","text":"done"}]}`)
	case "LINE":
		say("%s\n", strings.ReplaceAll(rest, "ID", string(id)))
	default:
		answer(what)
	}
}
