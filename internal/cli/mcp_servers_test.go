//go:build unix

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// tiny is an MCP server with two tools: one that adds, one that ends the server.
func tiny() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name string `json:"name"`
				Args struct {
					A json.Number `json:"a"`
					B json.Number `json:"b"`
				} `json:"arguments"`
			} `json:"params"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		what := `"error":{"code":-32601,"message":"no such method"}`
		switch m.Method {
		case "initialize":
			what = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1"}}`
		case "tools/list":
			what = `"result":{"tools":[{"name":"add","description":"Adds.` + os.Getenv("TINY_NOTE") + `","inputSchema":{"type":"object","required":["a","b"]}},{"name":"die","inputSchema":{"type":"object"}},{"name":"bad"}]}`
		case "tools/call":
			if m.Params.Name == "die" {
				fmt.Fprintln(os.Stderr, "out of memory")
				os.Exit(3)
			}
			what = fmt.Sprintf(`"result":{"content":[{"type":"text","text":"<%s> & <%s>"}],"structuredContent":{"sum":9007199254740993}}`, m.Params.Args.A, m.Params.Args.B)
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, what)
	}
}
