package result_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

const (
	pngMagic  = "\x89PNG\r\n\x1a\n"
	jpegMagic = "\xff\xd8\xff\xe0"
)

// picture is a PNG of n bytes, as far as its first bytes tell.
func picture(n int) []byte {
	data := []byte(pngMagic)
	for i := uint32(1); len(data) < n; i = i*1664525 + 1013904223 {
		data = append(data, byte(i>>24))
	}
	return data[:n]
}

// TestPlaceholders is how each kind of block stands in the text.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 5000)
	for _, c := range []struct {
		name  string
		block tool.Content
		want  string
	}{
		{"image", tool.Content{Type: "image", MIMEType: "image/png", Data: picture(8)}, "[image: image/png, 8B, " + base + ".png]"},
		{"image of 1 KB less one", tool.Content{Type: "image", Data: picture(1023)}, "[image: image/png, 1023B, " + base + ".png]"},
		{"image of 1 KB", tool.Content{Type: "image", Data: picture(1024)}, "[image: image/png, ~1KB, " + base + ".png]"},
		{"image of 691 KB", tool.Content{Type: "image", Data: picture(691 * 1024)}, "[image: image/png, ~691KB, " + base + ".png]"},
		{"rounding", tool.Content{Type: "image", Data: picture(1536)}, "[image: image/png, ~2KB, " + base + ".png]"},
		{"image of 1 MB less one", tool.Content{Type: "image", Data: picture(1<<20 - 1)}, "[image: image/png, ~1024KB, " + base + ".png]"},
		{"image of 1.5 MB", tool.Content{Type: "image", Data: picture(3 << 19)}, "[image: image/png, ~1.5MB, " + base + ".png]"},
		{"the bytes decide", tool.Content{Type: "image", MIMEType: "image/png", Data: []byte(jpegMagic)}, "[image: image/jpeg, 4B, " + base + ".jpg]"},
		{"bytes that are no image", tool.Content{Type: "image", MIMEType: "image/png", Data: []byte("\x00\x01")}, "[image: application/octet-stream, 2B, " + base + ".bin]"},
		{"a page instead of an image", tool.Content{Type: "image", MIMEType: "image/png", Data: []byte("<html>404")}, "[image: text/plain, 9B, " + base + ".1.txt]"},
		{"declared type is normalised", tool.Content{Type: "audio", MIMEType: " Audio/X-Foo ; rate=8000", Data: []byte("\x00\x01")}, "[audio: audio/x-foo, 2B, " + base + ".bin]"},
		{"no media type", tool.Content{Type: "audio", MIMEType: "a/b/c\n]", Data: []byte("\x00\x01")}, "[audio: application/octet-stream, 2B, " + base + ".bin]"},
		{"audio", tool.Content{Type: "audio", MIMEType: "audio/mpeg", Data: []byte("RIFF\x04\x00\x00\x00WAVE")}, "[audio: audio/wav, 12B, " + base + ".wav]"},
		{"image without data", tool.Content{Type: "image", MIMEType: "image/png"}, "[image: image/png, no data]"},
		{"image by reference", tool.Content{Type: "image", MIMEType: "image/png", URI: "https://x.test/a.png"}, "[image: image/png, no data, not fetched: https://x.test/a.png]"},
		{"text resource", tool.Content{Type: "resource", URI: "file:///a.go", MIMEType: "text/x-go", Text: "package a\n"}, "[resource: file:///a.go, text/x-go]\npackage a\n"},
		{"binary resource", tool.Content{Type: "resource", URI: "file:///a.pdf", MIMEType: "application/pdf", Data: []byte("%PDF-1.7")}, "[resource: application/pdf, 8B, " + base + ".pdf, from file:///a.pdf]"},
		{"resource of both", tool.Content{Type: "resource", MIMEType: "application/zip", Data: []byte("PK\x03\x04"), Text: "t"}, "[resource: application/zip, 4B, " + base + ".zip]\nt"},
		{"resource of nothing", tool.Content{Type: "resource", URI: "file:///a"}, "[resource: file:///a, no contents]"},
		{"link", tool.Content{Type: "resource_link", Name: "Log\nfile\u202e", URI: "https://x.test/log?a=1", MIMEType: "text/plain"}, "[resource link: Logfile, https://x.test/log?a=1, text/plain; not fetched]"},
		{"link of nothing", tool.Content{Type: "resource_link"}, "[resource link; not fetched]"},
		{"huge link", tool.Content{Type: "resource_link", Name: long, URI: long, MIMEType: long}, "[resource link: " + long[:400] + "… (4800 more), " + long[:2000] + "… (4000 more), " + long[:400] + "… (4800 more); not fetched]"},
		{"unknown type", tool.Content{Type: "video\n\"x", Raw: json.RawMessage(`{"type":"video", "n":1e3,"s":"\ud83d"}`)}, `[content block of unknown type "video"x"] {"type":"video", "n":1e3,"s":"\ufffd"}`},
		{"unknown type without JSON", tool.Content{Type: "video", Text: "<t>", Data: []byte{1}, Raw: json.RawMessage(`{`)}, `[content block of unknown type "video"] {"type":"video","text":"<t>","data":"AQ==","raw":"{"}`},
		{"no type", tool.Content{Text: "t"}, `[content block without a type] {"type":"","text":"t"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before := tool.Content{Type: "text", Text: "before"}
			after := tool.Content{Type: "text", Text: "after"}
			w := result.Convert(tool.Blocks(before, c.block, after), base)
			if diff := cmp.Diff("before\n"+c.want+"\nafter", w.Text); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if shown, _ := w.Model(false); shown != w.Text {
				t.Errorf("the model's text differs: %q", shown)
			}
			for i, p := range w.Payloads {
				if p.Part != i+1 || !bytes.Equal(p.Data, c.block.Data) || !strings.Contains(w.Text, p.Path(base)) {
					t.Errorf("payload %d of %s is not the block's bytes under the name in the text", p.Part, p.Path(base))
				}
			}
			if len(c.block.Data) > 0 && len(w.Payloads) != 1 && c.block.Type != "video" {
				t.Errorf("%d payloads, want 1", len(w.Payloads))
			}
			if got := result.Text(tool.Blocks(c.block)); strings.Contains(got, "tool-results") {
				t.Errorf("Text names a file: %q", got)
			}
		})
	}
}

func TestExtensions(t *testing.T) {
	t.Parallel()
	for mime, want := range map[string]string{
		"application/octet-stream": ".bin", "audio/mpeg": ".mp3", "text/plain": ".txt", "audio/x-wav": ".wav",
		"image/x-icon": ".ico", "application/json": ".json", "text/csv": ".csv", "model/gltf-binary": ".bin",
		"application/x.very.long.name": ".bin", "chemical/cml12345678": ".bin", "x/abcdefghij": ".abcdefghij",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
	} {
		data := []byte("text that proves nothing")
		if mime == "application/octet-stream" || strings.HasPrefix(mime, "audio/") {
			data = []byte("\x00\x01")
		}
		if mime == "audio/mpeg" {
			data = []byte("ID3\x04\x00")
		}
		if mime == "image/x-icon" {
			data = []byte("\x00\x00\x01\x00")
		}
		w := result.Convert(tool.Blocks(tool.Content{Type: "resource", MIMEType: mime, Data: data}), base)
		if got := w.Payloads[0]; got.Ext != want || got.MIMEType != mime {
			t.Errorf("%s: got %s with %s, want %s", mime, got.MIMEType, got.Ext, want)
		}
	}
}

// TestPayloadsOnce holds that the same bytes are kept once, wherever they stand.
func TestPayloadsOnce(t *testing.T) {
	t.Parallel()
	a, b := picture(1500), append(picture(1499), 7)
	raw := json.RawMessage(`{"type":"x","same":"` + base64.StdEncoding.EncodeToString(a) + `"}`)
	w := result.Convert(tool.Blocks(
		tool.Content{Type: "image", Data: a}, tool.Content{Type: "image", Data: b},
		tool.Content{Type: "image", Data: a}, tool.Content{Type: "x", Raw: raw},
	), base)
	image := func(suffix string) string { return "[image: image/png, ~1KB, " + base + suffix + "]\n" }
	want := image(".png") + image(".2.png") + image(".png") + `[content block of unknown type "x"] `
	if diff := cmp.Diff(want+string(raw), w.Text); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	shown, _ := w.Model(false)
	if diff := cmp.Diff(want+`{"type":"x","same":"[base64: image/png, ~1KB, `+base+`.png]"}`, shown); diff != "" {
		t.Errorf("Model (-want +got):\n%s", diff)
	}
	if len(w.Payloads) != 2 || !bytes.Equal(w.Payloads[0].Data, a) || !bytes.Equal(w.Payloads[1].Data, b) {
		t.Errorf("%d payloads, want the two pictures", len(w.Payloads))
	}
}

// TestNative is the form of text blocks and images in order.
func TestNative(t *testing.T) {
	t.Parallel()
	img := func(n int) tool.Content { return tool.Content{Type: "image", Data: picture(n)} }
	txt := func(s string) tool.Content { return tool.Content{Type: "text", Text: s} }
	fake := tool.Content{Type: "image", MIMEType: "image/png", Data: []byte("\x00")}
	wav := tool.Content{Type: "audio", Data: []byte("RIFF\x04\x00\x00\x00WAVE")}
	for _, c := range []struct {
		name   string
		blocks []tool.Content
		want   []string // "#n" is an image of n bytes
	}{
		{"texts only", []tool.Content{txt("a"), txt("b")}, nil},
		{"image only", []tool.Content{img(8)}, []string{"#8"}},
		{"in order", []tool.Content{txt("a"), img(8), txt("b"), txt("c"), img(9), img(10), txt("d")}, []string{"a", "#8", "b\nc", "#9", "#10", "d"}},
		{"the same image twice", []tool.Content{img(8), txt("and"), img(8)}, []string{"#8", "and", "#8"}},
		{"texts keep their newlines", []tool.Content{txt("\n"), img(8), txt("\na\n"), img(9), txt("")}, []string{"\n", "#8", "\na\n", "#9"}},
		{"other payloads are text", []tool.Content{wav, img(8), wav}, []string{"[audio: audio/wav, 12B, " + base + ".wav]", "#8", "[audio: audio/wav, 12B, " + base + ".wav]"}},
		{"no image", []tool.Content{txt("a"), fake}, nil},
		{"a false image is text", []tool.Content{fake, img(8)}, []string{"[image: application/octet-stream, 1B, " + base + ".bin]", "#8"}},
		{"cleaned", []tool.Content{txt("a\x00\xed\xa0\xbd\x1b[1mb"), img(8)}, []string{"a\u2400\ufffdb", "#8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := result.Convert(tool.Blocks(c.blocks...), base)
			var got []string
			for _, p := range w.Native(true) {
				if p.Image == nil {
					got = append(got, p.Text)
				} else {
					got = append(got, fmt.Sprintf("#%d", len(p.Image.Data)))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Native (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSpans holds that the spans are exactly the placeholders in the model's text.
func TestSpans(t *testing.T) {
	t.Parallel()
	w := result.Convert(tool.Blocks(
		tool.Content{Type: "text", Text: "\x1b[31m\x00red"},
		tool.Content{Type: "image", Data: picture(8)},
		tool.Content{Type: "text", Text: "10%\r20%\r30%"},
		tool.Content{Type: "audio", Data: []byte("fLaC")},
	), base)
	shown, spans := w.Model(true)
	want := "\u2400red\n[image: image/png, 8B, " + base + ".png]\n10% [… 1 redraw …] 30%\n[audio: audio/flac, 4B, " + base + ".2.flac]"
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Fatalf("Model (-want +got):\n%s", diff)
	}
	var got []string
	for _, s := range spans {
		got = append(got, shown[s.Start:s.End])
	}
	if diff := cmp.Diff([]string{"[image: image/png, 8B, " + base + ".png]", "[audio: audio/flac, 4B, " + base + ".2.flac]"}, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}
