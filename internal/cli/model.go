package cli

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
)

// scriptPrefix is that of a model that plays a script.
const scriptPrefix = "scripted:"

// modelsHad says which models there are.
func modelsHad() string {
	var names []string
	for _, p := range providers() {
		names = append(names, p.prefix+"NAME")
	}
	return "it has " + strings.Join(names, ", ") + ", and scripted:FILE, which plays a script"
}

// resolveModel checks a model's specification and makes the path of a script absolute.
func resolveModel(spec string) (string, error) {
	if spec == "" {
		return "", misuse("-m needs a model: anthropic/NAME, or scripted:FILE, which plays a script")
	}
	if p, name, ok := providerOf(spec); ok {
		if name == "" {
			return "", misuse("model %q: name it, as in %s%s", spec, p.prefix, p.example)
		}
		return spec, nil
	}
	path, ok := strings.CutPrefix(spec, scriptPrefix)
	switch {
	case !ok:
		return "", noModel(spec)
	case path == "":
		return "", misuse("model %q: name the script, as in scripted:script.json", spec)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", misuse("model %q: %w", spec, err)
	}
	return scriptPrefix + abs, nil
}

// noModel says that a specification names nothing that this build can ask.
func noModel(spec string) error {
	return misuse("model %q: this build has no such model; %s", clip(spec, 60), modelsHad())
}

// address is where the model of a setup is reached. An address that only the store names is refused, because
// the key of whoever types the command goes there.
func (f *setupFlags) address(flags *pflag.FlagSet, s setup) (string, error) {
	remote := !strings.HasPrefix(s.Model, scriptPrefix)
	switch {
	case flags.Changed("base-url") && f.baseURL == "":
		return "", nil
	case flags.Changed("base-url") && !remote:
		return "", misuse("--base-url is where a model is reached over the network: a script is played here")
	case flags.Changed("base-url"):
		return f.baseURL, checkURL("--base-url", f.baseURL)
	case s.BaseURL != "" && remote:
		return "", misuse("the conversation is stored with the address %s, and your key goes only where you say: give --base-url %s, or --base-url '' for the provider's own",
			clip(printable(s.BaseURL), 100), clip(quoted(printable(s.BaseURL)), 100))
	}
	return "", nil
}

// checkURL refuses what is no address of a server, and one that holds a secret: it is stored.
func checkURL(where, address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return misuse("%s %q is no address such as https://host/path", where, clip(address, 80))
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return misuse("%s takes scheme, host and path only: the key stands in a variable of the environment", where)
	}
	return nil
}

// model makes the model of a setup; calls are the tools that its script calls.
func (a *app) model(s setup) (m membrane.Model, calls []string, err error) {
	if s.Demo != nil && s.Model == demoModel {
		m, err = s.demoModel()
		return m, nil, err
	}
	if p, name, ok := providerOf(s.Model); ok {
		m, err = a.remote(p, name, s)
		return m, nil, err
	}
	path, ok := strings.CutPrefix(s.Model, scriptPrefix)
	if !ok {
		return nil, nil, noModel(s.Model)
	}
	script, err := scripted.Load(path)
	if err != nil {
		return nil, nil, misuse("%w", err)
	}
	played, err := scripted.New(script, scripted.Config{Bodies: s.Bodies})
	if err != nil {
		return nil, nil, misuse("%w", err)
	}
	return played, script.Tools(), nil
}

// checkCalls refuses a script that calls a tool which is not there.
func checkCalls(calls, tools []string) error {
	for _, name := range calls {
		if !slices.Contains(tools, name) {
			return misuse("the script calls %s, which is no tool of this run: it has %s", clip(fmt.Sprintf("%q", name), 80), strings.Join(tools, ", "))
		}
	}
	return nil
}
