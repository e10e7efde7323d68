package result

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// octets is the type of bytes of which nothing is known.
const octets = "application/octet-stream"

// maxMediaType is the longest media type that is believed, in bytes.
const maxMediaType = 100

// signature is how the bytes of a type begin.
type signature struct {
	at    int
	magic string
	mime  string
}

// signatures are tried in order (WHATWG MIME Sniffing; the types' own specifications). A question mark
// stands for any byte.
var signatures = []signature{
	{0, "\x89PNG\r\n\x1a\n", "image/png"},
	{0, "\xff\xd8\xff", "image/jpeg"},
	{0, "GIF87a", "image/gif"},
	{0, "GIF89a", "image/gif"},
	{0, "RIFF????WEBP", "image/webp"},
	{0, "BM", "image/bmp"},
	{0, "II*\x00", "image/tiff"},
	{0, "MM\x00*", "image/tiff"},
	{0, "\x00\x00\x01\x00", "image/x-icon"},
	{4, "ftypavif", "image/avif"},
	{4, "ftypheic", "image/heic"},
	{4, "ftypM4A", "audio/mp4"},
	{4, "ftyp", "video/mp4"},
	{0, "RIFF????WAVE", "audio/wav"},
	{0, "FORM????AIFF", "audio/aiff"},
	{0, "ID3", "audio/mpeg"},
	{0, "\xff\xfb", "audio/mpeg"},
	{0, "\xff\xf3", "audio/mpeg"},
	{0, "fLaC", "audio/flac"},
	{0, "OggS", "audio/ogg"},
	{0, "MThd", "audio/midi"},
	{0, "\x1aE\xdf\xa3", "video/webm"},
	{0, "%PDF-", "application/pdf"},
	{0, "PK\x03\x04", "application/zip"},
	{0, "PK\x05\x06", "application/zip"},
	{0, "\x1f\x8b\x08", "application/gzip"},
	{0, "\x00asm", "application/wasm"},
	{0, "SQLite format 3\x00", "application/vnd.sqlite3"},
}

// containers are types whose bytes tell only the container; a claim may say what is in it.
var containers = map[string][]string{
	"application/zip": {"application/vnd.", "application/epub+zip", "application/java-archive", "application/x-"},
	"audio/ogg":       {"video/ogg", "application/ogg", "audio/opus"},
	"video/webm":      {"audio/webm", "video/x-matroska", "audio/x-matroska"},
	"video/mp4":       {"audio/mp4", "video/quicktime", "image/heif"},
}

// sniff returns the media type of data. Bytes that are known decide. A claim that they contradict is
// dropped; one about which they say nothing is kept.
func sniff(data []byte, claim string) string {
	if found := signed(data); found != "" {
		for _, refined := range containers[found] {
			if strings.HasPrefix(claim, refined) {
				return claim
			}
		}
		return found
	}
	if isSVG(data) {
		return "image/svg+xml"
	}
	text := isText(data)
	switch {
	case claim != octets && !provable(claim) && (text || !strings.HasPrefix(claim, "text/")):
		return claim
	case text:
		return "text/plain"
	default:
		return octets
	}
}

// matches reports whether data begins as the signature says.
func (s signature) matches(data []byte) bool {
	if len(data) < s.at+len(s.magic) {
		return false
	}
	for i := range len(s.magic) {
		if c := s.magic[i]; c != '?' && c != data[s.at+i] {
			return false
		}
	}
	return true
}

// signed returns the type that the first bytes prove, or "".
func signed(data []byte) string {
	for _, s := range signatures {
		if s.matches(data) && (len(s.magic) > 3 || !isText(data)) { // a few letters prove little
			return s.mime
		}
	}
	return ""
}

// provable reports whether a type has a signature, so that bytes without it are not of the type.
func provable(mime string) bool {
	if mime == "image/svg+xml" || mime == "image/jpg" {
		return true
	}
	for _, s := range signatures {
		if s.mime == mime {
			return true
		}
	}
	return false
}

// isText reports whether data is UTF-8 without NUL.
func isText(data []byte) bool {
	return len(data) > 0 && utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}

// isSVG looks for the root element of an SVG document near the start of a text.
func isSVG(data []byte) bool {
	const near = 1024
	head := bytes.TrimLeft(bytes.TrimPrefix(data[:min(near, len(data))], bomUTF8), " \t\r\n")
	return bytes.HasPrefix(head, []byte("<")) && bytes.Contains(head, []byte("<svg")) && isText(data)
}

// mediaType normalises a declared media type: trimmed, in lower case, without parameters. What is not
// of the form type/subtype (RFC 6838 section 4.2) is application/octet-stream.
func mediaType(declared string) string {
	mime, _, _ := strings.Cut(declared, ";")
	mime = strings.ToLower(strings.TrimSpace(mime))
	kind, sub, ok := strings.Cut(mime, "/")
	if !ok || len(mime) > maxMediaType || !restricted(kind) || !restricted(sub) {
		return octets
	}
	return mime
}

// restricted reports whether s is a restricted-name of RFC 6838.
func restricted(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("!#$&-^_.+", rune(c))) {
			return false
		}
	}
	return s != ""
}

// extensions are those that the subtype does not give.
var extensions = map[string]string{
	octets:                     "bin",
	"application/gzip":         "gz",
	"application/javascript":   "js",
	"application/msword":       "doc",
	"application/vnd.ms-excel": "xls",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         "xlsx",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   "docx",
	"application/vnd.sqlite3":       "sqlite",
	"application/epub+zip":          "epub",
	"application/java-archive":      "jar",
	"application/x-tar":             "tar",
	"application/x-7z-compressed":   "7z",
	"audio/midi":                    "mid",
	"audio/mp4":                     "m4a",
	"audio/mpeg":                    "mp3",
	"audio/x-wav":                   "wav",
	"audio/vnd.wave":                "wav",
	"image/jpeg":                    "jpg",
	"image/svg+xml":                 "svg",
	"image/x-icon":                  "ico",
	"image/vnd.microsoft.icon":      "ico",
	"text/javascript":               "js",
	"text/markdown":                 "md",
	"text/plain":                    "txt",
	"video/quicktime":               "mov",
	"video/x-matroska":              "mkv",
	"application/x-ndjson":          "ndjson",
	"application/vnd.ms-powerpoint": "ppt",
}

// extension returns the file extension of a media type, with its dot: from the table, else the subtype
// when it is at most 10 letters and digits, else .bin.
func extension(mime string) string {
	const longest = 10
	if ext, ok := extensions[mime]; ok {
		return "." + ext
	}
	_, sub, _ := strings.Cut(mime, "/")
	if sub == "" || len(sub) > longest {
		return ".bin"
	}
	for _, c := range sub {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return ".bin"
		}
	}
	return "." + sub
}
