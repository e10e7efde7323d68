// Package anthropic is one provider's wire, both ways: Anthropic's Messages API
// (https://platform.claude.com/docs/en/api/messages, API version 2026-10-21).
//
// A request body is sent byte for byte as it is stored, and an answer goes back as the provider sent it.
//
// # What the provider wants differently
//
//   - A text of nothing but white space is refused anywhere. In an answer such a block is left out, in a
//     user's message and in a result a labelled text stands for it, and an empty result has no content.
//   - An error result takes text only. Its images are labelled texts.
//   - Images are JPEG, PNG, GIF or WebP, at most 5 MiB in base64 and 8,000 pixels a side. What is not,
//     and what is cut off, is a labelled text.
//   - A schema has an object at its root and no anyOf, oneOf or allOf there. Alternatives are merged and
//     the rule is told in the tool's description, and a reference that then points at nothing is left
//     out; a tool that cannot be offered is left out, see [Model.Notes].
//   - Consecutive messages of one role are joined by the server, so nothing is merged here.
//   - A prompt that is too long is an invalid request (400) whose message alone says so; its beginning
//     makes it context_too_long. A body of more than 32 MB (413) and an answer that fills the window have
//     a type of their own: context_too_long and the stop reason context_full.
//   - Some models bind their thinking to the bytes before it and refuse the conversation when a tool list
//     or a system text was changed. Asked at the provider's own address, such a model is told to drop
//     that thinking instead (thinking.block_binding).
//   - Some models say between their calls what they do in thinking whose text stays empty, unless
//     Config.Settings holds {"thinking":{"type":"adaptive","display":"summarized"}}.
package anthropic

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
const Dialect = "anthropic"

// encoder is the version of the encoder, for information.
const encoder = "1"

const (
	// address is the provider's own.
	address = "https://api.anthropic.com"
	// version is that of the API, which each request names.
	version = "2026-10-21"
)

// Defaults of a [Config].
const (
	// DefaultMaxTokens is how many tokens an answer may have, thinking included.
	DefaultMaxTokens = 32_000
	// DefaultIdle is how long a stream may stay without an event.
	DefaultIdle = 120 * time.Second
)

// The values of [Config.Cache].
const (
	// CacheShort keeps the prompt for five minutes after its last use.
	CacheShort = "5m"
	// CacheLong keeps the tools and the system text for an hour and the messages for five minutes. (The
	// provider refuses a longer time behind a shorter one, and the markers in the messages of a
	// conversation stay what they are.)
	CacheLong = "1h"
	// CacheOff asks for no cache, for compatible servers that do not know the field.
	CacheOff = "off"
)

// Config says how a model is reached. Only the key is needed.
type Config struct {
	// APIKey is the secret key. This package reads no environment: the caller takes the key from where
	// it is kept, as a rule from ANTHROPIC_API_KEY.
	APIKey string
	// BaseURL is the address of a compatible server, without "/v1/messages"; empty means the
	// provider's.
	BaseURL string
	// HTTPClient sends the requests; nil means one without a time limit of its own. It is copied.
	HTTPClient *http.Client
	// MaxTokens bounds an answer where the head does not; 0 means [DefaultMaxTokens].
	MaxTokens int
	// IdleTimeout bounds the time to the first event and between two; 0 means [DefaultIdle].
	IdleTimeout time.Duration
	// Cache is CacheShort (also when empty), CacheLong or CacheOff.
	Cache string
	// Settings are further parameters of a request, as a JSON object, such as {"thinking": {…}} or
	// {"output_config": {"effort": "low"}}; those of a head come on top. They are part of the head, so
	// a change reaches only a conversation that opens a new epoch.
	Settings json.RawMessage
	// Betas are values of the header anthropic-beta.
	Betas []string
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

// New makes a model; the name is the provider's, such as "claude-opus-5-5". It fails, in one line,
// without a name or a key, and for a config that no request could be sent with.
func New(model string, cfg Config) (*Model, error) {
	cfg.APIKey = strings.TrimSpace(cfg.APIKey)
	switch {
	case strings.TrimSpace(model) == "":
		return nil, errors.New("anthropic: a model needs a name, such as claude-opus-5-5")
	case cfg.APIKey == "":
		return nil, fmt.Errorf("anthropic: model %s has no API key: set ANTHROPIC_API_KEY", membrane.Line(model))
	case strings.ContainsFunc(cfg.APIKey, func(r rune) bool { return unicode.IsControl(r) || r > unicode.MaxASCII }):
		return nil, errors.New("anthropic: the API key holds characters that no key has: copy it again")
	case cfg.MaxTokens < 0 || cfg.IdleTimeout < 0:
		return nil, errors.New("anthropic: MaxTokens and IdleTimeout must not be negative")
	case cfg.Cache != "" && cfg.Cache != CacheShort && cfg.Cache != CacheLong && cfg.Cache != CacheOff:
		return nil, fmt.Errorf("anthropic: Cache is %.40q; it must be %q, %q or %q", cfg.Cache, CacheShort, CacheLong, CacheOff)
	}
	if _, err := settingsOf(cfg.Settings); err != nil {
		return nil, fmt.Errorf("anthropic: %w", err)
	}
	if cfg.MaxTokens == 0 {
		cfg.MaxTokens = DefaultMaxTokens
	}
	if cfg.IdleTimeout == 0 {
		cfg.IdleTimeout = DefaultIdle
	}
	base := cfg.BaseURL
	if base == "" {
		base = address
	}
	client, err := wire.New(wire.Config{
		Model: Dialect + "/" + model, Protocol: "the Messages API", BaseURL: base, HTTPClient: cfg.HTTPClient,
		Header: http.Header{
			"Authorization": {"Bearer " + cfg.APIKey}, "Anthropic-Version": {version}, "Anthropic-Beta": cfg.Betas,
		},
		Secrets: []string{cfg.APIKey}, KeyName: "ANTHROPIC_API_KEY", IdleTimeout: cfg.IdleTimeout, Fault: fault,
	})
	if err != nil {
		return nil, fmt.Errorf("anthropic: %w", err)
	}
	m := &Model{model: model, cfg: cfg, client: client, log: cfg.Logger}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	return m, nil
}

// Dialect is "anthropic".
func (m *Model) Dialect() string { return Dialect }

// Name is "anthropic/" and the provider's name of the model.
func (m *Model) Name() string { return Dialect + "/" + m.model }

// Settings are the parameters of the Config that stand in a head: what it adds to a request, the limit of
// an answer and the cache, where they are not the defaults.
func (m *Model) Settings() json.RawMessage {
	all, err := m.settings(membrane.Head{})
	if err != nil { // New has read them
		return nil
	}
	if m.cfg.MaxTokens != DefaultMaxTokens {
		all = append(all, object.Of("max_tokens", strconv.AppendInt(nil, int64(m.cfg.MaxTokens), 10)))
	}
	if mark := m.mark(); mark != shortMark {
		all = append(all, object.Text("cache", mark))
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

// Encoder is the version of the encoder.
func (m *Model) Encoder() string { return encoder }
