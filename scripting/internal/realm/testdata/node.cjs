// Runs the suite in node, for comparison: {name: code} on the standard input, {name: output} on the
// standard output. Tools and results are stood in for with the same answers as in suite_test.go.
'use strict';
const { Console } = require('console');
const { Writable } = require('stream');

const result = (text, structured, isError = false) => ({
  content: [{ type: 'text', text }], ...(structured === undefined ? {} : { structuredContent: structured }), isError,
  get text() { return text; },
  get lines() { return text === '' ? [] : text.replace(/\n$/, '').split('\n'); },
  get data() { if (structured !== undefined) return structured; try { return JSON.parse(text); } catch { return text; } },
  read(a, b = a) { return this.lines.slice(a - 1, b).join('\n'); },
  grep(re) { return this.lines.map((t, i) => ({ line: i + 1, text: t })).filter((l) => new RegExp(re).test(l.text)); },
  * [Symbol.iterator]() { yield* this.lines; },
});
const bodies = (answers) => {
  const tools = {};
  for (const [name, { text, structured, isError }] of Object.entries(answers)) {
    const f = async (args) => result(text ?? JSON.stringify(args ?? {}), structured === undefined ? undefined : JSON.parse(structured), isError);
    tools[name] = f;
    tools[name.replace(/[^A-Za-z0-9_$]/g, '_')] = f;
  }
  return tools;
};

(async () => {
  const input = JSON.parse(require('fs').readFileSync(0, 'utf8'));
  const tools = bodies(input.answers);
  const out = {};
  for (const [name, code] of Object.entries(input.snippets)) {
    let text = '';
    const sink = new Writable({ write(c, e, done) { text += c; done(); } });
    const console = new Console({ stdout: sink, stderr: sink });
    const stored = Object.entries(input.stored).map(([id, s]) => [id, s]);
    const results = {
      list: () => stored.map(([id, s]) => ({ id, tool: s.tool, isError: false })),
      get: (id) => { const s = input.stored[id]; if (!s) throw new Error(`no result ${id}`); return result(s.text, s.structured && JSON.parse(s.structured)); },
    };
    const unwrap = (r) => { if (r.isError) throw new Error(r.text); return r.data; };
    const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
    try {
      const f = new Function('console', 'tools', 'results', 'unwrap', 'sleep', 'args', `return (async () => { ${code}\n})()`);
      const value = await Promise.race([f(console, tools, results, unwrap, sleep, input.args), new Promise((_, no) => setTimeout(() => no(new Error('node: too slow')), 5000))]);
      if (value !== undefined) text += typeof value === 'string' ? value : JSON.stringify(value);
    } catch (e) { text += `! ${e}`; }
    out[name] = text;
  }
  process.stdout.write(JSON.stringify(out));
  process.exit(0);
})();
process.on('unhandledRejection', () => {});
process.on('uncaughtException', () => {});
