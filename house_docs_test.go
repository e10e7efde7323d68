package weir_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

// wellKnown are methods whose meaning the standard library has settled; lint
// asks for no comment on them either.
var wellKnown = []string{"Error", "Unwrap", "String", "Read", "Write", "ServeHTTP", "Len", "Less", "Swap"}

// public is an exported name of a file and whether a comment stands at it.
type public struct {
	name       string
	pos        token.Pos
	documented bool
}

func checkDocs(tr *tree, _ law) (problems []string) {
	tr.each(func(f source) {
		if f.test {
			return
		}
		for _, p := range publics(f.ast) {
			if !p.documented {
				problems = append(problems, fmt.Sprintf("%s:%d: %s has no comment: say what it is, its units and limits, and the errors it gives", f.path, tr.fset.Position(p.pos).Line, p.name))
			}
		}
	})
	return problems
}

// exports reports whether a file declares a name for others.
func exports(f source) bool { return !f.test && len(publics(f.ast)) > 0 }

// publics returns the exported names of a file in order: functions, methods of
// exported types, types with the methods of an interface and the fields of a
// Config, constants and variables.
func publics(file *ast.File) (names []public) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if name, ok := publicFunc(d); ok {
				names = append(names, public{name, d.Pos(), d.Doc != nil})
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.IsExported() {
						names = append(names, public{spec.Name.Name, spec.Pos(), spec.Doc != nil || d.Doc != nil})
						names = append(names, members(spec)...)
					}
				case *ast.ValueSpec:
					documented := d.Doc != nil || spec.Doc != nil || spec.Comment != nil
					names = append(names, exportedOf("", spec.Names, documented)...)
				}
			}
		}
	}
	return names
}

// publicFunc returns the name of a function or method that others can call.
func publicFunc(d *ast.FuncDecl) (name string, ok bool) {
	if !d.Name.IsExported() {
		return "", false
	}
	if d.Recv == nil {
		return d.Name.Name, true
	}
	owner := receiver(d.Recv.List[0].Type)
	return owner + "." + d.Name.Name, ast.IsExported(owner) && !slices.Contains(wellKnown, d.Name.Name)
}

// receiver returns the name of the type that a method belongs to.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.ParenExpr:
		return receiver(e.X)
	}
	return ""
}

// members returns what an exported type promises beyond its name: the methods
// of an interface, and the fields of a Config, which is where defaults are told.
func members(spec *ast.TypeSpec) (names []public) {
	var fields *ast.FieldList
	switch typ := spec.Type.(type) {
	case *ast.InterfaceType:
		fields = typ.Methods
	case *ast.StructType:
		if spec.Name.Name == "Config" {
			fields = typ.Fields
		}
	}
	if fields == nil {
		return nil
	}
	for _, f := range fields.List {
		documented := f.Doc != nil || f.Comment != nil
		names = append(names, exportedOf(spec.Name.Name+".", f.Names, documented)...)
	}
	return names
}

func exportedOf(prefix string, idents []*ast.Ident, documented bool) (names []public) {
	for _, id := range idents {
		if id.IsExported() {
			names = append(names, public{prefix + id.Name, id.Pos(), documented})
		}
	}
	return names
}
