package tokens

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type sample struct{ name, text string }

// samples are made the same way on every run.
func samples() []sample {
	all := []sample{
		{"prose", "The whole of it is kept; what the model sees is both ends, and a notice that says what is between.\n"},
		{"contractions", "We'll see: it's THEY'RE don'T 'D 'VECTOR I'MPORTANT she'\u017f o'clock 'llama 'Ve"},
		{"case", "camelCaseHTTPServer XMLtoJSON \u01c5ungla \u02b0igh \u00aa ABCdef ΑΒΓδεζ ЖЗИйкл"},
		{"numbers", "12345678 1.5e10 \u00bd \u0663\u0664\u0665 0x1F 1,000,000 \u2167 192.168.0.1"},
		{"breaks", "a\n\n\n  b \r\n\t c   \n\r\n\t\r\n \n \u00a0 \u3000x\u2028y\u0085z"},
		{"marks", "/path/to//file)\n/\n ));\n\n<|endoftext|> e\u0301 \u0915\u094d\u0937\u093f \u200b\ufeff"},
		{"emoji", "\U0001F642\U0001F643 \U0001F469\u200d\U0001F4BB \U0001F1E9\U0001F1EA \U00020000"},
		{"scripts", "お誕生日おめでとう 한국어 텍스트 中文文本 עברית العربية ไทย हिन्दी Ελληνικά Русский"},
		{"code", "func (e *Encoding) Count(text string) int {\n\tif text == \"\" {\n\t\treturn 0\n\t}\n\treturn n // done\n}\n"},
		{"json", `{"id":"mtr_8f2","kwh":4199.2,"open":[],"at":"2026-09-30T10:00:00.000Z","esc":"\u00e9\n"}`},
		{"diff", "@@ -1,4 +1,5 @@\n-\told := 1\n+\tfresh := 2\n \tkeep()\n"},
		{"base64", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="},
		{"run of a", strings.Repeat("a", 5000)},
		{"run of spaces", strings.Repeat(" ", 5000)},
		{"run of line ends", strings.Repeat("\n", 3000)},
		{"run of equals", strings.Repeat("=", 3000)},
		{"run of Chinese", strings.Repeat("漢", 1000)},
	}
	r := chance()
	for i := range 200 {
		var b strings.Builder
		for range 1 + r.IntN(60) {
			b.WriteString(hard[r.IntN(len(hard))])
		}
		all = append(all, sample{fmt.Sprintf("hard %d", i+1), valid(b.String())})
	}
	return all
}

// TestStoredCounts has counts that the reference implementation confirmed (TestReference).
func TestStoredCounts(t *testing.T) {
	t.Parallel()
	o200k, err := New(O200K)
	if err != nil {
		t.Fatal(err)
	}
	cl100k, err := New(CL100K)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, s := range samples() {
		fmt.Fprintf(&got, "%s\t%d\t%d\n", s.name, o200k.Count(s.text), cl100k.Count(s.text))
	}
	path := filepath.Join("testdata", "counts.tsv")
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("name, o200k_base, cl100k_base (-want +got):\n%s", diff)
	}
}

const referenceProgram = `const { get_encoding } = require("tiktoken");
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
const out = {};
for (const name of ["o200k_base", "cl100k_base"]) {
	const e = get_encoding(name);
	out[name] = texts.map((text) => Array.from(e.encode_ordinary(text)));
	e.free();
}
process.stdout.write(JSON.stringify(out));`

// TestReference compares token by token with OpenAI's own implementation, which make peers installs.
func TestReference(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed; testdata/counts.tsv has the counts that it confirmed")
	}
	modules, err := filepath.Abs(filepath.Join("..", ".peers", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "tiktoken")); errors.Is(err, fs.ErrNotExist) {
		t.Skip("tiktoken is not installed (make peers); testdata/counts.tsv has the counts that it confirmed")
	}
	all := samples()
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.text
	}
	in, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "-e", referenceProgram)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	cmd.Stdin = strings.NewReader(string(in))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][][]uint32
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{O200K, CL100K} {
		e, err := New(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range all {
			if diff := cmp.Diff(want[name][i], e.Encode(nil, s.text)); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", name, s.name, diff)
			}
		}
	}
}
