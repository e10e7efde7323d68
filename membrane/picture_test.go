package membrane_test

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
)

func picture(t testing.TB, encode func(*bytes.Buffer, image.Image) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, image.NewPaletted(image.Rect(0, 0, 7, 5), color.Palette{color.Black, color.White})); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pictures are 7 by 5 pixels, or so they say.
func pictures(t testing.TB) map[string][]byte {
	return map[string][]byte{
		"image/png":  picture(t, func(b *bytes.Buffer, i image.Image) error { return png.Encode(b, i) }),
		"image/jpeg": picture(t, func(b *bytes.Buffer, i image.Image) error { return jpeg.Encode(b, i, nil) }),
		"image/gif":  picture(t, func(b *bytes.Buffer, i image.Image) error { return gif.Encode(b, i, nil) }),
	}
}

var webps = map[string]string{
	"VP8L": "RIFF\x16\x00\x00\x00WEBPVP8L\x0a\x00\x00\x00\x2f\x06\x00\x01\x00\x00\x00\x00\x00\x00",
	"VP8X": "RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x04\x00\x00",
	"VP8 ": "RIFF\x16\x00\x00\x00WEBPVP8 \x0a\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x07\x00\x05\x00",
}

func TestLook(t *testing.T) {
	t.Parallel()
	for kind, data := range pictures(t) {
		got, ok := membrane.Look(data)
		if diff := cmp.Diff(membrane.Picture{MIMEType: kind, Width: 7, Height: 5, Whole: true}, got); diff != "" || !ok {
			t.Error(diff, ok)
		}
		for _, n := range []int{len(data) / 2, len(data) - 2} {
			if got, _ := membrane.Look(data[:n]); got.Whole {
				t.Errorf("the first %d of %d bytes of an %s are whole", n, len(data), kind)
			}
		}
	}
	for kind, data := range webps {
		got, ok := membrane.Look([]byte(data))
		if diff := cmp.Diff(membrane.Picture{MIMEType: "image/webp", Width: 7, Height: 5, Whole: true}, got); diff != "" || !ok {
			t.Error(kind, diff, ok)
		}
		if got, _ := membrane.Look([]byte(data[:len(data)-1])); got.Whole {
			t.Errorf("a cut %s is whole", kind)
		}
	}
	if got, ok := membrane.Look([]byte("BM......")); !ok || got != (membrane.Picture{MIMEType: "image/bmp", Whole: true}) {
		t.Error(got, ok)
	}
	for _, data := range []string{"", "text", "<svg xmlns='http://www.w3.org/2000/svg'/>", "%PDF-1.7"} {
		if got, ok := membrane.Look([]byte(data)); ok {
			t.Errorf("%q is taken for %v", data, got)
		}
	}
}

func FuzzLook(f *testing.F) {
	for _, data := range pictures(f) {
		f.Add(data)
	}
	for _, data := range webps {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, ok := membrane.Look(data); ok && (p.Width < 0 || p.Height < 0) {
			t.Error(p)
		}
	})
}
