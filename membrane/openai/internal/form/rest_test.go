package form

import (
	"strings"
	"testing"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
)

// Members that no build knows go on as they began, at any depth, or fail.
func TestRest(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 12) + `"x"` + strings.Repeat("}", 12)
	for _, c := range []struct {
		name   string
		values []string
		want   string // the joined value; empty when they cannot be joined
	}{
		{"null is nothing", []string{`null`, `"a"`, `null`}, `"a"`},
		{"texts", []string{`"a"`, `""`, `"b"`}, `"ab"`},
		{"a character in halves", []string{`"\ud83d"`, `"\ude00"`}, `"😀"`},
		{"half a character", []string{`"a\ud83d"`}, "\"a\ufffd\""},
		{"lists", []string{`[1.0]`, `[]`, `["a",{}]`}, `[1.0,"a",{}]`},
		{"objects", []string{`{"a":"x","b":{"c":[1]}}`, `{"b":{"c":[2],"d":true},"a":"y"}`}, `{"a":"xy","b":{"c":[1,2],"d":true}}`},
		{"the same again, as it came first", []string{`1`, `1.0`, `1`}, `1`},
		{"an empty object", []string{`{}`}, `{}`},
		{"deep and the same", []string{deep, deep}, deep},
		{"deep and another", []string{deep, strings.Replace(deep, "x", "y", 1)}, ""},
		{"a number that turns", []string{`1`, `2`}, ""},
		{"a kind that turns", []string{`"a"`, `{}`}, ""},
		{"below, a kind that turns", []string{`{"a":{"b":"c"}}`, `{"a":{"b":["c"]}}`}, ""},
		{"true, then false", []string{`true`, `false`}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var r Rest
			var err error
			for _, v := range c.values {
				if err = r.Add("k", []byte(v)); err != nil {
					break
				}
			}
			got := string(object.Find(r.Members(), "k"))
			if c.want == "" != (err != nil) || err == nil && got != c.want {
				t.Errorf("%s, %v; want %s", got, err, c.want)
			}
		})
	}
}

// An image is what its bytes are; what the provider would refuse is a labelled text.
func TestDataURL(t *testing.T) {
	t.Parallel()
	gif := "GIF89a\x01\x00\x01\x00\x00\x00\x00!\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
	for _, c := range []struct {
		name, data, kind, refuse, url, text string
	}{
		{"a still GIF", strings.Replace(gif, "!\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00", "", 1), "image/png", "", "data:image/gif;base64,", ""},
		{"a moving GIF", gif, "", "", "", "[image: image/gif, 48 bytes, not sent: the provider takes no moving GIF]"},
		{"a bitmap", "BM" + strings.Repeat("\x00", 2000), "image/png", "", "", "[image: image/bmp, ~2KB, not sent: the provider takes image/jpeg, image/png, image/gif and image/webp]"},
		{"no image", "text", "", "", "", "[image: unknown type, 4 bytes, not sent: its bytes are no image]"},
		{"a cut one", gif[:20], "", "", "", "[image: image/gif, 20 bytes, not sent: it is cut off or damaged]"},
		{"one that is refused", gif, "", "because", "", "[image: image/gif, 48 bytes, not sent: because]"},
		{"a large one", "GIF89a" + strings.Repeat("\x00", maxImage) + ";", "", "", "", "not sent: an image may have 20 MiB]"},
	} {
		url, text := DataURL(membrane.Block{Type: membrane.Image, MIMEType: c.kind, Data: []byte(c.data)}, c.refuse)
		if !strings.HasPrefix(url, c.url) || (url == "") != (c.url == "") || !strings.HasSuffix(text, c.text) || (text == "") != (c.text == "") {
			t.Errorf("%s: %.60s %s", c.name, url, text)
		}
	}
}
