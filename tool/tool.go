// Package tool says what a tool, a call and a result are, and makes a tool from a typed Go function.
//
// It is the ground that every other room stands on: nothing here stores, caps, sends or formats.
// A [Tool] is data (its name, its frozen schema, its [Traits]) and one function; a [Call] is what a
// model wrote; a [Result] is what came back, before it becomes text.
package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Limits of a tool's definition.
const (
	// MaxName is the longest name of a tool in bytes. Providers allow 64 characters; a longer name is
	// mapped by the adapter that needs it, so the neutral form is wider.
	MaxName = 128
)

// Handler runs one call. What it returns as an error is told to the model as an error result, except
// an error made by [Fatal], which ends the turn. A panic becomes an error result.
type Handler func(ctx context.Context, c Call) (Result, error)

// Tool is something that a model may call.
type Tool struct {
	// Name is what the model calls: a server and a tool joined by "--", or a plain name.
	Name string
	// Description tells the model what the tool does and when to use it.
	Description string
	// Schema is the JSON Schema (draft 2020-12) of the arguments, as bytes that never change: they are
	// part of the prompt, so their key order is part of the cached prefix.
	Schema json.RawMessage
	// Output is the JSON Schema of [Result.Structured]; nil when none is declared.
	Output json.RawMessage
	// Traits say how the tool may be run, repeated and recovered.
	Traits
	// Run does the work.
	Run Handler
}

// Traits are data about a tool that recovery, parallelism and loop detection need. The zero value is
// the careful one: the call has effects, must not be repeated after a crash, and may run beside others.
type Traits struct {
	// ReadOnly says that a call changes nothing: it may be run again after a crash.
	ReadOnly bool
	// Idempotent says that running a call twice has the effect of running it once.
	Idempotent bool
	// Serial keeps the tool's calls of one round from running at the same time.
	Serial bool
	// Dispatches says that the only effects of a call are those of the inner calls that it makes: after a
	// crash it is run again when all of them may be. Such a call cannot be an inner call itself.
	Dispatches bool
	// Pollable says that repeating the same call is how the tool is meant to be used.
	Pollable bool
	// PlainTerminal asks that escape sequences and redrawn lines are cleaned in the model's text.
	// What is stored whole keeps them.
	PlainTerminal bool
	// Timeout bounds one call; 0 means the runner's default (120 s).
	Timeout time.Duration
	// Idle bounds the time between two reports of progress; 0 means no such bound.
	Idle time.Duration
	// MaxChars is the tool's own inline cap in characters (Unicode code points) of the text itself;
	// 0 means none. No effective cap is below 1,000.
	MaxChars int
	// Fit asks that results are fitted to a budget; nil shows them whole or by their two ends.
	Fit *Fit
}

// Repeatable reports whether a call that may already have run can be run again.
func (t Traits) Repeatable() bool { return t.ReadOnly || t.Idempotent }

// Check reports what makes a tool unusable: no name, a name of other characters than A-Z a-z 0-9 _ . -,
// one longer than [MaxName], no function, or a schema that is not a JSON object.
func (t Tool) Check() error {
	if err := checkName(t.Name); err != nil {
		return err
	}
	if t.Run == nil {
		return fmt.Errorf("tool %s: it has no function to run", t.Name)
	}
	var object map[string]json.RawMessage
	if len(t.Schema) > 0 && (json.Unmarshal(t.Schema, &object) != nil || object == nil) {
		return fmt.Errorf("tool %s: its schema is not a JSON object", t.Name)
	}
	return nil
}

func checkName(name string) error {
	if name == "" {
		return fmt.Errorf("a tool needs a name")
	}
	if len(name) > MaxName {
		return fmt.Errorf("tool name %.40q… has %d bytes; at most %d are allowed", name, len(name), MaxName)
	}
	for _, r := range name {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-', r == '.':
		default:
			return fmt.Errorf("tool name %q: only A-Z a-z 0-9 _ . - are allowed, found %q", name, r)
		}
	}
	return nil
}
