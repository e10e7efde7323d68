package openai

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-run/weir/membrane/openai/internal/form"
)

// The values of [Quirks.Arguments].
const (
	// ArgumentsWritten sends arguments back as the model wrote them, in a string.
	ArgumentsWritten = "written"
	// ArgumentsParsed sends a string that holds an object: the server reads it.
	ArgumentsParsed = "parsed"
	// ArgumentsObject sends the object itself.
	ArgumentsObject = "object"
)

// All sends everything back, as the only element of [Quirks.Back].
const All = "*"

// Quirks say what a server wants differently.
type Quirks struct {
	// System is the role of the system text: "system" or "developer".
	System string
	// MaxTokens is the member that bounds an answer: "max_tokens" or "max_completion_tokens".
	MaxTokens string
	// NoStreamOptions leaves stream_options out: the server refuses it, and as a rule counts anyway.
	NoStreamOptions bool
	// Back names the members of an answer, beside content, refusal and tool_calls, and those of a call
	// beside id, type and function, that go back to the model that made them: [All] for everything, nil
	// for none.
	Back []string
	// Arguments is ArgumentsWritten, ArgumentsParsed or ArgumentsObject.
	Arguments string
	// Images says that the server takes images.
	Images bool
	// ShortIDs says that ids of calls are nine letters and digits.
	ShortIDs bool
	// MaxTools is how many tools a request may have; 0 is any number.
	MaxTools int
	// DoneNeeded says that a stream without [DONE] at its end is no whole answer. Otherwise a reason to
	// stop and a clean end are enough.
	DoneNeeded bool
	// EmptyContent writes "" and not null as the content of an answer that has only calls.
	EmptyContent bool
}

// table gives the quirks of a server by its host, or by the end of it. Its rows are told in
// docs/models.md, each with what the provider says.
func table(host string) (Quirks, bool) {
	reasons := []string{"reasoning_content"}
	rows := []struct {
		hosts []string
		Quirks
	}{
		{
			[]string{"api.openai.com"},
			Quirks{System: "developer", MaxTokens: "max_completion_tokens", Arguments: ArgumentsWritten, Images: true, MaxTools: 128, DoneNeeded: true},
		},
		{
			[]string{"openai.azure.com", "services.ai.azure.com"},
			Quirks{MaxTokens: "max_completion_tokens", Arguments: ArgumentsWritten, Images: true, MaxTools: 128, DoneNeeded: true},
		},
		{[]string{"api.deepseek.com"}, Quirks{Back: reasons, DoneNeeded: true}},
		{[]string{"api.moonshot.ai", "api.moonshot.cn"}, Quirks{Back: reasons, Images: true}},
		{[]string{"api.z.ai", "open.bigmodel.cn"}, Quirks{Back: reasons, Images: true}},
		{[]string{"openrouter.ai"}, Quirks{Back: []string{"reasoning", "reasoning_details"}, Images: true, DoneNeeded: true}},
		{[]string{"generativelanguage.googleapis.com"}, Quirks{Back: []string{"extra_content"}, Images: true}},
		{[]string{"api.groq.com"}, Quirks{MaxTokens: "max_completion_tokens", Images: true, MaxTools: 128}},
		{[]string{"api.x.ai"}, Quirks{MaxTokens: "max_completion_tokens", Images: true}},
		{[]string{"api.mistral.ai"}, Quirks{NoStreamOptions: true, ShortIDs: true, Images: true, EmptyContent: true}},
	}
	for _, r := range rows {
		for _, h := range r.hosts {
			if host == h || strings.HasSuffix(host, "."+h) {
				return r.Quirks, true
			}
		}
	}
	return Quirks{}, false
}

// QuirksOf gives what the server at this address wants differently. Of one that is not known, such as a
// server on this machine, everything goes back to the model that made it, arguments are read as an
// object, and images are not sent, because one that a model cannot see makes its server refuse the whole
// conversation from then on: a program that knows better gives [Config] quirks of its own.
func QuirksOf(baseURL string) Quirks {
	u, err := url.Parse(baseURL)
	host := ""
	if err == nil {
		host = strings.ToLower(u.Hostname())
	}
	q, known := table(host)
	if !known {
		q.Back = []string{All}
	}
	return q.filled()
}

// filled gives the quirks with the most usual values where they are empty.
func (q Quirks) filled() Quirks {
	if q.System == "" {
		q.System = "system"
	}
	if q.MaxTokens == "" {
		q.MaxTokens = "max_tokens"
	}
	if q.Arguments == "" {
		q.Arguments = ArgumentsParsed
	}
	return q
}

// form names what the messages of a server are written differently in; empty for one that is not known.
func (q Quirks) form() string {
	var words []string
	add := func(is bool, word string) {
		if is {
			words = append(words, "+"+word)
		}
	}
	add(q.Images, "images")
	add(q.Arguments != ArgumentsParsed, q.Arguments)
	add(q.ShortIDs, "ids9")
	add(q.EmptyContent, "empty")
	switch {
	case len(q.Back) == 0:
		words = append(words, "+nothing")
	case !q.back(All):
		words = append(words, "+"+strings.Join(q.Back, "+"))
	}
	return strings.Join(words, "")
}

// head names what the head of a server is written differently in; empty for one that is not known.
func (q Quirks) head() string {
	words := []string{q.System, q.MaxTokens}
	if q.NoStreamOptions {
		words = append(words, "no stream_options")
	}
	if q.MaxTools > 0 {
		words = append(words, strconv.Itoa(q.MaxTools)+" tools")
	}
	if slices.Equal(words, []string{"system", "max_tokens"}) {
		return ""
	}
	return strings.Join(words, ", ")
}

// back reports whether a member of an answer goes back.
func (q Quirks) back(key string) bool {
	return slices.Contains(q.Back, key) || len(q.Back) == 1 && q.Back[0] == All
}

func (q Quirks) ids() form.IDs {
	if q.ShortIDs {
		return form.IDs9
	}
	return form.IDs40
}

// refuseImages says why no image is sent; empty when they are.
func (q Quirks) refuseImages() string {
	if q.Images {
		return ""
	}
	return "this server is not known to take images"
}
