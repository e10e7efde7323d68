package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/openai/internal/form"
	"github.com/weir-run/weir/membrane/wire"
)

const (
	// Dialect names the wire format of this package.
	Dialect = "openai-responses"
	// DefaultBaseURL is the provider's own address.
	DefaultBaseURL = "https://api.openai.com/v1"
	// encoder is the version of the encoder, for information.
	encoder = "1"
	// maxTools is how many tools the provider takes.
	maxTools = 128
)

// The values of [Config.Reasoning] and [Config.Images].
const (
	// Auto decides by the address and by the model's name.
	Auto = ""
	// On and Off decide.
	On  = "on"
	Off = "off"
)

// Config says how a model is reached. At the provider's own address only the key is needed.
type Config struct {
	// APIKey is the secret key. This package reads no environment: the caller takes the key from where it
	// is kept, as a rule from OPENAI_API_KEY. Empty sends none, as servers on one's own machine want it.
	APIKey string
	// KeyName is where the key comes from, for errors; empty means OPENAI_API_KEY.
	KeyName string
	// BaseURL is the address of the server, without "/responses"; empty means [DefaultBaseURL].
	BaseURL string
	// Reasoning asks for encrypted reasoning. A model that does not reason refuses that, so [Auto] asks at
	// the provider's addresses, and not for models of the families gpt-3, gpt-4 and chat.
	Reasoning string
	// Images sends images; [Auto] sends them to the provider's addresses.
	Images string
	// HTTPClient sends the requests; nil means one without a time limit of its own. It is copied.
	HTTPClient *http.Client
	// Header goes with each request.
	Header http.Header
	// MaxTokens bounds an answer where the head does not, reasoning included; 0 leaves it to the server.
	MaxTokens int
	// IdleTimeout bounds the time in which the server sends nothing; 0 means [wire.DefaultIdle].
	IdleTimeout time.Duration
	// Settings are further parameters of a request, as a JSON object, such as
	// {"reasoning":{"effort":"high","summary":"auto"}}; those of a head come on top. They are part of the
	// head, so a change reaches only a conversation that opens a new epoch.
	Settings json.RawMessage
	// Retry says when a request is sent again; the zero value never does so, as an agent does it.
	Retry wire.Retry
	// Logger is told what a tool lost on the way to the wire; nil is silent.
	Logger *slog.Logger
}

// Model is one model behind the Responses API. It is safe for concurrent use.
type Model struct {
	model     string
	cfg       Config
	reasoning bool
	// refuse says why no image is sent; empty when they are.
	refuse string
	client *wire.Client
	log    *slog.Logger
}

var (
	_ membrane.Model = (*Model)(nil)
	_ membrane.Tuned = (*Model)(nil)
)

// New makes a model; the name is the provider's, such as "gpt-5.5". It fails, in one line, without a name,
// without a key at the provider's own address, and for a config that no request could be sent with.
func New(model string, cfg Config) (*Model, error) {
	cfg.APIKey = strings.TrimSpace(cfg.APIKey)
	if cfg.KeyName == "" {
		cfg.KeyName = "OPENAI_API_KEY"
	}
	if err := form.Check(model, cfg.APIKey, cfg.BaseURL, cfg.KeyName, cfg.MaxTokens, cfg.IdleTimeout); err != nil {
		return nil, err
	}
	for _, choice := range []string{cfg.Reasoning, cfg.Images} {
		if choice != Auto && choice != On && choice != Off {
			return nil, fmt.Errorf("openai: Reasoning and Images take %q, %q or nothing, not %.40q", On, Off, choice)
		}
	}
	if _, err := form.Settings(cfg.Settings, reserved...); err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	m := &Model{model: model, cfg: cfg, log: cfg.Logger}
	own := provides(cfg.BaseURL)
	m.reasoning = cfg.Reasoning == On || cfg.Reasoning == Auto && own && reasons(model)
	if cfg.Images == Off || cfg.Images == Auto && !own {
		m.refuse = "this server is not known to take images"
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	client, err := wire.New(wire.Config{
		Model: m.Name(), Protocol: "the Responses API", BaseURL: cfg.BaseURL, HTTPClient: cfg.HTTPClient,
		Header: form.Header(cfg.Header, cfg.APIKey), Secrets: []string{cfg.APIKey}, KeyName: cfg.KeyName, NotFound: form.NotFound(cfg.BaseURL), IdleTimeout: cfg.IdleTimeout, Retry: cfg.Retry, Fault: form.Fault,
	})
	if err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	m.client = client
	return m, nil
}

// provides reports whether an address is one of the provider's.
func provides(baseURL string) bool {
	u, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") ||
		strings.HasSuffix(host, ".openai.azure.com") || strings.HasSuffix(host, ".services.ai.azure.com")
}

// reasons reports whether a model of this name reasons.
func reasons(model string) bool {
	for _, family := range []string{"gpt-3", "gpt-4", "chatgpt-"} {
		if strings.HasPrefix(model, family) {
			return false
		}
	}
	return !strings.Contains(model, "-chat")
}

// Dialect is [Dialect], with "+images" behind it where images are sent.
func (m *Model) Dialect() string {
	if m.refuse == "" {
		return Dialect + "+images"
	}
	return Dialect
}

// Name is "openai/" and the provider's name of the model.
func (m *Model) Name() string { return "openai/" + m.model }

// Settings are the parameters of the Config that stand in a head, and whether reasoning is asked for.
func (m *Model) Settings() json.RawMessage {
	all, err := form.Settings(m.cfg.Settings, reserved...)
	if err != nil { // New has read them
		return nil
	}
	if m.cfg.MaxTokens > 0 {
		all = append(all, object.Of("max_output_tokens", strconv.AppendInt(nil, int64(m.cfg.MaxTokens), 10)))
	}
	if m.reasoning {
		all = append(all, object.Text("reasoning_content", "encrypted"))
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
		Path: "responses", Request: r,
		Answer: func() wire.Answer {
			return &answer{m: m, request: r, items: map[int]json.RawMessage{}, texts: map[int]*form.Joint{}}
		},
	})
}
