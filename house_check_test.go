package weir_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The sizes of the house: where each thing ends.
const (
	maxFileLines    = 500
	maxTestLines    = 800
	maxFuncLines    = 80
	maxFiles        = 12
	maxMethods      = 8
	maxConfigFields = 15
	maxReadmeLines  = 150
	maxSentences    = 3
	maxFileBytes    = 1 << 20
)

// law is what a tree is held to; its fields are told at their value, house.
type law struct {
	module    string
	inside    map[string][]string
	outside   map[string][]string
	tests     []string
	noExample map[string]string
	manyFiles map[string]string
}

// check is one rule: what it finds wrong, a line each that says what to do.
type check struct {
	name string
	find func(*tree, law) []string
}

// checks lists every rule once; TestHouseGoesRed proves that each can fail.
var checks = []check{
	{"every package has a row and every row a package", checkRows},
	{"imports of this module go down", checkInside},
	{"outside modules stay in their packages", checkOutside},
	{"package comments", checkPackageComments},
	{"exported names are documented", checkDocs},
	{"public packages have an example", checkExamples},
	{"names", checkNames},
	{"file length", checkFileLength},
	{"function length", checkFuncLength},
	{"files in a package", checkFileCount},
	{"interfaces and configs", checkTypes},
	{"changelog fragments", checkChangelog},
	{"large files", checkLargeFiles},
	{"README", checkReadme},
}

// source is one Go file of the module.
type source struct {
	path      string // slash-separated, from the root of the module
	dir       string // its package's key in the tables
	test      bool
	generated bool
	lines     int
	ast       *ast.File
}

// tree is a module as the checks see it. Modules of their own, testdata and
// what .gitignore names have no packages in it.
type tree struct {
	fsys     fs.FS
	fset     *token.FileSet
	packages map[string][]source
	sizes    map[string]int64 // every file that could be committed, in bytes
}

// dirs returns the packages in order, so that reports are stable.
func (tr *tree) dirs() []string { return slices.Sorted(maps.Keys(tr.packages)) }

// each yields the files of all packages that people wrote.
func (tr *tree) each(yield func(source)) {
	for _, dir := range tr.dirs() {
		for _, f := range tr.packages[dir] {
			if !f.generated {
				yield(f)
			}
		}
	}
}

// handwritten returns the files of a package that are neither generated nor tests.
func (tr *tree) handwritten(dir string) []source {
	return slices.DeleteFunc(slices.Clone(tr.packages[dir]), func(f source) bool {
		return f.test || f.generated
	})
}

// load reads and parses a module. A file that does not parse is an error: the
// compiler would say so too.
func load(fsys fs.FS) (*tree, error) {
	tr := &tree{fsys: fsys, fset: token.NewFileSet(), packages: map[string][]source{}, sizes: map[string]int64{}}
	ignored, err := ignoreRules(fsys)
	if err != nil {
		return nil, err
	}
	foreign := map[string]bool{} // folders that are no packages of this module
	err = fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // an editor's temporary file that has gone
		}
		if err != nil {
			return err
		}
		if p == ".git" || p != "." && ignored(p, d.IsDir()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			foreign[p] = p != "." && (foreign[path.Dir(p)] || foreignDir(fsys, p))
			return nil
		}
		return tr.add(p, d, foreign[path.Dir(p)])
	})
	if err != nil {
		return nil, fmt.Errorf("read the tree: %w", err)
	}
	return tr, nil
}

// foreignDir reports whether the go command would find no package of this module below p.
func foreignDir(fsys fs.FS, p string) bool {
	base := path.Base(p)
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := fs.Stat(fsys, path.Join(p, "go.mod"))
	return err == nil
}

// add takes one file into the tree.
func (tr *tree) add(p string, d fs.DirEntry, foreign bool) error {
	info, err := d.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	tr.sizes[p] = info.Size()
	if foreign || path.Ext(p) != ".go" || !info.Mode().IsRegular() {
		return nil
	}
	src, err := fs.ReadFile(tr.fsys, p)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(tr.fset, p, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(p)
	tr.packages[dir] = append(tr.packages[dir], source{
		path: p, dir: dir, ast: file,
		test:      strings.HasSuffix(p, "_test.go"),
		generated: ast.IsGenerated(file),
		lines:     countLines(src),
	})
	return nil
}

// countLines counts as an editor does: a last line without a newline is one too.
func countLines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// ignoreRules reads the simple forms of .gitignore that this repository uses:
// "name/", "/name" and a pattern for base names.
func ignoreRules(fsys fs.FS) (func(p string, dir bool) bool, error) {
	text, err := fs.ReadFile(fsys, ".gitignore")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var rules []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			rules = append(rules, line)
		}
	}
	return func(p string, dir bool) bool {
		return slices.ContainsFunc(rules, func(rule string) bool {
			name, onlyDir := strings.CutSuffix(rule, "/")
			if onlyDir && !dir {
				return false
			}
			subject := path.Base(p)
			if rooted, ok := strings.CutPrefix(name, "/"); ok {
				name, subject = rooted, p
			}
			ok, err := path.Match(name, subject)
			return ok && err == nil
		})
	}, nil
}

func checkRows(tr *tree, l law) (problems []string) {
	for _, dir := range tr.dirs() {
		if _, ok := l.inside[dir]; !ok {
			problems = append(problems, fmt.Sprintf("package %s has no row in house_test.go: add it to inside with the packages of lower floors it needs", dir))
		}
	}
	stale := func(table string, rows []string) {
		for _, dir := range rows {
			if _, ok := tr.packages[dir]; !ok {
				problems = append(problems, fmt.Sprintf("house_test.go has a row for %s in %s, but there is no such package: remove the row", dir, table))
			}
		}
	}
	stale("inside", slices.Sorted(maps.Keys(l.inside)))
	stale("outside", slices.Sorted(maps.Keys(l.outside)))
	stale("noExample", slices.Sorted(maps.Keys(l.noExample)))
	stale("manyFiles", slices.Sorted(maps.Keys(l.manyFiles)))
	return problems
}

// imports returns the import paths of a file.
func imports(f source) []string {
	var out []string
	for _, spec := range f.ast.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// within returns the key of a package of this module.
func within(module, imported string) (dir string, ok bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

func checkInside(tr *tree, l law) (problems []string) {
	tr.eachOf(false, func(f source) {
		row := l.inside[f.dir]
		for _, p := range imports(f) {
			dir, ok := within(l.module, p)
			if !ok || slices.Contains(row, dir) || slices.Contains(row, anything) {
				continue
			}
			problems = append(problems, fmt.Sprintf("%s imports %s: %s may import %s; move the code to the floor it belongs to, or change the row in house_test.go and say why in the commit", f.path, dir, f.dir, list(row)))
		}
	})
	return problems
}

// eachOf yields all files that are tests, or all that are not, generated ones too.
func (tr *tree) eachOf(test bool, yield func(source)) {
	for _, dir := range tr.dirs() {
		for _, f := range tr.packages[dir] {
			if f.test == test {
				yield(f)
			}
		}
	}
}

// list writes the entries of a row for a message.
func list(row []string) string {
	if len(row) == 0 {
		return "nothing"
	}
	return strings.Join(row, ", ")
}

func checkOutside(tr *tree, l law) (problems []string) {
	look := func(f source, row []string) {
		for _, p := range imports(f) {
			if _, ok := within(l.module, p); ok || allowed(row, p) {
				continue
			}
			if p == "C" {
				problems = append(problems, f.path+" uses cgo: the module builds without a C compiler; find a package in Go or put it behind a process")
				continue
			}
			problems = append(problems, fmt.Sprintf("%s imports %s: beside the standard library %s may import %s; do without, or add the module to its row in outside (house_test.go) and say why in the commit", f.path, p, f.dir, list(row)))
		}
	}
	tr.eachOf(false, func(f source) { look(f, l.outside[f.dir]) })
	tr.eachOf(true, func(f source) { look(f, slices.Concat(l.outside[f.dir], l.tests)) })
	return append(problems, unused(tr, l)...)
}

// unused finds what the table of outside modules allows and nobody needs any more.
func unused(tr *tree, l law) (problems []string) {
	for _, dir := range slices.Sorted(maps.Keys(l.outside)) {
		for _, module := range l.outside[dir] {
			needed := slices.ContainsFunc(tr.packages[dir], func(f source) bool {
				return slices.ContainsFunc(imports(f), func(p string) bool { return belongs(p, module) })
			})
			if _, ok := tr.packages[dir]; ok && !needed {
				problems = append(problems, fmt.Sprintf("outside in house_test.go allows %s to import %s, which it does not: remove the entry", dir, module))
			}
		}
	}
	return problems
}

// allowed reports whether an import is of the standard library or of a module in the row.
func allowed(row []string, imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") && imported != "C" {
		return true
	}
	return slices.ContainsFunc(row, func(module string) bool {
		return belongs(imported, module)
	})
}

// belongs reports whether an import path is a package of a module.
func belongs(imported, module string) bool {
	return imported == module || strings.HasPrefix(imported, module+"/")
}

func checkPackageComments(tr *tree, _ law) (problems []string) {
	for _, dir := range tr.dirs() {
		files := tr.handwritten(dir)
		if len(files) == 0 {
			files = slices.DeleteFunc(slices.Clone(tr.packages[dir]), func(f source) bool { return f.generated })
		}
		if len(files) == 0 {
			continue // generated: its charter is its maker's
		}
		name := strings.TrimSuffix(files[0].ast.Name.Name, "_test")
		open := "Package " + name + " "
		if name == "main" {
			open = "Command " + path.Base(dir) + " "
		}
		var found []string
		for _, f := range files {
			if f.ast.Doc == nil {
				continue
			}
			found = append(found, f.path)
			if !strings.HasPrefix(f.ast.Doc.Text(), open) {
				problems = append(problems, fmt.Sprintf("%s: the package comment must open with %q and the package's charter", f.path, open))
			}
		}
		switch len(found) {
		case 0:
			problems = append(problems, fmt.Sprintf("package %s has no package comment: open doc.go or its main file with %q and the package's charter", dir, open))
		case 1:
		default:
			problems = append(problems, fmt.Sprintf("package %s has a package comment in %s: keep one", dir, strings.Join(found, ", ")))
		}
	}
	return problems
}

func checkExamples(tr *tree, l law) (problems []string) {
	for _, dir := range tr.dirs() {
		files := tr.handwritten(dir)
		public := len(files) > 0 && files[0].ast.Name.Name != "main" &&
			!slices.Contains(strings.Split(dir, "/"), "internal") && slices.ContainsFunc(files, exports)
		if !public {
			continue
		}
		var tests []*ast.File
		for _, f := range tr.packages[dir] {
			if f.test {
				tests = append(tests, f.ast)
			}
		}
		runs := slices.ContainsFunc(doc.Examples(tests...), func(e *doc.Example) bool {
			return e.Output != "" || e.EmptyOutput
		})
		_, excused := l.noExample[dir]
		switch {
		case !runs && !excused:
			problems = append(problems, fmt.Sprintf("package %s has no Example that runs: add one with an Output comment to its tests, or give its reason in noExample (house_test.go)", dir))
		case runs && excused:
			problems = append(problems, fmt.Sprintf("package %s has an Example: remove it from noExample (house_test.go)", dir))
		}
	}
	return problems
}

var bannedNames = []string{
	"util", "utils", "common", "types", "models", "helper", "helpers", "shared", "misc",
}

func checkNames(tr *tree, _ law) (problems []string) {
	for _, dir := range tr.dirs() {
		if slices.Contains(bannedNames, path.Base(dir)) {
			problems = append(problems, fmt.Sprintf("package %s: a name that fits anything says nothing; name it after what it is about", dir))
		}
	}
	tr.each(func(f source) {
		stem := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.path), ".go"), "_test")
		if slices.Contains(bannedNames, stem) {
			problems = append(problems, fmt.Sprintf("%s: a name that fits anything says nothing; a file bears its main noun", f.path))
		}
	})
	return problems
}

func checkFileLength(tr *tree, _ law) (problems []string) {
	tr.each(func(f source) {
		end := maxFileLines
		if f.test {
			end = maxTestLines
		}
		if f.lines > end {
			problems = append(problems, fmt.Sprintf("%s has %d lines, the end is %d: split it by what its parts are about", f.path, f.lines, end))
		}
	})
	return problems
}

func checkFuncLength(tr *tree, _ law) (problems []string) {
	tr.each(func(f source) {
		if f.test {
			return
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			// As funlen counts: the lines between the first and the last.
			from, to := tr.fset.Position(fn.Pos()), tr.fset.Position(fn.End())
			if n := to.Line - from.Line - 1; n > maxFuncLines {
				problems = append(problems, fmt.Sprintf("%s:%d: %s has %d lines, the end is %d: take a step of it out and name it", f.path, from.Line, fn.Name.Name, n, maxFuncLines))
			}
		}
	})
	return problems
}

func checkFileCount(tr *tree, l law) (problems []string) {
	for _, dir := range tr.dirs() {
		if _, excused := l.manyFiles[dir]; excused {
			continue
		}
		if n := len(tr.handwritten(dir)); n > maxFiles {
			problems = append(problems, fmt.Sprintf("package %s has %d files beside its tests, the end is %d: it is about two things; find the second one's room", dir, n, maxFiles))
		}
	}
	return problems
}

func checkTypes(tr *tree, _ law) (problems []string) {
	tr.each(func(f source) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			at := fmt.Sprintf("%s:%d: %s", f.path, tr.fset.Position(spec.Pos()).Line, spec.Name.Name)
			switch typ := spec.Type.(type) {
			case *ast.InterfaceType:
				// An embedded interface counts as one: composing small ones is the way out.
				if n := len(typ.Methods.List); n > maxMethods {
					problems = append(problems, fmt.Sprintf("%s has %d methods, the end is %d: split it by who calls what and embed the parts", at, n, maxMethods))
				}
			case *ast.StructType:
				if spec.Name.Name == "Config" && typ.Fields.NumFields() > maxConfigFields {
					problems = append(problems, fmt.Sprintf("%s has %d fields, the end is %d: group what belongs together or decide it here", at, typ.Fields.NumFields(), maxConfigFields))
				}
			}
			return true
		})
	})
	return problems
}

var (
	fragmentName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*\.(added|changed|fixed|breaking)\.md$`)
	whoMustAct   = regexp.MustCompile(`^\*\*[^*\n]*[^*\s]:\*\*\s+\S`)
	codeSpan     = regexp.MustCompile("`[^`]*`")
	abbreviation = regexp.MustCompile(`\b(e\.g|i\.e|etc|vs)\.`)
	sentenceEnd  = regexp.MustCompile(`[.!?]["')*_]*(\s|$)`)
)

// sentences counts them in prose; what stands in code spans ends none.
func sentences(text string) int {
	text = codeSpan.ReplaceAllString(strings.TrimSpace(text), "code")
	text = abbreviation.ReplaceAllString(text, "for")
	ends := sentenceEnd.FindAllStringIndex(text, -1)
	n := len(ends)
	if text != "" && (n == 0 || ends[n-1][1] != len(text)) {
		n++
	}
	return n
}

func checkChangelog(tr *tree, _ law) (problems []string) {
	for _, p := range slices.Sorted(maps.Keys(tr.sizes)) {
		name, ok := strings.CutPrefix(p, "changelog.d/")
		if !ok || name == "README.md" {
			continue
		}
		if !fragmentName.MatchString(name) {
			problems = append(problems, p+": name it NAME.added.md, NAME.changed.md, NAME.fixed.md or NAME.breaking.md, NAME in lower case with hyphens")
			continue
		}
		text, err := fs.ReadFile(tr.fsys, p)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if n := sentences(string(text)); n < 1 || n > maxSentences {
			problems = append(problems, fmt.Sprintf("%s has %d sentences: say in one to %d what the user sees", p, n, maxSentences))
		}
		if strings.HasSuffix(name, ".breaking.md") && !whoMustAct.Match(text) {
			problems = append(problems, p+`: open with who must act, in bold with a colon: "**Script authors:** …"`)
		}
	}
	return problems
}

func checkLargeFiles(tr *tree, _ law) (problems []string) {
	for _, p := range slices.Sorted(maps.Keys(tr.sizes)) {
		if n := tr.sizes[p]; n > maxFileBytes {
			problems = append(problems, fmt.Sprintf("%s has %d bytes, the end is %d: make it in the test that needs it, or add it to .gitignore", p, n, maxFileBytes))
		}
	}
	return problems
}

func checkReadme(tr *tree, _ law) []string {
	text, err := fs.ReadFile(tr.fsys, "README.md")
	if err != nil {
		return []string{"README.md cannot be read: it is the door of the house (" + err.Error() + ")"}
	}
	if n := countLines(text); n > maxReadmeLines {
		return []string{fmt.Sprintf("README.md has %d lines, the end is %d: move detail to the package it is about", n, maxReadmeLines)}
	}
	return nil
}
