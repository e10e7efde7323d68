package canon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// syntax holds texts on both sides of every rule of the grammar; the reason is
// empty for one that is valid.
var syntax = []struct{ text, reason string }{
	{`{}`, ""},
	{`[]`, ""},
	{` [ ] `, ""},
	{"\t{ \"a\" :\n[ 1 , -0.5e+10 , \"x\" , true , false , null , { } ]\r}", ""},
	{`"\"\\\/\b\f\n\r\t\u00e9\uD800"`, ""},
	{"\"\x7f\xff\u2028\"", ""},
	{`0`, ""},
	{`-0`, ""},
	{`10.01E-7`, ""},
	{``, "0: it ends before the value does"},
	{` `, "1: it ends before the value does"},
	{`[1,]`, "3: a value is missing"},
	{`[,1]`, "1: a value is missing"},
	{`[1 2]`, "3: a comma or the end of the array or object is missing"},
	{`[1}`, "2: a comma or the end of the array or object is missing"},
	{`[`, "1: it ends before the value does"},
	{`[1,`, "3: it ends before the value does"},
	{`]`, "0: a value is missing"},
	{`{"a"}`, "4: a colon is missing after a key"},
	{`{"a"`, "4: a colon is missing after a key"},
	{`{"a":}`, "5: a value is missing"},
	{`{"a":1,}`, "7: an object's key must be a string"},
	{`{1:2}`, "1: an object's key must be a string"},
	{`{,}`, "1: an object's key must be a string"},
	{`{]`, "1: an object's key must be a string"},
	{`{"a":1]`, "6: a comma or the end of the array or object is missing"},
	{`{"a\q":1}`, "3: a key is not closed, or holds a control character or an unknown escape"},
	{`1 2`, "2: more follows after the value"},
	{`{}{}`, "2: more follows after the value"},
	{`01`, "1: more follows after the value"},
	{`1.`, "2: a number is not complete"},
	{`.5`, "0: a value is missing"},
	{`-`, "1: a number is not complete"},
	{`-a`, "1: a number is not complete"},
	{`1e`, "2: a number is not complete"},
	{`1e+`, "3: a number is not complete"},
	{`+1`, "0: a value is missing"},
	{`tru`, "0: a value is missing"},
	{`truex`, "4: more follows after the value"},
	{`nul`, "0: a value is missing"},
	{`NaN`, "0: a value is missing"},
	{`'a'`, "0: a value is missing"},
	{`"a`, "2: a string is not closed, or holds a control character or an unknown escape"},
	{`"\`, "2: a string is not closed, or holds a control character or an unknown escape"},
	{`"\x"`, "1: a string is not closed, or holds a control character or an unknown escape"},
	{`"\u12g4"`, "1: a string is not closed, or holds a control character or an unknown escape"},
	{`"\u12`, "1: a string is not closed, or holds a control character or an unknown escape"},
	{"\"a\nb\"", "2: a string is not closed, or holds a control character or an unknown escape"},
	{"\ufeff1", "0: a value is missing"},
	{"[\u00a01]", "1: a value is missing"},
	{"\x00", "0: a value is missing"},
}

func TestSyntax(t *testing.T) {
	t.Parallel()
	for _, tt := range syntax {
		want := ""
		if tt.reason != "" {
			want = "invalid JSON at byte " + tt.reason
		}
		_, err := Check([]byte(tt.text))
		var se *SyntaxError
		if err != nil && !errors.As(err, &se) {
			t.Fatalf("%q: error %v, want a *SyntaxError", tt.text, err)
		}
		got := ""
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
		if Valid([]byte(tt.text)) != json.Valid([]byte(tt.text)) {
			t.Errorf("%q: encoding/json says otherwise", tt.text)
		}
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	nest := func(open, end string, n int) []byte {
		return []byte(strings.Repeat(open, n) + "1" + strings.Repeat(end, n))
	}
	for _, n := range []int{0, 1, MaxDepth} {
		for _, raw := range [][]byte{nest("[", "]", n), nest(`{"a":`, "}", n)} {
			if depth, err := Check(raw); err != nil || depth != n || !json.Valid(raw) {
				t.Errorf("Check of %d levels = %d, %v", n, depth, err)
			}
		}
	}
	for _, n := range []int{MaxDepth + 1, 5_000_000} {
		raw := nest("[", "]", n)
		if _, err := Check(raw); err == nil || err.Error() != "invalid JSON at byte 10000: it nests deeper than 10000 levels" {
			t.Errorf("Check of %d levels: error %v", n, err)
		}
		_, ok := Synopsis(raw, 3)
		_, err := Canonical(raw)
		if ok || err == nil || Valid(raw) || Equal(raw, raw) || !bytes.Equal(Compact(raw), raw) {
			t.Errorf("%d levels pass for JSON", n)
		}
	}
	deep := nest("[", "]", MaxDepth)
	if out, err := Canonical(deep); err != nil || !bytes.Equal(out, deep) || !Equal(deep, deep) {
		t.Errorf("the deepest value: %v", err)
	}
}

func TestLexerTokens(t *testing.T) {
	t.Parallel()
	raw := []byte(` {"a" : [1.50, {"b":null} ], "c":"\n","d":true,"e":{}} `)
	var got []string
	l := NewLexer(raw)
	for {
		tok, err := l.Next()
		if err != nil {
			if _, again := l.Next(); !errors.Is(err, io.EOF) || !errors.Is(again, io.EOF) {
				t.Fatalf("errors %v, %v, want EOF twice", err, again)
			}
			break
		}
		if !bytes.HasPrefix(raw[tok.Start:], tok.Raw) {
			t.Errorf("token %s does not start at %d", tok.Raw, tok.Start)
		}
		key := ""
		if tok.Key {
			key = " key"
		}
		got = append(got, fmt.Sprintf("%d%c %s%s", tok.Depth, tok.Kind, tok.Raw, key))
	}
	want := []string{
		`0{ {`, `1" "a" key`, `1[ [`, `20 1.50`, `2{ {`, `3" "b" key`, `3n null`, `2} }`, `1] ]`,
		`1" "c" key`, `1" "\n"`, `1" "d" key`, `1t true`, `1" "e" key`, `1{ {`, `1} }`, `0} }`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

func TestTokenDoesNotShareRoom(t *testing.T) {
	t.Parallel()
	raw := []byte(`[1,2]`)
	l := NewLexer(raw)
	for {
		tok, err := l.Next()
		if err != nil {
			break
		}
		_ = append(tok.Raw, 'x')
	}
	if diff := cmp.Diff(`[1,2]`, string(raw)); diff != "" {
		t.Errorf("append to a token reached the text (-want +got):\n%s", diff)
	}
}

func TestLexerKeepsItsError(t *testing.T) {
	t.Parallel()
	l := NewLexer([]byte(`[1,]`))
	var errs []string
	for range 5 {
		if _, err := l.Next(); err != nil {
			errs = append(errs, err.Error())
		}
	}
	const again = "invalid JSON at byte 3: a value is missing"
	if diff := cmp.Diff([]string{again, again, again}, errs); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{`{"b":1.0,"a":"<\u003c\u2028 x"}`, `{"b":1.0,"a":"<\u003c\u2028 x"}`},
		{" { \"b\" :\t1.0 ,\r\n\"b\" : \" a  b \" , \"c\":[ ] } \n", `{"b":1.0,"b":" a  b ","c":[]}`},
		{` "\" , \\" `, `"\" , \\"`},
		{" 1e2\n", "1e2"},
		{"\"\u2028 \xff\" ", "\"\u2028 \xff\""},
		{`1 2`, `1 2`},
		{`[1, 2`, `[1, 2`},
		{` `, ` `},
		{``, ``},
	} {
		in := []byte(tt.in)
		if diff := cmp.Diff(tt.want, string(Compact(in))); diff != "" {
			t.Errorf("Compact(%q) (-want +got):\n%s", tt.in, diff)
		}
		if string(in) != tt.in {
			t.Errorf("Compact changed its argument %q to %q", tt.in, in)
		}
	}
}

func TestUnquote(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in, want string
		ok       bool
	}{
		{`""`, "", true},
		{` "a" ` + "\n", "a", true},
		{`"\"\\\/\b\f\n\r\t\u00e9\u0000"`, "\"\\/\b\f\n\r\t\u00e9\x00", true},
		{`"{\"a\":1}"`, `{"a":1}`, true},
		{`"\"a\""`, `"a"`, true}, // once, not twice
		{`"\ud83d\ude00\ud83d"`, "\U0001f600\ufffd", true},
		{"\"\xff\\n\xff\"", "\ufffd\n\ufffd", true},
		{`1`, "", false},
		{`null`, "", false},
		{`["a"]`, "", false},
		{`"a" "b"`, "", false},
		{`"a`, "", false},
		{`"\q"`, "", false},
		{``, "", false},
	} {
		if got, ok := Unquote([]byte(tt.in)); got != tt.want || ok != tt.ok {
			t.Errorf("Unquote(%s) = %q, %t, want %q, %t", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

func TestSynopsis(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		max  int
		want Summary
		ok   bool
	}{
		{`{"b":{"x":[1,{"y":2}]},"a":[],"\ud83d\ude00\n":{},"b":1}`, 9, Summary{"object", 4, []string{"b", "a", "\U0001f600\n", "b"}}, true},
		{`{"b":1,"a":2,"c":3}`, 2, Summary{"object", 3, []string{"b", "a"}}, true},
		{`{"b":1,"a":2}`, 0, Summary{"object", 2, nil}, true},
		{`{"b":1}`, -1, Summary{"object", 1, nil}, true},
		{`{}`, 9, Summary{"object", 0, nil}, true},
		{` [1,[2,3],{"a":1},"x",null,[],{},true] `, 9, Summary{"array", 8, nil}, true},
		{`[]`, 9, Summary{"array", 0, nil}, true},
		{`[[[]]]`, 9, Summary{"array", 1, nil}, true},
		{`"{}"`, 9, Summary{"string", 0, nil}, true},
		{`-1`, 9, Summary{"number", 0, nil}, true},
		{`0`, 9, Summary{"number", 0, nil}, true},
		{`true`, 9, Summary{"boolean", 0, nil}, true},
		{`false`, 9, Summary{"boolean", 0, nil}, true},
		{`null`, 9, Summary{"null", 0, nil}, true},
		{`{"a":1`, 9, Summary{}, false},
		{`{"a":1}x`, 9, Summary{}, false},
		{``, 9, Summary{}, false},
		{`hello`, 9, Summary{}, false},
	} {
		got, ok := Synopsis([]byte(tt.in), tt.max)
		if diff := cmp.Diff(tt.want, got); diff != "" || ok != tt.ok {
			t.Errorf("Synopsis(%s, %d) says %t, want %t (-want +got):\n%s", tt.in, tt.max, ok, tt.ok, diff)
		}
		if tt.ok {
			if diff := cmp.Diff(tt.want.Kind, Kind([]byte(tt.in))); diff != "" {
				t.Errorf("Kind(%s) (-want +got):\n%s", tt.in, diff)
			}
		}
	}
	for _, in := range []string{"", " ", "x", "\ufeff{}", "}", "+1"} {
		if got := Kind([]byte(in)); got != "" {
			t.Errorf("Kind(%q) = %q, want none", in, got)
		}
	}
}
