package realm

import (
	"reflect"
	"strconv"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/unistring"
)

// names of the globals that rewritten code calls; the prelude defines them.
const (
	execName  = "__exec__"
	throwName = "__thrown__"
	newName   = "__regexp__"
)

// rewrite changes three things that cannot be changed from inside the language without losing the engine's
// fast paths: x.exec(s) becomes __exec__(x, s), so that a search that runs out of time is an error and a
// loop over a long text is linear; throw x becomes throw __thrown__(x), so that something thrown that is no
// Error has a position; a global pattern that matches the empty text becomes __regexp__(source, flags).
func rewrite(tree *ast.Program) {
	for _, s := range tree.Body {
		walk(reflect.ValueOf(s))
	}
}

// walk visits what is reachable from a value of the tree.
func walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		if n, is := v.Interface().(*ast.RegExpLiteral); is && v.CanSet() && skipsEmpty(n.Pattern, n.Flags) {
			v.Set(reflect.ValueOf(constructed(n)))
			return
		}
		walk(v.Elem())
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		switch n := v.Interface().(type) {
		case *ast.CallExpression:
			searches(n)
		case *ast.ThrowStatement:
			n.Argument = &ast.CallExpression{
				Callee:           &ast.Identifier{Name: throwName, Idx: n.Argument.Idx0()},
				LeftParenthesis:  n.Argument.Idx0(),
				ArgumentList:     []ast.Expression{n.Argument},
				RightParenthesis: n.Argument.Idx0(),
			}
		}
		walk(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			// DeclarationList repeats what stands in the statements.
			if f := v.Type().Field(i); f.IsExported() && f.Name != "DeclarationList" && f.Name != "File" {
				walk(v.Field(i))
			}
		}
	}
}

func constructed(n *ast.RegExpLiteral) *ast.CallExpression {
	text := func(s string) *ast.StringLiteral {
		return &ast.StringLiteral{Idx: n.Idx, Literal: strconv.Quote(s), Value: unistring.NewFromString(s)}
	}
	return &ast.CallExpression{
		Callee:           &ast.Identifier{Name: newName, Idx: n.Idx},
		LeftParenthesis:  n.Idx,
		ArgumentList:     []ast.Expression{text(n.Pattern), text(n.Flags)},
		RightParenthesis: n.Idx,
	}
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
