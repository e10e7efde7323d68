package realm

import (
	"reflect"
	"strconv"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// names of the globals that rewritten code calls; the prelude defines them.
const (
	execName  = "__exec__"
	throwName = "__thrown__"
	newName   = "__regexp__"
	growName  = "__grow__"
)

// rewrite changes four things that cannot be changed from inside the language without losing the engine's
// fast paths: x.exec(s) becomes __exec__(x, s), so that a search that runs out of time is an error and a
// loop over a long text is linear; throw x becomes throw __thrown__(x), so that something thrown that is no
// Error has a position; a global pattern that matches the empty text becomes __regexp__(source, flags).
// Where adds says that there may be any, text += x and text = text + x become text = __grow__(text, x), which is
// linear in a loop, for every name that is declared with a string.
func rewrite(tree *ast.Program, adds bool) {
	r := rewriter{}
	if adds {
		r.texts = map[unistring.String]bool{}
		r.all(tree, r.declared)
	}
	r.all(tree, r.change)
}

// rewriter knows the names that are declared with a string.
type rewriter struct{ texts map[unistring.String]bool }

// all visits a tree.
func (r *rewriter) all(tree *ast.Program, visit func(any)) {
	for _, s := range tree.Body {
		walk(reflect.ValueOf(s), visit)
	}
}

// declared notes a name that begins as a string.
func (r *rewriter) declared(node any) {
	n, is := node.(*ast.Binding)
	if !is {
		return
	}
	name, is := n.Target.(*ast.Identifier)
	if !is {
		return
	}
	switch n.Initializer.(type) {
	case *ast.StringLiteral, *ast.TemplateLiteral:
		r.texts[name.Name] = true
	}
}

// change rewrites a node in its place.
func (r *rewriter) change(node any) {
	switch n := node.(type) {
	case *ast.CallExpression:
		searches(n)
	case *ast.ThrowStatement:
		n.Argument = call(throwName, n.Argument.Idx0(), n.Argument)
	case *ast.AssignExpression:
		if name, is := n.Left.(*ast.Identifier); is && r.texts[name.Name] {
			grows(n, name)
		}
	}
}

// grows rewrites an assignment to a name that is a text.
func grows(n *ast.AssignExpression, name *ast.Identifier) {
	switch n.Operator {
	case token.PLUS:
		n.Operator, n.Right = token.ASSIGN, call(growName, name.Idx, &ast.Identifier{Name: name.Name, Idx: name.Idx}, n.Right)
	case token.ASSIGN:
		var sums []*ast.BinaryExpression // text + a + b is (text + a) + b
		at := n.Right
		for {
			sum, is := at.(*ast.BinaryExpression)
			if !is || sum.Operator != token.PLUS {
				break
			}
			sums, at = append(sums, sum), sum.Left
		}
		if first, is := at.(*ast.Identifier); !is || first.Name != name.Name {
			return
		}
		for i := len(sums) - 1; i >= 0; i-- {
			at = call(growName, sums[i].Left.Idx0(), at, sums[i].Right)
		}
		n.Right = at
	}
}

// call is a call of a global.
func call(name unistring.String, at file.Idx, args ...ast.Expression) *ast.CallExpression {
	return &ast.CallExpression{
		Callee: &ast.Identifier{Name: name, Idx: at}, LeftParenthesis: at, ArgumentList: args, RightParenthesis: at,
	}
}

// walk visits what is reachable from a value of the tree.
func walk(v reflect.Value, visit func(any)) {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		if n, is := v.Interface().(*ast.RegExpLiteral); is && v.CanSet() && skipsEmpty(n.Pattern, n.Flags) {
			v.Set(reflect.ValueOf(constructed(n)))
			return
		}
		walk(v.Elem(), visit)
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		visit(v.Interface())
		walk(v.Elem(), visit)
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			// DeclarationList repeats what stands in the statements.
			if f := v.Type().Field(i); f.IsExported() && f.Name != "DeclarationList" && f.Name != "File" {
				walk(v.Field(i), visit)
			}
		}
	}
}

func constructed(n *ast.RegExpLiteral) *ast.CallExpression {
	text := func(s string) *ast.StringLiteral {
		return &ast.StringLiteral{Idx: n.Idx, Literal: strconv.Quote(s), Value: unistring.NewFromString(s)}
	}
	return call(newName, n.Idx, text(n.Pattern), text(n.Flags))
}

// searches rewrites a call of exec.
func searches(n *ast.CallExpression) {
	dot, ok := n.Callee.(*ast.DotExpression)
	if !ok || dot.Identifier.Name != unistring.String("exec") {
		return
	}
	if _, super := dot.Left.(*ast.SuperExpression); super {
		return
	}
	n.Callee = &ast.Identifier{Name: execName, Idx: dot.Identifier.Idx}
	n.ArgumentList = append([]ast.Expression{dot.Left}, n.ArgumentList...)
}
