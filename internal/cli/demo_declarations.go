package cli

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strconv"
	"strings"
	"unicode"

	"github.com/weir-run/weir/internal/lines"
)

// partOf makes the lines of one file.
func partOf(name string, source []byte) part {
	p := part{size: int64(len(source)), isGo: strings.HasSuffix(name, ".go")}
	if strings.ContainsFunc(name, unicode.IsControl) {
		name = strconv.Quote(name) // a name that would break the line
	}
	w := &declarations{name: name}
	if p.isGo {
		line, err := w.parse(source)
		if err != "" {
			p.unparsed = true
			w.line(line, "unparsed", err)
		}
	} else {
		figures := lines.Of(source)
		w.line(1, "file", fmt.Sprintf("%d lines, %d bytes", figures.Lines, figures.Bytes))
	}
	p.lines, p.declarations = bytes.Clone(w.out.Bytes()), w.count
	return p
}

// declarations writes those of one file.
type declarations struct {
	name  string
	out   bytes.Buffer
	count int
}

// line writes one line.
func (w *declarations) line(n int, kind, text string) {
	w.out.WriteString(w.name)
	w.out.WriteByte(':')
	w.out.Write(strconv.AppendInt(w.out.AvailableBuffer(), int64(n), 10))
	w.out.WriteByte(':')
	w.out.WriteString(kind)
	w.out.WriteByte(' ')
	w.out.WriteString(text)
	w.out.WriteByte('\n')
}

// parse writes the exported declarations of a Go file. A file that cannot be parsed to its end has those
// before the error, and the error with its line is given back.
func (w *declarations) parse(source []byte) (line int, failed string) {
	defer func() {
		if p := recover(); p != nil { // the parser met what nobody has met before
			line, failed = 1, oneLine(fmt.Sprint(p))
		}
	}()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", source, parser.SkipObjectResolution)
	put := func(at token.Pos, kind, text string) {
		w.line(set.PositionFor(at, false).Line, kind, text)
		w.count++
	}
	if file != nil {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				putFunc(d, put)
			case *ast.GenDecl:
				putNames(d, put)
			}
		}
	}
	var all scanner.ErrorList
	switch {
	case err == nil:
		return 0, ""
	case errors.As(err, &all) && len(all) > 0:
		return max(1, all[0].Pos.Line), oneLine(all[0].Msg)
	}
	return 1, oneLine(err.Error())
}

// putNames puts the exported constants, variables and types of a declaration.
func putNames(d *ast.GenDecl, put func(token.Pos, string, string)) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				put(s.Name.Pos(), "type", s.Name.Name)
			}
		case *ast.ValueSpec:
			for _, n := range s.Names {
				if n.IsExported() {
					put(n.Pos(), d.Tok.String(), n.Name)
				}
			}
		}
	}
}

// putFunc puts an exported function, or an exported method of an exported type.
func putFunc(d *ast.FuncDecl, put func(token.Pos, string, string)) {
	if !d.Name.IsExported() {
		return
	}
	if d.Recv == nil {
		put(d.Name.Pos(), "func", d.Name.Name)
		return
	}
	if of := receiver(d.Recv); of != nil && of.IsExported() {
		put(d.Name.Pos(), "method", of.Name+"."+d.Name.Name)
	}
}

// receiver is the type that a method belongs to.
func receiver(of *ast.FieldList) *ast.Ident {
	if len(of.List) == 0 {
		return nil
	}
	for t := of.List[0].Type; ; {
		switch x := t.(type) {
		case *ast.Ident:
			return x
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		default:
			return nil
		}
	}
}
