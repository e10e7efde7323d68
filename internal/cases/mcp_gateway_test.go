package cases

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/mcp/gateway"
	"github.com/weir-run/weir/mcp/server"
)

// mcpGatewayCases are what a gateway passes on: the prompts among the cases of topic double-encode.
func mcpGatewayCases() map[string]runner { return map[string]runner{"C032": promptUnchanged} }

// promptUnchanged gets a prompt through a gateway.
func promptUnchanged(t *testing.T, c field) {
	in := inputOf[struct {
		Kind string `json:"kind"`
		Raw  string `json:"raw"`
	}](t, c)
	far := mcpServer(t, func(method string, _ map[string]json.RawMessage) string {
		switch method {
		case "tools/list":
			return `{"tools":[]}`
		case "prompts/list":
			return `{"prompts":[{"name":"p"}]}`
		}
		return in.Raw
	})
	store, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	g, err := gateway.New(t.Context(), store, gateway.Config{Servers: client.Config{Servers: map[string]client.Server{"far": far}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(t.Context()) })
	h, err := g.Handler(server.HTTPConfig{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	host := reached(t, client.Options{}, map[string]client.Server{"gateway": {URL: web.URL, Protocol: "2025-11-25"}})
	got, rpc, err := host.PromptRaw(t.Context(), "gateway", "far--p", nil)
	if err != nil || rpc != nil || string(canon.Compact(got)) != string(canon.Compact([]byte(in.Raw))) {
		t.Errorf("the host received %s, %v, %v; want %s", got, rpc, err, in.Raw)
	}
}
