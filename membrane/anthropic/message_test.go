package anthropic_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/anthropic"
)

// dot is an image of one pixel.
func dot(t *testing.T, kind string) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	i := image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.Black})
	switch kind {
	case "image/png":
		err = png.Encode(&b, i)
	case "image/jpeg":
		err = jpeg.Encode(&b, i, nil)
	case "image/gif":
		err = gif.Encode(&b, i, nil)
	case "image/webp":
		return []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00")
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func imageOf(t *testing.T, kind string) membrane.Block {
	return membrane.Block{Type: membrane.Image, MIMEType: "application/octet-stream", Data: dot(t, kind)}
}

func wireImage(t *testing.T, kind string) string {
	return `{"type":"image","source":{"type":"base64","media_type":"` + kind + `","data":"` + base64.StdEncoding.EncodeToString(dot(t, kind)) + `"}}`
}

func own(model, block string) []byte { return membrane.Own("anthropic", model, []byte(block)) }

func text(s string) membrane.Block { return membrane.Block{Type: membrane.Text, Text: s} }

func TestEncodeUser(t *testing.T) {
	t.Parallel()
	m := newModel(t, "http://localhost")
	big := bytes.Repeat([]byte{0}, 4<<20)
	for _, c := range []struct {
		name   string
		blocks []membrane.Block
		want   string // what stands in content
	}{
		{"text", []membrane.Block{text("a <b> & \"c\" \u2028 \x00 \xff\xed\xa0\x80 😀")}, `{"type":"text","text":"a <b> & \"c\" ` + "\u2028" + ` \u0000 ` + "\ufffd\ufffd 😀" + `"}`},
		{"blank texts are left out", []membrane.Block{text(""), text(" \n\u00a0\u2003\x1f"), text("a")}, `{"type":"text","text":"a"}`},
		{"nothing but blanks", []membrane.Block{text(" ")}, `{"type":"text","text":"[a message without text]"}`},
		{"nothing", nil, `{"type":"text","text":"[a message without text]"}`},
		{
			"images by their bytes",
			[]membrane.Block{imageOf(t, "image/png"), imageOf(t, "image/jpeg"), imageOf(t, "image/gif"), imageOf(t, "image/webp"), text("these")},
			wireImage(t, "image/png") + "," + wireImage(t, "image/jpeg") + "," + wireImage(t, "image/gif") + "," + wireImage(t, "image/webp") + `,{"type":"text","text":"these"}`,
		},
		{
			"a refused type",
			[]membrane.Block{{Type: membrane.Image, MIMEType: "image/png", Data: append([]byte("BM"), big[:2000]...)}},
			`{"type":"text","text":"[image: image/bmp, ~2KB, not sent: the provider takes image/jpeg, image/png, image/gif and image/webp]"}`,
		},
		{
			"no image",
			[]membrane.Block{{Type: membrane.Image, MIMEType: "image/png\n\"", Data: []byte("<svg/>")}, {Type: membrane.Image}},
			`{"type":"text","text":"[image: image/png \", 6 bytes, not sent: its bytes are no image]"},{"type":"text","text":"[image: unknown type, 0 bytes, not sent: its bytes are no image]"}`,
		},
		{
			"cut off",
			[]membrane.Block{{Type: membrane.Image, Data: dot(t, "image/png")[:40]}, {Type: membrane.Image, Data: dot(t, "image/jpeg")[:100]}, {Type: membrane.Image, Data: dot(t, "image/webp")[:32]}},
			`{"type":"text","text":"[image: image/png, 40 bytes, not sent: it is cut off or damaged]"},{"type":"text","text":"[image: image/jpeg, 100 bytes, not sent: it is cut off or damaged]"},{"type":"text","text":"[image: image/webp, 32 bytes, not sent: it is cut off or damaged]"}`,
		},
		{
			"too many bytes",
			[]membrane.Block{{Type: membrane.Image, Data: append(dot(t, "image/png"), big...)}},
			`{"type":"text","text":"[image: image/png, ~4096KB, not sent: the provider takes at most 5 MiB in base64]"}`,
		},
		{
			"too many pixels",
			[]membrane.Block{{Type: membrane.Image, Data: wide(t)}},
			`{"type":"text","text":"[image: image/png, ` + size(wide(t)) + `, not sent: it has 8001 x 1 pixels and the provider takes at most 8000 a side]"}`,
		},
		{
			"what only a provider understands",
			[]membrane.Block{{Type: membrane.Other, Raw: own("claude-other", `{"type":"document","source":{}}`)}, {Type: membrane.Other, Raw: []byte(`{"x":1}`)}},
			`{"type":"document","source":{}},{"type":"text","text":"[a part that this provider does not take was left out]"}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := m.EncodeMessage(membrane.Message{Role: membrane.User, Blocks: c.blocks})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(`{"role":"user","content":[`+c.want+`]}`, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func size(data []byte) string { return fmt.Sprintf("%d bytes", len(data)) }

func wide(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, image.NewPaletted(image.Rect(0, 0, 8001, 1), color.Palette{color.Black})); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestEncodeAnswer(t *testing.T) {
	t.Parallel()
	m := newModel(t, "http://localhost")
	signed := `{"type":"thinking","signature":"Abc="}`
	for _, c := range []struct {
		name   string
		blocks []membrane.Block
		want   string // what stands in content; empty when there is no element
	}{
		{"nothing", nil, ""},
		{"blank", []membrane.Block{text(" \n")}, ""},
		{
			"from another dialect",
			[]membrane.Block{
				{Type: membrane.Thinking, Text: "Hm.", Raw: []byte(`{"signature":"x"}`)},
				{Type: membrane.Other, Raw: membrane.Own("openai", "m", []byte(`{"type":"reasoning"}`))},
				{Type: membrane.Text, Text: "I look.", Raw: []byte(`{"scripted_step":1}`)},
				{Type: membrane.Call, CallID: "call:1", Tool: "files.read", Args: []byte(`{ "z":1.0, "a":"<" }`)},
				{Type: membrane.Image, Data: dot(t, "image/png")},
			},
			`{"type":"text","text":"I look."},{"type":"tool_use","id":"call_1_x0af6315558b41599","name":"files_read_x601e4eb608f9175e","input":{ "z":1.0, "a":"<" }},{"type":"text","text":"[image: image/png, ` + size(dot(t, "image/png")) + `, not sent: an answer takes no images]"}`,
		},
		{
			"of this model",
			[]membrane.Block{
				{Type: membrane.Thinking, Text: "Hm.", Raw: own("claude-test", signed)},
				{Type: membrane.Other, Raw: own("claude-test", `{"type":"redacted_thinking","data":"x"}`)},
				{Type: membrane.Text, Text: "a", Raw: own("claude-test", `{"type":"text","citations":[{"n":1}]}`)},
				{Type: membrane.Call, CallID: "1", Tool: "t", Raw: own("claude-test", `{"type":"tool_use","caller":{"type":"direct"},"id":"old","name":"old","input":{"old":1}}`)},
			},
			`{"type":"thinking","thinking":"Hm.","signature":"Abc="},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"a","citations":[{"n":1}]},{"type":"tool_use","id":"1","name":"t","input":{},"caller":{"type":"direct"}}`,
		},
		{
			"of another model of this dialect",
			[]membrane.Block{
				{Type: membrane.Thinking, Text: "Hm.", Raw: own("claude-other", signed)},
				{Type: membrane.Other, Raw: own("claude-other", `{"type":"redacted_thinking","data":"x"}`)},
				{Type: membrane.Text, Text: "a", Raw: own("claude-other", `{"type":"text","citations":[{"n":1}]}`)},
			},
			`{"type":"text","text":"a"}`,
		},
		{"thinking without a signature", []membrane.Block{{Type: membrane.Thinking, Text: "Hm.", Raw: own("claude-test", `{"type":"thinking","signature":""}`)}, text("a")}, `{"type":"text","text":"a"}`},
		{"arguments that are none", []membrane.Block{{Type: membrane.Call, CallID: "1", Tool: "t", Args: []byte(`{"cut`)}}, `{"type":"tool_use","id":"1","name":"t","input":{"_unparsed":"{\"cut"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := m.EncodeMessage(membrane.Message{Role: membrane.Assistant, Blocks: c.blocks})
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			if want != "" {
				want = `{"role":"assistant","content":[` + want + `]}`
			}
			if diff := cmp.Diff(want, string(got)); diff != "" || got == nil {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncodeResults(t *testing.T) {
	t.Parallel()
	m := newModel(t, "http://localhost")
	png := imageOf(t, "image/png")
	for _, c := range []struct {
		name    string
		results []membrane.Result
		want    string // what stands in content; empty when there is no element
	}{
		{"none", nil, ""},
		{
			"in call order, as they are",
			[]membrane.Result{{CallID: "2", Tool: "b", Text: "a <b> & \"c\"\n"}, {CallID: "1", Tool: "a", Text: `{"x":1.0}`, IsError: true}},
			`{"type":"tool_result","tool_use_id":"2","content":"a <b> & \"c\"\n"},{"type":"tool_result","tool_use_id":"1","content":"{\"x\":1.0}","is_error":true}`,
		},
		{"an id that the wire has no place for", []membrane.Result{{CallID: "call:1", Text: "a"}}, `{"type":"tool_result","tool_use_id":"call_1_x0af6315558b41599","content":"a"}`},
		{"empty", []membrane.Result{{CallID: "1"}}, `{"type":"tool_result","tool_use_id":"1"}`},
		{"white space", []membrane.Result{{CallID: "1", Text: "\r\n\u00a0"}}, `{"type":"tool_result","tool_use_id":"1","content":"[3 characters of white space]"}`},
		{"an error without text", []membrane.Result{{CallID: "1", IsError: true}, {CallID: "2", Text: " ", IsError: true}}, `{"type":"tool_result","tool_use_id":"1","content":"[an error without text]","is_error":true},{"type":"tool_result","tool_use_id":"2","content":"[an error without text]","is_error":true}`},
		{
			"images",
			[]membrane.Result{{CallID: "1", Text: "see [image: image/png]", Images: []membrane.Block{png, {Type: membrane.Image, Data: []byte("x")}}}},
			`{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"see [image: image/png]"},` + wireImage(t, "image/png") + `,{"type":"text","text":"[image: unknown type, 1 bytes, not sent: its bytes are no image]"}]}`,
		},
		{"an image alone", []membrane.Result{{CallID: "1", Images: []membrane.Block{png}}}, `{"type":"tool_result","tool_use_id":"1","content":[` + wireImage(t, "image/png") + `]}`},
		{
			"an error takes text only",
			[]membrane.Result{{CallID: "1", Text: "boom", IsError: true, Images: []membrane.Block{png}}},
			`{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"boom"},{"type":"text","text":"[image: image/png, ` + size(dot(t, "image/png")) + `, not sent: an error result takes no images]"}],"is_error":true}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := m.EncodeMessage(membrane.Message{Role: membrane.Results, Results: c.results})
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			if want != "" {
				want = `{"role":"user","content":[` + want + `]}`
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncodeMessageRefuses(t *testing.T) {
	t.Parallel()
	m := newModel(t, "http://localhost")
	for want, message := range map[string]membrane.Message{
		`encode a message: its role is "tool", which this dialect does not have`:                           {Role: "tool"},
		`encode a message: a user's message has a block of type "call", which only an answer can have`:     {Role: membrane.User, Blocks: []membrane.Block{{Type: membrane.Call}}},
		`encode a message: a user's message has a block of type "thinking", which only an answer can have`: {Role: membrane.User, Blocks: []membrane.Block{{Type: membrane.Thinking}}},
	} {
		_, err := m.EncodeMessage(message)
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if !strings.HasPrefix(m.Name(), anthropic.Dialect) {
		t.Error(m.Name())
	}
}
