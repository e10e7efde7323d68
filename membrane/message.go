// Package membrane holds the neutral messages of a conversation, the Model interface that every
// provider's adapter implements, and the one codec for stored bodies.
//
// Neutral messages are what the store keeps beside the bytes that were sent; a request is never made
// from them again once a fragment exists.
package membrane

import (
	"encoding/json"
	"strings"
)

// Role says who speaks.
type Role string

// The roles of a message.
const (
	// User is the person, or the program that asks.
	User Role = "user"
	// Assistant is the model.
	Assistant Role = "assistant"
	// Results carries the results of one round, in call order.
	Results Role = "results"
)

// Message is one neutral message.
type Message struct {
	Role Role
	// Blocks are the parts of a user's or an assistant's message, in the provider's order.
	Blocks []Block
	// Results are the parts of a results message, in call order.
	Results []Result
}

// BlockType says what a block is.
type BlockType string

// The types of a block.
const (
	Text     BlockType = "text"
	Call     BlockType = "call"
	Thinking BlockType = "thinking"
	Image    BlockType = "image"
	// Other is a block that only its provider understands; Raw holds it.
	Other BlockType = "other"
)

// Block is one part of a message.
type Block struct {
	Type BlockType
	// Text is the text of a text or thinking block. It is valid UTF-8.
	Text string
	// CallID, Tool and Args are those of a call: Args byte for byte as the model wrote them.
	CallID string
	Tool   string
	Args   []byte
	// MIMEType and Data are those of an image.
	MIMEType string
	Data     []byte
	// Raw is the provider's own JSON of the block, where the neutral form cannot hold all of it.
	Raw json.RawMessage
}

// Result is one result as the model is shown it.
type Result struct {
	// CallID is the provider's id of the call.
	CallID string
	// Tool is the name that was called.
	Tool string
	// Text is what the store keeps as shown; it may be empty.
	Text    string
	IsError bool
	// Images go natively to a dialect that takes images in results; any other sends Text.
	Images []Block
}

// Calls gives the call blocks of a message, in order.
func (m Message) Calls() []Block {
	var calls []Block
	for _, b := range m.Blocks {
		if b.Type == Call {
			calls = append(calls, b)
		}
	}
	return calls
}

// PlainText joins the text blocks of a message.
func (m Message) PlainText() string {
	var text strings.Builder
	for _, b := range m.Blocks {
		if b.Type == Text {
			text.WriteString(b.Text)
		}
	}
	return text.String()
}

// UserText makes a user's message of plain text.
func UserText(text string) Message {
	return Message{Role: User, Blocks: []Block{{Type: Text, Text: text}}}
}
