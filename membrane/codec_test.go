package membrane_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
)

// golden are bodies as they lie in stores. A line may be added; none may ever change, for a body that
// was written once must be read for ever.
var golden = []struct {
	name    string
	message membrane.Message
	body    string
}{
	{"plain", membrane.UserText("Is it raining in Oslo?"), `{"role":"user","blocks":[{"type":"text","text":"Is it raining in Oslo?"}]}`},
	{"no blocks", membrane.Message{Role: membrane.Assistant}, `{"role":"assistant","blocks":[]}`},
	{"results", membrane.Message{Role: membrane.Results, Results: []membrane.Result{{CallID: "a", Text: "kept elsewhere"}}}, ``},
	{
		"nothing is escaped without need",
		membrane.UserText("<a href=\"x\">&amp;</a>\n\ttab \u2028 \u00e9 😀 \x00 \ufffd"),
		`{"role":"user","blocks":[{"type":"text","text":"<a href=\"x\">&amp;</a>\n\ttab ` + "\u2028 \u00e9 😀 " + `\u0000 ` + "\ufffd" + `"}]}`,
	},
	{
		"a call",
		membrane.Message{Role: membrane.Assistant, Blocks: []membrane.Block{
			{Type: membrane.Thinking, Text: "Hm.", Raw: json.RawMessage(`{"type":"thinking", "signature":"\u003c=" , "n":1.50}`)},
			{Type: membrane.Call, CallID: "toolu_1", Tool: "weather", Args: []byte(`{"z": 1,  "a":[1e2,12345678901234567890], "z":2}`)},
		}},
		`{"role":"assistant","blocks":[{"type":"thinking","text":"Hm.","raw":{"type":"thinking", "signature":"\u003c=" , "n":1.50}},` +
			`{"type":"call","id":"toolu_1","tool":"weather","args":"{\"z\": 1,  \"a\":[1e2,12345678901234567890], \"z\":2}"}]}`,
	},
	{
		"arguments of every kind",
		membrane.Message{Role: membrane.Assistant, Blocks: []membrane.Block{
			{Type: membrane.Call, CallID: "1", Tool: "t"},
			{Type: membrane.Call, CallID: "2", Tool: "t", Args: []byte{}},
			{Type: membrane.Call, CallID: "3", Tool: "t", Args: []byte(`{"cmd":"git commit -m \"feat`)},
			{Type: membrane.Call, CallID: "4", Tool: "t", Args: []byte("{\"a\":\"\xff\xed\xa0\x80\"}")},
			{Type: membrane.Call, CallID: "5", Tool: "t", Args: []byte(` null `)},
		}},
		`{"role":"assistant","blocks":[{"type":"call","id":"1","tool":"t"},{"type":"call","id":"2","tool":"t","args":""},` +
			`{"type":"call","id":"3","tool":"t","args":"{\"cmd\":\"git commit -m \\\"feat"},` +
			`{"type":"call","id":"4","tool":"t","args64":"eyJhIjoi/+2ggCJ9"},{"type":"call","id":"5","tool":"t","args":" null "}]}`,
	},
	{
		"raw of every kind",
		membrane.Message{Role: membrane.Assistant, Blocks: []membrane.Block{
			{Type: membrane.Other, Raw: json.RawMessage(`null`)},
			{Type: membrane.Other, Raw: json.RawMessage(``)},
			{Type: membrane.Other, Raw: json.RawMessage(" {}\n")},
			{Type: membrane.Other, Raw: json.RawMessage(`{"cut`)},
			{Type: membrane.Other, Raw: json.RawMessage(`"\ud83d"`)},
		}},
		`{"role":"assistant","blocks":[{"type":"other","raw":null},{"type":"other","raw64":""},{"type":"other","raw64":"IHt9Cg=="},` +
			`{"type":"other","raw64":"eyJjdXQ="},{"type":"other","raw64":"Ilx1ZDgzZCI="}]}`,
	},
	{
		"bytes",
		membrane.Message{Role: membrane.User, Blocks: []membrane.Block{
			{Type: membrane.Image, MIMEType: "image/png", Data: []byte{0x89, 'P', 'N', 'G', 0xff, 0xfe}},
			{Type: membrane.Image, Data: []byte{}},
			{Type: membrane.Text, Text: "\xff", CallID: "\xc0", Tool: "\xed\xa0\x80", MIMEType: "\x80"},
		}},
		`{"role":"user","blocks":[{"type":"image","mime":"image/png","data":"iVBOR//+"},{"type":"image","data":""},` +
			`{"type":"text","text64":"/w==","id64":"wA==","tool64":"7aCA","mime64":"gA=="}]}`,
	},
}

func TestCodecGolden(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff("m1", membrane.Codec); diff != "" {
		t.Fatal(diff)
	}
	for _, g := range golden {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			body, err := membrane.Encode(g.message)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(g.body, string(body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			back, err := membrane.Decode("m1", []byte(g.body))
			if err != nil {
				t.Fatal(err)
			}
			want := g.message
			want.Results = nil // they are kept with the calls
			if diff := cmp.Diff(want, back); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		message membrane.Message
		want    string
	}{
		{"role", membrane.Message{Role: "tool"}, `encode a message: its role is "tool"; it must be user, assistant or results`},
		{"block", membrane.Message{Role: membrane.User, Blocks: []membrane.Block{{Type: "audio"}}}, `encode block 0: its type is "audio"; what only its provider understands is of type other`},
		{"results of a user", membrane.Message{Role: membrane.User, Results: make([]membrane.Result, 2)}, `encode a message: one of role user has no results, found 2`},
		{"blocks of results", membrane.Message{Role: membrane.Results, Blocks: make([]membrane.Block, 1)}, `encode a message: one of results has no blocks, found 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := membrane.Encode(c.message)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	deep := `{"role":"user","blocks":[{"type":"other","raw":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}]}`
	for _, c := range []struct{ name, codec, body, want string }{
		{"codec", "m2", `{}`, `decode a message: its codec is "m2" and this build reads only "m1": use the build that wrote it, or a newer one`},
		{"codec of an empty body", "", ``, `its codec is ""`},
		{"no JSON", "m1", `{"role":`, `decode a message: unexpected EOF`},
		{"no object", "m1", `[]`, `cannot unmarshal array`},
		{"null", "m1", `null`, `its role is ""`},
		{"role", "m1", `{"role":"results","blocks":[]}`, `its role is "results"; it must be user or assistant`},
		{"unknown member", "m1", `{"role":"user","blocks":[],"more":1}`, `unknown field "more"`},
		{"unknown member of a block", "m1", `{"role":"user","blocks":[{"type":"text","txt":""}]}`, `unknown field "txt"`},
		{"something after", "m1", `{"role":"user","blocks":[]}{}`, `something follows the JSON object`},
		{"type", "m1", `{"role":"user","blocks":[{"type":"text"},{"type":"audio"}]}`, `decode block 1: its type is "audio"`},
		{"no block", "m1", `{"role":"user","blocks":[null]}`, `decode block 0: its type is ""`},
		{"twins", "m1", `{"role":"user","blocks":[{"type":"call","args":"","args64":"eA=="}]}`, `decode block 0: it has both args and args64`},
		{"base64", "m1", `{"role":"user","blocks":[{"type":"call","args64":"?"}]}`, `illegal base64 data`},
		{"deep", "m1", deep, `exceeded max depth`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, err := membrane.Decode(c.codec, []byte(c.body))
			if err == nil {
				t.Fatalf("no error, got %+v", m)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q, want %q in it", err, c.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q has more than one line", err)
			}
		})
	}
}

// TestCodecKeepsNesting takes raw blocks to the depth at which JSON readers stop.
func TestCodecKeepsNesting(t *testing.T) {
	t.Parallel()
	for depth := 9_990; depth <= 10_005; depth++ {
		raw := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		want := membrane.Message{Role: membrane.Assistant, Blocks: []membrane.Block{{Type: membrane.Other, Raw: []byte(raw)}}}
		body, err := membrane.Encode(want)
		if err != nil {
			t.Fatalf("depth %d: %v", depth, err)
		}
		got, err := membrane.Decode(membrane.Codec, body)
		if err != nil {
			t.Fatalf("depth %d: %v", depth, err)
		}
		if string(got.Blocks[0].Raw) != raw {
			t.Errorf("depth %d: raw has changed", depth)
		}
	}
}

func FuzzCodecRoundTrip(f *testing.F) {
	f.Add("user", "text", "a", "id", "tool", []byte(`{"a":1}`), "image/png", []byte{1}, []byte(`{"b": 2}`))
	f.Add("assistant", "call", "\xff", "", "\xed\xa0\x80", []byte(`{"cut`), "", []byte(nil), []byte(` {}`))
	f.Add("assistant", "other", "\u2028", "\x00", "<>&", []byte("\xfe"), "\\", []byte{}, []byte(`"\ud83d"`))
	f.Fuzz(func(t *testing.T, role, kind, text, id, tool string, args []byte, mime string, data, raw []byte) {
		want := membrane.Message{Role: membrane.Role(role), Blocks: []membrane.Block{
			{Type: membrane.BlockType(kind), Text: text, CallID: id, Tool: tool, Args: args, MIMEType: mime, Data: data, Raw: raw},
			{Type: membrane.Text, Text: text + text},
		}}
		body, err := membrane.Encode(want)
		if err != nil {
			return // a role or type that there is none of
		}
		again, err := membrane.Encode(want)
		if err != nil || !bytes.Equal(body, again) {
			t.Fatalf("the second encoding differs: %q, %q, %v", body, again, err)
		}
		got, err := membrane.Decode(membrane.Codec, body)
		if err != nil {
			t.Fatalf("body %q: %v", body, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("body %q (-want +got):\n%s", body, diff)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, g := range golden {
		f.Add([]byte(g.body))
	}
	f.Add([]byte(`{"role":"user","blocks":[{"type":"call","args":"","args64":"eA==","raw":{"a":[}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := membrane.Decode(membrane.Codec, body)
		if err != nil {
			return
		}
		if _, err := membrane.Encode(m); err != nil {
			t.Errorf("what was decoded cannot be encoded: %v", err)
		}
	})
}
