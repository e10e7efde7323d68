// Package weir is the map of the module: it holds no code, only the way in.
//
// Weir is an agent runtime. It asks a model, runs the tools the model calls,
// and keeps what came back. A tool result reaches the model as its own text;
// one that is too large is kept whole on disk, and the model gets both ends of
// it, the true totals and an address to read the rest from. What a request
// was made of is stored byte for byte, so a run that is killed goes on where
// it stopped and sends the same prefix again.
//
// # The flow
//
//	membrane/* ─► tool.Call ─► execute ─► result ─► spill ─► envelope ─► round ─► history
//	  model         call        run        text      cap       fit        settle    store
//	    ▲                                                                             │
//	    └──────────────── stored fragments, concatenated ◄──── agent ◄────────────────┘
//
// Read round/settle.go first: it is that line as code.
//
// # Floors
//
// Imports only go down. The table in house_test.go is the law; this is its
// shape:
//
//	6 door       cmd/weir → internal/cli
//	5 assembly   mcp/gateway  mcp/lab
//	4 loops      agent  mcp/server
//	3 rounds     round
//	  one call   execute
//	2 hands      workspace  shell  scripting  mcp/client  result/shape  envelope
//	             history/sqlite  membrane/{anthropic,openai,gemini,scripted,wire}
//	1 words      membrane  history  result  spill  tokens  migrations
//	0 ground     tool  internal/{lines,canon,schema,args,folder,search,document}
//
// # Where to start
//
//   - A tool from a typed Go function: package tool.
//   - A whole agent, with a store: package agent.
//   - A loop of your own that only needs calls settled and stored: package
//     round.
//   - One call without a store: package execute.
//   - Only the large-result handling: packages result and spill.
//   - Results fitted to a budget: package envelope; chosen and rendered:
//     package result/shape.
//   - Scripts over whole results: package scripting, whose Main is the first
//     line of a program that runs them.
//   - Tools of MCP servers: package mcp/client; Weir's own for other hosts:
//     package mcp/server.
//   - A store of your own: package history, held by history/historytest.
package weir
