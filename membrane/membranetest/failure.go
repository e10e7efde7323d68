package membranetest

import (
	"time"

	"github.com/weir-run/weir/membrane"
)

// endScenarios are the reasons to stop.
func endScenarios() []Scenario {
	stop := func(s string, why membrane.Stop) Outcome { return Outcome{Shown: s, Text: s, Stop: why} }
	cutCall := Outcome{Shown: "I write.", Text: "I write.", Stop: membrane.StopCut, Calls: []Called{{"search", `{"q":"feat`}}}
	return []Scenario{
		{Name: "cut", About: `the text "It was a dark and" and the limit of tokens`, Want: []Outcome{stop("It was a dark and", membrane.StopCut)}},
		{Name: "cut_in_call", About: `the text "I write.", then a call search that is cut in its arguments by the limit: {"q":"feat; then the text "Done."`, Want: []Outcome{cutCall, text("Done.")}},
		{Name: "refused", About: `the text "No" and a stop because the answer is refused`, Want: []Outcome{stop("No", membrane.StopRefused)}},
		{Name: "paused", About: `the text "Wait." and a pause; asked again, the text "Here."`, Want: []Outcome{stop("Wait.", membrane.StopPaused), text("Here.")}},
		{Name: "context_full", About: `the text "Half" and a stop because the context is full`, Want: []Outcome{stop("Half", membrane.StopContextFull)}},
	}
}

// refusalScenarios are errors instead of an answer.
func refusalScenarios() []Scenario {
	fails := func(name, about string, kind membrane.Kind, wait time.Duration) Scenario {
		return Scenario{Name: name, About: about, Want: []Outcome{{Error: kind, RetryAfter: wait}}}
	}
	return []Scenario{
		{
			Name: "retried", About: `too many requests, asking to wait for 7 s; then overloaded; then the text "At last." All three requests are equal`,
			Want: []Outcome{{Error: membrane.RateLimited, RetryAfter: 7 * time.Second}, {Error: membrane.Overloaded}, text("At last.")},
		},
		fails("error_rate_limited", "too many requests, without a time to wait for", membrane.RateLimited, 0),
		fails("error_overloaded", "the provider has too much to do", membrane.Overloaded, 0),
		fails("error_context", "the request is longer than the model's context, or than a request may be", membrane.ContextTooLong, 0),
		fails("error_invalid", "the request is not valid", membrane.InvalidRequest, 0),
		fails("error_auth", "the key is wrong; the provider's message repeats it", membrane.Auth, 0),
		fails("error_model", "there is no such model", membrane.InvalidRequest, 0),
		fails("error_timeout", "the provider's own time-out", membrane.Timeout, 0),
		fails("error_server", "status 500 with a body that is no JSON", membrane.Overloaded, 0),
		fails("error_page", "status 200 with a page of HTML", membrane.InvalidRequest, 0),
		fails("error_other", "status 404 with the answer of another protocol", membrane.InvalidRequest, 0),
	}
}

// breakScenarios are answers that break off behind the text "Half".
func breakScenarios() []Scenario {
	half := func(kind membrane.Kind) []Outcome { return []Outcome{{Shown: "Half", Error: kind}} }
	return []Scenario{
		{Name: "broken", About: `the text "Half", then the connection breaks (end: break)`, Want: half(membrane.Network)},
		{Name: "end_missing", About: `the text "Half", then the stream ends without its final event`, Want: half(membrane.Network)},
		{Name: "error_frame", About: `the text "Half", then an error in the stream that says the provider is overloaded`, Want: half(membrane.Overloaded)},
		{Name: "garbage", About: `the text "Half", then an event that is no JSON`, Want: half(membrane.Network)},
	}
}

// unknownScenarios are answers with what this build does not know.
func unknownScenarios() []Scenario {
	return []Scenario{
		{Name: "unknown_event", About: `an event of a type (or a chunk with a member) that no build knows, around the text "Fine."`, Want: []Outcome{text("Fine.")}},
		{Name: "unknown_block", About: `a block of a type that no build knows (Unknown stands in it), then the text "Fine."`, Want: []Outcome{text("Fine.")}, Kept: []string{Unknown}},
		{Name: "unknown_field", About: `the text "Fine." with a further field (Unknown is its value) on its block, part or item`, Want: []Outcome{text("Fine.")}, Kept: []string{Unknown}},
		{Name: "unknown_field_call", About: `a call search {"q":"x"} with a further field (Unknown is its value)`, Want: []Outcome{calls(Called{"search", `{"q":"x"}`})}, Kept: []string{Unknown}},
	}
}

// longScenarios are conversations of many turns.
func longScenarios() []Scenario {
	return []Scenario{{
		Name: "conversation", About: `thinking that is signed (Signature), the text "One." and the calls search {"q":"a"} and files.read {"path":"b"}; the call search {"q":"c"}; the text "First."; to a further question the text "Second."; to another one the call search {"q":"d"} and the text "Third."`,
		Users: []membrane.Message{membrane.UserText("one"), membrane.UserText("two"), membrane.UserText("three")},
		Want: []Outcome{
			{Shown: "One.", Thought: "Hm.", Text: "One.", Calls: []Called{{"search", `{"q":"a"}`}, {"files.read", `{"path":"b"}`}}, Stop: membrane.StopCalls},
			calls(Called{"search", `{"q":"c"}`}), text("First."), text("Second."), calls(Called{"search", `{"q":"d"}`}), text("Third."),
		},
		Sent: []string{Signature},
	}}
}
