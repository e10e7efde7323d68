// The console: every line goes to the host as it is printed.

let groupIndent = '';
const printLine = host.print;
const print = (text) => {
  if (groupIndent !== '') text = groupIndent + text.replaceAll('\n', `\n${groupIndent}`);
  printLine(`${text}\n`);
};
const counts = new Map();
const clocks = new Map();
const since = (label) => `${(host.now() - (clocks.get(label) ?? host.now())).toFixed(3)}ms`;

const table = (data, columns) => {
  if (data === null || typeof data !== 'object') return print(format([data]));
  const rows = data instanceof Map ? [...data] : isArray(data) ? data.map((v, i) => [i, v]) : Object.entries(data);
  const names = [];
  let values = false;
  for (const [, row] of rows) {
    if (row === null || typeof row !== 'object') { values = true; continue; }
    for (const k of ownKeys(row)) if (!names.includes(k)) names.push(k);
  }
  const shown = columns ?? names;
  const head = ['(index)', ...shown, ...(values ? ['Values'] : [])];
  const body = rows.map(([k, row]) => {
    const plain = row === null || typeof row !== 'object';
    return [`${k}`, ...shown.map((n) => (plain || !(n in row) ? '' : inspect(row[n], 0))), ...(values ? [plain ? inspect(row, 0) : ''] : [])];
  });
  const widths = head.map((h, i) => Math.max(h.length, ...body.map((r) => r[i].length)) + 2);
  const rule = (l, m, r) => l + widths.map((w) => '─'.repeat(w)).join(m) + r;
  const line = (cells) => `│${cells.map((c, i) => ` ${c}${' '.repeat(widths[i] - c.length - 1)}`).join('│')}│`;
  print([rule('┌', '┬', '┐'), line(head), rule('├', '┼', '┤'), ...body.map(line), rule('└', '┴', '┘')].join('\n'));
};

const log = (...args) => print(format(args));
fix(globalThis, 'console', freeze({
  log: (...args) => log(...args), info: (...args) => log(...args), debug: (...args) => log(...args),
  warn: (...args) => log(...args), error: (...args) => log(...args), trace: (...args) => log('Trace:', ...args),
  dir: (x) => log(x), table,
  assert: (ok, ...args) => { if (!ok) log(...(typeof args[0] === 'string' ? [`Assertion failed: ${args[0]}`, ...args.slice(1)] : ['Assertion failed', ...args])); },
  count: (label = 'default') => { const n = (counts.get(label) ?? 0) + 1; counts.set(label, n); print(`${label}: ${n}`); },
  countReset: (label = 'default') => { counts.delete(label); },
  group: (...args) => { if (args.length) log(...args); groupIndent += '  '; },
  groupCollapsed: (...args) => { if (args.length) log(...args); groupIndent += '  '; },
  groupEnd: () => { groupIndent = groupIndent.slice(2); },
  time: (label = 'default') => { clocks.set(label, host.now()); },
  timeLog: (label = 'default', ...args) => log(`${label}: ${since(label)}`, ...args),
  timeEnd: (label = 'default') => { print(`${label}: ${since(label)}`); clocks.delete(label); },
}));
