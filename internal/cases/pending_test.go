package cases

// pendingTopics are the topics that wait as a whole, with the room that they wait for.
var pendingTopics = map[string]string{
	"js-infinite-loop": "scripting",
	"js-memory":        "scripting",
	"js-escape":        "scripting",
	"js-rejection":     "scripting",
	"js-host-crash":    "scripting",
	"doom-loop":        "envelope: loops",
}

// pendingCases wait alone: their topics run.
var pendingCases = map[string]string{
	"C032": "mcp/gateway: prompts are passed through by the gateway only",
	"C163": "scripting: large integers in a script",
}
