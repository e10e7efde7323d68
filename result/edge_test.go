package result_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

func textBlock(s string) tool.Content { return tool.Content{Type: "text", Text: s} }

// wantText holds the text of a result, by both functions that give it.
func wantText(t *testing.T, want string, r tool.Result) result.Whole {
	t.Helper()
	w := result.Convert(r, base)
	if diff := cmp.Diff(want, w.Text); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	return w
}

// TestEdges are the numbered edge cases of tool results that belong to the conversion.
func TestEdges(t *testing.T) {
	t.Parallel()
	const half, mark = "a\xed\xa0\xbdb", "a\ufffdb"
	img := tool.Content{Type: "image", MIMEType: "image/png", Data: picture(8)}
	for name, test := range map[string]func(*testing.T){
		"Edge01 lone surrogate in a string": func(t *testing.T) {
			wantText(t, mark, tool.Text(half))
			if got := result.Text(tool.Text(half)); got != mark {
				t.Errorf("Text = %q", got)
			}
		},
		"Edge02 lone surrogate in a text block": func(t *testing.T) {
			wantText(t, mark+"\nx", tool.Blocks(textBlock(half), textBlock("x")))
		},
		"Edge03 lone surrogate in a text block beside an image": func(t *testing.T) {
			w := wantText(t, mark+"\n[image: image/png, 8B, "+base+".png]", tool.Blocks(textBlock(half), img))
			if got := w.Native(false); len(got) != 2 || got[0].Text != mark {
				t.Errorf("native form: %+v", got)
			}
		},
		"Edge04 lone surrogate inside an object and inside raw JSON": func(t *testing.T) {
			wantText(t, `{"v":"`+mark+`"}`, tool.Value(map[string]string{"v": half}))
			wantText(t, `{"v":"\ufffd"}`, tool.JSON(json.RawMessage(`{"v":"\uD83D"}`)))
		},
		"Edge05 an error beside empty data is not hidden": func(t *testing.T) {
			wantText(t, "disk full", tool.Result{Data: "", Error: "disk full"})
		},
		"Edge06 a result without data": func(t *testing.T) {
			if diff := cmp.Diff(result.Whole{}, wantText(t, "", tool.Result{})); diff != "" {
				t.Errorf("Convert (-want +got):\n%s", diff)
			}
		},
		"Edge07 null, absent and empty are told apart": func(t *testing.T) {
			wantText(t, "null", tool.JSON(json.RawMessage("null")))
			wantText(t, "", tool.Value(nil))
			wantText(t, "", tool.Value(""))
			wantText(t, "e", tool.Result{Error: "e"})
			wantText(t, "null", tool.Result{Data: json.RawMessage("null"), Error: "e"})
		},
		"Edge08 an error that says nothing": func(t *testing.T) {
			wantText(t, "unknown error", tool.Result{IsError: true, Data: ""})
		},
		"Edge12 a placeholder has its span": func(t *testing.T) {
			w := wantText(t, "x\n[image: image/png, 8B, "+base+".png]", tool.Blocks(textBlock("x"), img))
			if _, spans := w.Model(false); len(spans) != 1 || spans[0] != (result.Span{Start: 2, End: len(w.Text)}) {
				t.Errorf("spans = %v", spans)
			}
		},
		"Edge13 a quoted placeholder is nobody's image": func(t *testing.T) {
			quoted := "[image: image/png, 8B, " + base + ".png]"
			for _, r := range []tool.Result{tool.Text(quoted), tool.Blocks(textBlock(quoted)), tool.Value([]string{quoted})} {
				w := result.Convert(r, base)
				if shown, spans := w.Model(true); shown != w.Text || spans != nil || w.Payloads != nil || w.Marks != nil || w.Native(true) != nil {
					t.Errorf("%q became a payload: %+v", quoted, w)
				}
			}
		},
		"Edge41 no half of a pair is ever at an edge": func(t *testing.T) {
			for i := range len("😀") + 1 {
				wantText(t, "x"+strings.Repeat("\ufffd", min(i%4, 1))+strings.Repeat("😀", i/4), tool.Text("x"+"😀"[:i]))
			}
		},
		"Edge55 a cyclic structured value is an error text": func(t *testing.T) {
			if r := tool.Value(cyclic()); !r.IsError || result.Text(r) != r.Error || r.Error == "" {
				t.Errorf("%+v", r)
			}
		},
		"Edge60 an image that no provider takes is labelled by its bytes": func(t *testing.T) {
			svg := tool.Content{Type: "image", MIMEType: "image/png", Data: []byte("<?xml version='1.0'?>\n<svg xmlns='x'/>")}
			tiff := tool.Content{Type: "image", MIMEType: "image/png", Data: []byte("II*\x00")}
			w := wantText(t, "[image: image/svg+xml, 38B, "+base+".svg]\n[image: image/tiff, 4B, "+base+".2.tiff]", tool.Blocks(svg, tiff))
			for _, p := range w.Native(false) {
				if p.Image != nil && p.Image.MIMEType == "image/png" {
					t.Error("the claim was believed")
				}
			}
		},
		"Edge62 one function on every path": func(t *testing.T) {
			for _, l := range lanes() {
				r := tool.Result{Data: l.data}
				value := tool.Value(l.data)
				if _, tail := l.data.(tool.Spooled); !tail {
					if _, single := l.data.(tool.Content); !single && result.Text(value) != l.want {
						t.Errorf("%s at once: %q, want %q", l.name, result.Text(value), l.want)
					}
				}
				if got := result.Convert(r, "").Text; got != result.Text(r) {
					t.Errorf("%s: Convert %q, Text %q", l.name, got, result.Text(r))
				}
			}
		},
		"Edge63 structured values that look like nothing": func(t *testing.T) {
			for _, raw := range []string{"0", "false", "null", `""`} {
				if got := wantText(t, "", tool.Result{Structured: json.RawMessage(raw)}).Structured; string(got) != raw {
					t.Errorf("structured %s became %q", raw, got)
				}
			}
		},
		"Edge65 a payload that is not kept names no file": func(t *testing.T) {
			r := tool.Blocks(textBlock("x"), img, tool.Content{Type: "x", Raw: quote(base64.StdEncoding.EncodeToString(picture(1500)))})
			w := result.Convert(r, "")
			shown, _ := w.Model(false)
			want := "x\n[image: image/png, 8B]\n[content block of unknown type \"x\"] \"[base64: image/png, ~1KB]\""
			if diff := cmp.Diff(want, shown); diff != "" {
				t.Errorf("Model (-want +got):\n%s", diff)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// TestEncoding are the cases of encodings and JSON that users of such systems reported, family E.
func TestEncoding(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"E01 error text cut inside a character": func(t *testing.T) {
			w := wantText(t, "failed: \ufffd", tool.Error("failed: 😀"[:11]))
			if !utf8.ValidString(w.Text) {
				t.Error("not valid")
			}
		},
		"E02 the same bytes live and on replay": func(t *testing.T) {
			first := result.Text(tool.Text("x\xed\xb8\x80\xff"))
			wantText(t, first, tool.Text(first))
		},
		"E04 bytes of another encoding": func(t *testing.T) {
			gbk := fromBase64(t, "s8m5pjogUElEIDEyMw0K") // case C011
			w := wantText(t, "\ufffdɹ\ufffd: PID 123\r\n"+result.RawNote(2, base+".raw"), tool.Value(gbk))
			if !bytes.Equal(w.Raw, gbk) {
				t.Errorf("raw = %q", w.Raw)
			}
			wantText(t, "你好\n", tool.Value(fromBase64(t, "5L2g5aW9Cg=="))) // case C012
		},
		"E05 bytes end to end": func(t *testing.T) {
			all := make([]byte, 256)
			for i := range all {
				all[i] = byte(i)
			}
			if w := result.Convert(tool.Value(all), base); !bytes.Equal(w.Raw, all) || w.Replaced != 128 {
				t.Errorf("%d replaced, raw %q", w.Replaced, w.Raw)
			}
		},
		"E06 an edit that splits a character": func(t *testing.T) {
			wantText(t, "\ufffdb\ufffd", tool.Text("é"[:1]+"b"+"é"[1:]))
		},
		"E07 UTF-16": func(t *testing.T) {
			w := wantText(t, "ok\r\n", tool.Value([]byte("\xff\xfeo\x00k\x00\r\x00\n\x00")))
			if w.Raw == nil || strings.Contains(w.Text, "\x00") {
				t.Errorf("%+v", w)
			}
		},
		"E08 NUL": func(t *testing.T) {
			w := wantText(t, "\x00\x01log", tool.Value(fromBase64(t, "AAFsb2c="))) // case C015
			if shown, _ := w.Model(false); shown != "\u2400\x01log" {
				t.Errorf("the model reads %q", shown)
			}
		},
		"E09 an escape that is text stays text": func(t *testing.T) {
			for _, s := range []string{`\u0000`, `C:\users\u0000`, `{"a":"\\u0000 \\ud83d"}`} {
				w := wantText(t, s, tool.Text(s))
				if shown, _ := w.Model(true); shown != s {
					t.Errorf("the model reads %q", shown)
				}
			}
			wantText(t, `{"a":"\\u0000 \\ud83d \u0000"}`, tool.JSON(json.RawMessage(`{"a":"\\u0000 \\ud83d \u0000"}`)))
		},
		"E10 no HTML escapes": func(t *testing.T) {
			const code = "if a < b && c > d { <-done }"
			wantText(t, `{"code":"`+code+`"}`, tool.JSON(json.RawMessage(`{"code":"`+code+`"}`)))
			wantText(t, `{"code":"`+code+`"}`, tool.Value(map[string]string{"code": code}))
			wantText(t, `{"A":{"code":"`+code+`"}}`, tool.Value(struct{ A nested }{nested{map[string]string{"code": code}}}))
		},
		"E11 an error's text is no JSON": func(t *testing.T) {
			wantText(t, "bad \"quote\" \\ and\nline", tool.Error("bad \"quote\" \\ and\nline"))
		},
		"E12 integers beyond a double": func(t *testing.T) {
			wantText(t, "[9007199254740993,18446744073709551615]", tool.Value([]uint64{1<<53 + 1, math.MaxUint64}))
			wantText(t, `{"id":1234567,"big":21000000,"x":9007199254740993}`, tool.JSON(json.RawMessage(`{"id":1234567,"big":21000000,"x":9007199254740993}`)))
			w := result.Convert(tool.Result{Structured: json.RawMessage(`9007199254740993`)}, base)
			if string(w.Structured) != "9007199254740993" {
				t.Errorf("structured %s", w.Structured)
			}
		},
		"B11 a failure carries its output": func(t *testing.T) {
			w := wantText(t, "output\nexit status 2", tool.Result{IsError: true, Data: "output\nexit status 2"})
			if !w.IsError {
				t.Error("the mark is lost")
			}
		},
		"B16 an error's text goes the same way": func(t *testing.T) {
			w := result.Convert(tool.Error("a\x00\x1b[1mb"), base)
			if shown, _ := w.Model(true); shown != "a\u2400b" {
				t.Errorf("the model reads %q", shown)
			}
		},
		"H01 an empty result stays empty": func(t *testing.T) {
			for _, s := range []string{"", "   ", "\n\n"} { // case C058
				w := wantText(t, s, tool.Text(s))
				if shown, _ := w.Model(true); shown != s || w.IsError {
					t.Errorf("%q became %q", s, shown)
				}
			}
			wantText(t, "", tool.Blocks(textBlock(""))) // case C057
		},
		"H04 an empty list of blocks": func(t *testing.T) { wantText(t, "", tool.Blocks()) },
		"H05 blocks without text are named": func(t *testing.T) {
			wantText(t, "[image: image/png, 8B, "+base+".png]", tool.Blocks(tool.Content{Type: "image", Data: fromBase64(t, "iVBORw0KGgo=")}))
		},
		"C010 dirty failures hash alike": func(t *testing.T) {
			var sums [2][32]byte
			for i := range sums {
				sums[i] = sha256.Sum256([]byte(result.Text(tool.Error("bad \xed\xa0\xb5 text"))))
			}
			if sums[0] != sums[1] || sums[0] != sha256.Sum256([]byte("bad \ufffd text")) {
				t.Errorf("hashes %x", sums)
			}
		},
		"C047 escapes inside JSON are escapes": func(t *testing.T) {
			const raw = `{"path":"run.sh","content":"\u001b[1m#!/bin/sh\u001b[0m\necho hi\n"}`
			w := wantText(t, raw, tool.JSON(json.RawMessage(raw)))
			if shown, _ := w.Model(true); shown != raw {
				t.Errorf("the model reads %q", shown)
			}
		},
		"C051 base64 that a block carries": func(t *testing.T) {
			r := tool.Blocks(tool.Content{Type: "image", MIMEType: "image/png", Data: fromBase64(t, "iVBORw0KGgo=")})
			r.Structured = json.RawMessage(`{"result":[{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="}]}`)
			w := result.Convert(r, base)
			if shown, _ := w.Model(false); strings.Contains(shown, "iVBOR") || string(w.Structured) != string(r.Structured) {
				t.Errorf("the model reads %q, structured is %s", shown, w.Structured)
			}
		},
		"C086 and C168 keys as they came": func(t *testing.T) {
			for _, raw := range []string{`{"zebra":1,"alpha":2,"nested":{"z":1,"a":2}}`, `{"effect":"deny","effect":"allow"}`} {
				wantText(t, raw, tool.JSON(json.RawMessage(raw)))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}
