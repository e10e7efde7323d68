package membrane

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/canon"
)

// Codec names the form in which [Encode] writes a stored body.
const Codec = "m1"

// messageBody is a stored body. Its members and their order are the format "m1": a change of either
// is a new codec, and this one stays readable.
type messageBody struct {
	Role   Role        `json:"role"`
	Blocks []blockBody `json:"blocks"`
}

// blockBody is a block in a stored body. Each text has a twin whose name ends in 64: bytes that are
// no UTF-8, and so no JSON string, stand there in base64. A pointer tells empty from absent.
type blockBody struct {
	Type   BlockType       `json:"type"`
	Text   string          `json:"text,omitempty"`
	Text64 []byte          `json:"text64,omitempty"`
	ID     string          `json:"id,omitempty"`
	ID64   []byte          `json:"id64,omitempty"`
	Tool   string          `json:"tool,omitempty"`
	Tool64 []byte          `json:"tool64,omitempty"`
	Args   *string         `json:"args,omitempty"`
	Args64 []byte          `json:"args64,omitempty"`
	MIME   string          `json:"mime,omitempty"`
	MIME64 []byte          `json:"mime64,omitempty"`
	Data   *[]byte         `json:"data,omitempty"`
	Raw    json.RawMessage `json:"raw,omitempty"`
	Raw64  *[]byte         `json:"raw64,omitempty"`
}

// Encode makes the body that is stored for a message, in the form named by [Codec]. The same message
// always gives the same bytes, and [Decode] gives every byte of it back, also arguments that are no
// JSON and texts that are no UTF-8. A message of results has an empty body: its content is kept with
// its calls.
//
// It fails for a role or a block type that is none of this package, and for a message that holds what
// its role has no place for.
func Encode(m Message) ([]byte, error) {
	switch {
	case m.Role == Results && len(m.Blocks) > 0:
		return nil, fmt.Errorf("encode a message: one of results has no blocks, found %d", len(m.Blocks))
	case m.Role == Results:
		return []byte{}, nil
	case m.Role != User && m.Role != Assistant:
		return nil, fmt.Errorf("encode a message: its role is %.40q; it must be %s, %s or %s", m.Role, User, Assistant, Results)
	case len(m.Results) > 0:
		return nil, fmt.Errorf("encode a message: one of role %s has no results, found %d", m.Role, len(m.Results))
	}
	body := messageBody{Role: m.Role, Blocks: make([]blockBody, len(m.Blocks))}
	for i, b := range m.Blocks {
		if !b.Type.known() {
			return nil, fmt.Errorf("encode block %d: its type is %.40q; what only its provider understands is of type %s", i, b.Type, Other)
		}
		body.Blocks[i] = bodyOf(b)
	}
	out, err := canon.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode a message: %w", err)
	}
	return out, nil
}

// Decode reads a body that [Encode] wrote; codec is the name that was stored with it. An empty body is
// a message of results, whose content the caller fills in. A body that was not written by [Encode] is
// an error, and so is a codec that this build does not know.
func Decode(codec string, body []byte) (Message, error) {
	if codec != Codec {
		return Message{}, fmt.Errorf("decode a message: its codec is %.40q and this build reads only %q: use the build that wrote it, or a newer one", codec, Codec)
	}
	if len(body) == 0 {
		return Message{Role: Results}, nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	var in messageBody
	if err := d.Decode(&in); err != nil {
		return Message{}, fmt.Errorf("decode a message: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Message{}, errors.New("decode a message: something follows the JSON object")
	}
	if in.Role != User && in.Role != Assistant {
		return Message{}, fmt.Errorf("decode a message: its role is %.40q; it must be %s or %s", in.Role, User, Assistant)
	}
	m := Message{Role: in.Role}
	for i, b := range in.Blocks {
		block, err := b.block()
		if err != nil {
			return Message{}, fmt.Errorf("decode block %d: %w", i, err)
		}
		m.Blocks = append(m.Blocks, block)
	}
	return m, nil
}

func (t BlockType) known() bool {
	switch t {
	case Text, Call, Thinking, Image, Other:
		return true
	}
	return false
}

func bodyOf(b Block) blockBody {
	body := blockBody{Type: b.Type}
	body.Text, body.Text64 = parted(b.Text)
	body.ID, body.ID64 = parted(b.CallID)
	body.Tool, body.Tool64 = parted(b.Tool)
	body.MIME, body.MIME64 = parted(b.MIMEType)
	if b.Args != nil {
		args, args64 := parted(string(b.Args))
		if body.Args64 = args64; args64 == nil {
			body.Args = &args
		}
	}
	if b.Data != nil {
		body.Data = &b.Data
	}
	switch {
	case b.Raw == nil:
	case verbatim(b.Raw):
		body.Raw = b.Raw
	default:
		raw := []byte(b.Raw)
		body.Raw64 = &raw
	}
	return body
}

// parted gives s as a text where a JSON string can hold it, and as bytes where it cannot.
func parted(s string) (text string, data []byte) {
	if utf8.ValidString(s) {
		return s, nil
	}
	return "", []byte(s)
}

// verbatim reports whether raw stands in a JSON text as it is: it is JSON without white space around
// it, and nothing in it would be cleaned.
func verbatim(raw []byte) bool {
	if len(bytes.TrimSpace(raw)) != len(raw) || !canon.Valid(raw) {
		return false
	}
	// The body around it adds three levels, and the whole must not nest deeper than can be read.
	if !canon.Valid(bytes.Join([][]byte{[]byte("[[["), raw, []byte("]]]")}, nil)) {
		return false
	}
	_, replaced := canon.CleanJSON(raw)
	return replaced == 0 && utf8.Valid(raw)
}

func (b blockBody) block() (Block, error) {
	if !b.Type.known() {
		return Block{}, fmt.Errorf("its type is %.40q", b.Type)
	}
	for _, twice := range []struct {
		name string
		is   bool
	}{
		{"text", b.Text != "" && b.Text64 != nil},
		{"id", b.ID != "" && b.ID64 != nil},
		{"tool", b.Tool != "" && b.Tool64 != nil},
		{"args", b.Args != nil && b.Args64 != nil},
		{"mime", b.MIME != "" && b.MIME64 != nil},
		{"raw", b.Raw != nil && b.Raw64 != nil},
	} {
		if twice.is {
			return Block{}, fmt.Errorf("it has both %[1]s and %[1]s64", twice.name)
		}
	}
	out := Block{
		Type:     b.Type,
		Text:     b.Text + string(b.Text64),
		CallID:   b.ID + string(b.ID64),
		Tool:     b.Tool + string(b.Tool64),
		Args:     b.Args64,
		MIMEType: b.MIME + string(b.MIME64),
		Raw:      b.Raw,
	}
	if b.Args != nil {
		out.Args = []byte(*b.Args)
	}
	if b.Data != nil {
		out.Data = *b.Data
	}
	if b.Raw64 != nil {
		out.Raw = *b.Raw64
	}
	return out, nil
}
