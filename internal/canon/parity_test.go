package canon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// likeStandard returns what encoding/json writes for v, with the escapes undone that
// Marshal does not write.
func likeStandard(t *testing.T, v any) (string, error) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return string(undoEscapes(bytes.TrimSuffix(b.Bytes(), []byte("\n")))), nil
}

// checkParity compares Marshal with encoding/json.
func checkParity(t *testing.T, v any) {
	t.Helper()
	want, wantErr := likeStandard(t, v)
	got, err := Marshal(v)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%T: error %v, encoding/json: %v", v, err, wantErr)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Fatalf("%T (-encoding/json +got):\n%s", v, diff)
	}
}

type (
	Base struct {
		ID   int    `json:"id"`
		Name string `json:"name,omitempty"`
		Both string
	}
	Other struct {
		Both  string
		Extra *int `json:"extra,omitempty"`
	}
	hidden struct{ Shown, Both string }
	Deep   struct {
		*Base
		Other
		hidden
	}
	Tagged struct {
		Base `json:"base"`
		Two  Other `json:",omitempty"`
	}
	TagWins struct {
		A int `json:"x"`
		X int `json:"X"`
		Y int
		Z int `json:"Y"`
	}
	L1  struct{ L2a }
	L2a struct{ L3 }
	L2b struct{ L3 }
	L3  struct{ V, W int }
	// Twice embeds L3 by two ways of one length: V and W hide each other.
	Twice struct {
		L2a
		L2b
		W int
	}
	Recursive struct {
		*Recursive
		N    int
		Kids []Recursive `json:",omitempty"`
	}
	Str   string
	ints  int
	Ptr   = *int
	Named struct {
		Str
		ints
		Ptr
		fmt.Stringer
		error
		time.Time `json:"t"`
	}
	Strings struct {
		I  int         `json:",string"`
		U  uint8       `json:",string"`
		F  float64     `json:",string"`
		F3 float32     `json:"f3,string,omitempty"`
		B  bool        `json:",string"`
		S  string      `json:",string"`
		P  *int        `json:",string"`
		PS *Str        `json:",string,omitempty"`
		N  json.Number `json:",string"`
		T  texty       `json:",string"`
	}
	Omit struct {
		A []int           `json:",omitempty"`
		B [0]int          `json:",omitempty"`
		C [1]int          `json:",omitempty"`
		D map[string]int  `json:",omitempty"`
		E any             `json:",omitempty"`
		F *int            `json:",omitempty"`
		G struct{}        `json:",omitempty"`
		H float64         `json:",omitempty"`
		I bool            `json:",omitempty"`
		J uintptr         `json:",omitempty"`
		K time.Time       `json:",omitempty"`
		L time.Time       `json:",omitzero"`
		M *time.Time      `json:",omitzero"`
		N zeroPtr         `json:",omitzero"`
		O *zeroPtr        `json:",omitzero"`
		P zeroer          `json:",omitzero"`
		Q any             `json:",omitzero"`
		R struct{ A int } `json:",omitzero"`
		S zeroVal         `json:",omitzero"`
		T [2]int          `json:",omitzero"`
		U []int           `json:",omitzero,omitempty"`
		V []int           `json:",omitzero"`
	}
	Methods struct {
		A byPointer
		B *byPointer
		C []byPointer
		D [1]byPointer
		E map[string]byPointer
		F any
		G json.Marshaler
		H texty
		I *texty
		J map[string]texty
		K map[*texty]int
		L bytesOfText
		M namedBytes
		N []namedByte
		O textPointer
		P *textPointer
		Q []textPointer
		R json.Marshaler
	}
	zeroer      interface{ IsZero() bool }
	zeroPtr     struct{ A int }
	zeroVal     struct{ A int }
	bytesOfText []texty
	namedBytes  []byte
	namedByte   byte
	textPointer struct{ A string }
	byteText    byte
	DeepPointer struct {
		*hidden
		*ints
	}
)

// QuotedInVain asks for quotation marks where there are none to be had.
//
//nolint:staticcheck // tags that ask too much are what is tested
type QuotedInVain struct {
	PP **int `json:",string"`
	L  []int `json:",string"`
	A  any   `json:",string"`
	X  Base  `json:",string"`
}

// Names has tags that are no names, and some that look like none.
//
//nolint:staticcheck // malformed tags are what is tested
type Names struct {
	A int `json:"a b"`
	B int `json:"ünï"`
	C int `json:"a\"b"`
	D int `json:"<&>"`
	E int `json:"-"`
	F int `json:"-,"`
	G int `json:""`
	H int `json:"a,b"`
	I int `json:"\xff"`
	J int `json:"a\u2028"`
	K int `xml:"k"`
	l int
}

func (z *zeroPtr) IsZero() bool { return z.A == 7 }
func (z zeroVal) IsZero() bool  { return z.A == 7 }

func (b byteText) MarshalText() ([]byte, error) { return []byte{'b', byte(b)}, nil }

func (p *textPointer) MarshalText() ([]byte, error) { return []byte("tp:" + p.A), nil }

// Structs of every shape that encoding/json has a rule for.
func TestParityOfStructs(t *testing.T) {
	t.Parallel()
	n := 5
	pn := &n
	s := Str("s\"<")
	when := time.Date(2020, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600))
	tx := texty("tx")
	for _, v := range []any{
		Base{},
		&Base{1, "n", "b"},
		Deep{},
		Deep{Base: &Base{1, "n", "b"}, Other: Other{"o", pn}, hidden: hidden{"s", "h"}},
		DeepPointer{},
		DeepPointer{hidden: &hidden{"s", "h"}, ints: new(ints)},
		[]byteText("xy"),
		Tagged{},
		Tagged{Base: Base{ID: 1}, Two: Other{Extra: pn}},
		TagWins{1, 2, 3, 4},
		L1{L2a{L3{1, 2}}},
		Twice{L2a{L3{1, 2}}, L2b{L3{3, 4}}, 5},
		Recursive{},
		Recursive{Recursive: &Recursive{N: 1}, N: 2, Kids: []Recursive{{N: 3}}},
		Named{},
		Named{Str: "x", ints: 3, Ptr: pn, Stringer: when, Time: when},
		Strings{},
		Strings{1, 2, 1.5, 2.5, true, "a\"\\\n<", pn, &s, "1e2", "t"},
		Omit{},
		&Omit{},
		Omit{A: []int{}, D: map[string]int{}, E: 0, F: new(int), H: math.Copysign(0, -1), M: &time.Time{}, N: zeroPtr{7}, O: &zeroPtr{7}, P: zeroVal{7}, Q: (*int)(nil), R: struct{ A int }{1}, S: zeroVal{7}, U: []int{}, V: []int{}},
		&Omit{N: zeroPtr{1}, O: &zeroPtr{1}, P: (*zeroPtr)(nil), S: zeroVal{1}, Q: zeroVal{7}, T: [2]int{0, 1}, L: when, K: when},
		QuotedInVain{},
		QuotedInVain{&pn, []int{1}, 3, Base{ID: 4}},
		Methods{},
		&Methods{},
		Methods{
			byPointer{"a"},
			&byPointer{"b"},
			[]byPointer{{"c"}},
			[1]byPointer{{"d"}},
			map[string]byPointer{"e": {"e"}},
			byPointer{"f"},
			&byPointer{"g"}, "h", &tx,
			map[string]texty{"j": "j"},
			map[*texty]int{nil: 1, &tx: 2},
			bytesOfText{"l"},
			namedBytes("m"),
			[]namedByte{1, 2},
			textPointer{"o"},
			&textPointer{"p"},
			[]textPointer{{"q"}},
			nil,
		},
		[]any{[]Methods{{A: byPointer{"x"}, O: textPointer{"y"}}}, &[]*Methods{{D: [1]byPointer{{"z"}}}}},
		map[string]*Deep{"a": {}, "b": nil},
		[3]bool{true},
		uint8(3), int8(-3), uintptr(9), "x", &pn,
		struct{}{},
		map[int8]int{-1: 1, 5: 2},
		map[uint64]bool{math.MaxUint64: true},
		map[Str]int{"q": 1},
		[][]byte{nil, {1}},
		struct {
			C chan int `json:"-"`
		}{},
		struct{ c chan int }{},
		struct {
			F func() `json:",omitempty"`
		}{},
		new(any), (*Deep)(nil),
		[]error{fmt.Errorf("x"), nil},
		reflect.ValueOf(3), json.Number("1e5"),
		[]json.Number{"-"},
		struct {
			N json.Number `json:",omitempty"`
		}{},
	} {
		checkParity(t, v)
	}
}

// Odd tags are read as encoding/json has always read them, also where an
// experiment of its own reads them otherwise.
func TestOddTags(t *testing.T) {
	t.Parallel()
	got, err := Marshal(Names{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	if err != nil {
		t.Fatal(err)
	}
	want := "{\"a b\":1,\"\u00fcn\u00ef\":2,\"C\":3,\"<&>\":4,\"-\":6,\"G\":7,\"a\":8,\"I\":9,\"J\":10,\"K\":11}"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParityOfFloats(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(8, 9))
	for range 100_000 {
		checkSame(t, math.Float64frombits(rnd.Uint64()))
		checkSame(t, math.Float32frombits(rnd.Uint32()))
		checkSame(t, rnd.NormFloat64()*math.Pow10(rnd.IntN(50)-25))
	}
	for exp := -30; exp < 30; exp++ {
		for _, f := range []float64{math.Pow10(exp), math.Nextafter(math.Pow10(exp), 0), -math.Pow10(exp)} {
			checkSame(t, f)
			checkSame(t, float32(f))
			checkSame(t, math.Nextafter32(float32(f), 0))
		}
	}
}

// checkSame compares bytes with json.Marshal, for values without text.
func checkSame(t *testing.T, v any) {
	t.Helper()
	want, wantErr := json.Marshal(v)
	got, err := Marshal(v)
	if (err == nil) != (wantErr == nil) || !bytes.Equal(want, got) {
		t.Fatalf("Marshal(%v) = %s, %v, want %s, %v", v, got, err, want, wantErr)
	}
}

// tape makes values of the bytes that a fuzzer hands in.
type tape struct{ data []byte }

func (p *tape) next() int {
	if len(p.data) == 0 {
		return 0
	}
	b := p.data[0]
	p.data = p.data[1:]
	return int(b)
}

func (p *tape) text() string {
	n := min(p.next()%24, len(p.data))
	s := p.data[:n]
	p.data = p.data[n:]
	return string(s)
}

// value returns any value that Marshal must take or refuse, never die of.
func (p *tape) value(depth int) any {
	if len(p.data) == 0 || depth > 40 {
		return nil
	}
	switch p.next() % 22 {
	case 0:
		return p.next() - 128
	case 1:
		return p.text()
	case 2:
		return math.Float64frombits(uint64(p.next())<<56 | uint64(p.next())<<48 | uint64(p.next())<<4)
	case 3:
		return float32(p.next()) / float32(p.next())
	case 4:
		return json.Number(p.text())
	case 5:
		return []byte(p.text())
	case 6, 7, 8:
		list := []any{}
		for range p.next() % 6 {
			list = append(list, p.value(depth+1))
		}
		return list
	case 9, 10, 11:
		m := map[string]any{}
		for range p.next() % 6 {
			m[p.text()] = p.value(depth + 1)
		}
		return m
	case 12:
		v := p.value(depth + 1)
		return &v
	case 13:
		return Omit{E: p.value(depth + 1), H: float64(p.next()), Q: p.value(depth + 1)}
	case 14:
		// encoding/json would escape twice what Marshal does not escape at all.
		text, _ := CleanUTF8(p.text())
		return Strings{S: strings.NewReplacer("\u2028", "", "\u2029", "").Replace(text), P: new(int), I: p.next()}
	case 15:
		return Deep{Other: Other{Both: p.text()}, hidden: hidden{Shown: p.text()}}
	case 16:
		return map[texty]any{texty(p.text()): p.value(depth + 1)}
	case 17:
		return []texty{texty(p.text()), texty(p.text())}
	case 18:
		return nested{p.value(depth + 1)}
	case 19:
		return [2]any{p.value(depth + 1), p.next() > 99}
	case 20:
		return Methods{A: byPointer{p.text()}, F: p.value(depth + 1)}
	default:
		return []uint64{uint64(p.next()), math.MaxUint64 - uint64(p.next())}
	}
}

// FuzzMarshal holds Marshal to encoding/json for any value whose text has no
// encoded surrogate, and to its own promises for every value.
func FuzzMarshal(f *testing.F) {
	f.Add([]byte("\x06\x05\x01\x05<\u2028>\x09\x03\x02k\xff\x00\x07\x12\x01\x03<&>"))
	f.Add([]byte("\x09\x04\x01a\x04\x031e2\x01b\x05\x02zz\x01c\x0d\x01\x05hello"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4<<10 {
			return
		}
		p := tape{data}
		v := p.value(0)
		out, err := Marshal(v)
		if err != nil {
			if out != nil || !utf8.ValidString(err.Error()) {
				t.Fatalf("%s with %q", out, err)
			}
		} else if !Valid(out) || !json.Valid(out) || !utf8.Valid(out) {
			t.Fatalf("%q is not valid", out)
		}
		if again, _ := Marshal(v); !bytes.Equal(out, again) {
			t.Fatalf("twice: %s and %s", out, again)
		}
		if !strings.Contains(string(data), "\xed") {
			checkParity(t, v)
		}
	})
}
