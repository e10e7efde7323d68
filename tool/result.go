package tool

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weir-run/weir/internal/canon"
)

// Result is what a tool's function returns. How its data becomes the text that is stored and shown,
// in brief (package result does it, and nothing else):
//
//	[]Content        text blocks joined by a newline; images and other payloads as one-line placeholders
//	string           itself
//	[]byte           decoded as UTF-8 (or UTF-16 by its mark), then as a string
//	json.RawMessage  those bytes; a JSON string at the root is decoded once
//	any other value  compact JSON; a value that marshals to a JSON string is that string
//	nil              the empty string, or Error when that is set
//
// With IsError the text is Error, else the text of Data, else "unknown error".
type Result struct {
	// Data is the answer: one of the kinds in the table above.
	Data any
	// Structured is the machine's view, for scripts and MCP clients. It is present when it is not nil,
	// so 0, false, null and "" are values.
	Structured json.RawMessage
	// IsError marks the result as a failure that the model should see as one.
	IsError bool
	// Error is the text of the failure. On a result that is not marked as an error it is shown when
	// Data has no text, so that an error is never hidden.
	Error string
	// EndTurn stores the result and ends the turn without asking the model again.
	EndTurn bool

	page bool
}

// Content is one block of a result in the sense of MCP (schema 2025-11-25, ContentBlock).
type Content struct {
	// Type is "text", "image", "audio", "resource" or "resource_link"; any other type is shown as its
	// JSON with a note.
	Type string
	// Text is the text of a text block or of an embedded text resource.
	Text string
	// MIMEType is the declared media type of Data; it is a claim, the bytes decide.
	MIMEType string
	// Data is the decoded payload of an image, an audio block or a binary resource.
	Data []byte
	// URI names a resource or a resource link. Links are never fetched.
	URI string
	// Name is the display name of a resource link.
	Name string
	// Raw is the block as it was received; needed only for a block of unknown type.
	Raw json.RawMessage
}

// Text makes a result whose text is s itself.
func Text(s string) Result { return Result{Data: s} }

// JSON makes a result from JSON that is passed on unchanged: key order, duplicate keys, spacing and
// digits stay as they are.
func JSON(raw json.RawMessage) Result { return Result{Data: raw} }

// Blocks makes a result from content blocks.
func Blocks(blocks ...Content) Result { return Result{Data: blocks} }

// Value makes a result from any Go value, marshalled at once, so that a later change of v changes
// nothing. Strings and bytes stay what they are. A value that does not marshal (a cycle, NaN, a
// channel, a marshaller that fails or panics) gives an error result that says so.
func Value(v any) Result {
	switch x := v.(type) {
	case nil:
		return Result{}
	case string:
		return Text(x)
	case json.RawMessage:
		return JSON(append(json.RawMessage{}, x...))
	case []byte:
		return Result{Data: append([]byte{}, x...)}
	case []Content:
		return Blocks(slices.Clone(x)...)
	}
	raw, err := canon.Marshal(v)
	if err != nil {
		return Unconvertible(err)
	}
	return JSON(raw)
}

// Error makes an error result with the given text.
func Error(text string) Result { return Result{IsError: true, Error: text} }

// Errorf makes an error result from a format, as fmt.Sprintf reads it.
func Errorf(format string, args ...any) Result { return Error(fmt.Sprintf(format, args...)) }

// Unconvertible is the result of a tool that ran but whose value could not be turned into text.
func Unconvertible(err error) Result {
	return Errorf("the tool ran, but its result could not be converted: %v", err)
}

// Page makes a result that is a page of something stored: it always fits inline by construction, and
// it is never shortened or spilled a second time. Only tools that read stored text back make pages.
func Page(text string) Result { return Result{Data: text, page: true} }

// IsPage reports whether the result was made by [Page].
func (r Result) IsPage() bool { return r.page }
