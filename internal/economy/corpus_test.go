package economy

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// sample is one result of a tool.
type sample struct {
	kind  string
	text  string
	facts []fact
}

// fact is what must be learnt from a result. Both stand in it once, and in the same line or record.
type fact struct {
	// found is the text that says it.
	found string
	// key is what whoever asks knows, and may search for.
	key string
}

// sizes are how large the results of a kind are, in its own units; most are small, as they are in life.
var sizes = []int{1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 28, 36, 48, 64}

type kind struct {
	name string
	// make gives result number i of a size; unit is how many lines or records a size of 1 has.
	make func(t testing.TB, i, size int) (string, []fact)
}

var kinds = []kind{
	{"go test", goTest},
	{"go build", goBuild},
	{"go list -json", goList},
	{"go doc", goDoc},
	{"grep", grepListing},
	{"CSV", csv},
	{"diff", diff},
	{"stack trace", stack},
	{"API JSON", api},
	{"CJK text", cjk},
	{"base64 in JSON", payloads},
}

// corpus makes some results of each kind: those of the given places in sizes.
func corpus(t testing.TB, places []int) []sample {
	t.Helper()
	var all []sample
	for _, k := range kinds {
		for _, i := range places {
			text, facts := k.make(t, i, sizes[i])
			if len(facts) < 5 {
				t.Fatalf("%s %d has %d facts", k.name, i, len(facts))
			}
			for _, f := range facts {
				if n := strings.Count(squeeze(text), squeeze(f.found)); n != 1 {
					t.Fatalf("%s %d has %q %d times", k.name, i, f.found, n)
				}
				if !strings.Contains(text, f.key) {
					t.Fatalf("%s %d does not have %q", k.name, i, f.key)
				}
			}
			all = append(all, sample{k.name, text, facts})
		}
	}
	return all
}

// squeeze takes out white space, so that JSON is the same JSON however it is indented.
func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

// chance gives the same numbers for the same kind and number.
func chance(kind string, i int) *rand.Rand {
	seed := uint64(i)
	for _, c := range kind {
		seed = seed*31 + uint64(c)
	}
	return rand.New(rand.NewPCG(seed, 7))
}

// spread gives five places of n, from near the beginning to the end.
func spread(r *rand.Rand, n int) []int {
	places := make([]int, 5)
	for k := range places {
		low, high := n*k/5, n*(k+1)/5
		places[k] = low + r.IntN(max(1, high-low))
	}
	return places
}

// ofLines are facts that are whole lines at five places; key gives the word of a line.
func ofLines(r *rand.Rand, lines []string, key func(line string) string) []fact {
	var facts []fact
	text := squeeze(strings.Join(lines, "\n"))
	for _, at := range spread(r, len(lines)) {
		for tries := range len(lines) { // the next that is the only one of its kind
			line := lines[(at+tries)%len(lines)]
			word := key(line)
			if word == "" || strings.Count(text, squeeze(line)) != 1 || taken(facts, line) {
				continue
			}
			facts = append(facts, fact{line, word})
			break
		}
	}
	return facts
}

func taken(facts []fact, line string) bool {
	for _, f := range facts {
		if f.found == line {
			return true
		}
	}
	return false
}

func goRoot(t testing.TB) string {
	t.Helper()
	root := filepath.Join(goEnv(t), "src")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("the sources of Go are not here: %v", err)
	}
	return root
}

var packages = []string{
	"errors", "sort", "bufio", "unicode/utf8", "container/heap", "path", "strings", "bytes", "strconv", "io", "encoding/json", "text/template",
	"time", "regexp", "os", "fmt", "math/big", "go/ast", "reflect", "net/http",
}

func grepListing(t testing.TB, i, size int) (string, []fact) {
	root, r := goRoot(t), chance("grep", i)
	var lines []string
	for _, dir := range []string{"bufio", "bytes", "encoding/json", "go/ast", "net/http"} {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			short, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			for n, line := range strings.Split(string(data), "\n") {
				if strings.Contains(line, "func ") && len(line) < 160 {
					lines = append(lines, fmt.Sprintf("src/%s:%d:%s", filepath.ToSlash(short), n+1, line))
				}
			}
		}
	}
	n := min(size*40, len(lines))
	from := (i * 37) % (len(lines) - n + 1)
	lines = lines[from : from+n]
	return strings.Join(lines, "\n") + "\n", ofLines(r, lines, func(line string) string {
		_, after, _ := strings.Cut(line, ":")
		_, after, _ = strings.Cut(after, ":")
		return strings.TrimSpace(after)
	})
}

func csv(_ testing.TB, i, size int) (string, []fact) {
	r := chance("csv", i)
	lines := []string{"order,customer,placed,items,total,state"}
	for n := range size * 40 {
		lines = append(lines, fmt.Sprintf("ord-%d,cus-%04d,2026-%02d-%02d,%d,%d.%02d,%s", 10_000+n*7, r.IntN(5000), 1+r.IntN(12), 1+r.IntN(28),
			1+r.IntN(30), r.IntN(900), r.IntN(100), []string{"open", "paid", "shipped", "returned"}[r.IntN(4)]))
	}
	return strings.Join(lines, "\n") + "\n", ofLines(r, lines[1:], func(line string) string {
		word, _, _ := strings.Cut(line, ",")
		return word
	})
}

func diff(t testing.TB, i, size int) (string, []fact) {
	root, r := goRoot(t), chance("diff", i)
	files, err := filepath.Glob(filepath.Join(root, packages[i%len(packages)], "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, packages[i%len(packages)])
	}
	more, err := filepath.Glob(filepath.Join(root, "net/http", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var facts []string
	count := 0
	for _, name := range append(files, more...) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(data), "\n")
		short, err := filepath.Rel(root, name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "--- a/src/%s\n+++ b/src/%s\n", short, short)
		added := 0
		for at := 20; at+6 < len(lines) && count < size*4; at += 30 + r.IntN(60) {
			count++
			old, fresh := lines[at+3], fmt.Sprintf("\tlimit%d := %d // was not bounded", count, 100+r.IntN(9000))
			fmt.Fprintf(&b, "@@ -%d,7 +%d,8 @@\n %s\n %s\n %s\n-%s\n+%s\n+%s\n %s\n %s\n %s\n", at+1, at+1+added, lines[at], lines[at+1], lines[at+2],
				old, strings.TrimRight(old, " \t")+" //", fresh, lines[at+4], lines[at+5], lines[at+6])
			facts = append(facts, "+"+fresh)
			added++
		}
		if count >= size*4 && count >= 6 {
			break
		}
		if count >= size*4 {
			size++ // at least as many as there are facts
		}
	}
	return b.String(), ofLines(r, facts, func(line string) string {
		word, _, _ := strings.Cut(line, " :=")
		return strings.TrimSpace(strings.TrimPrefix(word, "+")) + " :="
	})
}

// pointers are addresses and what registers held by chance.
var pointers = regexp.MustCompile(`0x[0-9a-f]+\?|0x[0-9a-f]{5,}`)

//go:noinline
func waiting(shard, deep int, out chan<- string) int {
	if deep > 0 {
		return waiting(shard+1, deep-1, out) + 1
	}
	out <- string(debug.Stack())
	return shard
}

func stack(t testing.TB, i, size int) (string, []fact) {
	r := chance("stack", i)
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("no caller")
	}
	clean := strings.NewReplacer(filepath.Dir(here), "/src/economy", goEnv(t), "/usr/local/go")
	var b strings.Builder
	var lines []string
	fmt.Fprintf(&b, "panic: shard %d has no ticket [recovered]\n\n", 1000+r.IntN(9000))
	for n := range size * 3 {
		out := make(chan string, 1)
		go waiting(0x100*(n+1), 2+r.IntN(6), out)
		text := clean.Replace(<-out)
		_, text, _ = strings.Cut(text, "\n")
		fmt.Fprintf(&b, "goroutine %d [running]:\n", n+18)
		first := true
		for line := range strings.Lines(text) {
			line = pointers.ReplaceAllString(line, "0xc000012345")
			if strings.Contains(line, " in goroutine ") {
				line = line[:strings.Index(line, " in goroutine ")] + "\n"
			}
			if first && strings.Contains(line, "economy.waiting(") {
				lines, first = append(lines, strings.TrimSuffix(line, "\n")), false
			}
			b.WriteString(line)
		}
		b.WriteByte('\n')
	}
	text := b.String()
	for n := range lines { // what stands in one goroutine only: its last shard
		if k := strings.Index(lines[n], "waiting("); k >= 0 {
			lines[n] = lines[n][k:]
		}
	}
	facts := ofLines(r, lines, func(line string) string {
		word, _, _ := strings.Cut(line, ",")
		return word
	})
	head, _, _ := strings.Cut(text, " [rec")
	facts = append(facts, fact{head, "panic:"}, fact{fmt.Sprintf("goroutine %d [running]", size*3+17), fmt.Sprintf("goroutine %d ", size*3+17)}, fact{"goroutine 18 [running]", "goroutine 18 "})
	return text, facts
}

func api(_ testing.TB, i, size int) (string, []fact) {
	r := chance("api", i)
	records := make([]string, size*15)
	for n := range records {
		records[n] = fmt.Sprintf(`{"id":"ord_%05d","total":%d.%02d,"state":%q,"customer":{"id":"cus_%04d","name":%q,"vip":%v},"lines":%d,"note":null,"_etag":"%x","updated_at":"2026-%02d-%02dT%02d:00:00Z"}`,
			20_000+n*3, r.IntN(900), r.IntN(100), []string{"open", "paid", "shipped"}[r.IntN(3)], r.IntN(5000),
			[]string{"Ada", "Bo", "Chen", "Dag", "Eva"}[r.IntN(5)], r.IntN(9) == 0, 1+r.IntN(20), r.Uint64(), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24))
	}
	var facts []fact
	for _, at := range spread(r, len(records)) {
		found, _, _ := strings.Cut(records[at], `,"state"`)
		key, _, _ := strings.Cut(strings.TrimPrefix(found, `{"id":"`), `"`)
		facts = append(facts, fact{found, key})
	}
	count, cursor := fmt.Sprintf(`"total_count":%d`, 50_000+r.IntN(9000)), fmt.Sprintf(`"next_cursor":"c%x"`, r.Uint64())
	facts = append(facts, fact{count, "total_count"}, fact{cursor, "next_cursor"})
	return `{` + count + `,"orders":[` + strings.Join(records, ",") + `],"page":{"size":` + fmt.Sprint(len(records)) + `,` + cursor + `}}`, facts
}

func cjk(_ testing.TB, i, size int) (string, []fact) {
	r := chance("cjk", i)
	words := []string{
		"订单已经支付", "仓库正在准备发货", "客户要求更改地址", "系统检查库存数量", "配送将于明天到达", "請求がまだ届いていません", "在庫を確認しました", "배송이 시작되었습니다",
		"결제가 완료되었습니다", "出荷の準備ができました",
	}
	lines := make([]string, size*25)
	for n := range lines {
		lines[n] = fmt.Sprintf("%d月%d日 订单%d：%s，%s。金额%d元，由%d号仓库处理", 1+r.IntN(12), 1+r.IntN(28), 30_000+n*11, words[r.IntN(len(words))],
			words[r.IntN(len(words))], r.IntN(100_000), 1+r.IntN(40))
	}
	return strings.Join(lines, "\n") + "\n", ofLines(r, lines, func(line string) string {
		_, after, _ := strings.Cut(line, " ")
		word, _, _ := strings.Cut(after, "：")
		return word
	})
}

func payloads(_ testing.TB, i, size int) (string, []fact) {
	r := chance("payloads", i)
	files := make([]string, 5+size/2)
	for n := range files {
		data := make([]byte, 200+r.IntN(1+size*120))
		for k := range data {
			data[k] = byte(r.Uint32())
		}
		files[n] = fmt.Sprintf(`{"path":"build/part-%03d.bin","sha256":"%x%x","size":%d,"content":%q}`, n*3, r.Uint64(), r.Uint64(), len(data),
			base64.StdEncoding.EncodeToString(data))
	}
	var facts []fact
	for _, at := range spread(r, len(files)) {
		found, _, _ := strings.Cut(files[at], `,"size"`)
		key, _, _ := strings.Cut(strings.TrimPrefix(found, `{"path":"`), `"`)
		facts = append(facts, fact{found, key})
	}
	build := fmt.Sprintf(`"build":"b%d"`, 100_000+r.IntN(900_000))
	state := fmt.Sprintf(`"verdict":"signed by key %x"`, r.Uint32())
	facts = append(facts, fact{build, `"build"`}, fact{state, "verdict"})
	return `{` + build + `,"files":[` + strings.Join(files, ",") + `],` + state + `}`, facts
}
