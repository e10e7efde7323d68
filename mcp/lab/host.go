package lab

import "github.com/weir-run/weir/mcp/client"

// Host is a host's policy as it was seen or read at one time: a claim about then, not about now.
type Host struct {
	// Name is how the host is called here.
	Name string
	// View is the policy.
	View client.View
	// Seen is when it was seen or read, Source where: a public page, an issue, a source file at a commit.
	Seen, Source string
	// Observed says that the matrix itself was run against the host; else the policy was read.
	Observed bool
	// Unwrap says that structured content of the form {"result": x} is shown as x.
	Unwrap bool
	// Note is what the axes of a view cannot say.
	Note string
}

// Hosts gives the known policies: first those that were observed, then those whose source was read.
func Hosts() []Host {
	return append(observed(), read()...)
}

func observed() []Host {
	const source = "one server over HTTP through one connector, eight tools"
	return []Host{
		{
			Name: "inspector", Seen: "2026-08-11", Source: source + "; the reference client", Observed: true,
			View: client.View{Validate: client.OnAfterList, Pick: client.Envelope},
		},
		{
			Name: "claude-desktop", Seen: "2026-08-11", Source: source, Observed: true,
			View: client.View{Validate: client.Off, Pick: client.TextFirst, Errors: client.ErrorText},
		},
		{
			Name: "claude.ai", Seen: "2026-08-11", Source: source + "; cap as reported", Observed: true,
			View: client.View{Validate: client.Off, Pick: client.TextFirst, Errors: client.ErrorText, MaxChars: 150_000},
		},
		{
			Name: "claude-code", Seen: "2026-08-11", Source: source + "; caps and errors: anthropics/claude-code issues 79944, 54737, 86032", Observed: true,
			View: client.View{
				Validate: client.Off, Pick: client.StructuredReplacesAll, Errors: client.ErrorText,
				MaxChars: 50_000, MaxTokens: 25_000, Overflow: client.File,
			},
			Note: "A tool may ask for up to 500,000 characters with _meta[\"anthropic/maxResultSizeChars\"].",
		},
	}
}

func read() []Host {
	return []Host{
		{
			Name: "codex", Seen: "2026-11", Source: "openai/codex codex-rs/protocol/src/models.rs @001cb8e; caps: issue 7906",
			View: client.View{Validate: client.Off, Pick: client.StructuredReplacesAll, Errors: client.ErrorStructured, MaxChars: 10_000, Overflow: client.Middle},
			Note: "Images are kept when all blocks are text or images; else the whole content array is shown as JSON. The cap counts bytes.",
		},
		{
			Name: "vscode", Seen: "2026-11", Source: "microsoft/vscode mcpLanguageModelToolContribution.ts @027907c",
			View: client.View{Validate: client.Off, Pick: client.StructuredReplacesText, Errors: client.ErrorIgnore, Audience: true},
			Note: "Images are made smaller.",
		},
		{
			Name: "opencode", Seen: "2026-11", Source: "packages/opencode/src/mcp/catalog.ts @0ded052; caps: issue 22565",
			View: client.View{
				Validate: client.OnAfterList, Pick: client.StructuredReplacesAll, Errors: client.ErrorText,
				MaxChars: 50_000, MaxLines: 2000,
			},
			Note: "A list that does not validate is read again without its output schemas.",
		},
		{
			Name: "gemini-cli", Seen: "2026-11", Source: "google-gemini/gemini-cli mcp-tool.ts @5411f11",
			View: client.View{Validate: client.OnAfterList, Pick: client.TextOnly, Errors: client.ErrorDump, MaxChars: 40_000, Overflow: client.File},
			Note: "Images and audio are given inline beside the text.",
		},
		{
			Name: "goose", Seen: "2026-11", Source: "block/goose large_response_handler.rs @03b5601, issues 10125, 3249",
			View: client.View{Validate: client.Off, Pick: client.TextOnly, Errors: client.ErrorText, MaxChars: 200_000, Overflow: client.File},
			Note: "Media blocks are kept. The cap is that of one text block.",
		},
		{
			Name: "crush", Seen: "2026-11", Source: "charmbracelet/crush @37f36e9",
			View: client.View{Validate: client.Off, Pick: client.TextOnly, Errors: client.ErrorIgnore},
			Note: "The first image or audio block is given beside the text.",
		},
		{
			Name: "adk-go", Seen: "2026-11", Source: "google/adk-go @0a51e15",
			View: client.View{Validate: client.Off, Pick: client.StructuredReplacesAll, Errors: client.ErrorText},
			Note: "Structured content is shown below the key output; a result without text and structured content is an error.",
		},
		{
			Name: "pydantic-ai", Seen: "2026-11", Source: "pydantic/pydantic-ai @4fda389",
			View:   client.View{Validate: client.Off, Pick: client.StructuredIfAllText, Errors: client.ErrorStructured},
			Unwrap: true,
		},
	}
}

// Preset finds a host by its name; false when it is not known.
func Preset(name string) (Host, bool) {
	for _, h := range Hosts() {
		if h.Name == name {
			return h, true
		}
	}
	return Host{}, false
}
