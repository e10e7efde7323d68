package cli

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/result/shape"
)

// TestShapeMeasure has the figures of the reference document by the command, with eight of its ten fields.
func TestShapeMeasure(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	a := &app{in: &bytes.Buffer{}, out: &out, err: &errs, env: func(string) string { return "" }}
	status := a.run(t.Context(), []string{
		"shape", "measure", "../../result/shape/testdata/meter.json", "--json",
		"--select", "status: .data.attributes.status",
		"--select", `open_alerts: [.included[] | select(.type == "alert") | .attributes | select(.acknowledged_at == null) | {kind, severity, opened_at}]`,
		"--select", `last_reading: [.included[] | select(.type == "reading") | .attributes | {recorded_at, kwh}] | sort_by(.recorded_at) | last`,
		"--select", "plan: .data.attributes.plan",
		"--select", "region: .data.attributes.region",
		"--select", "id: .data.id",
		"--select", "customer_id: .data.relationships.customer.data.id",
		"--select", "site_id: .data.relationships.site.data.id",
	})
	if status != statusDone || errs.Len() > 0 {
		t.Fatalf("status %d, %s", status, errs.String())
	}
	var got shape.Measurement
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := shape.Row{Shape: shape.Structured, TextBytes: 284, TextTokens: 109, ResultBytes: 674, StructuredKeys: 8}
	if diff := cmp.Diff(want, got.Shapes[4]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if raw := got.Shapes[0]; raw.TextTokens != 15_130 || len(got.Heaviest) != 3 {
		t.Errorf("%+v", got)
	}
}
