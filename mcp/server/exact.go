package server

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/internal/canon"
)

// exact is a result whose bytes on the wire are the store's: the protocol's own encoder writes < > & and
// some separators as escapes, in texts and in structured content.
type exact struct{ *mcp.CallToolResult }

// exactly gives a result that is written byte for byte; res itself where it has blocks of other types.
func exactly(res mcp.Result) mcp.Result {
	r, ok := res.(*mcp.CallToolResult)
	if !ok || r == nil || r.InputRequests != nil {
		return res
	}
	if _, raw := r.StructuredContent.(json.RawMessage); !raw && r.StructuredContent != nil {
		return res
	}
	for _, c := range r.Content {
		switch x := c.(type) {
		case *mcp.TextContent:
			ok = x.Meta == nil && x.Annotations == nil
		case *mcp.ImageContent:
			ok = x.Meta == nil && x.Annotations == nil
		default:
			ok = false
		}
		if !ok {
			return res
		}
	}
	return exact{r}
}

// MarshalJSON writes the envelope as the protocol's own encoder does, and what stands in it as it is.
func (e exact) MarshalJSON() ([]byte, error) {
	envelope := *e.CallToolResult
	envelope.Content, envelope.StructuredContent = []mcp.Content{}, nil
	out, err := json.Marshal(&envelope)
	if err != nil {
		return nil, err
	}
	const hole = `"content":[]`
	before, after, ok := bytes.Cut(out, []byte(hole))
	if !ok {
		return nil, fmt.Errorf("write a result: its envelope %.100s has no content", out)
	}
	b := append(bytes.Clone(before), `"content":[`...)
	for i, c := range e.Content {
		if i > 0 {
			b = append(b, ',')
		}
		switch x := c.(type) {
		case *mcp.TextContent:
			b = append(canon.AppendString(append(b, `{"type":"text","text":`...), x.Text), '}')
		case *mcp.ImageContent:
			b = canon.AppendString(append(b, `{"type":"image","mimeType":`...), x.MIMEType)
			b = base64.StdEncoding.AppendEncode(append(b, `,"data":"`...), x.Data)
			b = append(b, `"}`...)
		}
	}
	b = append(b, ']')
	if raw, ok := e.StructuredContent.(json.RawMessage); ok {
		b = append(append(b, `,"structuredContent":`...), raw...)
	}
	return append(b, after...), nil
}
