package round

import (
	"context"

	"github.com/weir-run/weir/execute"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// run runs a body inside a span of the GenAI semantic conventions (OpenTelemetry, "Execute tool span").
// Arguments and results are content and stand in no span.
func (w *work) run(ctx context.Context, c *call) execute.Ran {
	name := c.prepared.Tool.Name
	ctx, span := w.settler.cfg.Tracer.Start(ctx, "execute_tool "+name, trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", name),
		attribute.String("gen_ai.tool.type", "function"),
		attribute.String("gen_ai.tool.call.id", c.prepared.Call.ID),
		attribute.String("gen_ai.conversation.id", w.request.Conversation),
		attribute.String("weir.result.id", c.id.String()),
		attribute.Int("weir.call.attempt", c.attempt),
	))
	defer span.End()
	ran := execute.Run(ctx, c.prepared, w.env(c))
	if ran.Outcome != execute.Done {
		span.SetAttributes(attribute.String("error.type", string(ran.Outcome)))
		span.SetStatus(codes.Error, string(ran.Outcome))
	}
	return ran
}
