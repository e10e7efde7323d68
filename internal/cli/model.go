package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
)

// scriptPrefix is the prefix of a model that plays a script.
const scriptPrefix = "scripted:"

// resolveModel checks a model's specification and makes the path of a script absolute.
func resolveModel(spec string) (string, error) {
	path, ok := strings.CutPrefix(spec, scriptPrefix)
	switch {
	case spec == "":
		return "", misuse("-m needs a model: scripted:FILE plays a script")
	case !ok:
		return "", misuse("model %q: this build has no such model; it has scripted:FILE, which plays a script", clip(spec, 60))
	case path == "":
		return "", misuse("model %q: name the script, as in scripted:script.json", spec)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", misuse("model %q: %w", spec, err)
	}
	return scriptPrefix + abs, nil
}

// model makes the model of a setup; calls are the tools that its script calls.
func (s setup) model() (m membrane.Model, calls []string, err error) {
	if s.Demo != nil && s.Model == demoModel {
		m, err = s.demoModel()
		return m, nil, err
	}
	path, ok := strings.CutPrefix(s.Model, scriptPrefix)
	if !ok {
		return nil, nil, misuse("model %q: this build has no such model: name one that it has with -m scripted:FILE", clip(s.Model, 60))
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
