package result_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

// fromBase64 decodes the bytes of a case.
func fromBase64(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPlainTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", "a\tb\n\nc\r\nd\r\r\n\x07\x0b", "a\tb\n\nc\r\nd\r\r\n\x07\x0b"},
		{"accents that begin like a control", "é Â° £\u00a0", "é Â° £\u00a0"},

		{"colour", "\x1b[1;31mred\x1b[0m \x1b[38:2::1:2:3mmore\x1b[m \n", "red more \n"},
		{"colour, 8 bits", "\u009b31mred\u009b0m\n", "red\n"},
		{"private and intermediate", "\x1b[?2004h\x1b[!p\x1b[>4;1m\x1b[0 qa", "a"},
		{"only plain lines around", "a\r\n\x1b[1mb\x1b[m\r\nc\r\n", "a\r\nb\r\nc\r\n"},
		{"private ones do nothing", "ab\x1b[?2Kc\x1b[2 Dd\x1b[>2Je", "abcde"},
		{"title that ends in another line", "\x1b]0;title\nkept\x07", "0;title\nkept\x07"},
		{"title", "\x1b]0;title\x07a\x1b]2;title\x1b\\b\u009dt\u009cc", "abc"},
		{"link", "\x1b]8;;https://x.test\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"strings", "a\x1bPq#0;2\nx\x1b\\b\x1bXs\u009cc\x1b^p\x1b\\d\x1b_G1\x1b\\e\u0090q\u009cf\u0098s\u009cg\u009ep\u009ch\u009fa\u009ci", "abcdefghi"},
		{"passed through by tmux", "\x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\a", "a"},
		{"single", "a\x1b(B\x1b#8\x1b%G\x1b=\x1b>\x1bNb\x1b~c\u0084", "abc\n"},
		{"at the end", "a\x1b", "a"},
		{"cut at the end", "a\x1b[31", "a"},
		{"cut in the middle", "a\x1b[31\nb", "a\nb"},
		{"before what is no sequence", "a\x1b\x01\x1bé\x1b\x1b[mb", "a\x01éb"},
		{"string that does not end", "a\x1b]0;title\nb\x1bPq\nc", "a0;title\nbq\nc"},
		{"string that another control cuts", "a\x1b]0;b\x1b[1mc\x1b]0;d\x18e", "a0;bc0;d\x18e"},

		{"overwritten once", "draft\rfinal\n", "final\n"},
		{"overwritten in part", "abcdef\rXY\n", "XYcdef\n"},
		{"overwritten by blanks", "Progress 100%\r             \rDone\n", "Done\n"},
		{"redrawn", "0%\r50%\r100%\n", "0% [… 1 redraw …] 100%\n"},
		{"redrawn often", "0%" + strings.Repeat("\r50%", 998) + "\r100%\r\nend", "0% [… 998 redraws …] 100%\r\nend"},
		{"redrawn with colour", "\x1b[32m 0%\x1b[0m\r\x1b[32m50%\x1b[0m\r\x1b[32m99%\x1b[0m\n", " 0% [… 1 redraw …] 99%\n"},
		{"erased first", "1\x1b[2K\r2\x1b[2K\r3\n", "1 [… 1 redraw …] 3\n"},
		{"erased from the cursor", "one\r\x1b[Ktwo\r\x1b[Kthree\n", "one [… 1 redraw …] three\n"},
		{"erased to the cursor", "abc def\x1b[4D\x1b[1K\n", "    def\n"},
		{"column", "one\x1b[1Gtwo\x1b[1Gend\n", "one [… 1 redraw …] end\n"},
		{"spinner", "work |\b/\b-\b\\\bdone\n", "work | [… 3 redraws …] work done\n"},
		{"overstruck", "N\bNA\bAM\bME\bE _\bx y\b_\n", "NAME x y\n"},
		{"skipped columns", "boot\x1b[3Cok\x1b[20Gend\n", "boot   ok          end\n"},
		{"skipped without drawing", "abc\r\x1b[3Cd\n", "abcd\n"},
		{"drawn and wiped", "wait\x1b[2K\rresult\n", "result\n"},
		{"drawn and wiped for good", "wait\x1b[2K\r\nresult\n", "\r\nresult\n"},
		{"drawn often and wiped for good", "1\r2\r3\x1b[2K\r\nresult\n", "1 [… 2 redraws, then erased]\r\nresult\n"},
		{"wiped at the end", "a\n1\r2\x1b[2K", "a\n1 [… 1 redraw, then erased]"},

		{"frame of two lines", "a 1\nb 1\n" + strings.Repeat("\x1b[2A\x1b[2Ka 2\n\x1b[2Kb 2\n", 3) + "\x1b[2A\x1b[2Ka 3\n\x1b[2Kb 3\nend\n", "a 1 [… 3 redraws …] a 3\nb 1 [… 3 redraws …] b 3\nend\n"},
		{"frame erased below", "a 1\nb 1\n\x1b[2F\x1b[Ja 2\nb 2\n\x1b[2F\x1b[0Ja 3\n", "a 1 [… 1 redraw …] a 3\nb 1 [… 1 redraw, then erased]\n"},
		{"up and down", "a\nb\nc\x1b[2A\rA\x1b[2B!\n", "A\nb\nc!\n"},
		{"above the first", "\x1b[5Aa\nb\n", "a\nb\n"},
		{"saved and restored", "ab\x1b7cd\x1b8XY\x1b[s!\x1b[u?\n", "abcd [… 1 redraw …] abXY?\n"},
		{"reverse index", "a\nb\x1bMc\n", "ac\nb"},
		{"next line", "a\u0085b\x1bEc", "a\nb\nc"},
		{"cleared screen", "one\x1b[2J\x1b[3J\x1b[Htwo\x1b[2J\x1b[Hthree\x1bcfour", "one\ntwo\nthree\nfour"},
		{"placed lines", "\x1b[1;1Hone\x1b[2;1Htwo\n", "one\ntwo\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, result.PlainTerminal(c.in)); diff != "" {
				t.Errorf("PlainTerminal(%q) (-want +got):\n%s", c.in, diff)
			}
		})
	}
}

// TestTerminalCases are terminal outputs from the field. The whole keeps every byte of them.
func TestTerminalCases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"C046", string(fromBase64(t, "G104OztodHRwOi8vZXhhbXBsZS50ZXN0B2xpbmsbXTg7OwcgG1s/MjVsGyhCb2sbTRtQcSMwG1wgZW5kCg==")), "link ok end\n"},
		{"C048", "Retrieving: 0%" + strings.Repeat("\x1b[2K\x1b[0A\x1b[0E\nRetrieving: 5%", 43) + "\n", "Retrieving: 0% [… 42 redraws, then erased]\nRetrieving: 5%\n"},
		{"C050", string(fromBase64(t, "LS0tLS0tLS0tLS0tLS0tLS0tLS0NSGVsbG8bW0sKLS0tLS0tLS0tLS0tLS0tLS0tLS0NSGVsbG8K")), "Hello\nHello" + strings.Repeat("-", 15) + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, data := range []any{c.in, []byte(c.in)} {
				w := result.Convert(tool.Result{Data: data}, base)
				shown, _ := w.Model(true)
				if diff := cmp.Diff(c.want, shown); diff != "" {
					t.Errorf("Model (-want +got):\n%s", diff)
				}
				if w.Text != c.in {
					t.Errorf("the whole was changed: %q", w.Text)
				}
				if raw, _ := w.Model(false); raw != c.in {
					t.Errorf("cleaned without being asked: %q", raw)
				}
			}
		})
	}
}

// TestTerminalScrolls holds that rows far up are final and that nothing is lost on the way.
func TestTerminalScrolls(t *testing.T) {
	t.Parallel()
	var in, want strings.Builder
	in.WriteString("\x1b7") // saves a place that scrolls away
	for i := range 2900 {
		fmt.Fprintf(&in, "\x1b[1mline\x1b[0m %d\n", i)
		fmt.Fprintf(&want, "line %d\n", i)
	}
	for name, c := range map[string]struct {
		last string
		row  int
	}{
		"up":       {"\x1b[5000A\rtop", 2700},
		"restored": {"\x1b8top", 2600},
	} {
		got := result.PlainTerminal(in.String() + c.last)
		above, below, found := strings.Cut(got, "top")
		if row := strings.Count(above, "\n"); !found || row != c.row {
			t.Errorf("%s: the cursor went to row %d, want %d", name, row, c.row)
		}
		if !strings.HasPrefix(want.String(), above) || !strings.HasSuffix(want.String(), below[strings.IndexByte(below, '\n'):]) {
			t.Errorf("%s: other rows were changed", name)
		}
	}
}

// TestTerminalIsLinear holds the work and the size of the output on text that is made to cost much: what
// is linear takes milliseconds, what is quadratic more than ten seconds.
func TestTerminalIsLinear(t *testing.T) {
	t.Parallel()
	const n = 200_000
	for name, in := range map[string]string{
		"strings that do not end":  strings.Repeat("\x1bP", n),
		"8-bit strings":            strings.Repeat("\u0090", n),
		"doubled escapes":          strings.Repeat("\x1bP\x1b\x1b", n),
		"far columns":              strings.Repeat("\x1b[99999999Cx\n", n),
		"a far column in each row": strings.Repeat("\x1b[60000Gx\r", n),
		"erased far left":          strings.Repeat("x", n) + strings.Repeat("\x1b[1Kx", n),
		"erased to the left":       strings.Repeat("x", n) + strings.Repeat("\x1b[2D\x1b[1Ky", n),
		"erased below":             strings.Repeat("\n", 300) + strings.Repeat("x\x1b[199A\x1b[J\x1b[199B", n/4),
		"cleared":                  strings.Repeat("\x1b[2J\x1b[99;99Hx", n),
		"long row drawn over":      strings.Repeat("x", n) + strings.Repeat("\ry", n),
		"long parameters":          strings.Repeat("\x1b["+strings.Repeat("9", 1000), n/1000),
		"carriage returns":         strings.Repeat("\r", n) + "x",
		"returns before newlines":  strings.Repeat("\r", n) + "\n\x1b[m",
		"rows wiped":               strings.Repeat("x\x1b[2K\n", n),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			if got := result.PlainTerminal(in); len(got) > 2*len(in)+4096 {
				t.Errorf("%d bytes became %d", len(in), len(got))
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// FuzzPlainTerminal holds that the output is text without control sequences, bounded, and that text
// without them is left alone.
func FuzzPlainTerminal(f *testing.F) {
	for _, s := range []string{
		"a\r\nb", "0%\r50%\r100%\n", "\x1b[2K\x1b[0A\x1b[0E\n", "a\x1b]0;t\x07b", "\u009b1m\u0090x\u009c",
		"N\bN_\bx", "\x1b7\x1b[2A\x1b[J\x1b8", "\x1b[1K\x1b[999C\x1bM\x1bD\x1bE\x1bc", "x\x1bP\x1b\x1b\\",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			s = strings.ToValidUTF8(s, "\ufffd")
		}
		got := result.PlainTerminal(s)
		if !utf8.ValidString(got) {
			t.Fatalf("PlainTerminal(%q) = %q, which is no UTF-8", s, got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return r == 0x1b || r >= 0x80 && r < 0xA0 }); i >= 0 {
			t.Fatalf("PlainTerminal(%q) = %q has a control at byte %d", s, got, i)
		}
		if len(got) > 8*len(s)+2048 {
			t.Fatalf("%d bytes became %d", len(s), len(got))
		}
		if got != result.PlainTerminal(s) {
			t.Fatalf("PlainTerminal(%q) is not deterministic", s)
		}
		plain := strings.Map(func(r rune) rune {
			if r == 0x1b || r == '\b' || r == '\r' || r >= 0x80 && r < 0xA0 {
				return -1
			}
			return r
		}, s)
		if got := result.PlainTerminal(plain + "\r\n"); got != plain+"\r\n" {
			t.Fatalf("PlainTerminal changed plain text %q to %q", plain, got)
		}
		// A plain line before keeps its place and its form whatever follows, as long as it can scroll off.
		const before = "first\r\n"
		rest := strings.Repeat("\n", 600)
		if got := result.PlainTerminal(before + rest + s); !strings.HasPrefix(got, before) {
			t.Fatalf("PlainTerminal changed a line above: %.40q", got)
		}
	})
}
