//go:build unix

package client_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/result"
)

// The matrix of result shapes: a widget, told of as text and as data.
const (
	widget   = `{"name":"Widget","price":9.99,"in_stock":false}`
	sentence = "Widget costs $9.99 and is currently out of stock."
	wrong    = "Widget costs $25.00 and is in stock."
	bad      = `{"price":"twenty-five dollars","in_stock":"yes"}`
	badText  = "Widget costs twenty-five dollars, in stock: yes"
	schema   = `{"type":"object","properties":{"name":{"type":"string"},"price":{"type":"number"},"in_stock":{"type":"boolean"}},"required":["name","price","in_stock"]}`
)

func raw(text, structured string) string {
	content := "[]"
	if text != "" {
		b, _ := json.Marshal(text)
		content = `[{"type":"text","text":` + string(b) + `}]`
	}
	if structured != "" {
		return `{"content":` + content + `,"structuredContent":` + structured + `}`
	}
	return `{"content":` + content + `}`
}

var matrix = []struct{ name, raw, schema string }{
	{"no_schema__text_only", raw(sentence, ""), ""},
	{"no_schema__structured_only", raw("", widget), ""},
	{"no_schema__text_and_structured", raw(sentence, widget), ""},
	{"with_schema__text_and_structured_matching", raw(sentence, widget), schema},
	{"with_schema__structured_only_no_text", raw("", widget), schema},
	{"with_schema__text_and_structured_mismatched", raw(wrong, widget), schema},
	{"with_schema__structured_violates_schema", raw(badText, bad), schema},
	{"with_schema__structured_missing", raw(sentence, ""), schema},
}

// Refusals of a client that shows nothing of what it refuses, and of Weir, which shows it, marked.
const (
	violations = "the structured content does not fit the tool's output schema:\n- at the top: required and missing: \"name\"\n- at /in_stock: expected boolean, received string\n- at /price: expected number, received string"
	missing    = "the tool has an output schema, but its result has no structured content"
)

// TestMatrix holds what models were seen to be shown on 2026-08-11, and what Weir shows.
func TestMatrix(t *testing.T) {
	t.Parallel()
	textFirst := client.View{Pick: client.TextFirst}
	structured := client.View{Pick: client.StructuredReplacesAll, Errors: client.ErrorText}
	inspector := client.View{Pick: client.Envelope, Validate: client.OnAfterList}
	rows := func(view client.View) []string {
		var all []string
		for _, m := range matrix {
			r := client.Receive([]byte(m.raw))
			all = append(all, view.Show(r, client.Check(r, []byte(m.schema)), nil).Text)
		}
		return all
	}
	both := sentence + "\n" + widget
	for _, c := range []struct {
		name string
		view client.View
		want []string
	}{
		{"text first: claude.ai and Claude Desktop", textFirst, []string{sentence, widget, sentence, sentence, widget, wrong, badText, sentence}},
		{"structured first: Claude Code", structured, []string{sentence, widget, widget, widget, widget, widget, bad, sentence}},
		{"the reference client", inspector, []string{
			matrix[0].raw, matrix[1].raw, matrix[2].raw, matrix[3].raw, matrix[4].raw, matrix[5].raw,
			"MCP error -32602: " + violations, "MCP error -32600: " + missing,
		}},
		{"Weir", client.Default(), []string{
			sentence, widget, both, both, widget, wrong + "\n" + widget,
			"[MCP error -32602: " + violations + "]\n" + badText, "[MCP error -32600: " + missing + "]\n" + sentence,
		}},
		{"text only", client.View{}, []string{sentence, "", sentence, sentence, "", wrong, badText, sentence}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, rows(c.view)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPicks has the results on which hosts part.
func TestPicks(t *testing.T) {
	t.Parallel()
	const image = `{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="}`
	pictured := `{"content":[{"type":"text","text":"a"},` + image + `],"structuredContent":{"n":1}}`
	failed := `{"isError":true,"content":[{"type":"text","text":"no such id"}],"structuredContent":{"did_you_mean":"a7"}}`
	zero := `{"isError":true,"content":[{"type":"text","text":"not found"}],"structuredContent":{"name":"","price":0}}`
	for _, c := range []struct {
		name, raw string
		view      client.View
		text      string
		dropped   []string
	}{
		{"35 all replaced", pictured, client.View{Pick: client.StructuredReplacesAll}, `{"n":1}`, []string{"1 text, 1 image blocks"}},
		{"35 media kept", pictured, client.View{Pick: client.StructuredReplacesText}, "{\"n\":1}\n[image: image/png, 8B]", []string{"1 text block"}},
		{"35 only where all is text", pictured, client.View{Pick: client.StructuredIfAllText}, "a\n[image: image/png, 8B]", []string{"the structured content"}},
		{"35 text only", pictured, client.View{}, "a", []string{"1 image block", "the structured content"}},
		{"35 Weir", pictured, client.Default(), "a\n[image: image/png, 8B]\n{\"n\":1}", nil},
		{"36 base64 in structured content", `{"content":[` + image + `],"structuredContent":{"result":[` + image + `]}}`, client.Default(), "[image: image/png, 8B]", nil},
		{
			"36 beside something new", `{"content":[` + image + `],"structuredContent":{"data":"iVBORw0KGgo=","taken":"today"}}`, client.Default(),
			"[image: image/png, 8B]\n{\"data\":\"[base64: 12 characters, kept in the structured result]\",\"taken\":\"today\"}", nil,
		},
		{"36 a host that replaces all", `{"content":[` + image + `],"structuredContent":{"data":"iVBORw0KGgo="}}`, client.View{Pick: client.StructuredReplacesAll}, `{"data":"iVBORw0KGgo="}`, []string{"1 image block"}},
		{
			"37 for the user", `{"content":[{"type":"text","text":"secret","annotations":{"audience":["user"]}},{"type":"text","text":"both","annotations":{"audience":["user","assistant"]}}]}`,
			client.Default(), "both\n[1 of 2 blocks are for the user only and are not shown]",
			[]string{"1 block for the user"},
		},
		{"37 a host without the filter", `{"content":[{"type":"text","text":"x","annotations":{"audience":["user"]}}]}`, client.View{}, "x", nil},
		{"38 Weir", failed, client.Default(), "no such id\n{\"did_you_mean\":\"a7\"}", nil},
		{"38 text", failed, client.View{Errors: client.ErrorText}, "no such id", []string{"the structured content"}},
		{"38 structured", failed, client.View{Errors: client.ErrorStructured}, `{"did_you_mean":"a7"}`, []string{"1 text block"}},
		{"38 dump", failed, client.View{Errors: client.ErrorDump}, failed, nil},
		{"39 a zero struct beside an error", zero, client.View{Pick: client.StructuredReplacesAll, Errors: client.ErrorIgnore}, `{"name":"","price":0}`, []string{"1 text block"}},
		{"39 Weir", zero, client.Default(), "not found\n{\"name\":\"\",\"price\":0}", nil},
		{"40 unwrapped", `{"content":[{"type":"text","text":"[1,2]"}],"structuredContent":{"result":[1,2]}}`, client.Default(), "[1,2]", nil},
		{"40 text of a wrapped string", `{"content":[{"type":"text","text":"plain"}],"structuredContent":{"result":"plain"}}`, client.Default(), "plain", nil},
		{"41 another order and spelling", `{"content":[{"type":"text","text":"{ \"b\": 1.0,\n \"a\": [ ] }"}],"structuredContent":{"a":[],"b":1}}`, client.Default(), "{ \"b\": 1.0,\n \"a\": [ ] }", nil},
		{"41 inside one member", `{"content":[{"type":"text","text":"[{\"id\":1}]"}],"structuredContent":{"entities":[{"id":1}]}}`, client.Default(), `[{"id":1}]`, nil},
		{"41 a block for each element", `{"content":[{"type":"text","text":"{\"id\":1}"},{"type":"text","text":"{\"id\":2}"}],"structuredContent":{"result":[{"id":1},{"id":2}]}}`, client.Default(), "{\"id\":1}\n{\"id\":2}", nil},
		{"41 every value in prose", `{"content":[{"type":"text","text":"Built app.go in 12 s: true"}],"structuredContent":{"file":"app.go","seconds":12,"ok":true}}`, client.Default(), "Built app.go in 12 s: true", nil},
		{"41 a value that is a part of another", `{"content":[{"type":"text","text":"Built app.go in 112 s"}],"structuredContent":{"seconds":12}}`, client.Default(), "Built app.go in 112 s\n{\"seconds\":12}", nil},
		{"41 another number", `{"content":[{"type":"text","text":"{\"n\":9007199254740992}"}],"structuredContent":{"n":9007199254740993}}`, client.Default(), "{\"n\":9007199254740992}\n{\"n\":9007199254740993}", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			seen := c.view.Show(client.Receive([]byte(c.raw)), client.Verdict{}, nil)
			if diff := cmp.Diff([]any{c.text, c.dropped}, []any{seen.Text, seen.Dropped}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestErrorIsNotIgnored keeps an error an error in every view but the one that ignores them.
func TestErrorIsNotIgnored(t *testing.T) {
	t.Parallel()
	r := client.Receive([]byte(`{"isError":true,"content":[{"type":"text","text":"no"}]}`))
	for _, rule := range []string{"", client.ErrorText, client.ErrorStructured, client.ErrorDump, client.ErrorIgnore} {
		if got, want := (client.View{Errors: rule}).Show(r, client.Verdict{}, nil).Result.IsError, rule != client.ErrorIgnore; got != want {
			t.Errorf("%q: want %v, got %v", rule, want, got)
		}
	}
}

func TestCaps(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("ä", 50) + strings.Repeat("z", 50) // 100 characters, 150 bytes
	tokens := func(s string) int { return utf8.RuneCountInString(s) }
	for _, c := range []struct {
		name string
		view client.View
		want string
	}{
		{"at the cap", client.View{MaxChars: 100}, text},
		{"one over", client.View{MaxChars: 99}, strings.Repeat("ä", 50) + strings.Repeat("z", 49) + "\n[… 1 of 100 characters left out]"},
		{"a multi-byte character is not cut", client.View{MaxChars: 3}, "äää\n[… 97 of 100 characters left out]"},
		{"the end", client.View{MaxChars: 3, Overflow: client.Tail}, "[… 97 of 100 characters left out]\nzzz"},
		{"the middle", client.View{MaxChars: 4, Overflow: client.Middle}, "ää\n[… 96 of 100 characters left out …]\nzz"},
		{"a file", client.View{MaxChars: 4, Overflow: client.File}, "[the result is 100 characters long: it was saved to a file, whose path is shown]"},
		{"refused", client.View{MaxChars: 4, Overflow: client.Refuse}, "[error: the result is 100 characters long, which is over the limit]"},
		{"tokens", client.View{MaxTokens: 2}, "ää\n[… 98 of 100 characters left out]"},
		{"lines", client.View{MaxLines: 1}, text},
	} {
		if got := c.view.Show(client.Receive([]byte(raw(text, ""))), client.Verdict{}, tokens); got.Text != c.want || got.Over != (c.want != text) {
			t.Errorf("%s: %s", c.name, cmp.Diff(c.want, got.Text))
		}
	}
	view := client.View{MaxLines: 2}
	if got := view.Show(client.Receive([]byte(raw("a\nb\nc", ""))), client.Verdict{}, nil).Text; got != "a\nb\n[… 2 of 5 characters left out]" {
		t.Errorf("lines: %q", got)
	}
}

func TestViewCheck(t *testing.T) {
	t.Parallel()
	if err := client.Default().Check(); err != nil {
		t.Error(err)
	}
	for _, v := range []client.View{{Pick: "x"}, {Validate: "x"}, {Errors: "x"}, {Overflow: "x"}, {MaxChars: -1}} {
		if v.Check() == nil {
			t.Errorf("%+v is taken", v)
		}
	}
}

// TestUnlisted checks nothing in a view that checks only what was listed.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	r := client.Receive([]byte(raw("", bad)))
	v := client.Check(r, []byte(schema))
	v.Unlisted = true
	if s := (client.View{Validate: client.OnAfterList}).Show(r, v, nil); s.Refused != 0 {
		t.Errorf("refused with %d", s.Refused)
	}
	if s := (client.View{Validate: client.OnAlways}).Show(r, v, nil); s.Refused != client.CodeViolates {
		t.Errorf("refused with %d", s.Refused)
	}
}

// FuzzShow shows whatever a server may send, in every view.
func FuzzShow(f *testing.F) {
	for _, c := range odd {
		f.Add([]byte(c.raw))
	}
	for _, m := range matrix {
		f.Add([]byte(m.raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := client.Receive(raw)
		d := client.Check(r, []byte(schema))
		for _, pick := range []string{"", client.TextFirst, client.StructuredReplacesAll, client.StructuredReplacesText, client.StructuredIfAllText, client.BothUnlessEcho, client.Envelope} {
			for _, v := range []client.View{{Pick: pick}, {Pick: pick, Validate: client.OnAlways, KeepRefused: true, Audience: true, MaxChars: 10, Overflow: client.Middle}} {
				s := v.Show(r, d, nil)
				if !utf8.ValidString(s.Text) {
					t.Fatalf("%q is no text", s.Text)
				}
				if again := v.Show(r, d, nil); again.Text != s.Text {
					t.Fatalf("%q, then %q", s.Text, again.Text)
				}
				if s.Result.IsError && result.Text(s.Result) == "" {
					t.Fatalf("an error says nothing: %q", raw)
				}
			}
		}
	})
}
