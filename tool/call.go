package tool

import "encoding/json"

// Call is one tool call as a model made it.
type Call struct {
	// ID is the provider's own id for the call. Providers repeat ids and leave them out, so nothing is
	// addressed by it; it only has to go back with the result.
	ID string
	// Name is the tool that is called.
	Name string
	// Args are the arguments, byte for byte as the model wrote them: they may be no JSON at all.
	Args json.RawMessage
	// MaxChars is the inline limit of this one call in characters (Unicode code points) of the result's
	// text: a string is measured as its own text, never in an encoded form. Set by whoever dispatches
	// the call; 0 means no limit of its own.
	MaxChars int
	// MaxTokens is a further limit, in estimated tokens of the result's text: what the model's context
	// leaves. Both limits hold; 0 means none.
	MaxTokens int
	// Wish is what the caller asks of the result's form, beside the arguments.
	Wish Wish
}

// Wish is what a caller may ask of the form of one result whose tool has a [Fit] policy. The zero value asks
// for nothing.
type Wish struct {
	// MaxTokens is the budget in tokens, as it was written; nil for the session's.
	MaxTokens json.RawMessage
	// Effort is "low", "medium" or "high"; empty for the session's.
	Effort string
	// Lean is true or false, as it was written; anything else leaves the session's contract.
	Lean json.RawMessage
}
