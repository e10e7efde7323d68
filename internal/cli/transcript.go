package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/membrane"
)

// transcript writes a conversation as markdown. Whatever was said stands in a quotation, and what was called
// and shown between fences, so that nothing in it can pass for a part of the document.
type transcript struct {
	store history.Store
	w     *bufio.Writer
	err   error
	// rounds are all of them, asked and told those whose calls and results were written.
	rounds      []history.Round
	asked, told map[int]bool
}

func (t *transcript) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

func (t *transcript) write(ctx context.Context, c history.Conversation) error {
	title := printable(c.Title)
	if title == "" {
		title = "Conversation " + c.ID
	}
	t.printf("# %s\n\n* conversation: `%s`\n* begun: %s\n", title, c.ID, at(c.CreatedAt))
	if c.Parent != "" {
		t.printf("* fork of: `%s` at round %d\n", c.Parent, c.ForkRound)
	}
	if s, err := stored(c.Settings); err == nil && s.Model != "" {
		t.printf("* model: `%s`\n", printable(s.Model))
	}
	turns, err := t.store.TurnsOf(ctx, c.ID)
	if err != nil {
		return err
	}
	rounds, err := t.store.RoundsOf(ctx, c.ID)
	if err != nil {
		return err
	}
	messages, err := t.store.Messages(ctx, c.ID, 0)
	if err != nil {
		return err
	}
	t.rounds, t.asked, t.told = rounds, map[int]bool{}, map[int]bool{}
	turn := 0
	for _, m := range messages {
		for turn < m.Turn {
			if turn++; turn <= len(turns) {
				t.printf("\n## Turn %d (%s)\n", turn, standing(string(turns[turn-1].State), turns[turn-1].Reason))
			}
		}
		if err := t.message(ctx, c.ID, m); err != nil {
			return err
		}
	}
	for _, r := range rounds { // those of a loop that stores no messages
		if t.asked[r.N] || t.told[r.N] {
			continue
		}
		t.printf("\n## Round %d\n", r.N)
		if err := t.round(ctx, c.ID, r.N, true); err != nil {
			return err
		}
		if err := t.round(ctx, c.ID, r.N, false); err != nil {
			return err
		}
	}
	return t.err
}

func (t *transcript) message(ctx context.Context, id string, m history.Message) error {
	if m.Role == string(membrane.Results) {
		t.printf("\n### Results\n")
		return t.round(ctx, id, m.Round, false)
	}
	t.printf("\n### %s\n", heading(m.Role))
	decoded, err := membrane.Decode(m.Codec, m.Body)
	if err != nil {
		t.printf("\n*This message cannot be read: %s*\n", printable(err.Error()))
	}
	for _, b := range decoded.Blocks {
		switch b.Type {
		case membrane.Text:
			t.quote(b.Text)
		case membrane.Thinking:
			if b.Text != "" {
				t.printf("\n*thinking*\n")
				t.quote(b.Text)
			}
		case membrane.Image:
			t.printf("\n*[image: %s, %s]*\n", printable(b.MIMEType), size(int64(len(b.Data))))
		case membrane.Other:
			t.printf("\n*[a part that only its provider reads]*\n")
		}
	}
	if len(decoded.Calls()) == 0 {
		return t.err
	}
	for _, r := range t.rounds {
		if !t.asked[r.N] && (r.Seq == m.Seq || r.Seq == 0 && r.Turn == m.Turn) {
			return t.round(ctx, id, r.N, true)
		}
	}
	return t.err
}

// round writes the calls of a round, or what came back.
func (t *transcript) round(ctx context.Context, id string, n int, asked bool) error {
	if asked {
		t.asked[n] = true
	} else {
		t.told[n] = true
	}
	calls, err := t.store.CallsOf(ctx, id, n)
	if err != nil {
		return err
	}
	for _, c := range calls {
		if asked {
			t.printf("\n**%s** calls `%s`\n", c.ID, printable(c.Tool))
			kind := "text"
			if json.Valid(c.Args) {
				kind = "json"
			}
			t.fence(kind, string(c.Args))
			if c.State != history.CallAnswered {
				t.printf("\n*%s*\n", standingOf(c))
			}
			continue
		}
		if err := t.result(ctx, id, c); err != nil {
			return err
		}
	}
	return t.err
}

// result writes a result as the model was shown it.
func (t *transcript) result(ctx context.Context, id string, c history.Call) error {
	if c.State != history.CallAnswered {
		return t.err
	}
	r, err := t.store.ResultOf(ctx, id, c.ID)
	if err != nil {
		return err
	}
	how := standingOf(c)
	if r.IsError && c.Outcome == history.OutcomeDone {
		how = "error"
	}
	where := ""
	if r.Spill != nil {
		where = ", whole in " + r.Spill.Path()
	}
	t.printf("\n**%s** `%s`: %s, %s, %s%s\n", r.ID, printable(r.Tool), how, plural(r.Lines, "line"), plural(r.Chars, "character"), where)
	shown := string(r.Shown)
	if r.Same {
		if shown, err = t.wholeOf(ctx, r); err != nil {
			return err
		}
	}
	t.fence("text", shown)
	return t.err
}

// wholeOf is the whole of a result that was shown whole.
func (t *transcript) wholeOf(ctx context.Context, r history.Result) (string, error) {
	if r.Spill == nil {
		return string(r.Whole), nil
	}
	f, err := t.store.Spills().Open(ctx, r.Spill.File)
	if err != nil {
		return "", fmt.Errorf("%s: %w", r.ID, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	return string(b), err
}

// heading is a role as a heading.
func heading(role string) string {
	switch role {
	case string(membrane.User):
		return "User"
	case string(membrane.Assistant):
		return "Assistant"
	}
	return printable(role)
}

// quote writes a text as a quotation.
func (t *transcript) quote(text string) {
	t.printf("\n")
	for line := range strings.Lines(text) {
		t.printf("> %s\n", strings.TrimRight(line, "\r\n"))
	}
}

// fence writes a text between fences that are longer than any in it.
func (t *transcript) fence(kind, text string) {
	longest, run := 2, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	t.printf("\n%s%s\n%s%s\n", fence, kind, text, fence)
}
