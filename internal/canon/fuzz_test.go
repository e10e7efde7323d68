package canon

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// seed adds texts of every kind to a fuzz target.
func seed(f *testing.F) {
	f.Helper()
	for _, tt := range syntax {
		f.Add([]byte(tt.text))
	}
	for _, s := range []string{
		`{"a":"\ud83d\ude00","b":[1.0,"\ud83d",-0,1e+5],"a":{"c":"\\ud800"}}`,
		"[\"\xed\xa0\x80\",\"\xff\",\"\xed\xa0\xbd\xed\xb8\x80\"]",
		"{\"\\ufb33\":1,\"\U0001f600\":2,\"a\":{\"b\" : [ ] } }",
	} {
		f.Add([]byte(s))
	}
}

// tokens returns the tokens of raw, strings decoded and all else as written.
func tokens(t *testing.T, raw []byte) []string {
	t.Helper()
	var out []string
	l := NewLexer(raw)
	for {
		tok, err := l.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		text := string(tok.Raw)
		if tok.Kind == '"' {
			text = `"` + unquote(tok.Raw)
		}
		out = append(out, text)
	}
}

// FuzzCleanJSON: what comes out is text, has the same value, order and digits,
// and is clean.
func FuzzCleanJSON(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		clean, n := CleanJSON(raw)
		if !bytes.Equal(before, raw) {
			t.Fatalf("CleanJSON changed its argument to %q", raw)
		}
		if !utf8.Valid(clean) {
			t.Fatalf("%q is not text", clean)
		}
		if again, m := CleanJSON(clean); !bytes.Equal(clean, again) || m != 0 {
			t.Fatalf("cleaned twice: %q, %d more", again, m)
		}
		if n == 0 && utf8.Valid(raw) && !bytes.Equal(raw, clean) {
			t.Fatalf("%q became %q without a replacement", raw, clean)
		}
		if Valid(raw) != Valid(clean) {
			t.Fatalf("Valid is %t before and %t after", Valid(raw), Valid(clean))
		}
		if !Valid(raw) {
			return
		}
		if diff := cmp.Diff(tokens(t, raw), tokens(t, clean)); diff != "" {
			t.Fatalf("tokens (-before +after):\n%s", diff)
		}
		if !Equal(raw, clean) {
			t.Fatal("Equal says no")
		}
		// encoding/json reads an encoded surrogate as three broken bytes.
		if strings.Contains(string(raw), "\xed") {
			return
		}
		if diff := cmp.Diff(decode(t, raw), decode(t, clean)); diff != "" {
			t.Fatalf("value (-before +after):\n%s", diff)
		}
	})
}

// decode reads raw with encoding/json, numbers as they are written.
func decode(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// FuzzRaw holds what reads raw JSON to encoding/json.
func FuzzRaw(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		valid := Valid(raw)
		if valid != json.Valid(raw) {
			t.Fatalf("Valid = %t, encoding/json says otherwise", valid)
		}
		s, ok := Synopsis(raw, 3)
		if ok != valid || ok && s.Kind != Kind(raw) || len(s.Keys) > 3 {
			t.Fatalf("Synopsis = %v, %t", s, ok)
		}
		want := raw
		if valid {
			var b bytes.Buffer
			if err := json.Compact(&b, raw); err != nil {
				t.Fatal(err)
			}
			want = b.Bytes()
		}
		if diff := cmp.Diff(string(want), string(Compact(raw))); diff != "" {
			t.Fatalf("Compact (-want +got):\n%s", diff)
		}
		text, ok := Unquote(raw)
		if ok != (valid && s.Kind == "string") || !utf8.ValidString(text) {
			t.Fatalf("Unquote = %q, %t", text, ok)
		}
		if ok && !strings.Contains(string(raw), "\xed") {
			if diff := cmp.Diff(decode(t, raw), any(text)); diff != "" {
				t.Fatalf("Unquote (-encoding/json +got):\n%s", diff)
			}
		}
		if valid {
			out, err := Marshal(json.RawMessage(raw))
			clean, _ := CleanJSON(trimSpace(raw))
			if err != nil || !bytes.Equal(out, clean) {
				t.Fatalf("Marshal of it raw = %q, %v", out, err)
			}
		}
	})
}

// FuzzCanonical: the canonical form is that value, is text, and is its own.
func FuzzCanonical(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := Canonical(raw)
		if err != nil {
			if !utf8.ValidString(err.Error()) {
				t.Fatalf("error %q", err)
			}
			return
		}
		if !Valid(raw) || !Valid(out) || !utf8.Valid(out) {
			t.Fatalf("%q is not valid", out)
		}
		if !Equal(raw, out) || !Equal(out, raw) {
			t.Fatalf("%q is another value", out)
		}
		if again, err := Canonical(out); err != nil || !bytes.Equal(out, again) {
			t.Fatalf("again: %q, %v", again, err)
		}
		if !bytes.Equal(Compact(out), out) {
			t.Fatalf("%q holds white space", out)
		}
		// A value that differs from it in one digit is not equal, but for the
		// exponent of a zero.
		other := bytes.Replace(out, []byte("1"), []byte("2"), 1)
		if !bytes.Equal(other, out) && !bytes.ContainsAny(out, "eE") && Equal(out, other) {
			t.Fatalf("%q equals %q", out, other)
		}
	})
}

// subparts replaces each maximal subpart of an ill-formed sequence, one character at a time.
func subparts(s string) string {
	var out []rune
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			for size < len(s) && !utf8.FullRuneInString(s[:size+1]) {
				size++
			}
		}
		out = append(out, r)
		s = s[size:]
	}
	return string(out)
}

func FuzzCleanUTF8(f *testing.F) {
	for _, s := range []string{"", "a", "\xff", "\xed\xa0\xbd\xed\xb8\x80", "\xed\xa0\x80z", "\ufffd\xc3", "\U0001f600\xf0\x9f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		clean, n := CleanUTF8(s)
		if !utf8.ValidString(clean) {
			t.Fatalf("%q is not text", clean)
		}
		if utf8.ValidString(s) && (clean != s || n != 0) {
			t.Fatalf("text became %q, %d", clean, n)
		}
		if more := strings.Count(clean, "\ufffd") - strings.Count(s, "\ufffd"); more != n {
			t.Fatalf("%d replaced, but %d more stand there", n, more)
		}
		if again, m := CleanUTF8(clean); again != clean || m != 0 {
			t.Fatalf("again: %q, %d", again, m)
		}
		if !strings.Contains(s, "\xed") {
			if want := subparts(s); clean != want {
				t.Fatalf("%q, want %q", clean, want)
			}
		}
		// Cleaning the pieces between ASCII is cleaning the whole.
		if a, b, ok := strings.Cut(s, "a"); ok {
			x, i := CleanUTF8(a)
			y, j := CleanUTF8(b)
			if x+"a"+y != clean || i+j != n {
				t.Fatalf("in pieces %q, %d, whole %q, %d", x+"a"+y, i+j, clean, n)
			}
		}
	})
}
