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
	// metaSignals is the key of _meta under which what is said beside a result stands.
	metaSignals = "weir/signals"
	// metaMost is the key of _meta that tells a host how long the texts of a tool, or of a result, may be.
	metaMost = "anthropic/maxResultSizeChars"
	// maxImages is how many bytes of images are sent beside the text of one result.
	maxImages = 5 << 20
	// Stateless is the first revision without a handshake: any JSON is structured content, and a result says
	// what it is.
	Stateless = "2026-07-28"
)

// encode makes the protocol's form of a settled call: the stored text as it stands, its images, and the
// structured content where the client can take it.
func encode(o offer, version string, r round.Settled) *mcp.CallToolResult {
	out := &mcp.CallToolResult{IsError: r.IsError || r.Fit.IsError}
	out.Meta = mcp.Meta{metaResult: r.ID.String(), metaMost: o.most()}
	if r.Fit.MaxResultSizeChars > 0 {
		out.Meta[metaMost] = r.Fit.MaxResultSizeChars
	}
	if r.Fit.Signals != nil {
		out.Meta[metaSignals] = r.Fit.Signals
	}
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
	fitted := r.Fit.Structured
	if fitted == nil && o.Fit != nil && o.Output != nil && (r.Fit.Stage > 1 || out.IsError) {
		return out // it fits in no form, or belongs to an error: the text has it, or says where it is
	}
	switch {
	case fitted != nil && (canon.Kind(fitted) == "object" || version >= Stateless):
		out.StructuredContent = fitted
	case r.Structured == nil:
	case utf8.RuneCount(r.Structured) > o.cap:
		// It would come past the cap; the text has it, or says where it is.
	case canon.Kind(r.Structured) != "object" && version < Stateless:
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

// RevisionOf gives the revision of the protocol that a client speaks, such as "2025-11-25"; empty, which is
// before all of them, when it did not say.
func RevisionOf(session *mcp.ServerSession) string {
	if session == nil {
		return ""
	}
	if p := session.InitializeParams(); p != nil {
		return p.ProtocolVersion
	}
	return ""
}
