package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/scripting"
	"github.com/weir-run/weir/workspace"
)

// maxText is the longest system text and the longest prompt in bytes.
const maxText = 4 << 20

// setup is what an agent is made of. It is stored with the conversation that it began, so that the same
// agent can be made again.
type setup struct {
	// Model is its specification, with the absolute path of a script.
	Model string `json:"model"`
	// System is the text itself: the file that it came from may change.
	System string  `json:"system,omitempty"`
	Mounts []mount `json:"mounts,omitempty"`
	// MaxChars and RoundChars are 0 for the defaults.
	MaxChars   int    `json:"max_chars,omitempty"`
	RoundChars int    `json:"round_chars,omitempty"`
	Bodies     string `json:"bodies,omitempty"`
	// BaseURL is where a model is reached, empty for its provider's own address.
	BaseURL string `json:"base_url,omitempty"`
	// Approve names the tools whose calls wait for an approval, or is askAll alone; none for no call.
	Approve []string `json:"approve,omitempty"`
	// NoScripts keeps the model from running scripts.
	NoScripts bool `json:"no_scripts,omitempty"`
	// MCP is the absolute path of a file of MCP servers, empty for none.
	MCP string `json:"mcp,omitempty"`
	// Demo is set for the conversation of the demo, which has tools of its own.
	Demo *demoSetup `json:"demo,omitempty"`
}

// mount is a folder that the workspace tools serve.
type mount struct {
	Name string `json:"name"`
	// Dir is absolute.
	Dir string `json:"dir"`
	// Write lets the model write there.
	Write bool `json:"write,omitempty"`
}

// stored reads the setup of a conversation.
func stored(settings []byte) (setup, error) {
	var s setup
	if len(settings) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(settings, &s); err != nil {
		return s, fmt.Errorf("%w (%w): name them anew with -m and the other flags", errSettings, err)
	}
	return s, nil
}

// errSettings says that the settings of a conversation are not those of weir run.
var errSettings = errors.New("its settings cannot be read")

// setupFlags are the flags that make a setup.
type setupFlags struct {
	model, system, bodies, baseURL, mcp string
	mounts, approve                     []string
	maxChars, roundChars                int
	noScripts                           bool
	// approveFlag names the flag that decides which calls are asked about: weir resume has another one.
	approveFlag string
}

// bind adds the flags to a command.
func (f *setupFlags) bind(flags *pflag.FlagSet) {
	flags.StringVarP(&f.model, "model", "m", "", "the `MODEL`: anthropic/NAME, with its key in ANTHROPIC_API_KEY; openai/NAME, with its key in OPENAI_API_KEY; gemini/NAME, with its key in GEMINI_API_KEY; compat/NAME, a server at --base-url that speaks Chat Completions; scripted:FILE plays a script")
	flags.StringVar(&f.baseURL, "base-url", "", "the `URL` of a server that speaks the model's language, in the place of its provider's")
	flags.StringArrayVar(&f.mounts, "mount", nil, "a folder that the model may read and search, as `NAME=DIR`, and with :rw behind it may write to; may be repeated")
	flags.StringVar(&f.system, "system", "", "a `FILE` with the system text")
	flags.IntVar(&f.maxChars, "max-chars", 0, fmt.Sprintf("the inline cap of one result in `N` characters (default %d)", round.DefaultMaxChars))
	flags.IntVar(&f.roundChars, "round-chars", 0, fmt.Sprintf("the inline bound of one round's results in `N` characters (default %d)", round.DefaultRoundChars))
	flags.StringVar(&f.bodies, "bodies", "", "a `DIR` in which each request body is kept as NNN.json (scripted models)")
	flags.BoolVar(&f.noScripts, "no-scripts", false, "do not let the model run scripts over results and tools ("+scripting.Name+")")
	flags.StringVar(&f.mcp, "mcp", "", mcpUsage)
	if f.approveFlag == "" {
		f.approveFlag = "approve"
	}
	flags.StringArrayVar(&f.approve, f.approveFlag, nil, approveUsage)
}

// over puts the flags that were given over a setup.
func (f *setupFlags) over(flags *pflag.FlagSet, s setup) (setup, error) {
	var err error
	if flags.Changed("model") {
		if s.Model, err = resolveModel(f.model); err != nil {
			return s, err
		}
	}
	if s.BaseURL, err = f.address(flags, s); err != nil {
		return s, err
	}
	if flags.Changed(f.approveFlag) {
		if s.Approve, err = policy(f.approveFlag, f.approve); err != nil {
			return s, err
		}
	}
	if flags.Changed("system") {
		if s.System, err = readText(f.system); err != nil {
			return s, err
		}
	}
	if flags.Changed("no-scripts") {
		s.NoScripts = f.noScripts
	}
	if flags.Changed("mcp") {
		if s.MCP, err = mcpFile(f.mcp); err != nil {
			return s, err
		}
	}
	s.Mounts = slices.Clone(s.Mounts)
	var given []string
	for _, word := range f.mounts {
		m, err := parseMount(word)
		if err != nil {
			return s, err
		}
		if slices.Contains(given, m.Name) {
			return s, misuse("two mounts are named %s: give each its own name", m.Name)
		}
		given = append(given, m.Name)
		s.Mounts = slices.DeleteFunc(s.Mounts, func(old mount) bool { return old.Name == m.Name })
		s.Mounts = append(s.Mounts, m)
	}
	for _, limit := range []struct {
		name  string
		value int
		into  *int
	}{{"max-chars", f.maxChars, &s.MaxChars}, {"round-chars", f.roundChars, &s.RoundChars}} {
		if !flags.Changed(limit.name) {
			continue
		}
		if limit.value < round.MinCap {
			return s, misuse("--%s is %d characters: it must be at least %d", limit.name, limit.value, round.MinCap)
		}
		*limit.into = limit.value
	}
	if flags.Changed("bodies") {
		if s.Model != "" && !strings.HasPrefix(s.Model, scriptPrefix) {
			return s, misuse("--bodies keeps what a scripted model is asked, and %s is none", clip(s.Model, 60))
		}
		if s.Bodies, err = filepath.Abs(f.bodies); err != nil || f.bodies == "" {
			return s, misuse("--bodies needs a folder")
		}
	}
	return s, nil
}

// again gives the flags that were given, so that weir resume can repeat them. Where the model is reached is
// not among them: that is always to be repeated.
func (f *setupFlags) again(cmd *cobra.Command) []string {
	var words []string
	mine := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&setupFlags{approveFlag: f.approveFlag}).bind(mine)
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch {
		case mine.Lookup(flag.Name) == nil, flag.Name == "base-url":
		case flag.Name == f.approveFlag:
			for _, w := range f.approve {
				words = append(words, "--"+resumeApproveFlag, w)
			}
		case flag.Value.Type() == "bool":
			words = append(words, "--"+flag.Name+"="+flag.Value.String())
		case flag.Name == "mount":
			for _, m := range f.mounts {
				words = append(words, "--mount", m)
			}
		default:
			words = append(words, "--"+flag.Name, flag.Value.String())
		}
	})
	return words
}

// parseMount reads NAME=DIR, NAME=DIR:ro or NAME=DIR:rw.
func parseMount(word string) (mount, error) {
	name, dir, ok := strings.Cut(word, "=")
	if !ok || name == "" || dir == "" {
		return mount{}, misuse("mount %q: write NAME=DIR, as in project=.", clip(word, 60))
	}
	m := mount{Name: name}
	if dir, m.Write = strings.CutSuffix(dir, ":rw"); !m.Write {
		dir = strings.TrimSuffix(dir, ":ro")
	}
	if dir == "" {
		return mount{}, misuse("mount %q: write NAME=DIR, as in project=.", clip(word, 60))
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return mount{}, misuse("mount %s: %w", name, err)
	}
	m.Dir = abs
	info, err := os.Stat(abs)
	switch {
	case err != nil:
		return mount{}, misuse("mount %s: %w: name a folder that is there", name, err)
	case !info.IsDir():
		return mount{}, misuse("mount %s: %s is a file: name a folder", name, dir)
	}
	return m, nil
}

// readText reads a file that holds a text for the model.
func readText(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", misuse("read the system text: %w", err)
	}
	defer f.Close()
	return text(f, path)
}

// text reads a text for the model to its end. It must be UTF-8 and not longer than maxText.
func text(r io.Reader, name string) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxText+1))
	switch {
	case err != nil:
		return "", misuse("read %s: %w", name, err)
	case len(b) > maxText:
		return "", misuse("%s is longer than %d bytes: mount its folder and let the model read it", name, maxText)
	case !utf8.Valid(b):
		return "", misuse("%s is not UTF-8 text: convert it first", name)
	}
	return string(b), nil
}

// config is how the agent of a setup works.
func (a *app) config(s setup) agent.Config {
	cfg := agent.Config{
		System: s.System, Tools: a.tools, Mounts: s.workspace(), Approve: s.decide(),
		Calls: agent.CallLimits{MaxChars: s.MaxChars, RoundChars: s.RoundChars},
	}
	if a.servers != nil {
		cfg.Refresh = a.servers.Current
	}
	return cfg
}

// workspace gives the mounts in the workspace's own terms.
func (s setup) workspace() []workspace.Mount {
	var mounts []workspace.Mount
	for _, m := range s.Mounts {
		mounts = append(mounts, workspace.Mount{Name: m.Name, Dir: m.Dir, Write: m.Write})
	}
	return mounts
}
