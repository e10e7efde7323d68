package server

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/round"
)

const (
	// metaResult is the key of _meta that names the stored result, such as "r3-1".
	metaResult = "weir/result"
	// metaPath is the key of _meta that says where the whole lies when the text is not all of it.
	metaPath = "weir/path"
	// maxImages is how many bytes of images are sent beside the text of one result.
	maxImages = 5 << 20
	// stateless is the first revision without a handshake, which takes any JSON as structured content.
	stateless = "2026-07-28"
)

// encode makes the protocol's form of a settled call: the stored text as it stands, its images, and the
// structured content where the client can take it.
func encode(o offer, version string, r round.Settled) *mcp.CallToolResult {
	out := &mcp.CallToolResult{IsError: r.IsError}
	out.Meta = mcp.Meta{metaResult: r.ID.String()}
	if r.Path != "" {
		out.Meta[metaPath] = r.Path
	}
	for _, text := range blocks(r) {
		out.Content = append(out.Content, &mcp.TextContent{Text: text})
	}
	room := maxImages
	for _, p := range r.Images {
		if room -= len(p.Data); room < 0 {
			break // each is named in the text, and kept
		}
		out.Content = append(out.Content, &mcp.ImageContent{Data: p.Data, MIMEType: p.MIMEType})
	}
	switch {
	case r.Structured == nil:
	case utf8.RuneCount(r.Structured) > o.cap:
		// It would come past the cap; the text has it, or says where it is.
	case canon.Kind(r.Structured) != "object" && version < stateless:
		// Those revisions know objects only, and clients of them refuse the whole result; the text has it.
	default:
		out.StructuredContent = json.RawMessage(r.Structured)
	}
	return out
}

// blocks gives the text of a result. The JSON of its structured content is a block of its own where
// something else stands before it; joined by newlines the blocks are the stored text.
func blocks(r round.Settled) []string {
	if len(r.Structured) > 0 && !r.IsError {
		if before, ok := strings.CutSuffix(r.Text, "\n"+string(r.Structured)); ok {
			return []string{before, string(r.Structured)}
		}
	}
	return []string{r.Text}
}

// versionOf gives the revision that a client speaks; the oldest when it did not say.
func versionOf(req *mcp.CallToolRequest) string {
	if req.Session == nil {
		return ""
	}
	if p := req.Session.InitializeParams(); p != nil {
		return p.ProtocolVersion
	}
	return ""
}
