package economy

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
	"github.com/weir-run/weir/workspace"
)

// stored serves one kept result.
type stored struct{ text string }

func (s stored) entry() workspace.StoredEntry {
	return workspace.StoredEntry{Name: strings.TrimPrefix(path, "tool-results/"), Result: "r1-1", Tool: "run", Bytes: int64(len(s.text))}
}

func (s stored) List(context.Context, string) ([]workspace.StoredEntry, error) {
	return []workspace.StoredEntry{s.entry()}, nil
}

func (s stored) Open(_ context.Context, _, name string) (*workspace.StoredFile, error) {
	if name != s.entry().Name && name != "r1-1" {
		return nil, fs.ErrNotExist
	}
	return &workspace.StoredFile{StoredEntry: s.entry(), ReaderAt: strings.NewReader(s.text), Closer: io.NopCloser(nil)}, nil
}

// desk calls the workspace's tools on a kept result.
type desk struct{ tools map[string]tool.Tool }

func newDesk(t testing.TB, text string) desk {
	t.Helper()
	w, err := workspace.New(workspace.Config{Stored: stored{text}, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	all, err := w.Tools()
	if err != nil {
		t.Fatal(err)
	}
	d := desk{map[string]tool.Tool{}}
	for _, one := range all {
		d.tools[one.Name] = one
	}
	return d
}

// maxPage is the room of one follow-up call in characters.
const maxPage = 8000

// call gives what the call itself is in the context, and its result.
func (d desk) call(t testing.TB, name string, args map[string]any) (asked, page string) {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(args); err != nil {
		t.Fatal(err)
	}
	raw := []byte(strings.TrimSpace(b.String()))
	ctx := tool.WithCall(t.Context(), tool.Running{Conversation: "c"})
	r, err := d.tools[name].Run(ctx, tool.Call{ID: "f", Name: name, Args: raw, MaxChars: maxPage})
	if err != nil {
		t.Fatal(err)
	}
	return name + " " + string(raw), result.Text(r)
}

var readOn = regexp.MustCompile(`workspace--read (\{[^\n\]]*\})`)

// follow makes the one call that may bring a fact: a search for what whoever asks knows, else the call
// that the notice names. It gives the calls and what was sent for them, each a text of its own, and whether
// the fact is in the last.
func (d desk) follow(t testing.TB, shown string, f fact) (sent []string, found bool) {
	t.Helper()
	if !strings.Contains(shown, path) {
		return nil, false // nothing says that there is more
	}
	asked, page := d.call(t, "workspace--grep", map[string]any{"path": path, "pattern": regexp.QuoteMeta(f.key)})
	sent = []string{asked, page}
	if has(page, f.found) {
		return sent, true
	}
	named := readOn.FindStringSubmatch(strings.ReplaceAll(shown, `\"`, `"`))
	if named == nil {
		return sent, false
	}
	var args map[string]any
	if json.Unmarshal([]byte(named[1]), &args) != nil {
		return sent, false
	}
	asked, page = d.call(t, "workspace--read", args)
	return append(sent, asked, page), has(page, f.found)
}

// has says that a fact is shown; within JSON strings quotes are escaped.
func has(shown, found string) bool {
	s, f := squeeze(shown), squeeze(found)
	if strings.Contains(s, f) {
		return true
	}
	raw, err := json.Marshal(f)
	return err == nil && len(raw) > 2 && strings.Contains(s, string(raw[1:len(raw)-1]))
}
