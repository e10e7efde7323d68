package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MaxBody is the longest request body that is read over HTTP, in bytes.
const MaxBody = 16 << 20

// DefaultSession is how long a session without a request is kept.
const DefaultSession = time.Hour

// HTTPConfig says who may reach a server over HTTP.
type HTTPConfig struct {
	// Tokens are the bearer tokens that are accepted, each with the name of its principal: 1 to 64 of
	// A-Z a-z 0-9 _ -. Over stateless HTTP a principal has one conversation, however often it connects.
	Tokens map[string]string
	// Open serves without a token; only for a server that nobody else can reach, such as in a test.
	Open bool
	// Hosts are names beside the loopback's own under which the server may be addressed.
	Hosts []string
	// Session is how long a session of a revision with a handshake is kept without a request; 0 means
	// [DefaultSession].
	Session time.Duration
}

// Handler serves streamable HTTP on whatever path it is mounted: requests of revision 2026-07-28 without
// sessions, those of earlier ones with. Requests whose Host or Origin is no loopback name and not in Hosts
// are refused (403), which keeps a page in a browser from reaching the server by rebinding a name; so are
// those without a known bearer token (401), and bodies over [MaxBody] (413).
func (s *Server) Handler(cfg HTTPConfig) (http.Handler, error) {
	w := &web{server: s, cfg: cfg}
	return w.mount(s.protocol(w.desk), s.cfg.Logger)
}

// Mount serves any MCP server the way [Server.Handler] does, with the same guards. A nil logger is silent.
func Mount(p *mcp.Server, cfg HTTPConfig, log *slog.Logger) (http.Handler, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	w := &web{cfg: cfg}
	return w.mount(p, log)
}

// mount checks who may come in, and serves a protocol to them.
func (w *web) mount(p *mcp.Server, log *slog.Logger) (http.Handler, error) {
	if err := w.cfg.check(); err != nil {
		return nil, fmt.Errorf("serve over HTTP: %w", err)
	}
	get := func(*http.Request) *mcp.Server { return p }
	w.sessions = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Logger: log, SessionTimeout: w.cfg.Session, DisableLocalhostProtection: true, MaxRequestBodyBytes: MaxBody,
		EventStore: mcp.NewMemoryEventStore(nil),
	})
	w.single = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Logger: log, Stateless: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: MaxBody,
		PropagateRequestCancellation: true,
	})
	var h http.Handler = http.HandlerFunc(w.route)
	if !w.cfg.Open {
		h = auth.RequireBearerToken(w.verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h)
	}
	return w.local(h), nil
}

// check refuses what nobody could use, and what everybody could.
func (c *HTTPConfig) check() error {
	if len(c.Tokens) == 0 && !c.Open {
		return errors.New("a bearer token is needed")
	}
	for token, who := range c.Tokens {
		if len(token) < 16 {
			return fmt.Errorf("the token of %s has %d characters; it must have at least 16", who, len(token))
		}
		if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("the token of %s has characters that no header can carry; use A-Z a-z 0-9 - . _ ~ + /", who)
		}
		if !principal(who) {
			return fmt.Errorf("principal %.70q: use 1 to 64 of A-Z a-z 0-9 _ -", who)
		}
	}
	if c.Session <= 0 {
		c.Session = DefaultSession
	}
	return nil
}

// principal reports whether a name can be one. It has no dot, which parts a conversation from those that its
// calls begin.
func principal(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for _, r := range name {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
		default:
			return false
		}
	}
	return true
}

// web serves HTTP.
type web struct {
	server *Server
	cfg    HTTPConfig
	// sessions serves the revisions with a handshake, single those without.
	sessions, single http.Handler
}

// local lets only those in who address the server by a name that is its own.
func (w *web) local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if !w.mine(r.Host) {
			http.Error(out, fmt.Sprintf("Forbidden: this server is not addressed as %.100q", r.Host), http.StatusForbidden)
			return
		}
		for _, origin := range r.Header.Values("Origin") {
			u, err := url.Parse(origin)
			if err != nil || u.Host == "" || !w.mine(u.Host) {
				http.Error(out, fmt.Sprintf("Forbidden: requests from the origin %.100q are not taken", origin), http.StatusForbidden)
				return
			}
		}
		if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); !w.cfg.Open &&
			(!strings.EqualFold(scheme, "Bearer") || w.who(strings.TrimSpace(token)) == "") {
			out.Header().Set("WWW-Authenticate", "Bearer") // RFC 9110, section 11.6.1
			http.Error(out, "Unauthorized: send the bearer token of this server", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(out, r)
	})
}

// mine reports whether a host, with or without a port, is a name of this server.
func (w *web) mine(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	return name == "localhost" || slices.ContainsFunc(w.cfg.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// verify tells the protocol's own layer who it is, so that a session is bound to its principal.
func (w *web) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	who := w.who(token)
	if who == "" {
		return nil, fmt.Errorf("this token is not known here: %w", auth.ErrInvalidToken)
	}
	return &auth.TokenInfo{UserID: who}, nil
}

// who finds the principal of a token, in a time that tells nothing of the tokens; empty for none.
func (w *web) who(token string) string {
	given, who := sha256.Sum256([]byte(token)), ""
	for known, name := range w.cfg.Tokens {
		if sum := sha256.Sum256([]byte(known)); subtle.ConstantTimeCompare(sum[:], given[:]) == 1 {
			who = name
		}
	}
	return who
}

// route tells the two kinds of revisions apart.
func (w *web) route(out http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.sessions.ServeHTTP(out, r) // streams and ends of sessions; the stateless revision has neither
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(out, r.Body, MaxBody))
	if err != nil {
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			http.Error(out, fmt.Sprintf("the body is longer than %d bytes", MaxBody), http.StatusRequestEntityTooLarge)
			return
		}
		http.Error(out, "the body could not be read", http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if newer(r, body) {
		w.single.ServeHTTP(out, r)
		return
	}
	w.sessions.ServeHTTP(out, r)
}

// newer reports whether a request is of a revision without a handshake: its header says so, or its body.
func newer(r *http.Request, body []byte) bool {
	if r.Header.Get("MCP-Protocol-Version") >= Stateless {
		return true
	}
	var peek struct {
		Method string `json:"method"`
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &peek) != nil {
		return false
	}
	_, said := peek.Params.Meta["io.modelcontextprotocol/protocolVersion"]
	return said || peek.Method == "server/discover"
}

// desk finds the conversation of a request: that of its session, else that of who sent it.
func (w *web) desk(req *mcp.CallToolRequest) (*desk, error) {
	never := func() bool { return false }
	if id := req.Session.ID(); id != "" {
		return w.server.sessionDesk(req.Session)
	}
	who := "anybody"
	if req.Extra != nil && req.Extra.TokenInfo != nil {
		who = req.Extra.TokenInfo.UserID
	}
	return w.server.desk("mcp-for-"+who, never)
}

// sessionDesk finds the desk of a session, which is left when the session ends.
func (s *Server) sessionDesk(session *mcp.ServerSession) (*desk, error) {
	key := "session " + session.ID()
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.desks[key]; d != nil {
		return d, nil
	}
	name, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	d, err := s.newDesk(key, "mcp-"+name.String(), func() bool { return false })
	if err != nil {
		return nil, err
	}
	go func() {
		_ = session.Wait() // how it ended is its client's business
		s.release(context.Background(), d)
	}()
	return d, nil
}
