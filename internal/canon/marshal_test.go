package canon

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// nested calls json.Marshal in its MarshalJSON, as most such methods do.
type nested struct{ V any }

func (n nested) MarshalJSON() ([]byte, error) { return json.Marshal(n.V) }

// byPointer has its method on the pointer only.
type byPointer struct{ V string }

func (p *byPointer) MarshalJSON() ([]byte, error) { return json.Marshal("p:" + p.V) }

// texty is written by MarshalText.
type texty string

func (t texty) MarshalText() ([]byte, error) { return []byte("t:" + string(t)), nil }

// spaced returns JSON with white space and an escape in capitals.
type spaced struct{}

func (spaced) MarshalJSON() ([]byte, error) {
	return []byte(" { \"a\" :\n [ 1.50 , \"\\u003C \\u003c \\\\u003c \\ud83d\" ] } "), nil
}

func TestMarshal(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(" { \"z\" : \"\\u003c\\u2028\\/\", \"z\":1.0e2,\n\"a\":-0 } ")
	kept := "{ \"z\" : \"\\u003c\\u2028\\/\", \"z\":1.0e2,\n\"a\":-0 }"
	one := 1
	for _, tt := range []struct {
		name string
		v    any
		want string
	}{
		{"nil", nil, `null`},
		{"HTML stays", "<a href='x'>&</a>", `"<a href='x'>&</a>"`},
		{"HTML stays at depth", map[string]any{"<k>": []any{struct{ A string }{"<&>"}}}, `{"<k>":[{"A":"<&>"}]}`},
		{"U+2028 and U+2029 stay", "\u2028\u2029", "\"\u2028\u2029\""},
		{"control characters", "\x00\b\t\n\v\f\r\x1f\x7f\"\\/", `"\u0000\b\t\n\u000b\f\r\u001f` + "\x7f" + `\"\\/"`},
		{"invalid bytes", "a\xffb\xc3", "\"a\ufffdb\ufffd\""},
		{"encoded surrogate", "\xed\xa0\x80!", "\"\ufffd!\""},
		{"encoded pair", "\xed\xa0\xbd\xed\xb8\x80", "\"\U0001f600\""},
		{"integers", []any{int64(math.MaxInt64), int64(math.MinInt64), uint64(math.MaxUint64), 9007199254740993}, `[9223372036854775807,-9223372036854775808,18446744073709551615,9007199254740993]`},
		{"floats", []any{1.0, 0.1, 1e21, 1e20, 1e-6, 1e-7, -1.5e-9, 1e100, math.Copysign(0, -1), float32(0.1), float32(1e21), float32(1e-7)}, `[1,0.1,1e+21,100000000000000000000,0.000001,1e-7,-1.5e-9,1e+100,-0,0.1,1e+21,1e-7]`},
		{"literals", []json.Number{"1.0", "1e2", "-0", "123456789012345678901234567890", ""}, `[1.0,1e2,-0,123456789012345678901234567890,0]`},
		{"field order", struct {
			Z int `json:"z"`
			A int
			M int `json:"m,omitempty"`
		}{Z: 1}, `{"z":1,"A":0}`},
		{"map keys", map[string]int{"b": 1, "a": 2, "B": 3, "\u00e9": 4, "": 5}, `{"":5,"B":3,"a":2,"b":1,"` + "\u00e9" + `":4}`},
		{"integer keys sort as text", map[int]int{10: 1, 9: 2, -1: 3}, `{"-1":3,"10":1,"9":2}`},
		{"text keys", map[netip.Addr]int{netip.MustParseAddr("10.0.0.1"): 1}, `{"10.0.0.1":1}`},
		{"bytes", []any{[]byte("hello"), []byte(nil), []byte{}, [2]byte{1, 2}}, `["aGVsbG8=",null,"",[1,2]]`},
		{"nothing", []any{map[string]any(nil), []any(nil), (*int)(nil), json.RawMessage(nil), []int(nil), map[int]int(nil), []any{}, map[string]any{}}, `[null,null,null,null,null,null,[],{}]`},
		{"pointers", []any{&one, new(&one), new(any(&one))}, `[1,1,1]`},
		{"raw at the root", raw, kept},
		{"raw in any", []any{raw, &raw, map[string]any{"r": raw}}, "[" + kept + "," + kept + `,{"r":` + kept + "}]"},
		{"raw in types", struct {
			R json.RawMessage
			P *json.RawMessage
			L []json.RawMessage
			M map[string]json.RawMessage
			I json.Marshaler
			J json.Marshaler
			N json.RawMessage `json:",omitempty"`
		}{R: raw, P: &raw, L: []json.RawMessage{raw}, M: map[string]json.RawMessage{"m": raw}, I: raw, J: &raw}, `{"R":` + kept + `,"P":` + kept + `,"L":[` + kept + `],"M":{"m":` + kept + `},"I":` + kept + `,"J":` + kept + "}"},
		{"raw is cleaned", []any{json.RawMessage("\"\xff \\ud83d \\ud83d\\ude00\"")}, "[\"\ufffd \\ufffd \\ud83d\\ude00\"]"},
		{"escapes of a nested Marshal are undone", []any{nested{"<&>\u2028\u2029\xff"}, nested{map[string]string{"<": `\u003c`}}}, "[\"<&>\u2028\u2029\ufffd\",{\"<\":\"\\\\u003c\"}]"},
		{"other escapes of a method stay", spaced{}, `{"a":[1.50,"\u003C < \\u003c \ufffd"]}`},
		{"method of the pointer", []any{byPointer{"x"}, &byPointer{"<x>"}, []byPointer{{"y"}}, map[string]byPointer{"z": {"z"}}, (*byPointer)(nil)}, `[{"V":"x"},"p:<x>",["p:y"],{"z":{"V":"z"}},null]`},
		{"nil pointers in interfaces", struct {
			M json.Marshaler
			A any
			S encoding.TextMarshaler
		}{(*byPointer)(nil), (*byPointer)(nil), (*texty)(nil)}, `{"M":null,"A":null,"S":null}`},
		{"texts", []any{texty("<\xff>"), map[texty]int{"k": 1}}, "[\"t:<\ufffd>\",{\"k\":1}]"},
		{"time and big", []any{time.Date(2024, 5, 6, 7, 8, 9, 10, time.UTC), new(big.Int).Lsh(big.NewInt(1), 70)}, `["2024-05-06T07:08:09.00000001Z",1180591620717411303424]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Marshal(tt.v)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !Valid(got) || !json.Valid(got) || !utf8.Valid(got) {
				t.Errorf("%s is not valid", got)
			}
		})
	}
}

func TestMarshalLeavesRawAlone(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(" [1, \"\xff\\ud83d\"] ")
	before := bytes.Clone(raw)
	out, err := Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	for i := range out {
		out[i] = 'x'
	}
	if diff := cmp.Diff(string(before), string(raw)); diff != "" {
		t.Errorf("the caller's bytes (-want +got):\n%s", diff)
	}
}

// Marshal of one value gives one text, however Go orders a map that day.
func TestLaw09DeterministicMarshal(t *testing.T) {
	t.Parallel()
	m := map[any]int{}
	v := map[string]any{"m": map[texty]int{"a": 1, "b": 2, "c": 3}, "n": map[int]string{1: "x", 2: "y", 3: "z"}}
	for _, k := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		v[k+k] = k
		m[k] = 1
	}
	want, err := Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		got, err := Marshal(v)
		if err != nil || !bytes.Equal(want, got) {
			t.Fatalf("%s, %v, want %s", got, err, want)
		}
	}
	if _, err := Marshal(m); !errors.Is(err, ErrUnsupported) {
		t.Errorf("keys of any type: error %v, want ErrUnsupported", err)
	}
}
