package realm

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"

	"github.com/weir-run/weir/scripting/internal/lower"
)

// vm is one goja runtime with one script in it.
type vm struct {
	rt     *goja.Runtime
	ctx    context.Context //nolint:containedctx // the context of the one run that this realm is made for
	script Script
	loop   *loop
	rand   *rand.ChaCha8
	main   *goja.Promise
	// uncaught is what a timer's function threw, or what made the script not start.
	uncaught error
	// rejected are the promises that nobody has handled so far, in order.
	rejected []*goja.Promise
	// thrown is the last thing thrown that carries no position of its own, and where.
	thrown   goja.Value
	thrownAt string
	// missed is the last tool that was asked for and is not there.
	missed, missedAt string
	// beginScript takes what belongs to one script, makeResult builds a script result, describe words what was thrown.
	beginScript, makeResult, describe goja.Callable
	began                             time.Time
	plainOf                           goja.Value
	patterns                          map[string]pattern
	collations                        map[string]func(a, b string) int
	forms                             forms
	growers                           []*grower
}

//go:embed prelude
var sources embed.FS

//nolint:gochecknoglobals // compiled once a process; a compiled program holds no state of a realm
var prelude = sync.OnceValues(compilePrelude)

const defaultRegexp = 2 * time.Second

func warm() {
	_, _ = prelude()
	_, _ = lower.Lower("for await (const x of []) { await x }")
}

func compilePrelude() (*goja.Program, error) {
	// The engine gives no way to set these for one realm. A search that outgrows its stack would answer
	// "no match": it may grow until the time or the heap ends it, both of which are told.
	regexp2.DefaultMatchTimeout = defaultRegexp
	regexp2.DefaultOptimizationOptions.MaxBacktrackingStackSize = -1
	source, err := preludeSource()
	if err != nil {
		return nil, err
	}
	return goja.Compile("prelude", source, false)
}

// preludeSource joins the files of the prelude into one function that takes the natives.
func preludeSource() (string, error) {
	var b strings.Builder
	b.WriteString("(function (host) { 'use strict';\n")
	for _, name := range []string{"core", "search", "inspect", "console", "result", "timers", "library", "web", "url", "number", "date", "finish"} {
		part, err := sources.ReadFile("prelude/" + name + ".js")
		if err != nil {
			return "", err
		}
		b.Write(part)
		b.WriteByte('\n')
	}
	b.WriteString("})")
	return b.String(), nil
}

// newVM makes a realm up to where a script's own things come in: the prelude has run.
func newVM() (*vm, error) {
	program, err := prelude()
	if err != nil {
		return nil, fmt.Errorf("compile the prelude: %w", err)
	}
	v := &vm{rt: goja.New(), ctx: context.Background(), patterns: map[string]pattern{}, collations: map[string]func(a, b string) int{}}
	v.rt.SetPromiseRejectionTracker(v.track)
	value, err := v.rt.RunProgram(program)
	if err != nil {
		return nil, fmt.Errorf("run the prelude: %w", err)
	}
	setup, _ := goja.AssertFunction(value)
	made, err := setup(goja.Undefined(), v.natives())
	if err != nil {
		return nil, fmt.Errorf("run the prelude: %w", err)
	}
	for name, f := range map[string]*goja.Callable{"begin": &v.beginScript, "result": &v.makeResult, "describe": &v.describe} {
		*f, _ = goja.AssertFunction(made.ToObject(v.rt).Get(name))
	}
	return v, nil
}

// begin takes the script: its tools and arguments, its chance and its clock, which all start here.
func (v *vm) begin(ctx context.Context, s Script, l *loop) error {
	v.ctx, v.script, v.loop, v.began = ctx, s, l, time.Now()
	var seed [32]byte
	for i := range 8 {
		seed[i] = byte(s.Seed >> (8 * i))
	}
	v.rand = rand.NewChaCha8(seed)
	numbers := rand.New(rand.NewChaCha8(seed))
	v.rt.SetRandSource(numbers.Float64)
	if !s.Now.IsZero() {
		v.rt.SetTimeSource(func() time.Time { return s.Now.Add(time.Since(v.began)) })
	}
	args, problem := goja.Undefined(), goja.Undefined()
	if s.Args != nil {
		given, err := v.decode(s.Args)
		if err != nil {
			problem = v.rt.ToValue(err.Error())
		} else {
			args = given
		}
	}
	_, err := v.beginScript(goja.Undefined(), v.rt.ToValue(s.Tools), args, problem, v.rt.ToValue(s.Limits.Heap), v.rt.ToValue(s.Limits.InnerChars))
	if err != nil {
		return fmt.Errorf("give the realm its script: %w", err)
	}
	v.rt.SetMaxCallStackSize(s.Limits.Stack)
	return nil
}

// track keeps the rejections that nobody handles.
func (v *vm) track(p *goja.Promise, op goja.PromiseRejectionOperation) {
	if op == goja.PromiseRejectionReject {
		v.rejected = append(v.rejected, p)
		return
	}
	for i, r := range v.rejected {
		if r == p {
			v.rejected = append(v.rejected[:i], v.rejected[i+1:]...)
			return
		}
	}
}

// Start implements engine.
func (v *vm) Start(p lower.Program) error {
	tree, err := parse(p)
	if err != nil {
		return refused(p, err)
	}
	if !alone(tree) {
		return &lower.SyntaxError{Message: "the code closes a bracket that it has not opened"}
	}
	rewrite(tree, strings.Contains(p.Source, "+"))
	program, err := goja.CompileAST(tree, false)
	if err != nil {
		return refused(p, err)
	}
	var body goja.Callable
	err = v.rt.GlobalObject().DefineDataProperty(lower.Entry, v.rt.ToValue(func(c goja.FunctionCall) goja.Value {
		if body == nil {
			body, _ = goja.AssertFunction(c.Argument(0))
		}
		return goja.Undefined()
	}), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	if err != nil {
		return err
	}
	return v.Turn(func() error {
		if _, err := v.rt.RunProgram(program); err != nil {
			return err
		}
		value, err := body(goja.Undefined())
		if err == nil {
			v.main, _ = value.Export().(*goja.Promise)
		}
		return err
	})
}

func parse(p lower.Program) (*ast.Program, error) {
	return parser.ParseFile(nil, lower.Name, p.Code+"\n//# sourceMappingURL=map", 0,
		parser.WithSourceMapLoader(func(string) ([]byte, error) { return p.Map, nil }))
}

// alone says whether the program is what the lowering needs and then one call of the entry: a script cannot close the function
// around it and go on outside.
func alone(tree *ast.Program) bool {
	for i, s := range tree.Body {
		switch s.(type) {
		case *ast.VariableStatement, *ast.LexicalDeclaration, *ast.EmptyStatement:
		case *ast.ExpressionStatement:
			if i != len(tree.Body)-1 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// refused is a syntax error that the engine itself finds.
func refused(p lower.Program, err error) error {
	e := &lower.SyntaxError{Message: oneLine(err.Error())}
	var list parser.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		e.Message = list[0].Message
		e.Line, e.Column = p.Origin(list[0].Position.Line, list[0].Position.Column-1)
	}
	var late *goja.CompilerSyntaxError
	if errors.As(err, &late) {
		e.Message = strings.TrimPrefix(late.Message, "SyntaxError: ")
		if late.File != nil {
			at := late.File.Position(late.Offset)
			e.Line, e.Column = lower.Place(at.Line, at.Column)
		}
	}
	if strings.HasPrefix(e.Message, "Invalid destructuring") {
		e.Message += ": an array pattern with a default inside an object pattern is not supported; take the array first, then its items"
	}
	return e
}

// Turn implements engine.
func (v *vm) Turn(job func() error) (err error) {
	defer func() {
		// A function of the host that panics takes the script, not the process.
		if p := recover(); p != nil {
			var ok bool
			if err, ok = p.(error); !ok {
				err = fmt.Errorf("the engine could not go on: %v", p)
			}
		}
	}()
	if err := job(); err != nil {
		return err
	}
	if v.uncaught != nil {
		return v.uncaught
	}
	return nil
}

// Interrupt implements engine.
func (v *vm) Interrupt(reason error) { v.rt.Interrupt(reason) }

// Main implements engine.
func (v *vm) Main() (settled, valued bool) {
	if v.main == nil || v.main.State() == goja.PromiseStatePending {
		return false, false
	}
	if v.main.State() == goja.PromiseStateRejected {
		return true, true
	}
	return true, !goja.IsUndefined(v.main.Result())
}
