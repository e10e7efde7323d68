package spill

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 60)
	for _, tt := range []struct {
		name       string
		in         Name
		base, file string
	}{
		{"text", Name{"c1", "r3-1", "grep", 7, "", 0}, "r3-1-grep.txt", "c1/r3-1-grep.f7.txt"},
		{"inner call", Name{"c1", "r3-1.2", "grep", 0, ".txt", 0}, "r3-1.2-grep.txt", "c1/r3-1.2-grep.f0.txt"},
		{"raw original", Name{"c1", "r3-1", "sh", 7, ".raw", 0}, "r3-1-sh.raw", "c1/r3-1-sh.f7.raw"},
		{"first payload", Name{"c1", "r3-1", "shot", 7, ".png", 1}, "r3-1-shot.png", "c1/r3-1-shot.f7.png"},
		{"second payload", Name{"c1", "r3-1", "shot", 7, ".png", 2}, "r3-1-shot.2.png", "c1/r3-1-shot.2.f7.png"},
		{"a text payload is not the text", Name{"c1", "r3-1", "get", 7, ".txt", 1}, "r3-1-get.1.txt", "c1/r3-1-get.1.f7.txt"},
		{"a raw payload is not the original", Name{"c1", "r3-1", "get", 7, ".raw", 1}, "r3-1-get.1.raw", "c1/r3-1-get.1.f7.raw"},
		{"mount and server", Name{"c1", "r1-1", "workspace--read", 1, "", 0}, "r1-1-workspace--read.txt", "c1/r1-1-workspace--read.f1.txt"},
		{"path in the tool", Name{"c1", "r1-1", "../../etc/passwd", 1, "", 0}, "r1-1-_._.._etc_passwd.txt", "c1/r1-1-_._.._etc_passwd.f1.txt"},
		{"dot in front", Name{"c1", "r1-1", ".hidden", 1, "", 0}, "r1-1-_hidden.txt", "c1/r1-1-_hidden.f1.txt"},
		{"no tool", Name{"c1", "r1-1", "", 1, "", 0}, "r1-1-tool.txt", "c1/r1-1-tool.f1.txt"},
		{"odd tool", Name{"c1", "r1-1", "ä b\x00\xff/", 1, "", 0}, "r1-1-__b___.txt", "c1/r1-1-__b___.f1.txt"},
		{"long tool", Name{"c1", "r1-1", long, 1, "", 0}, "r1-1-" + long[:40] + ".txt", "c1/r1-1-" + long[:40] + ".f1.txt"},
		{"id with spaces", Name{"my talk ü", "r1-1", "a", 1, "", 0}, "r1-1-a.txt", "my talk ü/r1-1-a.f1.txt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base, err := tt.in.Base()
			if err != nil {
				t.Fatal(err)
			}
			file, err := tt.in.File()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tt.base, tt.file}, []string{base, file}); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if _, _, err := checkFile(file); err != nil {
				t.Errorf("the store would not open its own name: %v", err)
			}
		})
	}
}

func TestBadNames(t *testing.T) {
	t.Parallel()
	good := Name{Conversation: "c1", Result: "r3-1", Tool: "grep"}
	for _, tt := range []struct {
		name   string
		change func(*Name)
		want   string
	}{
		{"no conversation", func(n *Name) { n.Conversation = "" }, `conversation id "" cannot name a folder: it is empty`},
		{"parent", func(n *Name) { n.Conversation = ".." }, `conversation id ".." cannot name a folder: it starts with a dot`},
		{"separator", func(n *Name) { n.Conversation = "a/b" }, `conversation id "a/b" cannot name a folder: it contains '/'`},
		{"backslash", func(n *Name) { n.Conversation = `a\b` }, `conversation id "a\\b" cannot name a folder: it contains '\\'`},
		{"absolute", func(n *Name) { n.Conversation = "/etc" }, `conversation id "/etc" cannot name a folder: it contains '/'`},
		{"drive", func(n *Name) { n.Conversation = "c:x" }, `conversation id "c:x" cannot name a folder: it contains ':'`},
		{"NUL", func(n *Name) { n.Conversation = "a\x00b" }, `conversation id "a\x00b" cannot name a folder: it contains '\x00'`},
		{"newline", func(n *Name) { n.Conversation = "a\nb" }, `conversation id "a\nb" cannot name a folder: it contains '\n'`},
		{"not UTF-8", func(n *Name) { n.Conversation = "a\xff" }, `conversation id "a\xff" cannot name a folder: it is not valid UTF-8`},
		{"dot behind", func(n *Name) { n.Conversation = "a." }, `conversation id "a." cannot name a folder: it ends in a dot or a space`},
		{
			"long", func(n *Name) { n.Conversation = strings.Repeat("ü", 101) },
			`conversation id "` + strings.Repeat("ü", 40) + `" cannot name a folder: it is longer than 100 characters or 255 bytes`,
		},
		{
			"long in bytes", func(n *Name) { n.Conversation = strings.Repeat("日", 90) },
			`conversation id "` + strings.Repeat("日", 40) + `" cannot name a folder: it is longer than 100 characters or 255 bytes`,
		},
		{"no result", func(n *Name) { n.Result = "" }, `name of a spilled result: id "": an id looks like r3-1`},
		{"result is a path", func(n *Name) { n.Result = "r3-1/../x" }, `name of a spilled result: id "r3-1/../x": an id looks like r3-1`},
		{"result from 0", func(n *Name) { n.Result = "r0-1" }, `name of a spilled result: id "r0-1": an id looks like r3-1`},
		{"result with a line", func(n *Name) { n.Result = "r3-1\n" }, `name of a spilled result: id "r3-1\n": an id looks like r3-1`},
		{"fence", func(n *Name) { n.Fence = -1 }, `name of spilled result r3-1: fence -1 is below 0`},
		{"part", func(n *Name) { n.Part = -1 }, `name of spilled result r3-1: part -1 is not within 0 to 999999999`},
		{"extension", func(n *Name) { n.Ext = "png" }, `name of spilled result r3-1: extension "png": use a dot and 1 to 16 of a-z0-9`},
		{"extension is a path", func(n *Name) { n.Ext = "./../x" }, `name of spilled result r3-1: extension "./../x": use a dot and 1 to 16 of a-z0-9`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := good
			tt.change(&n)
			_, err := n.File()
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// No name, whatever it is made of, leads out of the folder or takes another's place.
func FuzzName(f *testing.F) {
	f.Add("c1", "r3-1", "grep", int64(7), ".txt", 0)
	f.Add("..", "r1-1.1", "../x", int64(-1), ".raw", 1)
	f.Add("a\x00", "r1-1", "\xff\xfe", int64(0), "..", 2)
	f.Fuzz(func(t *testing.T, conversation, result, tool string, fence int64, ext string, part int) {
		n := Name{conversation, result, tool, fence, ext, part}
		file, err := n.File()
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x00") || !utf8.ValidString(err.Error()) {
				t.Fatalf("error is not one clear line: %q", err)
			}
			return
		}
		if !filepath.IsLocal(file) || filepath.Clean(file) != file || strings.Count(file, "/") != 1 {
			t.Fatalf("%q leads elsewhere", file)
		}
		if _, _, err := checkFile(file); err != nil {
			t.Fatal(err)
		}
		base, err := n.Base()
		if err != nil || len(base) > 200 || strings.HasPrefix(base, ".") {
			t.Fatalf("base %q, %v", base, err)
		}
		if n.Part < 2 {
			return
		}
		other := n
		other.Part--
		if b, err := other.Base(); err != nil || b == base {
			t.Fatalf("parts %d and %d share the name %q (%v)", n.Part, other.Part, base, err)
		}
	})
}
