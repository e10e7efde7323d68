package openai_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/openai"
)

// delta is a chunk with this delta.
func delta(d string) string {
	return `{"choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`
}

// finish is a chunk with this reason, and the end.
func finish(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}` + "\n[DONE]"
}

// piece is a chunk with one piece of a call.
func piece(call string) string { return delta(`{"tool_calls":[` + call + `]}`) }

// play asks once and tells what came: the deltas, and the fragment or the error.
func play(t testing.TB, m *openai.Model) (membrane.Done, string) {
	t.Helper()
	head, err := m.EncodeHead(membrane.Head{Tools: []membrane.ToolSpec{{Name: "f"}, {Name: "g.h"}}})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	var done membrane.Done
	for e, err := range m.Stream(t.Context(), membrane.Request{Head: head.Head, Tail: head.Tail}) {
		switch e := e.(type) {
		case nil:
			var typed *membrane.Error
			if !errors.As(err, &typed) || typed.Model != m.Name() {
				t.Fatalf("an error of another type: %v", err)
			}
			fmt.Fprintf(&out, "%s: %s", typed.Kind, typed.Text)
		case membrane.TextDelta:
			fmt.Fprintf(&out, "%s|", e.Text)
		case membrane.ThinkingDelta:
			fmt.Fprintf(&out, "(%s)|", e.Text)
		case membrane.Done:
			done = e
			fmt.Fprintf(&out, "%s %s", e.Stop, strings.TrimSuffix(strings.TrimPrefix(string(e.Fragment), `{"role":"assistant",`), "}"))
		}
	}
	if done.Stop != "" {
		again, err := m.EncodeMessage(done.Message)
		if err != nil || string(again) != string(done.Fragment) {
			t.Errorf("encoded again it is %s, %v", again, err)
		}
	}
	return done, out.String()
}

func lines(body string) string {
	var out strings.Builder
	for line := range strings.Lines(body) {
		out.WriteString(membranetest.Data(strings.TrimSuffix(line, "\n")))
	}
	return out.String()
}

// What servers send that is not as the reference has it, and what no build knows.
func TestStream(t *testing.T) {
	t.Parallel()
	f := func(id, args string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"` + args + `"}}`
	}
	one := func(args string) string { return `calls "content":null,"tool_calls":[` + f("c1", args) + `]` }
	two := `calls "content":null,"tool_calls":[` + f("c1", "{}") + "," + f("c2", "{}") + `]`
	for _, c := range []struct{ name, body, want string }{
		{"a refusal", delta(`{"content":null,"refusal":"I "}`) + "\n" + delta(`{"refusal":"won't."}`) + "\n" + finish("stop"), `I |won't.|refused "content":null,"refusal":"I won't."`},
		{"one number for all calls", piece(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{}"}},{"index":0,"id":"c2","function":{"name":"f","arguments":"{}"}}`) + "\n" + finish("stop"), two},
		{"no numbers", piece(`{"id":"c1","function":{"name":"f","arguments":"{}"}}`) + "\n" + piece(`{"id":"c2","function":{"name":"f"}}`) + "\n" + piece(`{"function":{"arguments":"{}"}}`) + "\n" + finish("tool_calls"), two},
		{"id and name again and again", piece(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{"}}`) + "\n" + piece(`{"index":0,"id":"c1","function":{"name":"f","arguments":"}"}}`) + "\n" + finish("tool_calls"), one("{}")},
		{"a new id for each piece", piece(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{"}}`) + "\n" + piece(`{"index":0,"id":"c9","function":{"name":null,"arguments":"}"}}`) + "\n" + finish("tool_calls"), one("{}")},
		{"pieces of two calls, mixed", piece(`{"index":0,"id":"c1","function":{"name":"f"}},{"index":1,"id":"c2","function":{"name":"f"}}`) + "\n" + piece(`{"index":1,"function":{"arguments":"{}"}},{"index":0,"function":{"arguments":"{}"}}`) + "\n" + finish("tool_calls"), two},
		{"arguments that are an object", piece(`{"index":0,"id":"c1","function":{"name":"f","arguments":{"z":1.0,"a":[]}}}`) + "\n" + finish("tool_calls"), one(`{\"z\":1.0,\"a\":[]}`)},
		{"arguments of both kinds", piece(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{"}}`) + "\n" + piece(`{"index":0,"function":{"arguments":{}}}`), "invalid_request: the arguments of a call begin as a text and go on as JSON, or the other way round, which this build does not know: use a newer one"},
		{"a piece of no call", piece(`{"function":{"arguments":"{}"}}`), "network: a piece of a call belongs to no call"},
		{"a call of another type", piece(`{"index":0,"id":"c1","type":"custom","custom":{}}`), `invalid_request: a call of the answer is of type "custom", which this build does not know: use a newer one`},
		{"the form of 2023", delta(`{"function_call":{"name":"f"}}`), "invalid_request: the server calls a function in the form that was given up in 2023, which this build does not know: use a newer one"},
		{"a member of a function", piece(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{}","extra":{"a":1}}}`) + "\n" + finish("tool_calls"), `calls "content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}","extra":{"a":1}}}]`},
		{"reasoning under two names", delta(`{"reasoning":"A","reasoning_content":"A","content":""}`) + "\n" + delta(`{"content":"B"}`) + "\n" + finish("stop"), `(A)|B|end "content":"B","reasoning":"A","reasoning_content":"A"`},
		{"thinking in a list", delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"A"}]}]}`) + "\n" + delta(`{"content":"B"}`) + "\n" + delta(`{"content":[{"type":"text","text":"C","mark":1}]}`) + "\n" + finish("stop"), `(A)|B|C|end "content":[{"type":"thinking","thinking":[{"type":"text","text":"A"}]},{"type":"text","text":"B"},{"type":"text","text":"C","mark":1}]`},
		{"a second answer", `{"choices":[{"index":1,"delta":{"content":"x"}}]}`, "invalid_request: the server sent a second answer, which this build does not know: use a newer one"},
		{"a reason that is not known", delta(`{"content":"x"}`) + "\n" + finish("bored"), `x|invalid_request: the answer stopped for the reason "bored", which this build does not know: use a newer one`},
		{"no reason", delta(`{"content":"x"}`) + "\n[DONE]", "x|network: the answer ended without a reason to stop"},
		{"no [DONE]", strings.TrimSuffix(delta(`{"content":"x"}`)+"\n"+finish("stop"), "[DONE]"), `x|end "content":"x"`},
		{"calls that are none", finish("tool_calls"), "network: the answer ended for its calls and has none"},
		{"given up", delta(`{"content":"x"}`) + "\n" + finish("error"), "x|network: the server gave the answer up (error)"},
		{"no resources", finish("insufficient_system_resource"), "overloaded: the server gave the answer up (insufficient_system_resource): ask again later"},
		{"an error of a choice", `{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"gone"}}]}`, "overloaded: 502: gone: ask again later"},
		{"an error that says nothing", `{"error":{}}`, "network: the stream broke off with an error: {}"},
		{"a member that turns", delta(`{"novel":"a"}`) + "\n" + delta(`{"novel":["a"]}`), `invalid_request: the answer cannot be joined: "novel" begins as string and goes on as array, which this build does not know: use a newer one`},
		{"a number that turns", delta(`{"novel":1}`) + "\n" + delta(`{"novel":1.0}`) + "\n" + delta(`{"novel":2}`), `invalid_request: the answer cannot be joined: "novel" comes twice and not as the same, which this build does not know: use a newer one`},
		{"nothing", delta(`{"role":"assistant","content":""}`) + "\n" + finish("stop"), "end "},
		{"white space", delta(`{"content":" \n"}`) + "\n" + finish("stop"), " \n|end "},
		{"only thinking, cut", delta(`{"reasoning_content":"A"}`) + "\n" + finish("length"), "(A)|cut "},
		{"content of another kind", delta(`{"content":7}`), "network: the content of the answer is neither a text nor a list: 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, membranetest.Serve(t, membranetest.Answer{Body: lines(c.body)}).URL, "m")
			if _, got := play(t, m); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Counts come once, in the last chunk that has them, and what came from the cache is kept apart.
func TestUsage(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]membrane.Usage{
		`{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":40}}`:                         {In: 60, Out: 20, CacheRead: 40},
		`{"prompt_tokens":100,"completion_tokens":20,"prompt_cache_hit_tokens":30,"prompt_cache_miss_tokens":70}`:           {In: 70, Out: 20, CacheRead: 30},
		`{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":40,"cache_write_tokens":10}}`: {In: 50, Out: 20, CacheRead: 40, CacheWrite: 10},
		`{"prompt_tokens":10,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":40}}`:                          {Out: 20, CacheRead: 40},
		`null`: {In: 1, Out: 1},
	} {
		body := `{"choices":[{"index":0,"delta":{"content":"x"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}` + "\n" + `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":` + in + "}\n[DONE]"
		m := newModel(t, membranetest.Serve(t, membranetest.Answer{Body: lines(body)}).URL, "m")
		done, _ := play(t, m)
		if diff := cmp.Diff(want, done.Usage); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
}

// FuzzStream feeds two deltas of any kind and a reason to stop: what becomes a message encodes to the same
// bytes again, and the bytes are JSON.
func FuzzStream(f *testing.F) {
	for _, s := range [][3]string{
		{`{"content":"a","novel":{"x":[1],"y":"z"}}`, `{"content":[{"type":"thinking","thinking":"a"}],"novel":{"y":"\ud800"}}`, "stop"},
		{`{"reasoning":"\ud83d","refusal":"n"}`, `{"reasoning":"\ude00","reasoning_details":[{"text":"a"}]}`, "length"},
		{`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"a\":"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"1}"},"novel":"x"},{"id":"c1","function":{"name":"g.h"}}]}`, "tool_calls"},
		{`{"content":[{"type":"text","text":"a","b":1},{"type":"x"}]}`, `{"content":"\udc00"}`, "content_filter"},
	} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, a, b, reason string) {
		checkAnswer(t, delta(a)+"\n"+delta(b)+"\n"+finish(reason))
	})
}
