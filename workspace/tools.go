package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weir-run/weir/internal/args"
	"github.com/weir-run/weir/spill"
	"github.com/weir-run/weir/tool"
)

// The names of the tools.
const (
	nameRead    = "workspace--read"
	nameGrep    = "workspace--grep"
	nameGlob    = "workspace--glob"
	nameList    = "workspace--list"
	nameResults = "results--list"
	nameWrite   = "workspace--write"
	nameEdit    = "workspace--edit"
)

const storedMount = spill.Mount

// The schemas are part of the prompt: their bytes never change by themselves.
const (
	schemaRead = `{"type":"object","properties":{` +
		`"path":{"type":"string","description":"mount/relative/path of a file"},` +
		`"offset":{"type":["integer","string"],"pattern":"^-?[0-9]+$","description":"first line, from 1; negative counts from the end, -1 is the last line; default 1"},` +
		`"limit":{"type":["integer","string"],"pattern":"^[0-9]+$","description":"number of lines; default as many as fit a page"},` +
		`"char_offset":{"type":["integer","string"],"pattern":"^[0-9]+$","description":"instead of offset: first character of the file, from 0; for lines longer than a page"},` +
		`"char_limit":{"type":["integer","string"],"pattern":"^[0-9]+$","description":"number of characters; default as many as fit a page"}},` +
		`"required":["path"],"additionalProperties":false}`
	schemaGrep = `{"type":"object","properties":{` +
		`"pattern":{"type":"string","description":"RE2 regular expression (no look-around, no back-references), applied to each line on its own"},` +
		`"path":{"type":"string","description":"file, folder or mount to search; default everything"},` +
		`"literal":{"type":"boolean","description":"take the pattern as plain text"},` +
		`"ignore_case":{"type":"boolean"},` +
		`"glob":{"type":"string","description":"only files whose path below the mount matches, such as src/**/*.go; without a slash the file name is matched"},` +
		`"before":{"type":["integer","string"],"pattern":"^[0-9]+$","description":"lines of context before each match, 0 to 100"},` +
		`"after":{"type":["integer","string"],"pattern":"^[0-9]+$","description":"lines of context after each match, 0 to 100"},` +
		`"max_matches":{"type":["integer","string"],"pattern":"^[0-9]+$","description":"matches to show, 1 to 1000; default 100"},` +
		`"offset":{"type":["integer","string"],"pattern":"^[0-9]+$","description":"skip this many matches, to page"}},` +
		`"required":["pattern"],"additionalProperties":false}`
	schemaGlob = `{"type":"object","properties":{` +
		`"pattern":{"type":"string","description":"glob such as **/*.go, src/*.{ts,tsx}, doc/[a-c]*.md; ** crosses folders"},` +
		`"path":{"type":"string","description":"folder or mount that the pattern starts from; default every mount"},` +
		`"offset":{"type":["integer","string"],"pattern":"^[0-9]+$","description":"skip this many files, to page"}},` +
		`"required":["pattern"],"additionalProperties":false}`
	schemaList = `{"type":"object","properties":{` +
		`"path":{"type":"string","description":"folder or mount; default lists the mounts"},` +
		`"offset":{"type":["integer","string"],"pattern":"^[0-9]+$","description":"skip this many entries, to page"}},` +
		`"additionalProperties":false}`
	schemaResults = `{"type":"object","properties":{` +
		`"offset":{"type":["integer","string"],"pattern":"^[0-9]+$","description":"skip this many results, to page"}},` +
		`"additionalProperties":false}`
	schemaWrite = `{"type":"object","properties":{` +
		`"path":{"type":"string","description":"mount/relative/path of the file; missing folders are made"},` +
		`"content":{"type":"string","description":"the whole file"}},` +
		`"required":["path","content"],"additionalProperties":false}`
	schemaEdit = `{"type":"object","properties":{` +
		`"path":{"type":"string","description":"mount/relative/path of the file"},` +
		`"old":{"type":"string","description":"text to replace, exactly as in the file, without line numbers; it must be unique unless replace_all is set"},` +
		`"new":{"type":"string","description":"text to put in its place, taken literally; empty to delete"},` +
		`"replace_all":{"type":"boolean","description":"replace every occurrence"}},` +
		`"required":["path","old","new"],"additionalProperties":false}`
)

// The ranges of whole numbers, in words.
const (
	fromOne  = "1 or more"
	fromZero = "0 or more"
)

// def is a tool in the making.
type def struct {
	name, description, schema string
	run                       func(ctx context.Context, who caller, c tool.Call) (string, error)
}

// Tools returns the tools over this workspace: workspace--read, workspace--grep, workspace--glob,
// workspace--list, results--list where stored results are served, workspace--write and workspace--edit
// where a mount may be written. The result of one that reads is a page that fits the room of the call;
// what is wrong with the arguments is an error result that says so, and how to call it right.
func (w *Workspace) Tools() ([]tool.Tool, error) {
	reading := []def{
		{nameRead, "Read a page of a text file or of a stored result. Each line is shown as its number, a tab and its text. " +
			"The header states the lines shown, the total and the next call.", schemaRead, w.callRead},
		{nameGrep, "Search files and stored results line by line. Output is path:line:text, path-line-text for context. " +
			"The first line states all matches and what is shown; what was not searched is named.", schemaGrep, w.callGrep},
		{nameGlob, "Find files by path pattern, sorted by path, 1000 at most a page.", schemaGlob, w.callGlob},
		{nameList, "List a folder or the mounts: name, size, lines of stored results, modification time in UTC.", schemaList, w.callList},
	}
	if w.stored != nil {
		reading = append(reading, def{
			nameResults, "List the stored results of this conversation: id, tool, size, lines, path.", schemaResults, w.callResults,
		})
	}
	var out []tool.Tool
	for _, d := range reading {
		out = append(out, d.tool(tool.Traits{ReadOnly: true, Idempotent: true}, tool.Page))
	}
	if slices.ContainsFunc(w.mounts, func(m mount) bool { return m.write }) {
		write := def{nameWrite, "Write a whole file, new or in place of the one that is there.", schemaWrite, w.callWrite}
		edit := def{nameEdit, "Replace text in a file. Read the place first; everything else in the file stays as it is.", schemaEdit, w.callEdit}
		out = append(out, write.tool(tool.Traits{Idempotent: true, Serial: true}, tool.Text), edit.tool(tool.Traits{Serial: true}, tool.Text))
	}
	for _, t := range out {
		if err := t.Check(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// tool makes the tool; result makes its results of their text.
func (d def) tool(traits tool.Traits, result func(string) tool.Result) tool.Tool {
	return tool.Tool{
		Name: d.name, Description: d.description, Schema: json.RawMessage(d.schema), Traits: traits,
		Run: func(ctx context.Context, c tool.Call) (tool.Result, error) {
			text, err := d.run(ctx, callerOf(ctx, c, d.name), c)
			switch {
			case err != nil && ctx.Err() != nil:
				return tool.Result{}, ctx.Err()
			case err != nil:
				return tool.Error(d.name + ": " + err.Error()), nil
			}
			return result(text), nil
		},
	}
}

// caller is what a call tells about who makes it.
type caller struct {
	conversation string
	result       string // the id of the result to be
	tool         string // the name by which the tool was called
	room         int
}

func callerOf(ctx context.Context, c tool.Call, name string) caller {
	who := caller{tool: name, room: MaxPage}
	if c.Name != "" {
		who.tool = c.Name
	}
	r, ok := tool.CallFrom(ctx)
	if ok {
		who.conversation, who.result = r.Conversation, r.Result
	}
	for _, limit := range []int{r.Room, c.MaxChars} {
		if limit > 0 {
			who.room = min(who.room, limit)
		}
	}
	return who
}

// example adds a right call to an error.
func example(err error, right ...args.Arg) error {
	return fmt.Errorf("%w. Example: %s", err, args.Object(right...))
}

// somePath is a path for examples: the one that was given, or one of the first mount.
func (w *Workspace) somePath(given, file string) args.Arg {
	switch {
	case given != "":
		return args.String("path", given)
	case len(w.mounts) > 0:
		return args.String("path", strings.TrimSuffix(w.mounts[0].name+"/"+file, "/"))
	case file == "":
		return args.String("path", storedMount)
	}
	return args.String("path", storedMount+"/r1-1")
}

func (w *Workspace) callRead(ctx context.Context, who caller, c tool.Call) (string, error) {
	a := args.Parse(c, "path", "offset", "limit", "char_offset", "char_limit")
	req := ReadRequest{
		Conversation: who.conversation, Path: a.Text("path", true), Room: who.room, Tool: who.tool, Result: who.result,
		Offset:     a.Whole("offset", math.MinInt64, math.MaxInt64, "the first line is 1, the last -1"),
		Limit:      a.Whole("limit", 1, math.MaxInt64, fromOne),
		CharOffset: a.Whole("char_offset", 0, math.MaxInt64, fromZero),
		CharLimit:  a.Whole("char_limit", 1, math.MaxInt64, fromOne),
		Chars:      a.Has("char_offset") || a.Has("char_limit"),
	}
	if a.Has("offset") && req.Offset == 0 {
		a.Fail("offset must be a whole number, the first line is 1, the last -1; got 0")
	}
	if req.Chars && (a.Has("offset") || a.Has("limit")) {
		a.Fail("two kinds of window: give offset and limit for lines, or char_offset and char_limit for characters")
	}
	page, err := ReadPage{}, a.Err()
	if err == nil {
		page, err = w.Read(ctx, req)
	}
	if err != nil {
		if req.Chars && !a.Has("offset") && !a.Has("limit") {
			return "", example(err, w.somePath(req.Path, "main.go"), args.Number("char_offset", 0), args.Number("char_limit", 5000))
		}
		return "", example(err, w.somePath(req.Path, "main.go"), args.Number("offset", 1), args.Number("limit", 200))
	}
	return page.Text, nil
}

func (w *Workspace) callGrep(ctx context.Context, who caller, c tool.Call) (string, error) {
	names := []string{"pattern", "path", "literal", "ignore_case", "glob", "before", "after", "max_matches", "offset"}
	a := args.Parse(c, names...)
	room, err := roomOf(who.room)
	if err != nil {
		return "", err
	}
	context := fmt.Sprintf("%s, at most %d", fromZero, MaxContext)
	req := GrepRequest{
		Conversation: who.conversation, Width: widthOf(room),
		Pattern: a.Text("pattern", true), Path: a.Text("path", false), Glob: a.Text("glob", false),
		Literal: a.Flag("literal"), IgnoreCase: a.Flag("ignore_case"),
		Before: int(a.Whole("before", 0, MaxContext, context)), After: int(a.Whole("after", 0, MaxContext, context)),
		Max:    int(a.Whole("max_matches", 1, MaxMatches, fmt.Sprintf("1 to %d", MaxMatches))),
		Offset: a.Whole("offset", 0, math.MaxInt64/2, fromZero),
	}
	found, err := GrepResult{}, a.Err()
	if err == nil {
		found, err = w.Grep(ctx, req)
	}
	if err == nil && req.Offset > 0 && req.Offset >= found.Matches && !found.TimedOut {
		err = outOfRange(req.Offset, found.Matches, "matches")
	}
	if err != nil {
		return "", grepExample(err, req, w)
	}
	return found.text(room, who.tool, a.Same(names[:8]...), req.Offset), nil
}

// grepExample adds a right call. Where the pattern cannot be used, it is the same one as plain text.
func grepExample(err error, req GrepRequest, w *Workspace) error {
	if isSyntax(err) && len(req.Pattern) <= 200 {
		return fmt.Errorf(`%w; or search for the characters themselves with "literal":true. Example: %s`,
			err, args.Object(args.String("pattern", req.Pattern), args.Bool("literal", true)))
	}
	return example(err, args.String("pattern", `func \w+`), w.somePath(req.Path, ""), args.String("glob", "*.go"))
}

func outOfRange(offset, total int64, what string) error {
	if total == 0 {
		return fmt.Errorf("offset %d is out of range: there are no %s", offset, what)
	}
	return fmt.Errorf("offset %d is out of range: there are %d %s, valid are 0 to %d", offset, total, what, total-1)
}

func (w *Workspace) callGlob(ctx context.Context, who caller, c tool.Call) (string, error) {
	a := args.Parse(c, "pattern", "path", "offset")
	room, err := roomOf(who.room)
	if err != nil {
		return "", err
	}
	req := GlobRequest{
		Conversation: who.conversation, Pattern: a.Text("pattern", true), Path: a.Text("path", false),
		Offset: a.Whole("offset", 0, math.MaxInt64/2, fromZero),
	}
	found, err := GlobResult{}, a.Err()
	if err == nil {
		found, err = w.Glob(ctx, req)
	}
	if err == nil && req.Offset > 0 && req.Offset >= found.Matches && !found.TimedOut {
		err = outOfRange(req.Offset, found.Matches, "files")
	}
	if err != nil {
		return "", example(err, args.String("pattern", "**/*.{go,md}"), w.somePath(req.Path, ""))
	}
	return found.text(room, who.tool, a.Same("pattern", "path"), req.Offset), nil
}

func (w *Workspace) callList(ctx context.Context, who caller, c tool.Call) (string, error) {
	a := args.Parse(c, "path", "offset")
	return w.list(ctx, who, a, a.Text("path", false), [2]string{"entry", "entries"}, entryRow)
}

func (w *Workspace) callResults(ctx context.Context, who caller, c tool.Call) (string, error) {
	return w.list(ctx, who, args.Parse(c, "offset"), storedMount, [2]string{"stored result", "stored results"}, resultRow)
}

// list makes a page of a folder's entries.
func (w *Workspace) list(ctx context.Context, who caller, a *args.Args, path string, noun [2]string, row func(Entry) string) (string, error) {
	room, err := roomOf(who.room)
	if err != nil {
		return "", err
	}
	req := ListRequest{
		Conversation: who.conversation, Path: path, Offset: int(a.Whole("offset", 0, math.MaxInt32, fromZero)),
	}
	found, err := ListResult{}, a.Err()
	if err == nil {
		found, err = w.List(ctx, req)
	}
	if err == nil && req.Offset > 0 && req.Offset >= found.Total {
		err = outOfRange(int64(req.Offset), int64(found.Total), noun[1])
	}
	if err != nil {
		if noun[0] != "entry" {
			return "", example(err, args.Number("offset", 0))
		}
		return "", example(err, w.somePath(path, ""), args.Number("offset", 0))
	}
	return found.text(room, who.tool, a.Same("path"), int64(req.Offset), noun, row), nil
}

func (w *Workspace) callWrite(ctx context.Context, who caller, c tool.Call) (string, error) {
	a := args.Parse(c, "path", "content")
	req := WriteRequest{Conversation: who.conversation, Path: a.Text("path", true), Text: a.Text("content", false), Result: who.result}
	if !a.Has("content") {
		a.Fail("content is missing; an empty one makes an empty file")
	}
	out, err := Written{}, a.Err()
	if err == nil {
		out, err = w.Write(ctx, req)
	}
	if err != nil {
		return "", example(err, w.somePath(req.Path, "notes.md"), args.String("content", "# Notes\n"))
	}
	return out.text(), nil
}

func (w *Workspace) callEdit(ctx context.Context, who caller, c tool.Call) (string, error) {
	a := args.Parse(c, "path", "old", "new", "replace_all")
	req := EditRequest{
		Conversation: who.conversation, Path: a.Text("path", true), Old: a.Text("old", true), New: a.Text("new", false),
		All: a.Flag("replace_all"), Result: who.result,
	}
	if !a.Has("new") {
		a.Fail("new is missing; an empty one deletes old")
	}
	out, err := Written{}, a.Err()
	if err == nil {
		out, err = w.Edit(ctx, req)
	}
	if err != nil {
		return "", example(err, w.somePath(req.Path, "main.go"), args.String("old", "timeout := 10"), args.String("new", "timeout := 30"))
	}
	return out.text(), nil
}
