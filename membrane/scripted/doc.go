// Package scripted is a model that plays a script: it answers requests with written steps and checks
// what it is shown on the way. Tests, the demo and the drills run on it; it needs no key and no network.
//
// # A script
//
// A script is a JSON file. Each step is one answer of the model:
//
//	{"steps": [
//	  {
//	    "text":   "I look for it.",
//	    "calls":  [{"name": "workspace--grep", "args": {"pattern": "^func", "path": "src"}}],
//	    "expect": [{"tool": "workspace--grep"}, {"in": "system", "contains": "careful"}]
//	  },
//	  {
//	    "text":   ["Found it.", "It is in line 7."],
//	    "expect": [{"result": 1, "matches": "(?m)^src/a.go:7:"}, {"result": 1, "is_error": false}]
//	  }
//	]}
//
// The members of a step, all of them optional:
//
//	text      what is said: a string, or an array of lines
//	thinking  what is thought before it: the same
//	calls     the calls: {"id", "name", "args"}; args keep their bytes as they stand in the file, and
//	          "args_text" instead holds arguments that are no JSON; without an id one is made
//	stop      why it stops: end, calls, cut, refused, paused or context_full; by default calls when
//	          there are calls, else end
//	usage     {"in", "out", "cache_read", "cache_write"} in tokens; by default a quarter of the bytes
//	expect    what must be true of the request, see below
//	error     fail: {"kind", "text", "status", "retry_after_ms", "times", "after_chunks"}; kind is one of
//	          membrane's, times says how often before the step is played (0: always), after_chunks how
//	          many pieces of the text come before it
//	delay_ms  wait first, at most ten minutes
//	stall     say the text, then nothing more until the request is cancelled, at most ten minutes
//
// Beside "steps" a script may have "after_end": "refuse" (the default: a request after the last step is
// an error), "repeat" (the last step again) or "loop" (from the first step).
//
// # Expectations
//
// An expectation looks at one place and says one thing of it. The place is "result": N, the Nth result
// (from 1) since the last answer, or "in": "new" (the default: all texts and results since the last
// answer), "system", or "all" (every text, call and result of the messages). What it says is one of
// contains, not_contains, equals, matches (a regular expression, RE2) and, of a result only, is_error.
// {"tool": NAME} and {"no_tool": NAME} look at the offered tools instead. One that is not met is an
// error that names the script, the step and the expectation.
//
// # Which step is played
//
// The request alone decides: an answer carries the number of its step on the wire, and the step after
// the last of these is played; answers without a number count as one each. A process that resumes a
// conversation goes on at the right place, and a compacted conversation too. Only how often an error
// was played is remembered by the Model itself.
//
// # The wire
//
//	{"model":"…","system":"…","tools":[{"name":"…","description":"…","schema":{…}}],"messages":[
//	  {"role":"user","content":[{"type":"text","text":"…"}]},
//	  {"role":"assistant","step":1,"content":[{"type":"call","id":"…","tool":"…","args":{…}}]},
//	  {"role":"results","content":[{"id":"…","tool":"…","text":"…"}]}
//	]}
//
// without any white space between tokens. Arguments stand there as the model wrote them when they are
// an object, see membrane.ObjectArgs.
package scripted
