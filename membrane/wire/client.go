package wire

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/weir-run/weir/membrane"
)

// Defaults of a [Config].
const (
	// DefaultIdle is how long a server may send nothing.
	DefaultIdle = 120 * time.Second
	// DefaultMaxTime is how long one try may take, however much comes.
	DefaultMaxTime = time.Hour
	// DefaultMaxStream is how many bytes a stream may have.
	DefaultMaxStream = 64 << 20
)

// Config says how the models of one provider are reached. BaseURL, Model and Fault are needed.
type Config struct {
	// Model is the model's full name, such as "openai/gpt-x"; it stands in every error.
	Model string
	// Protocol is what the server should speak, such as "the Chat Completions API"; it stands in errors.
	Protocol string
	// BaseURL is the address before the path of a request, http or https. What stands in it behind a ?
	// goes with each request.
	BaseURL string
	// HTTPClient sends the requests; nil means one without a time limit of its own. It is copied, and
	// redirects are followed as [membrane.Client] does.
	HTTPClient *http.Client
	// Header goes with each request: the key and whatever else the provider wants.
	Header http.Header
	// Secrets appear in no error.
	Secrets []string
	// KeyName is where the key comes from, such as "OPENAI_API_KEY"; it stands in errors.
	KeyName string
	// NotFound is what else to check when the server answers 404, such as "does it end in /v1?".
	NotFound string
	// IdleTimeout bounds the time in which nothing comes, MaxTime the time of one try; 0 means the defaults
	// above. The time that the consumer of a stream takes counts for MaxTime alone.
	IdleTimeout, MaxTime time.Duration
	// MaxEvent and MaxStream bound a stream in bytes; 0 means the defaults above.
	MaxEvent, MaxStream int
	// Retry says when a request is sent again.
	Retry Retry
	// Fault reads the error that a body with this status holds; false when it holds none of the protocol.
	Fault func(status int, body []byte) (Fault, bool)
	// Now is the clock that dates of Retry-After count from when an answer has no date; nil is time.Now.
	Now func() time.Time
}

// Client sends requests to one server. It is safe for concurrent use.
type Client struct {
	cfg  Config
	base *url.URL
	http *http.Client
}

// New makes a client. It fails, in one line, for an address that nothing can be sent to and for a header
// that HTTP cannot carry.
func New(cfg Config) (*Client, error) {
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("BaseURL %.80q is no address such as https://host/path", cfg.BaseURL)
	}
	if base.User != nil {
		return nil, errors.New("BaseURL holds a user's name or password: put the key where keys go")
	}
	for name, values := range cfg.Header {
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return unicode.IsControl(r) || r > unicode.MaxASCII }) {
				return nil, fmt.Errorf("the header %s holds characters that no header has: is the key copied whole?", name)
			}
		}
	}
	if cfg.Fault == nil {
		return nil, errors.New("a client needs Fault, which reads the provider's errors")
	}
	if cfg.IdleTimeout <= 0 {
		cfg.IdleTimeout = DefaultIdle
	}
	if cfg.MaxTime <= 0 {
		cfg.MaxTime = DefaultMaxTime
	}
	if cfg.MaxStream <= 0 {
		cfg.MaxStream = DefaultMaxStream
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Protocol == "" {
		cfg.Protocol = "the provider's API"
	}
	return &Client{cfg: cfg, base: base, http: membrane.Client(cfg.HTTPClient)}, nil
}

// address gives the URL of a path, which may have a query of its own.
func (c *Client) address(path string) string {
	u := *c.base
	path, query, _ := strings.Cut(path, "?")
	if u.RawQuery != "" && query != "" {
		query = "&" + query
	}
	u.RawQuery += query
	u.Fragment = ""
	at := u.JoinPath(path)
	return at.String()
}
