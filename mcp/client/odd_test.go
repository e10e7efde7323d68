//go:build unix

package client_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/mcp/client"
)

// odd are raw results that other clients lose, hang on or show as an empty success, with what Weir makes of
// them. Each is a labelled result of its own call.
var odd = []struct {
	name, raw, text string
	isError         bool
	structured      string
}{
	{name: "content missing", raw: `{}`},
	{name: "content null", raw: `{"content":null}`},
	{name: "content string", raw: `{"content":"plain"}`, text: "plain\n[note on this result: its content is a string and no array]"},
	{name: "content object", raw: `{"content":{"type":"text","text":"one"}}`, text: "one\n[note on this result: its content is one block and no array]"},
	{name: "content number", raw: `{"content":7}`, text: "[content block without a type] 7\n[note on this result: its content is a number and no array]"},
	{
		name: "unknown block between good ones", raw: `{"content":[{"type":"text","text":"a"},{"type":"video","data":"x"},{"type":"text","text":"b"}]}`,
		text: "a\n[content block of unknown type \"video\"] {\"type\":\"video\",\"data\":\"x\"}\nb",
	},
	{name: "block that is no object", raw: `{"content":["loose",3]}`, text: "[content block without a type] \"loose\"\n[content block without a type] 3"},
	{name: "text missing", raw: `{"content":[{"type":"text"}]}`, text: "[text block without text]"},
	{name: "text null", raw: `{"content":[{"type":"text","text":null}]}`, text: "[text block without text]"},
	{name: "text number", raw: `{"content":[{"type":"text","text":5}]}`, text: "[content block of unknown type \"unreadable text\"] {\"type\":\"text\",\"text\":5}"},
	{
		name: "bad base64", raw: `{"content":[{"type":"image","mimeType":"image/png","data":"!!no!!"},{"type":"text","text":"kept"}]}`,
		text: "[image: image/png; its data of 6 characters is not valid base64 and is not shown]\nkept",
	},
	{name: "image data a number", raw: `{"content":[{"type":"image","data":4}]}`, text: "[image: no type; its data is a number and no base64 text]"},
	{name: "image without a type", raw: `{"content":[{"type":"image","data":"iVBORw0KGgo="}]}`, text: "[image: image/png, 8B]"},
	{name: "resource with neither", raw: `{"content":[{"type":"resource","resource":{"uri":"a:b"}}]}`, text: "[resource: a:b, no contents]"},
	{name: "resource without a resource", raw: `{"content":[{"type":"resource"}]}`, text: "[resource without contents]"},
	{name: "structured array in the handshake era", raw: `{"content":[],"structuredContent":[1,2]}`, text: "[1,2]", structured: "[1,2]"},
	{name: "structured string", raw: `{"content":[],"structuredContent":"s"}`, text: "s", structured: `"s"`},
	{name: "structured false", raw: `{"content":[],"structuredContent":false}`, text: "false", structured: "false"},
	{name: "structured zero", raw: `{"structuredContent":0}`, text: "0", structured: "0"},
	{name: "structured empty", raw: `{"content":[],"structuredContent":{}}`, text: "{}", structured: "{}"},
	{name: "structured null", raw: `{"content":[],"structuredContent":null}`, text: "null", structured: "null"},
	{name: "structured absent", raw: `{"content":[]}`},
	{name: "isError a string", raw: `{"content":[{"type":"text","text":"x"}],"isError":"true"}`, text: "x\n[note on this result: its isError is \"true\" and no boolean]", isError: true},
	{name: "result null", raw: `null`, text: "the server answered with null where a result has to be an object: null", isError: true},
	{name: "result an array", raw: `[]`, text: "the server answered with an array where a result has to be an object: []", isError: true},
	{name: "resultType weird", raw: `{"resultType":"weird","content":[{"type":"text","text":"x"}]}`, text: "x\n[note on this result: its resultType is \"weird\", which is not known]"},
	{
		name: "a task unasked", raw: `{"resultType":"task","taskId":"t1"}`, isError: true,
		text: `the server started a task in the background, which it was not asked to do and which is not waited for: {"resultType":"task","taskId":"t1"}`,
	},
	{
		name: "a task of 2025-11-25 unasked", raw: `{"task":{"taskId":"t1","status":"working"}}`, isError: true,
		text: `the server started a task in the background, which it was not asked to do and which is not waited for: {"task":{"taskId":"t1","status":"working"}}`,
	},
	{name: "toolResult", raw: `{"toolResult":{"a":1}}`, text: "{\"a\":1}\n[note on this result: it has the form of revision 2024-10-07 (toolResult)]", structured: `{"a":1}`},
	{name: "content twice", raw: `{"content":[{"type":"text","text":"1"}],"content":[{"type":"text","text":"2"}]}`, text: "2"},
	{name: "capitals", raw: `{"Content":[{"type":"text","text":"no"}],"StructuredContent":{"a":1},"content":[{"type":"text","text":"yes"}]}`, text: "yes"},
	{name: "lone surrogate", raw: `{"content":[{"type":"text","text":"a\ud83db"}]}`, text: "a\ufffdb"},
	{name: "nul and separators", raw: `{"content":[{"type":"text","text":"a\u0000b\u2028c"}]}`, text: "a\x00b\u2028c"},
	{name: "invalid UTF-8", raw: "{\"content\":[{\"type\":\"text\",\"text\":\"a\xffb\"}]}", text: "a\ufffdb"},
	{name: "odd annotations", raw: `{"content":[{"type":"text","text":"x","annotations":{"priority":7,"audience":["martian"]}}]}`, text: "x"},
	{name: "not escaped", raw: `{"content":[{"type":"text","text":"<b>&\"\\u003c"}]}`, text: `<b>&"\u003c`},
	{
		name: "digits, order, duplicates", raw: `{"content":[],"structuredContent":{"z":9007199254740993,"a":1e400,"m":-0,"o":1.0,"z":2}}`,
		text: `{"z":9007199254740993,"a":1e400,"m":-0,"o":1.0,"z":2}`, structured: `{"z":9007199254740993,"a":1e400,"m":-0,"o":1.0,"z":2}`,
	},
	{name: "for the user only", raw: `{"content":[{"type":"text","text":"x","annotations":{"audience":["user"]}}]}`, text: "[1 of 1 blocks are for the user only and are not shown]"},
	{
		name: "an error that breaks nothing", raw: `{"isError":true,"content":[{"type":"text","text":"no"},{"type":"text","text":"and why"}],"structuredContent":{"code":5}}`,
		text: "no\nand why\n{\"code\":5}", isError: true, structured: `{"code":5}`,
	},
	{name: "an error that says nothing", raw: `{"isError":true,"content":[]}`, text: "unknown error", isError: true},
}

// TestOdd reads the results as values; TestOddOnTheWire sends each through a server of its own making.
func TestOdd(t *testing.T) {
	t.Parallel()
	for _, c := range odd {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := client.Receive([]byte(c.raw))
			seen := client.Default().Show(r, client.Check(r, nil), nil)
			if diff := cmp.Diff([]any{c.text, c.isError, c.structured}, []any{seen.Text, seen.Result.IsError, string(seen.Result.Structured)}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOddOnTheWire(t *testing.T) {
	t.Parallel()
	var names []string
	calls := map[string]string{}
	for i, c := range odd {
		name := "t" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		names = append(names, name)
		raw := c.raw
		if strings.Contains(raw, "\xff") {
			continue // the script itself is JSON; the value is read in TestOdd
		}
		calls[name] = raw
	}
	s := connect(t, client.Options{}, map[string]client.Server{"odd": hostile(t, script{Tools: []string{list(names...)}, Call: calls})})
	for i, c := range odd {
		if calls[names[i]] == "" {
			continue
		}
		r, text := call(t, s, "odd--"+names[i], `{}`)
		if diff := cmp.Diff([]any{c.text, c.isError, c.structured}, []any{text, r.IsError, string(r.Structured)}); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		raw, rpc, err := s.CallRaw(t.Context(), "odd", names[i], nil)
		if err != nil || rpc != nil || string(raw) != c.raw {
			t.Errorf("%s: the bytes that were sent are %s, got %s (%v, %v)", c.name, c.raw, raw, rpc, err)
		}
	}
}
