package canon

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// bytesOf returns a code unit as UTF-8 would write it if surrogates were
// characters.
func bytesOf(unit int) string {
	if unit < 0x800 {
		return string(rune(unit))
	}
	return string([]byte{byte(0xE0 | unit>>12), byte(0x80 | unit>>6&0x3F), byte(0x80 | unit&0x3F)})
}

// Every code unit, alone and between letters, as an escape in both cases of
// its digits and as bytes, comes out by one rule in every lane.
func TestEveryCodeUnit(t *testing.T) {
	t.Parallel()
	for unit := range 1 << 16 {
		want, lost := string(rune(unit)), 0
		if utf16.IsSurrogate(rune(unit)) {
			want, lost = "\ufffd", 1
		}
		for _, format := range []string{`\u%04x`, `\u%04X`} {
			escape := fmt.Sprintf(format, unit)
			kept := escape
			if lost > 0 {
				kept = `\ufffd`
			}
			for _, around := range [][2]string{{"", ""}, {"a", "b"}, {`\\`, `\"`}, {`\ud83d\ude00`, `\uD83D\uDE00`}} {
				raw := `"` + around[0] + escape + around[1] + `"`
				clean, replaced := CleanJSON([]byte(raw))
				if string(clean) != `"`+around[0]+kept+around[1]+`"` || replaced != lost {
					t.Fatalf("CleanJSON(%s) = %s, %d", raw, clean, replaced)
				}
				before, _ := Unquote([]byte(`"` + around[0] + `"`))
				after, _ := Unquote([]byte(`"` + around[1] + `"`))
				if text, ok := Unquote([]byte(raw)); !ok || text != before+want+after {
					t.Fatalf("Unquote(%s) = %q, %t, want %q", raw, text, ok, before+want+after)
				}
			}
			// The letters of an escape are no escape behind a second backslash.
			literal := `"\` + escape + `"`
			if clean, n := CleanJSON([]byte(literal)); string(clean) != literal || n != 0 {
				t.Fatalf("CleanJSON(%s) = %s, %d", literal, clean, n)
			}
		}
		encoded := "a" + bytesOf(unit) + "b"
		if clean, n := CleanUTF8(encoded); clean != "a"+want+"b" || n != lost {
			t.Fatalf("CleanUTF8(%q) = %q, %d", encoded, clean, n)
		}
		checkWritten(t, encoded, "a"+want+"b")
		if unit >= ' ' && unit != '"' && unit != '\\' {
			if text, ok := Unquote([]byte(`"` + encoded + `"`)); !ok || text != "a"+want+"b" {
				t.Fatalf("Unquote of the bytes %q = %q, %t", encoded, text, ok)
			}
		}
	}
}

// checkWritten holds what Marshal writes for s to the text it stands for.
func checkWritten(t *testing.T, s, want string) {
	t.Helper()
	out, err := Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal(out, &back); err != nil || back != want {
		t.Fatalf("Marshal(%q) = %s, which is %q (%v), want %q", s, out, back, err, want)
	}
	if strings.Contains(string(out), `\ufffd`) || !utf8.Valid(out) {
		t.Fatalf("Marshal(%q) = %s: a replacement stands as itself", s, out)
	}
}

// Any two code units next to each other: a pair is one character, all else is
// what each is alone.
func TestPairsOfCodeUnits(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	edges := []int{0xD7FF, 0xD800, 0xD83D, 0xDBFF, 0xDC00, 0xDE00, 0xDFFF, 0xE000, 0xFFFD, 'a'}
	var units [][]int
	for _, a := range edges {
		for _, b := range edges {
			units = append(units, []int{a, b})
			for _, c := range edges {
				units = append(units, []int{a, b, c})
			}
		}
	}
	for range 30_000 {
		units = append(units, []int{0xD700 + rnd.IntN(0xA00), 0xD700 + rnd.IntN(0xA00), 0xD700 + rnd.IntN(0xA00)})
	}
	for _, list := range units {
		var escapes, encoded, want, kept strings.Builder
		lost := 0
		for i := 0; i < len(list); i++ {
			escape := fmt.Sprintf(`\u%04x`, list[i])
			escapes.WriteString(escape)
			encoded.WriteString(bytesOf(list[i]))
			r := rune(list[i])
			if i+1 < len(list) && utf16.DecodeRune(r, rune(list[i+1])) != utf8.RuneError {
				i++
				want.WriteRune(utf16.DecodeRune(r, rune(list[i])))
				low := fmt.Sprintf(`\u%04x`, list[i])
				escapes.WriteString(low)
				kept.WriteString(escape + low)
				encoded.WriteString(bytesOf(list[i]))
				continue
			}
			if utf16.IsSurrogate(r) {
				lost++
				escape = `\ufffd`
			}
			kept.WriteString(escape)
			want.WriteRune(r) // WriteRune makes U+FFFD of a surrogate
		}
		clean, n := CleanJSON([]byte(`"` + escapes.String() + `"`))
		if string(clean) != `"`+kept.String()+`"` || n != lost {
			t.Fatalf("CleanJSON(%s) = %s, %d, want %s, %d", &escapes, clean, n, &kept, lost)
		}
		if text, ok := Unquote([]byte(`"` + escapes.String() + `"`)); !ok || text != want.String() {
			t.Fatalf("Unquote(%s) = %q, %t, want %q", &escapes, text, ok, &want)
		}
		if text, n := CleanUTF8(encoded.String()); text != want.String() || n != lost {
			t.Fatalf("CleanUTF8(%q) = %q, %d, want %q, %d", encoded.String(), text, n, want.String(), lost)
		}
		raw := []byte(`"` + encoded.String() + `"`)
		if clean, n := CleanJSON(raw); string(clean) != `"`+want.String()+`"` || n != lost {
			t.Fatalf("CleanJSON(%q) = %q, %d, want %q, %d", raw, clean, n, want.String(), lost)
		}
		checkWritten(t, encoded.String(), want.String())
	}
}

func TestCleanUTF8(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in, want string
		replaced       int
	}{
		{"empty", "", "", 0},
		{"valid", "h\u00e9llo \U0001f600 \x00", "h\u00e9llo \U0001f600 \x00", 0},
		{"a genuine replacement character", "a\ufffdb", "a\ufffdb", 0},
		{"genuine beside made", "\ufffd\xff", "\ufffd\ufffd", 1},
		{"each invalid byte", "\xff\xfe\x80", "\ufffd\ufffd\ufffd", 3},
		{"cut character", "\xf0\x9f\x98", "\ufffd", 1},
		{"cut, then a letter", "\xe6\x97z", "\ufffdz", 1},
		// The three tables of Unicode 16, section 3.9, without the one for encoded surrogates.
		{"table 3-8", "\xc0\xaf\xe0\x80\xbf\xf0\x81\x82A", "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdA", 8},
		{"table 3-10", "\xf4\x91\x92\x93\xffA\x80\xbfB", "\ufffd\ufffd\ufffd\ufffd\ufffdA\ufffd\ufffdB", 7},
		{"table 3-11", "\xe1\x80\xe2\xf0\x91\x92\xf1\xbfA", "\ufffd\ufffd\ufffd\ufffdA", 4},
		{"overlong", "\xc0\x80\xe0\x80\x80", "\ufffd\ufffd\ufffd\ufffd\ufffd", 5},
		{"beyond U+10FFFF", "\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd", 4},
		{"encoded surrogates", "\xed\xa0\x80\xed\xbf\xbf", "\U000103ff", 0},
		{"low before high", "\xed\xb8\x80\xed\xa0\xbd", "\ufffd\ufffd", 2},
		{"two high and one low", "\xed\xa0\xbd\xed\xa0\xbd\xed\xb8\x80", "\ufffd\U0001f600", 1},
		{"cut surrogate", "\xed\xa0", "\ufffd\ufffd", 2},
		{"high and a cut low", "\xed\xa0\xbd\xed\xb8", "\ufffd\ufffd\ufffd", 3},
		{"a Korean letter is no surrogate", "\xed\x9f\xbf", "\ud7ff", 0},
	} {
		got, replaced := CleanUTF8(tt.in)
		if diff := cmp.Diff(tt.want, got); diff != "" || replaced != tt.replaced {
			t.Errorf("%s: CleanUTF8(%q) = %q, %d, want %q, %d", tt.name, tt.in, got, replaced, tt.want, tt.replaced)
		}
	}
}

func TestCleanJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in, want string
		replaced       int
	}{
		{"empty", "", "", 0},
		{"all else stays", ` {"b":1.0, "a":1e2,"b" : -0,"\u0061":"\/\ud83d\ude00"} `, ` {"b":1.0, "a":1e2,"b" : -0,"\u0061":"\/\ud83d\ude00"} `, 0},
		{"keys", `{"\ud800":"\udfff"}`, `{"\ufffd":"\ufffd"}`, 2},
		{"high before another escape", `"\ud83d\n\ude00"`, `"\ufffd\n\ufffd"`, 2},
		{"escaped backslash", `"\\ud83d \\\ud83d"`, `"\\ud83d \\\ufffd"`, 1},
		{"invalid bytes in a string", "\"a\xffb\"", "\"a\ufffdb\"", 1},
		{"invalid bytes outside", "[\xff1]", "[\ufffd1]", 1},
		{"pair half escaped, half bytes", "\"\\ud83d\xed\xb8\x80\"", "\"\\ufffd\ufffd\"", 2},
		{"no JSON: a backslash outside of a string", `a \ud83d "b \ud83d" c \ud83d`, `a \ud83d "b \ufffd" c \ud83d`, 1},
		{"no JSON: an open string", `{"a":"\ud83d`, `{"a":"\ufffd`, 1},
		{"no JSON: a cut escape", `"\ud83d\ude`, `"\ufffd\ude`, 1},
		{"no JSON: a backslash at the end", "\"\xff\\", "\"\ufffd\\", 1},
		{"no JSON: a backslash before a wide character", "\"\\\u00e9\\\xff\\ud800\"", "\"\\\u00e9\\\ufffd\\ufffd\"", 2},
		{"no JSON: digits that are none", `"\ud8g0\ud800"`, `"\ud8g0\ufffd"`, 1},
	} {
		got, replaced := CleanJSON([]byte(tt.in))
		if diff := cmp.Diff(tt.want, string(got)); diff != "" || replaced != tt.replaced {
			t.Errorf("%s: CleanJSON(%q) = %q, %d, want %q, %d", tt.name, tt.in, got, replaced, tt.want, tt.replaced)
		}
	}
}

// What needs no cleaning is not copied.
func TestCleanKeepsWhatIsClean(t *testing.T) {
	s := strings.Repeat(`{"a":"\ud83d\ude00 \u00e9 \\ud800","b":[1.0,"x"]}`, 10)
	raw := []byte(s)
	if clean, n := CleanJSON(raw); n != 0 || &clean[0] != &raw[0] {
		t.Error("CleanJSON copied clean bytes")
	}
	plain := "plain \u65e5\u672c"
	if n := testing.AllocsPerRun(10, func() { CleanUTF8(plain); CleanJSON(raw) }); n != 0 {
		t.Errorf("%v allocations for clean text, want none", n)
	}
}
