// A host of the TypeScript SDK that knows nothing of what stands between it and its server: it reads a file,
// and finds a line in it by following what the answer says. node host.cjs FILE PATTERN COMMAND
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const [, , file, pattern, command] = process.argv;

async function main() {
  const client = new Client({ name: "host", version: "1" });
  await client.connect(new StdioClientTransport({ command, args: [], env: { ...process.env }, stderr: "inherit" }));
  const tools = (await client.listTools()).tools;
  const text = (r) => r.content.map((c) => c.text ?? `[${c.type}]`).join("\n");
  const first = await client.callTool({ name: "read_text_file", arguments: { path: file } });
  const answer = text(first);
  const tool = tools.map((t) => t.name).find((n) => answer.includes(n) && n.includes("grep"));
  const path = answer.match(/tool-results\/[\w.-]+\.txt/)[0];
  const second = await client.callTool({ name: tool, arguments: { pattern, path } });
  const cap = tools.find((t) => t.name === "read_text_file")._meta["anthropic/maxResultSizeChars"];
  await client.close();
  console.log(JSON.stringify({ shown: answer.length, structured: JSON.stringify(first.structuredContent ?? null).length, told: JSON.stringify(first.structuredContent ?? null).includes(path), cap, found: text(second) }));
}

main().then(() => process.exit(0), (e) => {
  console.error(e);
  process.exit(1);
});
