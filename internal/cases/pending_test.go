package cases

// pendingTopics are the topics that wait as a whole, with the room that they wait for.
var pendingTopics = map[string]string{
	"nil-slice":          "mcp/client: a list of tools that is null on the wire",
	"js-infinite-loop":   "scripting",
	"js-memory":          "scripting",
	"js-escape":          "scripting",
	"js-rejection":       "scripting",
	"js-host-crash":      "scripting",
	"mcp-output-schema":  "mcp/client: output schemas",
	"mcp-content-choice": "mcp/client: views",
	"mcp-is-error":       "mcp/client",
	"mcp-death":          "mcp/client: reconnecting",
	"tool-timeout":       "mcp/client: a call that is never answered on the wire",
	"stdio-pollution":    "mcp/client and mcp/server: noise on stdio",
	"pagination":         "mcp/client: pages of a tool list",
	"doom-loop":          "envelope: loops",
}

// pendingCases wait alone: their topics run.
var pendingCases = map[string]string{
	"C032": "mcp/gateway: prompts are passed through by the gateway only",
	"C051": "mcp/client: structured content that repeats an image block",
	"C060": "mcp/client: structured content where no text came",
	"C163": "scripting: large integers in a script",
}
