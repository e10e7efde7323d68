package cli

import (
	"strings"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/anthropic"
	"github.com/weir-run/weir/membrane/gemini"
	"github.com/weir-run/weir/membrane/openai"
	"github.com/weir-run/weir/membrane/openai/responses"
)

// provider is whose models are reached over the network under one prefix.
type provider struct {
	// prefix stands before the model's name, such as "anthropic/".
	prefix string
	// example is a model's name.
	example string
	// key is the variable that holds the key, or another one holds it; keyless says that there may be none.
	key, or string
	keyless bool
	// base is the variable that holds the address when no flag gives one; empty for none. elsewhere says
	// that there is no address of the provider's own.
	base      string
	elsewhere bool
	// model makes a model.
	model func(name, key, address string) (membrane.Model, error)
}

// providers are those that this build speaks to.
func providers() []provider {
	chat := func(provider, keyName string) func(name, key, address string) (membrane.Model, error) {
		return func(name, key, address string) (membrane.Model, error) {
			return openai.New(name, openai.Config{APIKey: key, BaseURL: address, Provider: provider, KeyName: keyName})
		}
	}
	return []provider{
		{
			prefix: "anthropic/", example: "claude-opus-5-5", key: "ANTHROPIC_API_KEY",
			model: func(name, key, address string) (membrane.Model, error) {
				return anthropic.New(name, anthropic.Config{APIKey: key, BaseURL: address})
			},
		},
		{
			prefix: "openai/", example: "gpt-5.5", key: "OPENAI_API_KEY", base: "OPENAI_BASE_URL",
			model: func(name, key, address string) (membrane.Model, error) {
				return responses.New(name, responses.Config{APIKey: key, BaseURL: address})
			},
		},
		{prefix: "openai-chat/", example: "gpt-5.5", key: "OPENAI_API_KEY", base: "OPENAI_BASE_URL", model: chat("openai", "OPENAI_API_KEY")},
		{prefix: "compat/", example: "qwen3:8b", key: "COMPAT_API_KEY", keyless: true, base: "COMPAT_BASE_URL", elsewhere: true, model: chat("compat", "COMPAT_API_KEY")},
		{
			prefix: "gemini/", example: "gemini-3-pro", key: "GEMINI_API_KEY", or: "GOOGLE_API_KEY",
			model: func(name, key, address string) (membrane.Model, error) {
				return gemini.New(name, gemini.Config{APIKey: key, BaseURL: address})
			},
		},
	}
}

// providerOf finds whose model a specification names, and the model's own name.
func providerOf(spec string) (p provider, name string, ok bool) {
	for _, p := range providers() {
		if name, ok := strings.CutPrefix(spec, p.prefix); ok {
			return p, name, true
		}
	}
	return provider{}, "", false
}

// remote makes a model that is reached over the network, with the key of the environment. An address of
// the environment is where whoever types the command says; it is not stored.
func (a *app) remote(p provider, name string, s setup) (membrane.Model, error) {
	key := strings.TrimSpace(a.env(p.key))
	if key == "" && p.or != "" {
		key = strings.TrimSpace(a.env(p.or))
	}
	if key == "" && !p.keyless {
		return nil, misuse("model %s%s needs a key: put it into the variable %s of the environment", p.prefix, clip(name, 60), p.key)
	}
	address := s.BaseURL
	if address == "" && p.base != "" {
		if address = strings.TrimSpace(a.env(p.base)); address != "" {
			if err := checkURL("the variable "+p.base, address); err != nil {
				return nil, err
			}
		}
	}
	if address == "" && p.elsewhere {
		return nil, misuse("model %s%s needs the address of its server: give --base-url, such as http://localhost:11434/v1, or put it into the variable %s", p.prefix, clip(name, 60), p.base)
	}
	m, err := p.model(name, key, address)
	if err != nil {
		return nil, misuse("%w", err)
	}
	return m, nil
}
