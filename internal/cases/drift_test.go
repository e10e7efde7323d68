package cases

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/mcp/lab"
	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// meterSchema is what a meter's tool declares: the consumption is a number, and may be left out.
const meterSchema = `{"type":"object","properties":{"status":{"type":"string"},"kwh_last_24h":{"type":"number"}},"required":["status"]}`

// A figure that is sent as a string is refused by a server that checks what it sends, and by the client when
// the server does not check: both name the field, what was expected and what came.
func TestDriftIsRefusedOnBothSides(t *testing.T) {
	const drifted = `{"status":"active","kwh_last_24h":"48.3"}`
	meter := tool.Tool{
		Name: "meter", Description: "One meter.", Schema: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(meterSchema),
		Run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Data: json.RawMessage(drifted), Structured: json.RawMessage(drifted)}, nil
		},
	}
	store, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	checks, err := server.New(store, server.Config{Tools: []tool.Tool{meter}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = checks.Close(context.WithoutCancel(t.Context())) }()
	careful, err := checks.Handler(server.HTTPConfig{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	careless, err := server.Mount(lab.Protocol("test", []lab.Tool{{
		Name: "meter", Description: "One meter.", Output: json.RawMessage(meterSchema),
		Result: json.RawMessage(`{"content":[{"type":"text","text":"48.3 kWh"}],"structuredContent":` + drifted + `}`),
	}}), server.HTTPConfig{Open: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	one, two := httptest.NewServer(careful), httptest.NewServer(careless)
	defer one.Close()
	defer two.Close()
	config, err := client.Parse(fmt.Appendf(nil, `{"mcpServers":{"careful":{"url":%q},"careless":{"url":%q}}}`, one.URL, two.URL), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	set, err := client.Connect(t.Context(), config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = set.Close() }()
	own, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = own.Close() }()
	got, err := round.Settle(t.Context(), own, round.Request{
		Conversation: "c", Calls: []tool.Call{{ID: "1", Name: "careful--meter"}, {ID: "2", Name: "careless--meter"}},
	}, round.Config{Tools: set.Tools()})
	if err != nil {
		t.Fatal(err)
	}
	for i, words := range [][]string{
		{"kwh_last_24h", "number", "string"},
		{"-32602", "kwh_last_24h", "number", "string", "48.3 kWh"}, // what was sent is not lost
	} {
		r := got.Results[i]
		for _, w := range words {
			if !r.IsError || !strings.Contains(r.Text, w) {
				t.Errorf("%s: error %v, without %q: %s", r.Call.Name, r.IsError, w, r.Text)
			}
		}
	}
}
