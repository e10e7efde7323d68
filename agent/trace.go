package agent

import (
	"context"
	"errors"
	"strings"

	"github.com/weir-run/weir/membrane"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Spans follow the GenAI semantic conventions of OpenTelemetry: "invoke_agent" for a run, "chat MODEL" for a
// request, "execute_tool TOOL" (package round) for a call. Texts are content and stand in no span.

// traced runs one piece of a conversation inside a span.
func (d *drive) traced(run func(*drive) error) error {
	ctx, span := d.a.cfg.Tracer.Start(d.ctx, "invoke_agent weir", trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "invoke_agent"),
		attribute.String("gen_ai.agent.name", "weir"),
		attribute.String("gen_ai.conversation.id", d.conversation),
		attribute.String("gen_ai.provider.name", provider(d.a.model.Name())),
		attribute.String("gen_ai.request.model", modelName(d.a.model.Name())),
	))
	defer span.End()
	d.ctx = ctx
	err := run(d)
	span.SetAttributes(attribute.Int("weir.turn", d.turn.N), attribute.String("weir.turn.reason", d.turn.Reason))
	failedSpan(span, err)
	return err
}

// chat starts the span of one request; the function that it returns ends it.
func (d *drive) chat() (context.Context, func(membrane.Done, error)) {
	name := d.a.model.Name()
	ctx, span := d.a.cfg.Tracer.Start(d.ctx, "chat "+modelName(name), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", provider(name)),
		attribute.String("gen_ai.request.model", modelName(name)),
		attribute.String("gen_ai.conversation.id", d.conversation),
		attribute.Bool("gen_ai.request.stream", true),
	))
	if n := d.a.cfg.MaxTokens; n > 0 {
		span.SetAttributes(attribute.Int("gen_ai.request.max_tokens", n))
	}
	return ctx, func(done membrane.Done, err error) {
		defer span.End()
		if err != nil {
			failedSpan(span, err)
			return
		}
		u := done.Usage
		span.SetAttributes(
			attribute.StringSlice("gen_ai.response.finish_reasons", []string{string(done.Stop)}),
			// The convention counts cached tokens as input; Weir keeps them apart.
			attribute.Int64("gen_ai.usage.input_tokens", u.In+u.CacheRead+u.CacheWrite),
			attribute.Int64("gen_ai.usage.output_tokens", u.Out),
			attribute.Int64("gen_ai.usage.cache_read.input_tokens", u.CacheRead),
			attribute.Int64("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite),
		)
	}
}

func failedSpan(span trace.Span, err error) {
	if err == nil {
		return
	}
	kind := "_OTHER"
	var e *membrane.Error
	switch {
	case errors.As(err, &e):
		kind = string(e.Kind)
	case errors.Is(err, context.Canceled):
		kind = "cancelled"
	}
	span.SetAttributes(attribute.String("error.type", kind))
	span.SetStatus(codes.Error, kind)
}

// provider is the convention's name of who serves a model that is named "anthropic/claude-x".
func provider(name string) string {
	p, _, _ := strings.Cut(name, "/")
	if p == "gemini" {
		return "gcp.gemini"
	}
	return p
}

func modelName(name string) string {
	_, model, ok := strings.Cut(name, "/")
	if !ok {
		return name
	}
	return model
}
