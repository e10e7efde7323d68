package bench

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/tool"
)

// message and block are a conversation as typed rows and structs hold it.
type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
}

// talker is a model that makes four calls in each of its first rounds and then answers. It keeps the
// conversation as structs.
type talker struct {
	rounds int
	typed  []message
	// asked is called when a request has been read to its end; nil does nothing.
	asked func()
}

func (t *talker) Dialect() string { return "bench" }
func (t *talker) Name() string    { return "bench" }
func (t *talker) Encoder() string { return "1" }

func (t *talker) EncodeHead(membrane.Head) (membrane.Envelope, error) {
	return membrane.Envelope{Head: []byte(`{"model":"bench","messages":[`), Tail: []byte(`]}`)}, nil
}

func (t *talker) EncodeMessage(m membrane.Message) ([]byte, error) {
	typed := message{Role: "user"}
	for _, b := range m.Blocks {
		typed.Content = append(typed.Content, block{Type: "text", Text: b.Text})
	}
	for _, r := range m.Results {
		typed.Content = append(typed.Content, block{Type: "tool_result", ToolUseID: r.CallID, Content: r.Text})
	}
	t.typed = append(t.typed, typed)
	return json.Marshal(typed)
}

func (t *talker) Stream(_ context.Context, r membrane.Request) iter.Seq2[membrane.Event, error] {
	return func(yield func(membrane.Event, error) bool) {
		if t.asked != nil {
			if n, err := io.Copy(io.Discard, r.Body()); err != nil || n != r.Len() {
				yield(nil, fmt.Errorf("read %d bytes of the request: %w", n, err))
				return
			}
			t.asked()
		}
		typed := message{Role: "assistant", Content: []block{{Type: "text", Text: strings.Repeat("I look at it. ", 10)}}}
		neutral := membrane.Message{Role: membrane.Assistant, Blocks: []membrane.Block{{Type: membrane.Text, Text: typed.Content[0].Text}}}
		stop := membrane.StopEnd
		if t.rounds > 0 {
			t.rounds--
			stop = membrane.StopCalls
			for i := range 4 {
				id, args := fmt.Sprintf("toolu_%04d_%d", t.rounds, i), fmt.Appendf(nil, `{"size":%d}`, []int{400, 1200, 2200, 4000}[i])
				typed.Content = append(typed.Content, block{Type: "tool_use", ID: id, Name: "read", Input: args})
				neutral.Blocks = append(neutral.Blocks, membrane.Block{Type: membrane.Call, CallID: id, Tool: "read", Args: args})
			}
		}
		t.typed = append(t.typed, typed)
		fragment, err := json.Marshal(typed)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(membrane.Done{Message: neutral, Fragment: fragment, Stop: stop, Usage: membrane.Usage{In: 1, Out: 1}}, nil)
	}
}

// agentOn is the agent of these conversations.
func agentOn(s history.Store, m membrane.Model) (*agent.Agent, error) {
	type in struct {
		Size int `json:"size"`
	}
	text := strings.Repeat("a line of the \"result\"\n", 200)
	read, err := tool.Func("read", "", func(_ context.Context, in in) (string, error) { return text[:in.Size], nil })
	if err != nil {
		return nil, err
	}
	read.ReadOnly = true
	return agent.New(s, m, agent.Config{Tools: []tool.Tool{read}, Limits: agent.Limits{Rounds: 1 << 20, Tokens: 1 << 40}})
}

// talk runs one turn of so many rounds in a folder and gives the whole conversation as structs.
func talk(b *testing.B, dir string, rounds int) []message {
	b.Helper()
	ctx := context.Background()
	s, err := sqlite.Open(ctx, dir, sqlite.Config{Synchronous: sqlite.Normal})
	if err != nil {
		b.Fatal(err)
	}
	m := &talker{rounds: rounds}
	a, err := agentOn(s, m)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := a.Run(ctx, agent.Turn{Conversation: "c1", Text: "Look at it."}).Collect(); err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return m.typed
}

// typedRows stores a conversation as a program without Weir does: a row for each message and each block.
func typedRows(b *testing.B, driver string, conversation []message) (name string) {
	b.Helper()
	name = "file:" + filepath.Join(b.TempDir(), "typed.db")
	pool, err := sql.Open(driver, name)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	exec := func(text string, args ...any) {
		if _, err := pool.ExecContext(b.Context(), text, args...); err != nil {
			b.Fatal(err)
		}
	}
	exec("PRAGMA journal_mode=WAL")
	exec(`CREATE TABLE message (conv INTEGER NOT NULL, seq INTEGER NOT NULL, role TEXT NOT NULL, PRIMARY KEY (conv, seq)) WITHOUT ROWID`)
	exec(`CREATE TABLE block (id INTEGER PRIMARY KEY, conv INTEGER NOT NULL, seq INTEGER NOT NULL, idx INTEGER NOT NULL, type TEXT NOT NULL,
		text TEXT NOT NULL, call TEXT NOT NULL, name TEXT NOT NULL, input BLOB, UNIQUE (conv, seq, idx))`)
	exec("BEGIN")
	for seq, m := range conversation {
		exec("INSERT INTO message VALUES (1, ?, ?)", seq, m.Role)
		for i, c := range m.Content {
			exec("INSERT INTO block (conv, seq, idx, type, text, call, name, input) VALUES (1, ?, ?, ?, ?, ?, ?, ?)",
				seq, i, c.Type, c.Text+c.Content, c.ID+c.ToolUseID, c.Name, []byte(c.Input))
		}
	}
	exec("COMMIT")
	return name
}

// readTyped makes a request of typed rows: scan them into structs, then marshal those.
func readTyped(ctx context.Context, pool *sql.DB) ([]byte, error) {
	rows, err := pool.QueryContext(ctx, `SELECT m.seq, m.role, b.type, b.text, b.call, b.name, b.input
		FROM message m JOIN block b ON b.conv = m.conv AND b.seq = m.seq WHERE m.conv = 1 ORDER BY m.seq, b.idx`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	request := struct {
		Model    string    `json:"model"`
		Messages []message `json:"messages"`
	}{Model: "bench"}
	last := -1
	for rows.Next() {
		var seq int
		var role, kind, text, call, name string
		var input []byte
		if err := rows.Scan(&seq, &role, &kind, &text, &call, &name, &input); err != nil {
			return nil, err
		}
		if seq != last {
			request.Messages = append(request.Messages, message{Role: role})
			last = seq
		}
		c := block{Type: kind, Name: name}
		switch kind {
		case "tool_use":
			c.ID, c.Input = call, input
		case "tool_result":
			c.ToolUseID, c.Content = call, text
		default:
			c.Text = text
		}
		m := &request.Messages[len(request.Messages)-1]
		m.Content = append(m.Content, c)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return json.Marshal(request)
}

// BenchmarkColdRequest is P5: the first request of a conversation of 500 rounds and 4 MB after a restart,
// against typed rows and json.Marshal. Both begin with opening the database. "history" reads what a request
// is made of; "agent" is the whole way until the model has read the body of a further turn.
func BenchmarkColdRequest(b *testing.B) {
	dir := b.TempDir()
	typed := talk(b, dir, 500)
	ctx := context.Background()
	for _, driver := range []string{"sqlite3", "sqlite"} {
		name := typedRows(b, driver, typed)
		var want []byte
		var pool *sql.DB
		peer := side{
			do: func() (err error) {
				if pool, err = sql.Open(driver, name); err == nil {
					want, err = readTyped(ctx, pool)
				}
				return err
			},
			after: func() error { return pool.Close() },
		}
		library := map[string]string{"sqlite3": "mattn", "sqlite": "modernc"}[driver]
		b.Run("history/"+library, func(b *testing.B) {
			var s *sqlite.Store
			var request membrane.Request
			compare(b, 0.25, side{
				do: func() (err error) {
					if s, err = sqlite.Open(ctx, dir, sqlite.Config{}); err == nil {
						request, err = assemble(ctx, s)
					}
					return err
				},
				after: func() error { return s.Close() },
			}, peer)
			body, err := io.ReadAll(request.Body())
			if err != nil || string(body) != string(want) {
				b.Fatalf("the two sides made other requests: %d and %d bytes, %v", len(body), len(want), err)
			}
		})
	}
	b.Run("agent/mattn", func(b *testing.B) { coldAgent(b, typed) })
}

// assemble reads a request as the agent does when it takes up a conversation.
func assemble(ctx context.Context, s history.Replay) (membrane.Request, error) {
	epochs, err := s.Epochs(ctx, "c1")
	if err != nil {
		return membrane.Request{}, err
	}
	requests, err := s.Requests(ctx, "c1")
	if err != nil {
		return membrane.Request{}, err
	}
	e := epochs[len(epochs)-1]
	messages := make([]byte, 0, requests[len(requests)-1].MessageBytes*9/8)
	r := membrane.Request{Head: e.Head, Messages: messages, Tail: e.Tail}
	var chain [32]byte
	err = s.Fragments(ctx, "c1", e.N, 0, func(f history.Fragment) error {
		r.Messages = membrane.Joined(r.Head, r.Messages, f.Bytes)
		chain = history.Chain(chain, f.Bytes)
		return nil
	})
	return r, err
}

// coldAgent compares the whole way of the agent. Each turn adds two short messages to the conversation.
func coldAgent(b *testing.B, typed []message) {
	dir := b.TempDir()
	talk(b, dir, 500)
	ctx := context.Background()
	name := typedRows(b, "sqlite3", typed)
	var pool *sql.DB
	var s *sqlite.Store
	ended := make(chan error, 1)
	compare(b, 0.25, side{
		do: func() (err error) {
			if s, err = sqlite.Open(ctx, dir, sqlite.Config{Synchronous: sqlite.Normal}); err != nil {
				return err
			}
			asked := make(chan struct{})
			a, err := agentOn(s, &talker{asked: func() { close(asked) }})
			if err != nil {
				return err
			}
			go func() {
				_, err := a.Run(ctx, agent.Turn{Conversation: "c1", Text: "And now?"}).Collect()
				ended <- err
			}()
			select {
			case <-asked:
				return nil
			case err := <-ended:
				return fmt.Errorf("the turn ended before the model was asked: %w", err)
			}
		},
		after: func() error { return errors.Join(<-ended, s.Close()) },
	}, side{
		do: func() (err error) {
			if pool, err = sql.Open("sqlite3", name); err == nil {
				_, err = readTyped(ctx, pool)
			}
			return err
		},
		after: func() error { return pool.Close() },
	})
}
