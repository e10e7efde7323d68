package client

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weir-run/weir/tool"
)

// grace is how much longer than the client's own limit the runner's may be: the client's answer says more.
const grace = 5 * time.Second

// tool makes a tool of one that a server lists.
func (s *server) tool(name string, r remote) tool.Tool {
	return tool.Tool{
		Name: name, Description: r.Description, Schema: r.Schema, Output: r.Output,
		Traits: tool.Traits{
			ReadOnly:   s.spec.Trusted && r.ReadOnly,
			Idempotent: s.spec.Trusted && r.Idempotent,
			Timeout:    s.opts.Absolute + grace,
		},
		Run: func(ctx context.Context, c tool.Call) (tool.Result, error) { return s.run(ctx, name, r, c) },
	}
}

// Call calls a server's tool by the server's own name for it, whether it is offered or not, and gives the
// result as the view shows it. The error is the end of ctx, or that there is no such server.
func (s *Set) Call(ctx context.Context, server, name string, args json.RawMessage) (tool.Result, error) {
	v, err := s.find(server)
	if err != nil {
		return tool.Result{}, err
	}
	r := remote{Name: name}
	for _, listed := range v.offered() {
		if listed.Name == name {
			r = listed
		}
	}
	return v.run(ctx, Name(server, name), r, tool.Call{Name: name, Args: args})
}

// run runs one call. Whatever the server does, it gives a result or the end of ctx.
func (s *server) run(ctx context.Context, name string, r remote, c tool.Call) (tool.Result, error) {
	raw, rpc, err := s.call(ctx, r.Name, c.Args)
	var lost *Lost
	switch {
	case ctx.Err() != nil && err != nil:
		return tool.Result{}, context.Cause(ctx)
	case errors.As(err, &lost):
		return tool.Error(s.lost(name, r, lost)), nil
	case err != nil:
		return tool.Errorf("%s failed: %v", name, err), nil
	case rpc != nil:
		text := fmt.Sprintf("%s failed: %v", name, rpc)
		if rpc.Data != nil {
			text += "\n" + excerpt(rpc.Data)
		}
		return tool.Error(text), nil
	}
	received := Receive(raw)
	verdict := check(received, r.check)
	if verdict.Unchecked != "" {
		s.problem(fmt.Sprintf("a result of tool %.80q could not be checked: %s", r.Name, verdict.Unchecked))
	}
	seen := s.opts.View.show(received, verdict)
	seen.Result.Structured = received.Structured
	return seen.Result, nil
}

// lost words a call that has no answer.
func (s *server) lost(name string, r remote, l *Lost) string {
	switch {
	case !l.Sent:
		return fmt.Sprintf("%s was not started: MCP server %s cannot be reached: %v", name, s.name, l.Why)
	case s.spec.Trusted && r.ReadOnly:
		return fmt.Sprintf("%s: outcome unknown: %v. It changes nothing, so it can be called again", name, l.Why)
	}
	return fmt.Sprintf("%s: outcome unknown: %v. It may have taken effect, and it was not repeated: find out before you call it again", name, l.Why)
}

// MaxName is the longest name that a remote tool gets, in bytes: what every provider takes.
const MaxName = 64

// Name is what a model calls a server's tool: server--tool. A name that is longer than [MaxName], holds
// other characters than A-Z a-z 0-9 _ -, or could be read as that of another server, gets the first eight
// digits of a hash of both names as its end; so two tools never share one by accident, and the name is the
// same on every machine.
func Name(server, remote string) string {
	name := server + "--" + remote
	plain := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	clear := !strings.Contains(server, "--") && !strings.HasSuffix(server, "-") && !strings.HasPrefix(remote, "-")
	if plain == name && clear && remote != "" && len(name) <= MaxName {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + remote))
	return plain[:min(len(plain), MaxName-9)] + "-" + hex.EncodeToString(sum[:4])
}

// Contract is the digest of what a tool promises: its name, its description, both schemas and its traits. A host
// that remembers which tools were approved remembers it too, and asks again when it differs: a server may change
// what a tool does between two lists.
func Contract(t tool.Tool) [32]byte {
	h := sha256.New()
	for _, part := range []string{
		t.Name, t.Description, string(t.Schema), string(t.Output), fmt.Sprint(t.ReadOnly, t.Idempotent),
	} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	return [32]byte(h.Sum(nil))
}
