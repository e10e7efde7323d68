package spill

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/internal/canon"
)

func summary(text string, pieces int) string {
	var s synopsis
	for len(text) > 0 {
		n := min(pieces, len(text))
		s.write([]byte(text[:n]))
		text = text[n:]
	}
	return s.line()
}

func TestSynopsis(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf(`"k%d":{"inner":[1,{"x":2}]}`, i))
	}
	for _, tt := range []struct{ text, want string }{
		{``, ""},
		{`  `, ""},
		{`plain text`, ""},
		{`[]`, "an array of 0 elements"},
		{` [ 1 ] ` + "\n", "an array of 1 element"},
		{`[1,[2,3],{"a":[4,5]},"x,y",null,-0.5e+10]`, "an array of 6 elements"},
		{`{}`, "an object with 0 keys"},
		{`{"a":1}`, `an object with 1 key: "a"`},
		{`{"a":{"b":1,"c":2},"a":[],"d\n\u0041":"x"}`, `an object with 3 keys: "a", "a", "d\n\u0041"`},
		{"{" + strings.Join(many, ",") + "}", `an object with 40 keys: "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7" and 32 more`},
		{`{"` + strings.Repeat("x", 39) + `é":1}`, `an object with 1 key: "` + strings.Repeat("x", 39) + `…"`},
		{`{"` + strings.Repeat("x", 38) + `\u0041":1}`, `an object with 1 key: "` + strings.Repeat("x", 38) + `…"`},
		{`{"` + strings.Repeat("日", 5000) + `":1}`, `an object with 1 key: "` + strings.Repeat("日", 13) + `…"`},
		{`"text"`, "a string"},
		{`true`, "a boolean"},
		{`false`, "a boolean"},
		{`null`, "null"},
		{`0`, "a number"},
		{`-12.5E-3`, "a number"},
		{`12.`, ""},
		{`-`, ""},
		{`01`, ""},
		{`1e`, ""},
		{`tru`, ""},
		{`trux`, ""},
		{`[1,]`, ""},
		{`[1 2]`, ""},
		{`{"a" 1}`, ""},
		{`{"a":1,}`, ""},
		{`{a:1}`, ""},
		{`[1}`, ""},
		{`{"a":1]`, ""},
		{`]`, ""},
		{`,`, ""},
		{"[\"a\nb\"]", ""},
		{`["\x"]`, ""},
		{`["\u12g4"]`, ""},
		{`["open`, ""},
		{`{"a":1} {"b":2}`, ""},
		{"\ufeff{}", ""},
		{strings.Repeat("[", canon.MaxDepth) + strings.Repeat("]", canon.MaxDepth), "an array of 1 element"},
		{strings.Repeat("[", canon.MaxDepth+1) + strings.Repeat("]", canon.MaxDepth+1), ""},
	} {
		for _, pieces := range []int{1, 2, 3, 7, 1 << 20} {
			if diff := cmp.Diff(tt.want, summary(tt.text, pieces)); diff != "" {
				t.Errorf("%.60q in pieces of %d (-want +got):\n%s", tt.text, pieces, diff)
			}
		}
	}
}

// What is read as it comes is what reading the whole says.
func FuzzSynopsis(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,{"b":"\u00e9"}],"c":-1.5e3}`, `[true,false,null,"x"]`, "[[[", `{"a"`, "1e5", "\"\\", "[1,]", " 12 "} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, pieces int) {
		if len(text) > 10_000 {
			return
		}
		got := summary(text, 1+max(pieces, 0)%16)
		want, ok := canon.Synopsis([]byte(text), maxKeys)
		if ok != (got != "") {
			t.Fatalf("%q: valid is %v, the synopsis %q", text, ok, got)
		}
		if strings.ContainsAny(got, "\n\r\x00") {
			t.Fatalf("%q: more than one line: %q", text, got)
		}
		switch {
		case !ok:
		case want.Kind == "array":
			if diff := cmp.Diff("an array of "+count(int64(want.Len), "element"), got); diff != "" {
				t.Fatalf("%q (-want +got):\n%s", text, diff)
			}
		case want.Kind == "object":
			if !strings.HasPrefix(got, "an object with "+count(int64(want.Len), "key")) {
				t.Fatalf("%q: %q, want %d keys", text, got, want.Len)
			}
		case !strings.Contains(got, want.Kind):
			t.Fatalf("%q: %q, want %s", text, got, want.Kind)
		}
	})
}
