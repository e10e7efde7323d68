package membrane

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"net/http"
	"strings"
)

// Picture is what the bytes of an image say of themselves, whatever anybody declared.
type Picture struct {
	// MIMEType is the media type, such as "image/png".
	MIMEType string
	// Width and Height are in pixels; 0 when they cannot be read.
	Width, Height int
	// Whole is false for a PNG, JPEG, GIF or WebP whose end is missing or whose start cannot be read.
	// Of other types it says nothing and is true.
	Whole bool
}

// Look reads the first and the last bytes of an image; false when it is none. It decodes no pixels.
func Look(data []byte) (Picture, bool) {
	p := Picture{MIMEType: http.DetectContentType(data), Whole: true}
	if !strings.HasPrefix(p.MIMEType, "image/") {
		return Picture{}, false
	}
	var size image.Config
	var err error
	switch p.MIMEType {
	case "image/png":
		size, err = png.DecodeConfig(bytes.NewReader(data))
		p.Whole = pngEnds(data)
	case "image/jpeg":
		size, err = jpeg.DecodeConfig(bytes.NewReader(data))
		p.Whole = bytes.Contains(data[max(0, len(data)-4096):], []byte{0xff, 0xd9})
	case "image/gif":
		size, err = gif.DecodeConfig(bytes.NewReader(data))
		p.Whole = bytes.HasSuffix(bytes.TrimRight(data, "\x00"), []byte{';'})
	case "image/webp":
		size.Width, size.Height = webpSize(data)
		p.Whole = int64(len(data)) >= 8+int64(binary.LittleEndian.Uint32(data[4:8])) && size.Width > 0
	}
	p.Width, p.Height = size.Width, size.Height
	p.Whole = p.Whole && err == nil
	return p, true
}

// pngEnds walks from chunk to chunk and reports whether the last one is there.
func pngEnds(data []byte) bool {
	for at := 8; len(data)-at >= 12; {
		n := int64(binary.BigEndian.Uint32(data[at:]))
		if string(data[at+4:at+8]) == "IEND" {
			return true
		}
		if n > int64(len(data)-at-12) {
			return false
		}
		at += int(n) + 12
	}
	return false
}

// webpSize reads the size of a WebP image from the header of its first chunk (RFC 9649); zeros when it
// cannot be read.
func webpSize(data []byte) (width, height int) {
	if len(data) < 30 {
		return 0, 0
	}
	switch string(data[12:16]) {
	case "VP8X":
		return 1 + int24(data[24:]), 1 + int24(data[27:])
	case "VP8L":
		if data[20] != 0x2f {
			return 0, 0
		}
		bits := binary.LittleEndian.Uint32(data[21:])
		return 1 + int(bits&0x3fff), 1 + int(bits>>14&0x3fff)
	case "VP8 ":
		if !bytes.Equal(data[23:26], []byte{0x9d, 0x01, 0x2a}) {
			return 0, 0
		}
		return int(binary.LittleEndian.Uint16(data[26:]) & 0x3fff), int(binary.LittleEndian.Uint16(data[28:]) & 0x3fff)
	}
	return 0, 0
}

func int24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
