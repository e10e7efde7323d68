package spill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestNoticeWords(t *testing.T) {
	t.Parallel()
	text := numbered(1000)
	path := kept.Path
	for _, tt := range []struct {
		name string
		text string
		n    Notice
		want string
	}{
		{
			"both tools", text, kept,
			"[Excerpt: lines 13-993 of 1000 are left out here, 31305 of 31893 characters from char_offset 363.\n" +
				"The whole is kept at tool-results/r3-1-grep.txt: 1000 lines, 31893 characters, 31893 bytes.\n" +
				`Read on: workspace--read {"path":"tool-results/r3-1-grep.txt","offset":13}` + "\n" +
				`Search: workspace--grep {"path":"tool-results/r3-1-grep.txt","pattern":"…"}]`,
		},
		{
			"other names", text,
			Notice{Path: path, Read: "weir__workspace--read"},
			"[Excerpt: lines 14-992 of 1000 are left out here, 31242 of 31893 characters from char_offset 394.\n" +
				"The whole is kept at tool-results/r3-1-grep.txt: 1000 lines, 31893 characters, 31893 bytes.\n" +
				`Read on: weir__workspace--read {"path":"tool-results/r3-1-grep.txt","offset":14}]`,
		},
		{
			"no tool", text,
			Notice{Path: path, Disk: "/state/tool-results/c1/r3-1-grep.f7.txt"},
			"[Excerpt: lines 15-991 of 1000 are left out here, 31179 of 31893 characters from char_offset 425.\n" +
				"The whole is kept at /state/tool-results/c1/r3-1-grep.f7.txt: 1000 lines, 31893 characters, 31893 bytes.]",
		},
		{
			"a tool before the disk", text,
			Notice{Path: path, Grep: "workspace--grep", Disk: "/state/tool-results/c1/r3-1-grep.f7.txt"},
			"[Excerpt: lines 14-992 of 1000 are left out here, 31242 of 31893 characters from char_offset 394.\n" +
				"The whole is kept at tool-results/r3-1-grep.txt: 1000 lines, 31893 characters, 31893 bytes.\n" +
				`Search: workspace--grep {"path":"tool-results/r3-1-grep.txt","pattern":"…"}]`,
		},
		{
			"not kept", text,
			Notice{Reason: "no space\nleft on device.", Read: "workspace--read", Grep: "workspace--grep", Disk: "/x"},
			"[Excerpt: lines 15-991 of 1000 are left out here, 31179 of 31893 characters from char_offset 425.\n" +
				"The rest was NOT kept: no space left on device. The whole had 1000 lines, 31893 characters, 31893 bytes. Narrow the call to see more.]",
		},
		{
			"no reason", text,
			Notice{},
			"[Excerpt: lines 15-992 of 1000 are left out here, 31211 of 31893 characters from char_offset 425.\n" +
				"The rest was NOT kept: nothing keeps results here. The whole had 1000 lines, 31893 characters, 31893 bytes. Narrow the call to see more.]",
		},
		{
			"inside a line", strings.Repeat("日", 3000), kept,
			"[Excerpt: part of line 1 of 1 is left out here, 2370 of 3000 characters from char_offset 378.\n" +
				"The whole is kept at tool-results/r3-1-grep.txt: 1 line, 3000 characters, 9000 bytes.\n" +
				`Read on: workspace--read {"path":"tool-results/r3-1-grep.txt","char_offset":378}` + "\n" +
				`Search: workspace--grep {"path":"tool-results/r3-1-grep.txt","pattern":"…"}]`,
		},
		{
			"lines in part", strings.Repeat(strings.Repeat("x", 999)+"\n", 3),
			Notice{},
			"[Excerpt: lines 1-3 of 3 are left out here, 2258 of 3000 characters from char_offset 445. Lines 1 and 3 are shown in part.\n" +
				"The rest was NOT kept: nothing keeps results here. The whole had 3 lines, 3000 characters, 3000 bytes. Narrow the call to see more.]",
		},
		{
			"a byte order mark is not counted by the reader", "\ufeff" + strings.Repeat("x", 3000), kept,
			"[Excerpt: part of line 1 of 1 is left out here, 2371 of 3001 characters from char_offset 377.\n" +
				"The whole is kept at tool-results/r3-1-grep.txt: 1 line, 3001 characters, 3003 bytes.\n" +
				`Read on: workspace--read {"path":"tool-results/r3-1-grep.txt","char_offset":377}` + "\n" +
				`Search: workspace--grep {"path":"tool-results/r3-1-grep.txt","pattern":"…"}]`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := checkPreview(t, tt.text, 1000, tt.n)
			_, notice, _ := strings.Cut(got, open)
			notice, _, _ = strings.Cut(notice, "]\n")
			if diff := cmp.Diff(tt.want, open+notice+"]"); diff != "" {
				t.Errorf("notice (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	path := &fs.PathError{Op: "open", Path: "/home/somebody/secret", Err: syscall.EACCES}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{fmt.Errorf("write c1/r3-1-x.f1.txt: %w", ErrQuota), "the quota for spilled results is used up"},
		{fmt.Errorf("commit c1/r3-1-x.f1.txt: %w", ErrExists), "a spilled result of this name exists"},
		{fmt.Errorf("create spilled result c1/r3-1-x.f1.txt: %w", path), "permission denied"},
		{&os.LinkError{Op: "link", Old: "/a", New: "/b", Err: syscall.ENOSPC}, "no space left on device"},
		{errors.Join(path, errors.New("other")), "permission denied"},
		{fmt.Errorf("create c1/x: %w", context.DeadlineExceeded), "context deadline exceeded"},
		{errors.New("a\nb\x00c\u2028d\xff"), "a b c d\ufffd"},
		{errors.New(strings.Repeat("long ", 100)), strings.Repeat("long ", 39) + "long…"},
	} {
		got := Reason(tt.err)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.err, diff)
		}
		if utf8.RuneCountInString(got) > maxReason {
			t.Errorf("%d characters", utf8.RuneCountInString(got))
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{})
	ref := put(t, d, grep, "["+strings.Repeat("1,", 100_000)+"1]")
	if x, err := Load(t.Context(), d, ref, 1000); err != nil || x.JSON != "an array of 100001 elements" {
		t.Errorf("Load = %+v, %v", x.JSON, err)
	}
	if x, err := Load(t.Context(), d, ref, -1); err != nil || x.Head != "" || x.Tail != "" || x.Bytes != 200_003 {
		t.Errorf("without characters: %+v, %v", x, err)
	}
	if x, err := Load(t.Context(), d, ref, 1<<40); err != nil || !x.whole() {
		t.Errorf("all of it: %v, %v", x.whole(), err)
	}
	gone := ref
	gone.File = "c1/r9-9-x.f1.txt"
	if _, err := Load(t.Context(), d, gone, 1000); !errors.Is(err, ErrNotFound) {
		t.Errorf("not there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Load(ctx, d, ref, 1000); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := os.Truncate(filepath.Join(d.path, ref.File), 100); err != nil {
		t.Fatal(err)
	}
	_, err := Load(t.Context(), d, ref, 1000)
	if diff := cmp.Diff("read spilled result c1/r3-1-grep.f7.txt: it has 100 bytes and should have 200003", fmt.Sprint(err)); diff != "" {
		t.Errorf("shortened behind our back (-want +got):\n%s", diff)
	}
}
