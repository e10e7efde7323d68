// Package gemini is one provider's wire, both ways: the Gemini API's streamGenerateContent
// (https://ai.google.dev/api/generate-content, API version v1beta).
//
// A request body is sent byte for byte as it is stored, and an answer goes back as the provider sent it.
//
// # What the provider wants differently
//
//   - Thinking has its signature on any part of an answer, as a rule on the first call. Each goes back on
//     its own part: a part that carries one is never joined with another.
//   - Models from Gemini 3 on refuse a conversation in which the first call of an answer has no signature.
//     For an answer that another model gave, the value that the provider documents for this stands there
//     (https://ai.google.dev/gemini-api/docs/thought-signatures).
//   - Arguments are an object, and their numbers and order stay as the model wrote them. An id of a call
//     is optional: a call that comes without one is given one, which goes back with it and its result.
//   - A result is an object: {"output": text}, or {"error": text} for an error. Images go with a result to
//     models from Gemini 3 on; to any other a labelled text stands for them. An error result has text only.
//   - Images are PNG, JPEG or WebP, at most 14 MiB in base64, since a request may have 20 MB. What is
//     not, and what is cut off, is a labelled text.
//   - Schemas are sent as parametersJsonSchema and hold the keywords that the provider documents for JSON
//     Schema: references are replaced by what they point at, a list of types becomes alternatives, const an
//     enum of one, required names only properties that are there. What else a schema said is left out, and
//     [Model.Notes] tells it; a tool's arguments are checked by its own schema all the same.
//   - A stop because of a filter (of safety, recitation, terms) is refused, and so is a prompt that was
//     blocked: its answer is empty. An answer that ended because the model wrote a call that cannot be read
//     is an error that is worth asking again.
//   - A wrong key is answered with status 400 and the reason API_KEY_INVALID: that is auth. A prompt that is
//     too long is an invalid argument whose message alone says so; its beginning makes it context_too_long.
package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/wire"
)

// Dialect names the wire format of this package.
const Dialect = "gemini"

const (
	// encoder is the version of the encoder, for information.
	encoder = "1"
	// address is the provider's own.
	address = "https://generativelanguage.googleapis.com"
	// version stands before the name of a model in the path of a request.
	version = "v1beta/"
	// verb asks for an answer as a stream of events.
	verb = ":streamGenerateContent?alt=sse"
)

// Config says how a model is reached. Only the key is needed.
type Config struct {
	// APIKey is the secret key. This package reads no environment: the caller takes the key from where
	// it is kept, as a rule from GEMINI_API_KEY.
	APIKey string
	// BaseURL is the address of a compatible server, without "/v1beta"; empty means the provider's.
	BaseURL string
	// HTTPClient sends the requests; nil means one without a time limit of its own. It is copied.
	HTTPClient *http.Client
	// MaxTokens bounds an answer, thinking included, where the head does not; 0 leaves it to the provider.
	MaxTokens int
	// IdleTimeout bounds the time to the first event and between two; 0 means [wire.DefaultIdle].
	IdleTimeout time.Duration
	// Settings are further parameters of a request, as a JSON object, such as {"generationConfig":
	// {"thinkingConfig": {"includeThoughts": true}}} or {"safetySettings": […]}; those of a head come on
	// top. They are part of the head.
	Settings json.RawMessage
	// Logger is told what a tool lost on the way to the wire and what in a stream was not understood;
	// nil is silent.
	Logger *slog.Logger
}

// Model is one model of the provider. It is safe for concurrent use.
type Model struct {
	model  string
	cfg    Config
	client *wire.Client
	log    *slog.Logger
}

var (
	_ membrane.Model  = (*Model)(nil)
	_ membrane.Tuned  = (*Model)(nil)
	_ membrane.Noting = (*Model)(nil)
)

// New makes a model; the name is the provider's, such as "gemini-3-pro", with or without "models/" before
// it. It fails, in one line, without a name or a key, and for a config that no request could be sent with.
func New(model string, cfg Config) (*Model, error) {
	cfg.APIKey = strings.TrimSpace(cfg.APIKey)
	model = strings.TrimPrefix(strings.TrimSpace(model), "models/")
	switch {
	case model == "":
		return nil, errors.New("gemini: a model needs a name, such as gemini-3-pro")
	case strings.ContainsFunc(model, notInName) || strings.Contains(model, ".."):
		return nil, fmt.Errorf("gemini: %.80q is no name of a model, such as gemini-3-pro", model)
	case cfg.APIKey == "":
		return nil, fmt.Errorf("gemini: model %s has no API key: set GEMINI_API_KEY", membrane.Line(model))
	case strings.ContainsFunc(cfg.APIKey, func(r rune) bool { return unicode.IsControl(r) || r > unicode.MaxASCII }):
		return nil, errors.New("gemini: the API key holds characters that no key has: copy it again")
	case cfg.MaxTokens < 0 || cfg.IdleTimeout < 0:
		return nil, errors.New("gemini: MaxTokens and IdleTimeout must not be negative")
	}
	if _, err := settingsOf(cfg.Settings); err != nil {
		return nil, fmt.Errorf("gemini: %w", err)
	}
	base := cfg.BaseURL
	if base == "" {
		base = address
	}
	client, err := wire.New(wire.Config{
		Model: Dialect + "/" + model, Protocol: "the Gemini API", BaseURL: base, HTTPClient: cfg.HTTPClient,
		Header: http.Header{"X-Goog-Api-Key": {cfg.APIKey}}, Secrets: []string{cfg.APIKey}, KeyName: "GEMINI_API_KEY",
		IdleTimeout: cfg.IdleTimeout, Fault: fault,
	})
	if err != nil {
		return nil, fmt.Errorf("gemini: %w", err)
	}
	m := &Model{model: model, cfg: cfg, client: client, log: cfg.Logger}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	return m, nil
}

// notInName reports a character that no name of a model has. A name is part of an address.
func notInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./", r)
}

// Dialect is "gemini".
func (m *Model) Dialect() string { return Dialect }

// Name is "gemini/" and the provider's name of the model.
func (m *Model) Name() string { return Dialect + "/" + m.model }

// Encoder is the version of the encoder.
func (m *Model) Encoder() string { return encoder }

// Settings are the parameters of the Config that stand in a head.
func (m *Model) Settings() json.RawMessage {
	all, err := settingsOf(m.cfg.Settings)
	if err != nil { // New has read them
		return nil
	}
	if m.cfg.MaxTokens > 0 {
		all = append(all, object.Of("maxOutputTokens", strconv.AppendInt(nil, int64(m.cfg.MaxTokens), 10)))
	}
	if len(all) == 0 {
		return nil
	}
	meant, err := canon.Canonical(object.Write(all))
	if err != nil {
		return object.Write(all)
	}
	return meant
}

// signs reports whether the model signs its first calls and refuses those without a signature, and takes
// images in results: Gemini 3 and later.
// Source: https://ai.google.dev/gemini-api/docs/thought-signatures,
// https://ai.google.dev/gemini-api/docs/function-calling (multimodal function responses).
func (m *Model) signs() bool {
	generation, ok := strings.CutPrefix(m.model, "gemini-")
	return ok && !strings.HasPrefix(generation, "1") && !strings.HasPrefix(generation, "2")
}

// path is where a request goes, below the address.
func (m *Model) path() string {
	if strings.Contains(m.model, "/") { // such as tunedModels/mine
		return version + m.model + verb
	}
	return version + "models/" + m.model + verb
}
