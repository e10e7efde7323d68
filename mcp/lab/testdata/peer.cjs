// A client of the TypeScript SDK that calls every tool of the lab, before and after it has listed them:
// node peer.cjs v1|v2|v2-legacy http URL, or stdio COMMAND ARG…. It prints {before, after, revision}: by tool the
// result, or {code, message} where it was refused.
const [, , sdk, kind, target, ...rest] = process.argv;

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
  const client = new Client({ name: "peer", version: "1" }, sdk === "v2" ? { versionNegotiation: { mode: "auto" } } : {});
  await client.connect(
    kind === "http"
      ? new StreamableHTTPClientTransport(new URL(target))
      : new StdioClientTransport({ command: target, args: rest, env: { ...process.env }, stderr: "inherit" }),
  );
  const names = process.env.WEIR_LAB_TOOLS.split(" ");
  const all = async () => {
    const out = {};
    for (const name of names) {
      try {
        const { content, structuredContent } = await client.callTool({ name, arguments: {} });
        out[name] = { content, structuredContent };
      } catch (e) {
        out[name] = { code: e.code ?? "none", message: e.message };
      }
    }
    return out;
  };
  const before = await all();
  const listed = (await client.listTools()).tools.map((t) => t.name);
  const after = await all();
  await client.close();
  console.log(JSON.stringify({ before, after, listed }));
}

main().then(() => process.exit(0), (e) => {
  console.error(e);
  process.exit(1);
});
