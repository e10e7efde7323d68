package tokens_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/weir-run/weir/tokens"
)

// chance gives the same numbers on every run.
func chance() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func file(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func appLog() string {
	r, b := chance(), strings.Builder{}
	for range 400 {
		fmt.Fprintf(&b, "2026-03-%02dT%02d:%02d:%02d.%03dZ %s [%s] request handled in %dms status=%d path=/api/v1/items/%d\n",
			1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000),
			[]string{"INFO", "WARN", "ERROR"}[r.IntN(3)], []string{"http.server", "db.pool", "worker"}[r.IntN(3)],
			r.IntN(999), 200+r.IntN(300), r.IntN(100_000))
	}
	return b.String()
}

func buildLog() string {
	r, b := chance(), strings.Builder{}
	for i := range 400 {
		dir := []string{"encoding/json", "net/http", "internal/abi", "crypto/tls"}[r.IntN(4)]
		fmt.Fprintf(&b, "ok  \tgithub.com/example/project/%s\t%.3fs\tcoverage: %.1f%% of statements\n", dir, r.Float64()*9, r.Float64()*100)
		if i%7 == 0 {
			fmt.Fprintf(&b, "    handler_test.go:%d: got %d, want %d\n", r.IntN(900), r.IntN(99), r.IntN(99))
		}
	}
	return b.String()
}

func records(t *testing.T) string {
	t.Helper()
	r, b := chance(), strings.Builder{}
	for range 300 {
		line, err := json.Marshal(map[string]any{
			"id": r.IntN(1 << 40), "name": []string{"worker", "scheduler", "auth"}[r.IntN(3)], "ok": true,
			"score": r.Float64(), "tags": []string{"a", "b"}, "created": "2026-01-01T00:00:00Z",
		})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.String()
}

func random(n int) []byte {
	r, out := chance(), make([]byte, n)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

// Texts of other scripts, each of which says the same.
const (
	chinese = "工具的结果以原文到达模型。太长的结果会完整地保存在磁盘上,模型只看到开头和结尾,以及真实的总行数和读取其余部分的地址。请求是由存储的字节拼接而成的,所以进程被终止之后可以从停下的地方继续,并且再次发送同样的前缀。" +
		"每次调用只会得到一个答复,即使在取消、超时或崩溃之后也是如此。没有任何东西会丢失,所有的等待都有上限。"
	japanese = "ツールの結果は、そのままの文章としてモデルに届きます。長すぎる結果は全体がディスクに保存され、モデルには先頭と末尾、正確な行数、そして残りを読むための場所が示されます。要求は保存されたバイト列をつなげて作られるので、プロセスが強制終了されても、止まったところから続けて同じ接頭辞をもう一度送ることができます。"
	korean   = "도구의 결과는 원문 그대로 모델에 전달됩니다. 너무 긴 결과는 전체가 디스크에 저장되고, 모델은 앞부분과 뒷부분, 정확한 줄 수, 그리고 나머지를 읽을 수 있는 위치를 보게 됩니다. 요청은 저장된 바이트를 이어 붙여 만들어지므로 프로세스가 종료되어도 멈춘 곳에서 계속할 수 있습니다."
	russian  = "Результат инструмента доходит до модели как его собственный текст. Слишком длинный результат целиком сохраняется на диске, а модель видит начало и конец, точное число строк и адрес, по которому можно прочитать остальное. Запрос складывается из сохранённых байтов, поэтому остановленный процесс продолжает с того же места."
	german   = "Das Ergebnis eines Werkzeugs erreicht das Modell als sein eigener Text. Ist es zu groß, liegt es vollständig auf der Festplatte, und das Modell sieht Anfang und Ende, die genaue Zahl der Zeilen und die Adresse für den Rest. Die Anfrage wird aus gespeicherten Bytes zusammengesetzt, sodass ein abgebrochener Lauf dort weitergeht, wo er aufgehört hat."
)

// TestEstimateError measures the estimate against both counts. A row says how far it may be off, in
// percent of the count of o200k_base; a change of the weights that makes one worse is seen here.
func TestEstimateError(t *testing.T) {
	t.Parallel()
	o200k, cl100k := encoding(t, tokens.O200K), encoding(t, tokens.CL100K)
	for _, c := range []struct {
		name, text string
		most       float64
	}{
		{"Go source", file(t, "encoding.go"), 8},
		{"Go test", file(t, "estimate_test.go"), 8},
		{"prose", file(t, "../LICENSE"), 8},
		{"application log", appLog(), 8},
		{"build log", buildLog(), 8},
		{"JSON records", records(t), 8},
		{"Chinese", chinese, 10},
		{"Japanese", japanese, 35},
		{"Korean", korean, 35},
		{"Russian", russian, 35},
		{"German", german, 10},
		{"base64", base64.StdEncoding.EncodeToString(random(9000)), 15},
		{"hexadecimal", hex.EncodeToString(random(9000)), 15},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, want := tokens.Estimate(c.text), o200k.Count(c.text)
			off := func(n, of int) float64 { return 100 * (float64(n)/float64(of) - 1) }
			t.Logf("%d bytes: estimate %d; o200k_base %d (%+.1f %%), cl100k_base (%+.1f %%); bytes/4 %+.1f %%",
				len(c.text), got, want, off(got, want), off(got, cl100k.Count(c.text)), off(len(c.text)/4, want))
			if e := off(got, want); math.Abs(e) > c.most {
				t.Errorf("off by %+.1f %%, at most %.0f are allowed", e, c.most)
			}
		})
	}
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want int
	}{{"", 0}, {"a", 1}, {" ", 1}, {"\n", 1}, {"\xff", 1}, {"Hello, world!", 3}, {strings.Repeat("a", 10_000), 586}} {
		if got := tokens.Estimate(c.text); got != c.want {
			t.Errorf("Estimate(%.20q) = %d, want %d", c.text, got, c.want)
		}
	}
}

func FuzzEstimate(f *testing.F) {
	f.Add("func main() {}", " 漢字\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		n := tokens.Estimate(a)
		switch {
		case n != tokens.Estimate(a):
			t.Error("the same text has two estimates")
		case n < 0 || n > 2*len(a) || n == 0 && a != "":
			t.Errorf("%d tokens for %d bytes", n, len(a))
		case tokens.Estimate(a+b) < n:
			t.Error("a longer text has fewer tokens")
		}
	})
}

func BenchmarkEstimate(b *testing.B) {
	text := appLog()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		tokens.Estimate(text)
	}
}
