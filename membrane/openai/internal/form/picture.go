package form

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"github.com/weir-run/weir/membrane"
)

// maxImage is how many bytes an image may have.
// Source: https://developers.openai.com/api/docs/guides/images-vision (the types, and no moving GIF; the
// whole payload may have 50 MB).
const maxImage = 20 << 20

// DataURL gives an image as the data URL that stands in a request, by what its bytes say of themselves;
// for one that the provider would refuse, and with it every later request, url is empty and text is the
// labelled text that stands in its place. refuse says why no image is sent at all; empty sends them.
func DataURL(b membrane.Block, refuse string) (url, text string) {
	p, ok := membrane.Look(b.Data)
	switch {
	case refuse != "":
		return "", placeholder(b, refuse)
	case !ok:
		return "", placeholder(b, "its bytes are no image")
	case p.MIMEType != "image/jpeg" && p.MIMEType != "image/png" && p.MIMEType != "image/gif" && p.MIMEType != "image/webp":
		return "", placeholder(b, "the provider takes image/jpeg, image/png, image/gif and image/webp")
	case !p.Whole:
		return "", placeholder(b, "it is cut off or damaged")
	case len(b.Data) > maxImage:
		return "", placeholder(b, "an image may have 20 MiB")
	case p.MIMEType == "image/gif" && bytes.Contains(b.Data, []byte("NETSCAPE2.0")):
		return "", placeholder(b, "the provider takes no moving GIF")
	}
	out := append([]byte("data:"), p.MIMEType...)
	return string(base64.StdEncoding.AppendEncode(append(out, ";base64,"...), b.Data)), ""
}

// placeholder is the text that stands for an image.
func placeholder(b membrane.Block, why string) string {
	kind := b.MIMEType
	if p, ok := membrane.Look(b.Data); ok {
		kind = p.MIMEType
	}
	if kind == "" {
		kind = "unknown type"
	}
	return fmt.Sprintf("[image: %.60s, %s, not sent: %s]", membrane.Line(kind), Size(b.Data), why)
}

// Size tells the size of an image.
func Size(data []byte) string {
	if n := len(data); n >= 1024 {
		return fmt.Sprintf("~%dKB", (n+512)/1024)
	}
	return fmt.Sprintf("%d bytes", len(data))
}
