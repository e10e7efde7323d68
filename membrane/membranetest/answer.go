package membranetest

import (
	"fmt"

	"github.com/weir-run/weir/membrane"
)

// answerScenarios are answers as they come when nothing goes wrong.
func answerScenarios() []Scenario {
	usage := text("Hello, world.")
	usage.Usage = &membrane.Usage{In: 60, Out: 20, CacheRead: 40}
	const odd = "Grüße, 世界 😀 <b>&amp;</b> \u2028 \"end\"\n"
	thought := text("It rains.")
	thought.Thought = "Let me think."
	thoughtCall := Outcome{Thought: "I look.", Calls: []Called{{"search", `{"q":"rain"}`}}, Stop: membrane.StopCalls}
	return []Scenario{
		{Name: "text", About: `the text "Hello, world."`, Want: []Outcome{text("Hello, world.")}},
		{
			Name: "usage", About: `the text "Hello, world."; the request had 100 tokens, 40 of them from the cache, the answer 20, thinking included`,
			Want: []Outcome{usage},
		},
		{Name: "pieces", About: "a text in several events, with characters that are cut, escaped and odd: " + odd, Want: []Outcome{text(odd)}},
		{
			Name: "thinking", About: `thinking "Let me think." that is signed (Signature), then the text "It rains."; then, asked for more, the text "Still."`,
			Users: []membrane.Message{membrane.UserText("Rain?"), membrane.UserText("And now?")},
			Want:  []Outcome{thought, text("Still.")}, Sent: []string{Signature},
		},
		{
			Name: "thinking_call", About: `thinking "I look." and a call search {"q":"rain"} whose thinking or which itself is signed (Signature); then the text "Dry."`,
			Want: []Outcome{thoughtCall, text("Dry.")}, Sent: []string{Signature},
		},
	}
}

// callScenarios are answers with calls.
func callScenarios() []Scenario {
	two := Outcome{
		Shown: "I look.", Text: "I look.", Stop: membrane.StopCalls,
		Calls: []Called{{"search", `{"q": "^fu",  "n":1.0}`}, {"files.read", `{"path":"a<b>&c"}`}},
	}
	same := calls(Called{"search", `{"n":1}`}, Called{"search", `{"n":2}`})
	var thirty []Called
	for i := range 30 {
		thirty = append(thirty, Called{"search", fmt.Sprintf(`{"n":%d}`, i)})
	}
	return []Scenario{
		{
			Name: "calls", About: `the text "I look." and two calls in one answer: search {"q": "^fu",  "n":1.0} and files.read {"path":"a<b>&c"}, which on the wire has the name of membrane.WireName; then the text "Done."`,
			Want: []Outcome{two, text("Done.")}, Sent: []string{"found: search", "found: files.read"},
		},
		{Name: "ids_twice", About: `two calls with one id: search {"n":1} and search {"n":2}; then a third, with that id again: search {"n":3}`, Want: []Outcome{same, calls(Called{"search", `{"n":3}`})}},
		{Name: "ids_missing", About: `two calls without an id: search {"n":1} and search {"n":2}; then a third: search {"n":3}`, Want: []Outcome{same, calls(Called{"search", `{"n":3}`})}},
		{
			Name: "thirty", About: `thirty calls search {"n":0} … {"n":29}; then thirty more of the same; then the text "Done."`,
			Want: []Outcome{calls(thirty...), calls(thirty...), text("Done.")},
		},
	}
}

// argumentScenarios are calls with arguments of all kinds.
func argumentScenarios() []Scenario {
	one := func(args string) []Outcome { return []Outcome{calls(Called{"search", args}), text("Done.")} }
	return []Scenario{
		{Name: "args_empty", About: `a call search without arguments, however the provider writes that; then the text "Done."`, Want: one(""), Unsent: []string{"_unparsed"}},
		{Name: "args_object", About: `a call search with the arguments {}; then the text "Done."`, Want: one("{}")},
		{Name: "args_string", About: `a call search whose arguments are a JSON string that holds {"q":"rain"}; then the text "Done."`, Want: one(`"{\"q\":\"rain\"}"`), Unsent: []string{"_unparsed"}},
		{Name: "args_not_json", About: `a call search with the arguments q = rain; then the text "Done."`, Want: one("q = rain"), Sent: []string{"q = rain"}},
		{Name: "args_integers", About: `a call search with the arguments {"n":12345678901234567890,"z":1.0,"a":-0}; then the text "Done."`, Want: one(`{"n":12345678901234567890,"z":1.0,"a":-0}`), Sent: []string{"12345678901234567890"}},
	}
}
