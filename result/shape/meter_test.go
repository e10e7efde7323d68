package shape_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/result/shape"
)

var update = flag.Bool("update", false, "write the meter's document again")

// meterDocument makes the document of one meter: 100 hourly readings that come in no order, one alert
// that nobody acknowledged, and the bookkeeping of an API of this kind.
func meterDocument() []byte {
	r := rand.New(rand.NewPCG(8, 2))
	hex := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte("0123456789abcdef"[r.IntN(16)])
		}
		return b.String()
	}
	noise := func(at time.Time) string {
		stamp := at.Add(time.Duration(r.IntN(90)) * time.Second).Format("2006-01-02T15:04:05.000Z")
		return fmt.Sprintf(`"_etag":"W/\"%s\"","created_at":%q,"updated_at":%q,"deleted_at":null,"tenant_id":"ten_%s"`, hex(8), stamp, stamp, hex(6))
	}
	last := time.Date(2026, 9, 30, 10, 0, 0, 0, time.UTC)
	// Tenths of kWh, counted back from the last reading; 483 of them in the last day.
	figures := make([]int, 100)
	figures[99] = 41992
	for i := 98; i >= 0; i-- {
		step := 18 + r.IntN(5)
		if i == 75 {
			step = figures[76] - (41992 - 483)
		}
		figures[i] = figures[i+1] - step
	}
	included := make([]string, 0, 101)
	for i, tenths := range figures {
		at := last.Add(time.Duration(i-99) * time.Hour)
		included = append(included, fmt.Sprintf(
			`{"type":"reading","id":"rdg_%s","attributes":{"recorded_at":%q,"kwh":%d.%d,"quality":"%s","estimated":false,"unit":"kilowatt_hours","source":"automatic_upload","note":null,%s},"links":{"self":"/v1/readings/%s"}}`,
			hex(6), at.Format("2006-01-02T15:04:05.000Z"), tenths/10, tenths%10, []string{"good", "good", "fair"}[r.IntN(3)], noise(at), hex(6)))
	}
	r.Shuffle(len(included), func(i, j int) { included[i], included[j] = included[j], included[i] })
	included = append(included, fmt.Sprintf(
		`{"type":"alert","id":"alr_%s","attributes":{"kind":"voltage_sag","severity":"warning","opened_at":"2026-09-30T02:00:00.000Z","acknowledged_at":null,%s}}`,
		hex(6), noise(last.Add(-8*time.Hour))))
	return fmt.Appendf(nil,
		`{"data":{"type":"meter","id":"mtr_8f2","attributes":{"status":"active","plan":"team","region":"eu-west","serial":"SN-40199","firmware":null,%s},`+
			`"relationships":{"customer":{"data":{"type":"customer","id":"cus_3f91"}},"site":{"data":{"type":"site","id":"site_77a1"}}},"links":{"self":"/v1/meters/mtr_8f2"}},`+
			`"included":[%s],"meta":{"request_id":"req_%s","page":{"size":200,"total":101},"_trace":"%s"}}`,
		noise(last.AddDate(-2, 0, 0)), strings.Join(included, ","), hex(12), hex(32))
}

// meterSelection is the decision's order.
var meterSelection = []string{
	`status: .data.attributes.status`,
	`open_alerts: [.included[] | select(.type == "alert") | .attributes | select(.acknowledged_at == null) | {kind, severity, opened_at}]`,
	`last_reading: [.included[] | select(.type == "reading") | .attributes | {recorded_at, kwh}] | sort_by(.recorded_at) | last`,
	`kwh_last_24h: def at: .recorded_at | sub("[.][0-9]+Z$"; "Z") | fromdate;
		[.included[] | select(.type == "reading") | .attributes] | sort_by(at) | last as $last
		| if $last == null then null else
			first(.[] | select(at == ($last | at) - 86400)) // null
			| if . == null then null else (($last.kwh - .kwh) * 10 | round) / 10 end
		end`,
	`plan: .data.attributes.plan`,
	`region: .data.attributes.region`,
	`id: .data.id`,
	`serial: .data.attributes.serial`,
	`customer_id: .data.relationships.customer.data.id`,
	`site_id: .data.relationships.site.data.id`,
}

const meterTemplate = `## Meter {{.id}}, serial {{.serial}}
- status: {{.status}}, plan {{.plan}}, region {{.region}}
- open alerts: {{range $i, $a := .open_alerts}}{{if $i}}; {{end}}{{one $a.kind}} ({{one $a.severity}}) since {{$a.opened_at}}{{else}}none{{end}}
{{if has . "last_reading"}}- last reading: {{.last_reading.kwh}} kWh at {{.last_reading.recorded_at}}
{{end}}{{if has . "kwh_last_24h"}}- consumption, last 24h: {{.kwh_last_24h}} kWh
{{end}}- for follow-up calls: customer {{.customer_id}}, site {{.site_id}}`

const meterSchema = `{"type":"object","additionalProperties":false,
	"required":["status","open_alerts","plan","region","id","serial","customer_id","site_id"],
	"properties":{
		"status":{"type":"string"},"plan":{"type":"string"},"region":{"type":"string"},"id":{"type":"string"},
		"serial":{"type":"string"},"customer_id":{"type":"string"},"site_id":{"type":"string"},"kwh_last_24h":{"type":"number"},
		"open_alerts":{"type":"array","items":{"type":"object","required":["kind","severity","opened_at"],
			"properties":{"kind":{"type":"string"},"severity":{"type":"string"},"opened_at":{"type":"string"}}}},
		"last_reading":{"type":"object","required":["recorded_at","kwh"],
			"properties":{"recorded_at":{"type":"string"},"kwh":{"type":"number"}}}}}`

const meterMarkdown = `## Meter mtr_8f2, serial SN-40199
- status: active, plan team, region eu-west
- open alerts: voltage_sag (warning) since 2026-09-30T02:00:00.000Z
- last reading: 4199.2 kWh at 2026-09-30T10:00:00.000Z
- consumption, last 24h: 48.3 kWh
- for follow-up calls: customer cus_3f91, site site_77a1`

const meterJSON = `{"status":"active","open_alerts":[{"kind":"voltage_sag","severity":"warning","opened_at":"2026-09-30T02:00:00.000Z"}],` +
	`"last_reading":{"recorded_at":"2026-09-30T10:00:00.000Z","kwh":4199.2},"kwh_last_24h":48.3,"plan":"team","region":"eu-west",` +
	`"id":"mtr_8f2","serial":"SN-40199","customer_id":"cus_3f91","site_id":"site_77a1"}`

func meter(t testing.TB) *shape.Shaper {
	t.Helper()
	selector, err := shape.JQ(meterSelection)
	if err != nil {
		t.Fatal(err)
	}
	return meterBy(t, selector)
}

func meterBy(t testing.TB, selector shape.Selector) *shape.Shaper {
	t.Helper()
	template, err := shape.Template(meterTemplate)
	if err != nil {
		t.Fatal(err)
	}
	s, err := shape.New(shape.Config{Select: selector, Markdown: template, Schema: json.RawMessage(meterSchema)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMeterDocument holds the stored document to what makes it.
func TestMeterDocument(t *testing.T) {
	t.Parallel()
	const path = "testdata/meter.json"
	want := meterDocument()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run with -update (-want +got):\n%s", diff)
	}
	if n := strings.Count(string(got), `{"type":"reading"`) + strings.Count(string(got), `{"type":"alert"`); n != 101 {
		t.Errorf("%d included records", n)
	}
}

// TestMeter has the figures of the reference run for the three forms that select; those of raw and
// pruned depend on the document's bookkeeping and are this one's own.
func TestMeter(t *testing.T) {
	t.Parallel()
	got, err := meter(t).Measure(t.Context(), meterDocument())
	if err != nil {
		t.Fatal(err)
	}
	want := shape.Measurement{
		Shapes: []shape.Row{
			{Shape: shape.Raw, TextBytes: 40083, TextTokens: 15130, ResultBytes: 46270},
			{Shape: shape.Pruned, TextBytes: 19734, TextTokens: 6473, ResultBytes: 22859},
			{Shape: shape.Markdown, TextBytes: 291, TextTokens: 118, ResultBytes: 335},
			{Shape: shape.JSON, TextBytes: 324, TextTokens: 127, ResultBytes: 415},
			{Shape: shape.Structured, TextBytes: 324, TextTokens: 127, ResultBytes: 760, StructuredKeys: 10},
		},
		Heaviest: []shape.Path{{Path: ".included[]", Tokens: 14918}, {Path: ".data", Tokens: 156}, {Path: ".meta", Tokens: 49}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Shapes[3].TextTokens*100 > got.Shapes[0].TextTokens {
		t.Errorf("the selection has more than a hundredth of the document's tokens")
	}
}

func TestMeterText(t *testing.T) {
	t.Parallel()
	for name, want := range map[shape.Name]string{shape.Markdown: meterMarkdown, shape.JSON: meterJSON, shape.Structured: meterJSON} {
		got, err := meter(t).Render(t.Context(), meterDocument(), name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if name == shape.Structured && string(got.Structured) != got.Text {
			t.Error("the structured content is not the text")
		}
	}
}

// meterInGo is the same selection as a function.
func meterInGo(_ context.Context, raw json.RawMessage) (any, error) {
	var doc struct {
		Data struct {
			ID            string
			Attributes    struct{ Status, Plan, Region, Serial string }
			Relationships struct {
				Customer, Site struct{ Data struct{ ID string } }
			}
		}
		Included []struct {
			Type       string
			Attributes struct {
				Kind, Severity string
				Opened         string  `json:"opened_at"`
				Acknowledged   *string `json:"acknowledged_at"`
				Recorded       string  `json:"recorded_at"`
				KWh            json.Number
			}
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	type alert struct {
		Kind     string `json:"kind"`
		Severity string `json:"severity"`
		Opened   string `json:"opened_at"`
	}
	type reading struct {
		Recorded string      `json:"recorded_at"`
		KWh      json.Number `json:"kwh"`
	}
	out := struct {
		Status   string   `json:"status"`
		Alerts   []alert  `json:"open_alerts"`
		Last     *reading `json:"last_reading,omitempty"`
		Day      *float64 `json:"kwh_last_24h,omitempty"`
		Plan     string   `json:"plan"`
		Region   string   `json:"region"`
		ID       string   `json:"id"`
		Serial   string   `json:"serial"`
		Customer string   `json:"customer_id"`
		Site     string   `json:"site_id"`
	}{
		doc.Data.Attributes.Status,
		[]alert{},
		nil, nil, doc.Data.Attributes.Plan, doc.Data.Attributes.Region, doc.Data.ID,
		doc.Data.Attributes.Serial, doc.Data.Relationships.Customer.Data.ID, doc.Data.Relationships.Site.Data.ID,
	}
	at := map[time.Time]float64{}
	var newest time.Time
	for _, r := range doc.Included {
		switch {
		case r.Type == "alert" && r.Attributes.Acknowledged == nil:
			out.Alerts = append(out.Alerts, alert{r.Attributes.Kind, r.Attributes.Severity, r.Attributes.Opened})
		case r.Type == "reading":
			when, err := time.Parse(time.RFC3339, r.Attributes.Recorded)
			if err != nil {
				return nil, err
			}
			kwh, err := r.Attributes.KWh.Float64()
			if err != nil {
				return nil, err
			}
			if at[when] = kwh; when.After(newest) {
				newest, out.Last = when, &reading{r.Attributes.Recorded, r.Attributes.KWh}
			}
		}
	}
	if before, ok := at[newest.Add(-24*time.Hour)]; ok {
		day := math.Round((at[newest]-before)*10) / 10
		out.Day = &day
	}
	return out, nil
}

// TestMeterInGo has a function and the expressions agree, also where readings are missing.
func TestMeterInGo(t *testing.T) {
	t.Parallel()
	whole := string(meterDocument())
	var doc map[string]any
	if err := json.Unmarshal([]byte(whole), &doc); err != nil {
		t.Fatal(err)
	}
	only := func(keep func(kind, at string) bool) string {
		var records []any
		for _, r := range doc["included"].([]any) {
			attributes := r.(map[string]any)["attributes"].(map[string]any)
			at, _ := attributes["recorded_at"].(string)
			if keep(r.(map[string]any)["type"].(string), at) {
				records = append(records, r)
			}
		}
		raw, err := json.Marshal(map[string]any{"data": doc["data"], "included": append([]any{}, records...)})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for _, c := range []struct {
		name, doc string
		has, not  []string
	}{
		{"whole", whole, []string{`"kwh_last_24h":48.3`, `"last_reading"`}, nil},
		{"a gap a day before", only(func(_, at string) bool { return at != "2026-09-29T10:00:00.000Z" }), []string{`"last_reading"`}, []string{"kwh_last_24h"}},
		{"under a day", only(func(k, at string) bool { return k == "alert" || at > "2026-09-29T11" }), []string{`"last_reading"`}, []string{"kwh_last_24h"}},
		{"no readings", only(func(k, _ string) bool { return k == "alert" }), []string{`"open_alerts":[{`}, []string{"kwh_last_24h", "last_reading"}},
		{"no alert", only(func(k, _ string) bool { return k != "alert" }), []string{`"open_alerts":[]`, "48.3"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, err := meter(t).Render(t.Context(), []byte(c.doc), shape.JSON)
			if err != nil {
				t.Fatal(err)
			}
			b, err := meterBy(t, meterInGo).Render(t.Context(), []byte(c.doc), shape.JSON)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(b, a); diff != "" {
				t.Errorf("(-in Go +by expressions):\n%s", diff)
			}
			for _, part := range c.has {
				if !strings.Contains(a.Text, part) {
					t.Errorf("no %s in %s", part, a.Text)
				}
			}
			for _, part := range c.not {
				if strings.Contains(a.Text, part) {
					t.Errorf("%s in %s", part, a.Text)
				}
			}
			md, err := meter(t).Render(t.Context(), []byte(c.doc), shape.Markdown)
			if err != nil || md.IsError {
				t.Errorf("markdown: %v %s", err, md.Text)
			}
		})
	}
}
