package result

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
)

// Payload is bytes that stand in a text as a placeholder. With the name of its result it makes the name
// of a file: base, "." and Part when it is not the first (or its extension is .txt or .raw, which are
// the result's own), and Ext.
type Payload struct {
	// Part numbers the payloads of a result from 1.
	Part int
	// Ext is the file extension with its dot: a dot and 1 to 10 of a-z0-9.
	Ext string
	// MIMEType is the media type, from the bytes where they tell; what was declared is only a claim.
	MIMEType string
	// Data are the bytes.
	Data []byte
}

// Path is the payload's address below the base of its result; empty without a base.
func (p Payload) Path(base string) string {
	if base == "" {
		return ""
	}
	if p.Part > 1 || p.Ext == ".txt" || p.Ext == ".raw" {
		base += "." + strconv.Itoa(p.Part)
	}
	return base + p.Ext
}

// collector gathers the payloads of one result. The same bytes are kept once.
type collector struct {
	base     string
	payloads []Payload
	seen     map[[sha256.Size]byte]int
}

// keep takes a payload and returns a mark with its placeholder; its place is still to be set.
func (c *collector) keep(kind, declared string, data []byte) Mark {
	sum := sha256.Sum256(data)
	at, ok := c.seen[sum]
	if !ok {
		at = len(c.payloads)
		mime := sniff(data, mediaType(declared))
		c.payloads = append(c.payloads, Payload{Part: at + 1, Ext: extension(mime), MIMEType: mime, Data: data})
		if c.seen == nil {
			c.seen = map[[sha256.Size]byte]int{}
		}
		c.seen[sum] = at
	}
	p := c.payloads[at]
	known := []string{p.MIMEType, size(len(data))}
	if path := p.Path(c.base); path != "" {
		known = append(known, path)
	}
	return Mark{Text: "[" + kind + ": " + strings.Join(known, ", ") + "]", Payload: at}
}

// size writes a number of bytes as a placeholder shows it.
func size(n int) string {
	const kb, mb = 1 << 10, 1 << 20
	switch {
	case n < kb:
		return strconv.Itoa(n) + "B"
	case n < mb:
		return fmt.Sprintf("~%dKB", (n+kb/2)/kb)
	default:
		return fmt.Sprintf("~%.1fMB", float64(n)/mb)
	}
}
