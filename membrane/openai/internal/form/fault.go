package form

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/wire"
)

// kinds classifies the codes and types of errors, in lower case. What is not here is left to the status.
// Sources: https://developers.openai.com/api/docs/guides/error-codes and the API reference; llama.cpp's
// and Google's compatible servers for their own.
var kinds = map[string]membrane.Kind{
	"context_length_exceeded":              membrane.ContextTooLong,
	"exceed_context_size_error":            membrane.ContextTooLong,
	"request_too_large":                    membrane.ContextTooLong,
	"rate_limit_exceeded":                  membrane.RateLimited,
	"rate_limit_error":                     membrane.RateLimited,
	"rate_limit_reached":                   membrane.RateLimited,
	"too_many_requests":                    membrane.RateLimited,
	"resource_exhausted":                   membrane.RateLimited,
	"insufficient_quota":                   membrane.Auth,
	"billing_hard_limit_reached":           membrane.Auth,
	"billing_not_active":                   membrane.Auth,
	"invalid_api_key":                      membrane.Auth,
	"authentication_error":                 membrane.Auth,
	"permission_denied":                    membrane.Auth,
	"permission_error":                     membrane.Auth,
	"unauthenticated":                      membrane.Auth,
	"server_error":                         membrane.Overloaded,
	"api_error":                            membrane.Overloaded,
	"internal_error":                       membrane.Overloaded,
	"internal_server_error":                membrane.Overloaded,
	"overloaded_error":                     membrane.Overloaded,
	"server_overloaded":                    membrane.Overloaded,
	"service_unavailable":                  membrane.Overloaded,
	"service_unavailable_error":            membrane.Overloaded,
	"unavailable":                          membrane.Overloaded,
	"unavailable_error":                    membrane.Overloaded,
	"slow_down":                            membrane.Overloaded,
	"timeout":                              membrane.Timeout,
	"timeout_error":                        membrane.Timeout,
	"deadline_exceeded":                    membrane.Timeout,
	"content_filter":                       membrane.Refused,
	"content_policy_violation":             membrane.Refused,
	"invalid_prompt":                       membrane.Refused,
	"model_not_found":                      membrane.InvalidRequest,
	"string_above_max_length":              membrane.InvalidRequest,
	"invalid_image":                        membrane.InvalidRequest,
	"invalid_image_format":                 membrane.InvalidRequest,
	"invalid_base64_image":                 membrane.InvalidRequest,
	"image_too_large":                      membrane.InvalidRequest,
	"unsupported_image_media_type":         membrane.InvalidRequest,
	"unsupported_value":                    membrane.InvalidRequest,
	"unsupported_parameter":                membrane.InvalidRequest,
	"invalid_function_parameters":          membrane.InvalidRequest,
	"unsupported_country_region_territory": membrane.Auth,
}

// advice says what helps with some codes.
var advice = map[string]string{
	"insufficient_quota":         "check the plan and the billing of the account",
	"billing_hard_limit_reached": "check the plan and the billing of the account",
	"billing_not_active":         "check the plan and the billing of the account",
	"model_not_found":            "check the model's name and what the key may use",
}

// wireError is the error of both protocols. Compatible servers write a number as the code.
type wireError struct {
	Message json.RawMessage `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"`
	Status  string          `json:"status"`
	Param   json.RawMessage `json:"param"`
}

// Fault reads the error that a body with this status holds, as the provider and as compatible servers
// write it: an object or a text under error, in an array or not, or the error itself. It is false when
// there is none.
func Fault(status int, body []byte) (wire.Fault, bool) {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) == 1 {
		body = list[0]
	}
	var w struct {
		Error  json.RawMessage `json:"error"`
		Object string          `json:"object"`
	}
	if json.Unmarshal(body, &w) != nil {
		return wire.Fault{}, false
	}
	if w.Error == nil && w.Object == "error" {
		w.Error = body
	}
	return FaultOf(status, w.Error)
}

// FaultOf reads the error itself; false when it says nothing.
func FaultOf(status int, raw json.RawMessage) (wire.Fault, bool) {
	if text, ok := canon.Unquote(raw); ok && text != "" {
		return wire.Fault{Text: text}, true
	}
	var e wireError
	if len(raw) == 0 || json.Unmarshal(raw, &e) != nil {
		return wire.Fault{}, false
	}
	code, ok := canon.Unquote(e.Code)
	if !ok && canon.Kind(e.Code) == "number" {
		code = string(e.Code)
	}
	message, ok := canon.Unquote(e.Message)
	if !ok && canon.Kind(e.Message) != "null" {
		message = string(e.Message)
	}
	if message == "" && code == "" && e.Type == "" {
		return wire.Fault{}, false
	}
	var names []string
	f := wire.Fault{}
	for _, name := range []string{code, e.Type, e.Status} {
		if name == "" {
			continue
		}
		names = append(names, name)
		name = strings.ToLower(name)
		if f.Kind == "" {
			f.Kind = kinds[name]
		}
		if f.Do == "" {
			f.Do = advice[name]
		}
	}
	if f.Kind == "" && status == 0 {
		f.Kind = numbered(code)
	}
	f.Text = strings.Join(names, ", ")
	if param, ok := canon.Unquote(e.Param); ok && param != "" {
		f.Text += " (" + param + ")"
	}
	f.Text = strings.TrimPrefix(f.Text+": "+message, ": ")
	return f, true
}

// Failure makes the error that stands in the middle of a stream; data is the event in which it stands.
func Failure(raw json.RawMessage, data string) error {
	f, ok := FaultOf(0, raw)
	if !ok {
		return wire.Unreadable("the stream broke off with an error: %.200s", data)
	}
	if f.Do == "" {
		switch f.Err(0).Kind {
		case membrane.RateLimited, membrane.Overloaded, membrane.Timeout, membrane.Network:
			f.Do = "ask again later"
		case membrane.ContextTooLong:
			f.Do = "compact the conversation or start another"
		}
	}
	return f.Err(0)
}

// numbered classifies an error of a stream whose code is an HTTP status, as some compatible servers write
// it; empty for any other.
func numbered(code string) membrane.Kind {
	var status int
	if json.Unmarshal([]byte(code), &status) != nil || status < http.StatusBadRequest || status > 599 {
		return ""
	}
	return wire.KindOf(status)
}
