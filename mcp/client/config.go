package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// maxConfig is the longest configuration in bytes, maxServers how many servers it may name.
const (
	maxConfig  = 1 << 20
	maxServers = 64
)

// Config names the servers, as the usual mcpServers file does.
type Config struct {
	// Servers are by name. A name has 1 to 40 of A-Z a-z 0-9 _ . - and is none of Weir's own rooms.
	Servers map[string]Server `json:"mcpServers"`
}

// Server is how one server is started or reached. In every text ${VAR} is the environment's VAR and
// ${VAR:-default} has a default for when it is not set or empty; [Load] has expanded them.
type Server struct {
	// Type is "stdio", "http" (streamable HTTP, and HTTP with SSE of revision 2024-11-05 where the server
	// knows only that) or "sse" (the latter alone); empty means stdio with a command, http with a URL.
	Type string `json:"type"`
	// Command is the program of a stdio server, Args its arguments, Cwd the folder that it runs in. Env is
	// added to the few variables that a child gets of this process: see [Environment].
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Cwd     string            `json:"cwd"`
	Env     map[string]string `json:"env"`
	// URL is where an HTTP server is, Headers are sent with each request.
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	// Disabled leaves the server out.
	Disabled bool `json:"disabled"`
	// Trusted takes the server's hints for true: a tool that says readOnlyHint may run again after a crash
	// and unasked where only calls with effects are asked about. Without it every call counts as one that
	// has effects and must not be repeated, since a hint is a claim of whoever wrote the server.
	Trusted bool `json:"trusted"`
	// Protocol pins the revision that is asked for, such as "2025-11-25"; empty is the newest that both know.
	Protocol string `json:"protocol"`
}

// Environment are the variables of this process that a stdio server gets; Env adds to them. Keys and tokens
// of other programs are not among them.
func Environment() []string {
	return []string{
		"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "SystemRoot", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER",
	}
}

// reserved are the first halves of the names of Weir's own tools.
var reserved = []string{"agent", "jobs", "results", "session", "shell", "weir", "workspace"}

var serverName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,40}$`)

// Load reads a configuration from a file. Variables are taken from the environment of this process. It
// fails, with a line that says what to do, for a file that is not JSON, is over 1 MiB, names more than 64
// servers or one that cannot be used, and for a variable that is not set and has no default.
func Load(path string) (Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return Config{}, fmt.Errorf("read the MCP servers: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return Config{}, fmt.Errorf("read the MCP servers: %w", err)
	}
	c, err := Parse(raw, os.LookupEnv)
	if err != nil {
		return Config{}, fmt.Errorf("read the MCP servers of %s: %w", path, err)
	}
	return c, nil
}

// Parse reads a configuration from its JSON, with the variables that lookup knows. Members that it does not
// know are ignored, since hosts add their own. It fails as [Load] does.
func Parse(raw []byte, lookup func(string) (string, bool)) (Config, error) {
	if len(raw) > maxConfig {
		return Config{}, fmt.Errorf("it is longer than %d bytes", maxConfig)
	}
	var c Config
	if err := json.Unmarshal(bytes.TrimPrefix(raw, []byte("\ufeff")), &c); err != nil {
		return Config{}, fmt.Errorf(`it is not of the form {"mcpServers":{"name":{"command":…}}}: %w`, err)
	}
	if c.Servers == nil {
		return Config{}, errors.New(`it has no "mcpServers"`)
	}
	if len(c.Servers) > maxServers {
		return Config{}, fmt.Errorf("it names %d servers; at most %d are allowed", len(c.Servers), maxServers)
	}
	for name, s := range c.Servers {
		if s.Disabled {
			delete(c.Servers, name)
			continue
		}
		s, err := s.expanded(lookup)
		if err == nil {
			err = s.check(name)
		}
		if err != nil {
			return Config{}, fmt.Errorf("server %.60q: %w", name, err)
		}
		c.Servers[name] = s
	}
	return c, nil
}

// check fails for a server that cannot be used, and sets the type that it left open.
func (s *Server) check(name string) error {
	switch {
	case !serverName.MatchString(name):
		return errors.New("a server's name has 1 to 40 characters of A-Z a-z 0-9 _ . -")
	case slices.Contains(reserved, name):
		return fmt.Errorf("the name is Weir's own (%s are): give it another", strings.Join(reserved, ", "))
	}
	if s.Type == "" {
		s.Type = "stdio"
		if s.Command == "" && s.URL != "" {
			s.Type = "http"
		}
	}
	switch s.Type {
	case "stdio":
		if s.Command == "" {
			return errors.New(`it has neither a "command" nor a "url"`)
		}
	case "http", "streamable-http", "streamableHttp", "sse":
		if !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://") {
			return errors.New(`its "url" does not begin with http:// or https://`)
		}
		if s.Type != "sse" {
			s.Type = "http"
		}
	default:
		return fmt.Errorf("its type is %.40q: it is stdio, http or sse", s.Type)
	}
	return nil
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)

// expanded gives the server with its variables replaced.
func (s Server) expanded(lookup func(string) (string, bool)) (Server, error) {
	var missing []string
	expand := func(text string) string {
		return variable.ReplaceAllStringFunc(text, func(word string) string {
			m := variable.FindStringSubmatch(word)
			value, ok := lookup(m[1])
			switch {
			case ok && (value != "" || m[2] == ""):
				return value
			case m[2] != "":
				return m[3]
			}
			if !slices.Contains(missing, m[1]) {
				missing = append(missing, m[1])
			}
			return ""
		})
	}
	s.Command, s.Cwd, s.URL = expand(s.Command), expand(s.Cwd), expand(s.URL)
	s.Args = slices.Clone(s.Args)
	for i := range s.Args {
		s.Args[i] = expand(s.Args[i])
	}
	for _, m := range []*map[string]string{&s.Env, &s.Headers} {
		out := make(map[string]string, len(*m))
		for k, v := range *m {
			out[k] = expand(v)
		}
		*m = out
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return s, fmt.Errorf("the environment has no %s: set it, or give a default as in ${%s:-…}", strings.Join(missing, ", "), missing[0])
	}
	return s, nil
}

// environ is the whole environment of a stdio server, sorted.
func (s Server) environ() []string {
	all := map[string]string{}
	for _, k := range Environment() {
		if v, ok := os.LookupEnv(k); ok {
			all[k] = v
		}
	}
	for k, v := range s.Env {
		all[k] = v
	}
	env := make([]string, 0, len(all))
	for k, v := range all {
		env = append(env, k+"="+v)
	}
	slices.Sort(env)
	return env
}
