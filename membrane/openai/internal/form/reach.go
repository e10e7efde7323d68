package form

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/weir-run/weir/membrane"
)

// Check refuses, in one line, what no request could be sent with: a model without a name, the provider's own
// address without a key, and limits below zero.
func Check(model, key, baseURL, keyName string, maxTokens int, idle time.Duration) error {
	switch {
	case strings.TrimSpace(model) == "":
		return errors.New("openai: a model needs a name, such as gpt-5.5")
	case key == "" && baseURL == "":
		return fmt.Errorf("openai: model %s has no API key: set %s", membrane.Line(model), keyName)
	case maxTokens < 0 || idle < 0:
		return errors.New("openai: MaxTokens and IdleTimeout must not be negative")
	}
	return nil
}

// Header is what goes with each request: the caller's own header, and the key when there is one.
func Header(own http.Header, key string) http.Header {
	header := own.Clone()
	if header == nil {
		header = http.Header{}
	}
	if key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	return header
}
