package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/openai/internal/form"
	"github.com/weir-run/weir/membrane/wire"
)

const (
	// Dialect names the wire format of this package, as a server that is not known speaks it.
	Dialect = "openai-chat"
	// DefaultBaseURL is the provider's own address.
	DefaultBaseURL = "https://api.openai.com/v1"
	// encoder is the version of the encoder, for information.
	encoder = "1"
)

// Config says how a model is reached. At the provider's own address only the key is needed, elsewhere
// only BaseURL.
type Config struct {
	// APIKey is the secret key. This package reads no environment: the caller takes the key from where it
	// is kept, as a rule from OPENAI_API_KEY. Empty sends none, as servers on one's own machine want it.
	APIKey string
	// KeyName is where the key comes from, for errors; empty means OPENAI_API_KEY.
	KeyName string
	// Provider stands before the model's name; empty means "openai". Two servers whose models have the same
	// names should differ in it: what one model thought goes to no other.
	Provider string
	// BaseURL is the address of the server, without "/chat/completions"; empty means [DefaultBaseURL].
	BaseURL string
	// Quirks are what the server wants differently; nil means [QuirksOf] the address.
	Quirks *Quirks
	// HTTPClient sends the requests; nil means one without a time limit of its own. It is copied.
	HTTPClient *http.Client
	// Header goes with each request.
	Header http.Header
	// MaxTokens bounds an answer where the head does not, reasoning included; 0 leaves it to the server.
	MaxTokens int
	// IdleTimeout bounds the time in which the server sends nothing; 0 means [wire.DefaultIdle].
	IdleTimeout time.Duration
	// Settings are further parameters of a request, as a JSON object, such as
	// {"reasoning_effort":"low"} or {"prompt_cache_key":"…"}; those of a head come on top. They are part of
	// the head, so a change reaches only a conversation that opens a new epoch.
	Settings json.RawMessage
	// Retry says when a request is sent again; the zero value never does so, as an agent does it.
	Retry wire.Retry
	// Logger is told what a tool lost on the way to the wire; nil is silent.
	Logger *slog.Logger
}

// Model is one model behind Chat Completions. It is safe for concurrent use.
type Model struct {
	model  string
	cfg    Config
	quirks Quirks
	client *wire.Client
	log    *slog.Logger
}

var (
	_ membrane.Model = (*Model)(nil)
	_ membrane.Tuned = (*Model)(nil)
)

// New makes a model; the name is the server's, such as "gpt-5.5" or "qwen3:8b". It fails, in one line,
// without a name, without a key at the provider's own address, and for a config that no request could be
// sent with.
func New(model string, cfg Config) (*Model, error) {
	cfg.APIKey = strings.TrimSpace(cfg.APIKey)
	if cfg.KeyName == "" {
		cfg.KeyName = "OPENAI_API_KEY"
	}
	if cfg.Provider == "" {
		cfg.Provider = "openai"
	}
	if err := form.Check(model, cfg.APIKey, cfg.BaseURL, cfg.KeyName, cfg.MaxTokens, cfg.IdleTimeout); err != nil {
		return nil, err
	}
	if _, err := form.Settings(cfg.Settings, reserved...); err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	m := &Model{model: model, cfg: cfg, quirks: QuirksOf(cfg.BaseURL), log: cfg.Logger}
	if cfg.Quirks != nil {
		m.quirks = cfg.Quirks.filled()
	}
	switch m.quirks.Arguments {
	case ArgumentsWritten, ArgumentsParsed, ArgumentsObject:
	default:
		return nil, fmt.Errorf("openai: Quirks.Arguments is %.40q; it must be %q, %q or %q", m.quirks.Arguments, ArgumentsWritten, ArgumentsParsed, ArgumentsObject)
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	client, err := wire.New(wire.Config{
		Model: m.Name(), Protocol: "the Chat Completions API", BaseURL: cfg.BaseURL, HTTPClient: cfg.HTTPClient,
		Header: form.Header(cfg.Header, cfg.APIKey), Secrets: []string{cfg.APIKey}, KeyName: cfg.KeyName, NotFound: form.NotFound(cfg.BaseURL), IdleTimeout: cfg.IdleTimeout, Retry: cfg.Retry, Fault: form.Fault,
	})
	if err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	m.client = client
	return m, nil
}

// Dialect is [Dialect], and behind it, each with a "+", what the server's messages are written
// differently in: those of two servers can be shared only where that is the same.
func (m *Model) Dialect() string { return Dialect + m.quirks.form() }

// Name is the provider and the server's name of the model, such as "openai/gpt-5.5".
func (m *Model) Name() string { return m.cfg.Provider + "/" + m.model }

// Settings are the parameters of the Config that stand in a head, and what the server wants differently
// there.
func (m *Model) Settings() json.RawMessage {
	all, err := form.Settings(m.cfg.Settings, reserved...)
	if err != nil { // New has read them
		return nil
	}
	if m.cfg.MaxTokens > 0 {
		all = append(all, object.Of("max_tokens", strconv.AppendInt(nil, int64(m.cfg.MaxTokens), 10)))
	}
	if head := m.quirks.head(); head != "" {
		all = append(all, object.Text("quirks", head))
	}
	if len(all) == 0 {
		return nil
	}
	return object.Write(all)
}

// Encoder is the version of the encoder.
func (m *Model) Encoder() string { return encoder }

// Stream sends a request and yields what comes back. Every error is a *[membrane.Error]. The last event
// is a [membrane.Done], whose fragment is the answer as it goes back.
func (m *Model) Stream(ctx context.Context, r membrane.Request) iter.Seq2[membrane.Event, error] {
	return m.client.Stream(ctx, wire.Post{
		Path: "chat/completions", Request: r,
		Answer: func() wire.Answer { return &answer{m: m, request: r} },
	})
}
