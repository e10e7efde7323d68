package lab

import (
	"encoding/json"
	"slices"
)

// Tool is one tool of the lab. It takes no arguments and always answers with the same bytes.
type Tool struct {
	// Name says what is declared and what is sent: schema, then channels.
	Name string
	// Description tells people what the tool shows.
	Description string
	// Output is the declared output schema; nil for none.
	Output json.RawMessage
	// Result is the result object, byte for byte as it goes out to a client of the revisions with a
	// handshake; one of 2026-07-28 gets its resultType in front.
	Result json.RawMessage
}

// The widget of the matrix and its schema.
const (
	widgetText   = `Widget costs $9.99 and is currently out of stock.`
	widget       = `{"name":"Widget","price":9.99,"in_stock":false}`
	widgetSchema = `{"type":"object","properties":{"name":{"type":"string"},"price":{"type":"number"},` +
		`"in_stock":{"type":"boolean"}},"required":["name","price","in_stock"]}`
)

// text makes a content array of one text block; s needs no escapes.
func text(s string) string { return `[{"type":"text","text":"` + s + `"}]` }

func row(name, description string, schema bool, content, structured string) Tool {
	t := Tool{Name: name, Description: description, Result: json.RawMessage(`{"content":` + content + `}`)}
	if structured != "" {
		t.Result = json.RawMessage(`{"content":` + content + `,"structuredContent":` + structured + `}`)
	}
	if schema {
		t.Output = json.RawMessage(widgetSchema)
	}
	return t
}

// Matrix gives the eight tools, in their order.
func Matrix() []Tool {
	return []Tool{
		row("no_schema__text_only", "A text, nothing else.", false, text(widgetText), ""),
		row("no_schema__structured_only", "Structured content without a text or a schema.", false, `[]`, widget),
		row("no_schema__text_and_structured", "A text and structured content that agree, without a schema.", false, text(widgetText), widget),
		row("with_schema__text_and_structured_matching", "A text and structured content that agree and fit the schema.", true, text(widgetText), widget),
		row("with_schema__structured_only_no_text", "Structured content that fits the schema, without a text.", true, `[]`, widget),
		row("with_schema__text_and_structured_mismatched", "A text that says something else than the structured content.", true,
			text(`Widget costs $25.00 and is in stock.`), widget),
		row("with_schema__structured_violates_schema", "Structured content that does not fit the schema.", true,
			text(`Widget costs twenty-five dollars, in stock: yes`), `{"price":"twenty-five dollars","in_stock":"yes"}`),
		row("with_schema__structured_missing", "A schema, and no structured content.", true, text(widgetText), ""),
	}
}

// pixel is a PNG of one grey point.
const pixel = `iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg==`

func image(media string) string {
	return `{"type":"image","data":"` + pixel + `","mimeType":"` + media + `"}`
}

// All gives the eight tools and the further variants behind them, named by the same convention.
func All() []Tool {
	all := append(Matrix(), shapes()...)
	all = append(all, failures()...)
	return append(all, media()...)
}

func shapes() []Tool {
	array := row("with_schema__structured_array", "An array under a schema of arrays; known since 2026-07-28.", true, `[]`, `[`+widget+`,`+widget+`]`)
	array.Output = json.RawMessage(`{"type":"array","items":` + widgetSchema + `}`)
	return []Tool{
		row("no_schema__structured_array", "Structured content that is an array.", false, text(`Two widgets.`), `[`+widget+`,`+widget+`]`),
		row("no_schema__structured_scalar", "Structured content that is a number.", false, text(`Seven.`), `7`),
		row("no_schema__structured_null", "Structured content that is null, not absent.", false, text(`Nothing was found.`), `null`),
		array,
		row("no_schema__text_echoes_structured", "A text that is the JSON of the structured content, in another order and spacing.", false,
			text(`{\"price\": 9.990, \"in_stock\": false, \"name\": \"Widget\"}`), widget),
		row("no_schema__big_integers", "Digits beyond 2^53, an exponent beyond float64, 1.0 and -0.", false, `[]`,
			`{"id":9007199254740993,"negative":-9223372036854775808,"huge":1e400,"one":1.0,"zero":-0}`),
		row("no_schema__structured_wrapped", "Structured content that wraps its value in result.", false, `[]`, `{"result":"Widget"}`),
		row("no_schema__text_empty", "No text, no structured content, no error.", false, `[]`, ""),
		row("no_schema__text_over_cap", "A text of 120,000 characters, whose last line holds the answer.", false, text(long()), ""),
	}
}

func failing(t Tool) Tool {
	t.Result = json.RawMessage(string(t.Result[:len(t.Result)-1]) + `,"isError":true}`)
	return t
}

func failures() []Tool {
	return []Tool{
		failing(row("no_schema__error_text_only", "An error that says why.", false, text(`No widget has this name.`), "")),
		failing(row("no_schema__error_structured_only", "An error whose reason stands in the structured content only.", false, `[]`, `{"code":"not_found","hint":"list the widgets first"}`)),
		failing(row("no_schema__error_text_and_structured", "An error with a text, and what to do about it in the structured content.", false,
			text(`No widget has this name.`), `{"code":"not_found","hint":"list the widgets first"}`)),
		failing(row("with_schema__error_structured_violates_schema", "An error whose structured content does not fit the schema; errors are not checked.", true,
			text(`No widget has this name.`), `{"name":"","price":0}`)),
		failing(row("no_schema__error_empty", "An error without a word.", false, `[]`, "")),
	}
}

func media() []Tool {
	return []Tool{
		row("no_schema__image_and_structured", "An image beside structured content.", false, `[`+image("image/png")+`]`, widget),
		row("no_schema__text_image_and_structured", "A text, an image and structured content.", false,
			`[{"type":"text","text":"`+widgetText+`"},`+image("image/png")+`]`, widget),
		row("no_schema__image_of_wrong_type", "A PNG that is said to be a JPEG.", false, `[`+image("image/jpeg")+`]`, ""),
		row("no_schema__structured_base64", "A file as base64 in the structured content.", false, text(`A file of 90 KB.`),
			`{"name":"widget.bin","blob":"`+blob()+`"}`),
		row("no_schema__audience_user_only", "A block for the user, and one for the model.", false,
			`[{"type":"text","text":"For the model: out of stock.","annotations":{"audience":["assistant"]}},`+
				`{"type":"text","text":"For the user: sorry.","annotations":{"audience":["user"]}}]`, ""),
		row("no_schema__resource_link", "A link to a resource, which is not fetched.", false,
			`[{"type":"text","text":"See the list."},{"type":"resource_link","uri":"widget://list","name":"All widgets","mimeType":"text/csv"}]`, ""),
		row("no_schema__resource_text", "A resource whose text is embedded.", false,
			`[{"type":"resource","resource":{"uri":"widget://1","mimeType":"text/plain","text":"`+widgetText+`"}}]`, ""),
		row("no_schema__unknown_block", "A block of a type that there is not, between two texts.", false,
			`[{"type":"text","text":"before"},{"type":"hologram","depth":3},{"type":"text","text":"after"}]`, ""),
	}
}

// long is a text of numbered lines, escaped for JSON, whose last line is the answer.
func long() string {
	const lines, width = 2000, 60
	var out []byte
	for i := 1; i < lines; i++ {
		line := []byte("line ")
		line = appendPadded(line, i)
		for len(line) < width-1 {
			line = append(line, '.')
		}
		out = append(append(out, line...), `\n`...)
	}
	return string(out) + "the widget is in aisle 7"
}

func appendPadded(b []byte, n int) []byte {
	digits := []byte{'0', '0', '0', '0'}
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] += byte(n % 10)
		n /= 10
	}
	return append(b, digits...)
}

// blob is 120,000 characters of base64.
func blob() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	out := make([]byte, 120_000)
	state := uint32(7)
	for i := range out {
		state = state*1664525 + 1013904223
		out[i] = letters[state>>26]
	}
	return string(out)
}

// Find gives the tools of these names, in the order of the lab; every tool when there are none. The second
// value are names that no tool has.
func Find(tools []Tool, names []string) (found []Tool, unknown []string) {
	if len(names) == 0 {
		return tools, nil
	}
	for _, t := range tools {
		if slices.Contains(names, t.Name) {
			found = append(found, t)
		}
	}
	for _, n := range names {
		if !slices.ContainsFunc(tools, func(t Tool) bool { return t.Name == n }) {
			unknown = append(unknown, n)
		}
	}
	return found, unknown
}
