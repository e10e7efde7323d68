// A client of the TypeScript SDK that drives a server: node peer.cjs v1|v2|v2-legacy http URL TOKEN, or
// stdio COMMAND. It prints what it saw as one JSON object.
const [, , sdk, kind, target, token] = process.argv;

function connectors() {
  if (sdk === "v1") {
    const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
    return { Client, StreamableHTTPClientTransport, StdioClientTransport };
  }
  return { ...require("@modelcontextprotocol/client"), ...require("@modelcontextprotocol/client/stdio") };
}

async function main() {
  const { Client, StreamableHTTPClientTransport, StdioClientTransport } = connectors();
  const options = sdk === "v2" ? { versionNegotiation: { mode: "auto" } } : {};
  const client = new Client({ name: "peer", version: "1" }, options);
  const transport = kind === "http"
    ? new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: { Authorization: `Bearer ${token}` } } })
    : new StdioClientTransport({ command: target, args: [], env: { ...process.env }, stderr: "inherit" });
  await client.connect(transport);
  const call = (name, args, opts) =>
    sdk === "v1" ? client.callTool({ name, arguments: args }, undefined, opts) : client.callTool({ name, arguments: args }, opts);
  const text = (r) => r.content.map((c) => c.text ?? `[${c.type}]`).join("\n");
  const out = {};
  out.tools = (await client.listTools()).tools.map((t) => t.name);
  const long = await call("long", {});
  out.path = long._meta["weir/path"];
  out.preview = text(long).length;
  out.grep = text(await call("workspace--grep", { pattern: "needle", path: out.path }));
  out.read = text(await call("workspace--read", { path: out.path, offset: 12345, limit: 1 }));
  const shaped = await call("shaped", {});
  out.shaped = shaped.structuredContent;
  out.shapedText = text(shaped);
  const drifts = await call("drifts", {});
  out.drifts = [drifts.isError, text(drifts), drifts.structuredContent ?? null];
  const wrong = await call("workspace--read", { path: 5, extra: 1 });
  out.wrong = [wrong.isError, text(wrong)];
  try {
    await call("nope", {});
    out.unknown = "no error";
  } catch (e) {
    out.unknown = String(e.code);
  }
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 300);
  try {
    await call("waits", {}, { signal: stop.signal });
    out.cancelled = false;
  } catch {
    out.cancelled = true;
  }
  out.many = (await Promise.all(Array.from({ length: 50 }, (_, i) => call("echo", { n: i })))).map(text).every((t, i) => t === `{"n":${i}}`);
  await client.close();
  console.log(JSON.stringify(out));
}

main().then(() => process.exit(0), (e) => {
  console.error(e);
  process.exit(1);
});
