package canon

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

func TestEqual(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1`, true},
		{`1.0`, `1`, true},
		{`1e2`, `100`, true},
		{`1E+2`, `100.000`, true},
		{`0.001`, `1e-3`, true},
		{`10e-1`, `1`, true},
		{`-0`, `0`, true},
		{`-0.0e5`, `0`, true},
		{`0e999999999999999999999`, `0`, true},
		{`-1`, `1`, false},
		{`1`, `10`, false},
		{`100`, `1e3`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`123456789012345678901234567890`, `123456789012345678901234567891`, false},
		{`0.1`, `0.10000000000000000001`, false},
		{`1e400`, `1e401`, false},
		{`1e400`, `10e399`, true},
		{`1e99999999999999999999`, `10e99999999999999999998`, true},
		{`1e99999999999999999999`, `1e99999999999999999998`, false},
		{`1`, `"1"`, false},
		{`"\u0061\/"`, `"a/"`, true},
		{`"a"`, `"b"`, false},
		{`"\ud83d\ude00"`, "\"\U0001f600\"", true},
		{`"\ud83d"`, "\"\ufffd\"", true},
		{`true`, `true`, true},
		{`true`, `false`, false},
		{`null`, `null`, true},
		{`null`, `0`, false},
		{`{"a":1,"b":[2,{"c":3}]}`, ` { "b" : [ 2.0 , {"c":3e0} ] , "\u0061":1 } `, true},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,1]`, false},
		{`[]`, `{}`, false},
		{`{}`, `{}`, true},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1,"b":2}`, `{"b":1,"a":2}`, false},
		{`{"a":null}`, `{}`, false},
		{`{"a":1,"a":2}`, `{"a":1,"a":2}`, true},
		{`{"a":1,"a":2}`, `{"a":2,"a":1}`, false},
		{`{"a":1,"b":0,"a":2}`, `{"b":0,"a":1,"a":2}`, true},
		{`{"a":1,"a":1}`, `{"a":1}`, false},
		{`{`, `{`, false},
		{`1`, `x`, false},
		{`1 1`, `1 1`, false},
		{``, ``, false},
	} {
		if got := Equal([]byte(tt.a), []byte(tt.b)); got != tt.want {
			t.Errorf("Equal(%s, %s) = %t, want %t", tt.a, tt.b, got, tt.want)
		}
		if got := Equal([]byte(tt.b), []byte(tt.a)); got != tt.want {
			t.Errorf("Equal(%s, %s) = %t, want %t", tt.b, tt.a, got, tt.want)
		}
	}
}

// A key that stands many times keeps the order of its values, whatever stands
// between them.
func TestEqualOfManyDuplicates(t *testing.T) {
	t.Parallel()
	var a, b, c []string
	for i := range 100 {
		a = append(a, fmt.Sprintf(`"k":%d`, i), fmt.Sprintf(`"x%d":0`, i))
		b = append(b, fmt.Sprintf(`"k":%d`, i))
		c = append(c, fmt.Sprintf(`"x%d":0`, 99-i))
	}
	object := func(parts ...string) []byte { return []byte("{" + strings.Join(parts, ",") + "}") }
	if !Equal(object(a...), object(append(c, b...)...)) {
		t.Error("one order of the duplicates is not equal to itself")
	}
	b[40], b[41] = b[41], b[40]
	if Equal(object(a...), object(append(c, b...)...)) {
		t.Error("two orders of the duplicates are equal")
	}
}

// Numbers of megabytes are compared in time that grows with their length; with
// its square it would take minutes.
func TestEqualOfHugeNumbers(t *testing.T) {
	t.Parallel()
	digits, exponent := strings.Repeat("9", 1<<20), strings.Repeat("9", 8<<20)
	start := time.Now()
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{digits, digits + ".0", true},
		{digits + "0", digits + "e1", true},
		{"1e" + exponent, "1e+" + exponent, true},
		{"1e-" + exponent, "1e" + exponent, false},
		{"0." + strings.Repeat("0", 1<<20) + "1", "1e-1048577", true},
	} {
		if got := Equal([]byte(tt.a), []byte(tt.b)); got != tt.want {
			t.Errorf("Equal(%.20s…, %.20s…) = %t, want %t", tt.a, tt.b, got, tt.want)
		}
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"white space and order", " { \"b\" : [ 1 , 2 ] ,\n\"a\" : { \"d\":{},\"c\":[] } } ", `{"a":{"c":[],"d":{}},"b":[1,2]}`},
		// The example of RFC 8785 section 3.2.3.
		{"order by UTF-16", `{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`, `{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","` + "\u00f6" + `":"Latin Small Letter O With Diaeresis","` + "\u20ac" + `":"Euro Sign","` + "\U0001f600" + `":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`},
		// The string of the example of RFC 8785 section 3.2.2.
		{"strings", `"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/"`, "\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\""},
		{"numbers keep their literal", `[333333333.33333329,1E30,4.50,9007199254740993,-0,1.0]`, `[333333333.33333329,1E30,4.50,9007199254740993,-0,1.0]`},
		{"nothing is escaped for HTML", `"\u003c&\u2028"`, "\"<&\u2028\""},
		{"text", "[\"\xff\",\"\\ud800\"]", "[\"\ufffd\",\"\ufffd\"]"},
		{"scalars", ` true `, `true`},
		{"short before long", `{"ab":1,"a":2,"":3}`, `{"":3,"a":2,"ab":1}`},
	} {
		got, err := Canonical([]byte(tt.in))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if again, err := Canonical(got); err != nil || string(again) != string(got) {
			t.Errorf("%s: the canonical form of %s is %s, %v", tt.name, got, again, err)
		}
	}
}

func TestCanonicalErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{`[{"a":1,"b":2,"\u0061":3}]`, `canonical JSON: the key "a" stands twice in one object`},
		{`{"a":{"x":1,"x":1}}`, `canonical JSON: the key "x" stands twice in one object`},
		{`{"a":1`, `canonical JSON: invalid JSON at byte 6: it ends before the value does`},
		{`1 2`, `canonical JSON: invalid JSON at byte 2: more follows after the value`},
		{`{"a":[1,{"b"}]}`, `canonical JSON: invalid JSON at byte 12: a colon is missing after a key`},
		{``, `canonical JSON: invalid JSON at byte 0: it ends before the value does`},
	} {
		out, err := Canonical([]byte(tt.in))
		if err == nil || out != nil {
			t.Fatalf("Canonical(%s) = %s, want an error", tt.in, out)
		}
		if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
			t.Errorf("Canonical(%s) (-want +got):\n%s", tt.in, diff)
		}
	}
}

func TestCompareUTF16(t *testing.T) {
	t.Parallel()
	alphabet := []rune{0, 'a', 'b', 0x7f, 0x80, 0x7ff, 0xd7ff, 0xe000, 0xfffd, 0xffff, 0x10000, 0x103ff, 0x10400, 0x1f600, 0x10ffff}
	rnd := rand.New(rand.NewPCG(3, 4))
	text := func() string {
		var b strings.Builder
		for range rnd.IntN(4) {
			b.WriteRune(alphabet[rnd.IntN(len(alphabet))])
		}
		return b.String()
	}
	for range 50_000 {
		a, b := text(), text()
		want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		if got := compareUTF16(a, b); got != want {
			t.Fatalf("compareUTF16(%q, %q) = %d, want %d", a, b, got, want)
		}
	}
}

// An object in any order of its keys has one canonical form and equals itself.
func TestLaw09DeterministicCanonical(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	var members []string
	for i := range 60 {
		members = append(members, fmt.Sprintf(`"k%d":{"v":%d,"w":"%c"}`, i, i, rune(0xfb00+i)))
	}
	first := []byte("{" + strings.Join(members, ",") + "}")
	want, err := Canonical(first)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		rnd.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		raw := []byte("{" + strings.Join(members, " , ") + "}")
		got, err := Canonical(raw)
		if err != nil || string(got) != string(want) || !Equal(first, raw) {
			t.Fatalf("%s (%v), want %s", got, err, want)
		}
	}
}
