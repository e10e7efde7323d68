package result_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

// wrapped breaks base64 into lines.
func wrapped(s string, width int, newline string) string {
	var b strings.Builder
	for len(s) > width {
		b.WriteString(s[:width] + newline)
		s = s[width:]
	}
	return b.String() + s
}

// TestBulk is which base64 inside JSON gives way to a placeholder, and that what it held is kept.
func TestBulk(t *testing.T) {
	t.Parallel()
	img := picture(3000)
	std, url := base64.StdEncoding.EncodeToString(img), base64.RawURLEncoding.EncodeToString(img)
	mark := "[base64: image/png, ~3KB, " + base + ".png]"
	for _, c := range []struct{ name, raw, want string }{
		{"value", `{"type":"image","data":"` + std + `"}`, `{"type":"image","data":"` + mark + `"}`},
		{"data address", `["data:image/png;base64,` + std + `"]`, `["data:image/png;base64,` + mark + `"]`},
		{"in a sentence", `["see ` + std + ` there"]`, `["see ` + mark + ` there"]`},
		{"key", `{"` + std + `":1}`, `{"` + mark + `":1}`},
		{"for addresses", `["` + url + `"]`, `["` + mark + `"]`},
		{"escaped slashes", `["` + strings.ReplaceAll(std, "/", `\/`) + `"]`, `["` + mark + `"]`},
		{"escaped plus", `["` + strings.ReplaceAll(strings.ReplaceAll(std, "+", `\u002B`), "/", `\u002f`) + `"]`, `["` + mark + `"]`},
		{"lines of 76", `["` + wrapped(std, 76, `\r\n`) + `\r\n"]`, `["` + mark + `\r\n"]`},
		{"lines of 64 in a frame", `["-----BEGIN X-----\n` + wrapped(std, 64, `\n`) + `\n-----END X-----"]`, `["-----BEGIN X-----\n` + mark + `\n-----END X-----"]`},
		{"a word in the next line", `["` + std + `\nNext"]`, `["` + mark + `\nNext"]`},
		{"after an escape", `["\"\\` + std + `\""]`, `["\"\\` + mark + `\""]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := result.Convert(tool.JSON(json.RawMessage(c.raw)), base)
			if w.Text != c.raw {
				t.Errorf("the whole was changed")
			}
			got, spans := w.Model(true)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Model (-want +got):\n%s", diff)
			}
			if !canon.Valid([]byte(got)) {
				t.Errorf("the model's text is no JSON any more: %s", got)
			}
			if len(spans) != 1 || got[spans[0].Start:spans[0].End] != mark {
				t.Errorf("spans = %v, want that of the placeholder", spans)
			}
			if len(w.Payloads) != 1 || !bytes.Equal(w.Payloads[0].Data, img) {
				t.Fatalf("%d payloads, want the picture", len(w.Payloads))
			}
			if got := w.Payloads[0]; got.MIMEType != "image/png" || got.Path(base) != base+".png" {
				t.Errorf("payload %s at %s", got.MIMEType, got.Path(base))
			}
			if got := result.Text(tool.JSON(json.RawMessage(c.raw))); got != c.raw {
				t.Errorf("Text was changed: %.80s", got)
			}
		})
	}
}

// TestBulkStays is what is no base64 run, or stands where nothing is taken out.
func TestBulkStays(t *testing.T) {
	t.Parallel()
	std := base64.StdEncoding.EncodeToString(picture(3000))
	object := func(s string) tool.Result { return tool.JSON(json.RawMessage(`{"v":"` + s + `"}`)) }
	for name, r := range map[string]tool.Result{
		"a string":             tool.Text(std),
		"a JSON string":        tool.JSON(json.RawMessage(`"` + std + `"`)),
		"a text block":         tool.Blocks(tool.Content{Type: "text", Text: `{"v":"` + std + `"}`}),
		"bytes":                {Data: []byte(std)},
		"below the limit":      object(std[:1023]),
		"one letter":           object(strings.Repeat("a", 5000)),
		"hexadecimal":          object(strings.Repeat("0123456789abcdef", 200)),
		"upper-case letters":   object(strings.Repeat("ACGT", 2000)),
		"digits":               tool.JSON(json.RawMessage(`[` + strings.Repeat("1234567890", 200) + `]`)),
		"words":                object(strings.Repeat("Word1 ", 1000)),
		"a list of names":      object(strings.Repeat(`Name1\n`, 1000)),
		"a list of long names": object(strings.Repeat(strings.Repeat("Ab1", 25)+`\n`+strings.Repeat("Ab1", 26)+`\n`, 30)),
		"lines that get shorter": object(func() (s string) {
			for n := 100; n > 80; n-- {
				s += strings.Repeat("Ab1x", 25)[:n] + `\n`
			}
			return s
		}()),
		"two alphabets together": object(std[:600] + "+/-_" + std[:600]),
		"an error's text":        tool.Error(`{"v":"` + std + `"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := result.Convert(r, base)
			if shown, spans := w.Model(true); shown != w.Text || spans != nil || w.Payloads != nil {
				t.Errorf("%d payloads were taken out: %.200s", len(w.Payloads), shown)
			}
		})
	}
}

// TestBulkOfValues holds that bytes inside a Go value, which marshal to base64, are taken out too, each
// of its own type and name.
func TestBulkOfValues(t *testing.T) {
	t.Parallel()
	notes := []byte(strings.Repeat("Notes on weirs, 1st part.\n", 60))
	r := tool.Result{Data: struct {
		Image, Notes, Blob []byte
	}{picture(2000), notes, bytes.Repeat([]byte{0, 1, 0xFE}, 600)}}
	shown, _ := result.Convert(r, base).Model(false)
	want := `{"Image":"[base64: image/png, ~2KB, ` + base + `.png]",` +
		`"Notes":"[base64: text/plain, ~2KB, ` + base + `.2.txt]",` +
		`"Blob":"AAH+`
	if !strings.HasPrefix(shown, want) {
		t.Errorf("Model = %.300s\nwant it to begin with %s", shown, want)
	}
}

// TestBulkLeftOver holds that what is left of a run that was cut is decoded as far as it goes.
func TestBulkLeftOver(t *testing.T) {
	t.Parallel()
	img := picture(1500)
	std := base64.StdEncoding.EncodeToString(img)
	for cut := range 5 {
		w := result.Convert(tool.JSON(json.RawMessage(`["`+std[:len(std)-cut]+`"]`)), base)
		if want := img[:(len(std)-cut)*3/4]; len(w.Payloads) != 1 || !bytes.Equal(w.Payloads[0].Data, want) {
			t.Errorf("cut by %d: %d payloads, want one of %d bytes", cut, len(w.Payloads), len(want))
		}
	}
}

// TestC053 is a picture inside JSON of 2 MB, whose base64 ends in the middle.
func TestC053(t *testing.T) {
	t.Parallel()
	raw := `{"type":"image","format":"png","data":"iVBORw0KGgo` + strings.Repeat("A", 2_000_000) + `"}`
	w := result.Convert(tool.JSON(json.RawMessage(raw)), base)
	shown, _ := w.Model(false)
	want := `{"type":"image","format":"png","data":"[base64: image/png, ~1.4MB, ` + base + `.png]"}`
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("Model (-want +got):\n%s", diff)
	}
	if w.Text != raw {
		t.Error("the whole was changed")
	}
}
