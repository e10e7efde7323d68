// Tools and results: what a script works with.

const linesOf = (text) => {
  if (text === '') return [];
  const lines = text.split('\n');
  if (lines[lines.length - 1] === '') lines.pop();
  return lines;
};
let innerChars = 0; // the most characters of a text that fit a script
const facts = new WeakMap(); // of a result: what it is, its text, whether that was left out
const tooLong = (f) => new RangeError(
  `the text of this result has ${f.info.chars} characters, more than the ${innerChars} that fit a script: `
  + `read it in pieces with results.get(${JSON.stringify(f.info.id)}).read(from, to), .grep(regexp) or for (const line of result)`);
const textOf = (f) => { if (f.large) throw tooLong(f); return f.text; };
const plainFlags = (re) => re.flags.replace(/[gy]/g, '');
const asSearch = (re) => (isRegExp(re) ? new ownRegExp(re.source, plainFlags(re)) : new ownRegExp(`${re}`));

class ToolResult {
  get text() { return textOf(facts.get(this)); }
  get lines() { return linesOf(this.text); }
  get data() {
    const f = facts.get(this);
    if ('data' in f) return f.data;
    let data;
    if (f.structured !== undefined) data = this.structuredContent;
    else {
      data = textOf(f);
      if (/^\s*[[{"\-\dtfn]/.test(data)) try { data = host.exact(data); } catch (e) { if (e instanceof RangeError) throw e; }
    }
    return (f.data = data);
  }
  get id() { return facts.get(this).info.id; }
  get tool() { return facts.get(this).info.tool; }
  get args() { return facts.get(this).info.args; }
  get chars() { return facts.get(this).info.chars; }

  // read gives the lines from..to, counted from 1 and both included.
  read(from = 1, to = from) {
    const f = facts.get(this);
    from = Math.max(1, floor(from)); to = floor(to);
    if (to < from) return '';
    if (!f.large) return linesOf(f.text).slice(from - 1, to).join('\n');
    const parts = [];
    for (let next = from; next <= Math.min(to, f.info.lines);) {
      const part = host.read(f.info.id, next, to);
      parts.push(part);
      next += part.split('\n').length;
    }
    return parts.join('\n');
  }

  // grep gives the lines that match, with their numbers.
  grep(re) {
    const f = facts.get(this);
    const search = asSearch(re);
    if (f.large) return host.grep(f.info.id, search.source, search.flags);
    const out = [];
    linesOf(f.text).forEach((text, i) => { if (search.test(text)) out.push({ line: i + 1, text }); });
    return out;
  }

  *[Symbol.iterator]() {
    const f = facts.get(this);
    if (!f.large) { yield* linesOf(f.text); return; }
    for (let next = 1; next <= f.info.lines;) {
      const part = host.read(f.info.id, next, next + 999).split('\n');
      yield* part;
      next += part.length;
    }
  }

  toString() { return this.text; }
}

const makeResult = (info, text, large, structured) => {
  const result = new ToolResult();
  const f = { info, text, large, structured };
  facts.set(result, f);
  const block = { type: 'text', text };
  if (large) defineProperty(block, 'text', { get() { throw tooLong(f); }, enumerable: true, configurable: true });
  result.content = [block];
  if (structured !== undefined) {
    const set = (value) => defineProperty(result, 'structuredContent', { value, writable: true, enumerable: true, configurable: true });
    defineProperty(result, 'structuredContent', { get() { const value = host.exact(structured); set(value); return value; }, set, enumerable: true, configurable: true });
  }
  result.isError = info.isError;
  return result;
};
defineProperty(ToolResult, 'name', { value: 'Result', configurable: true });

// unwrap gives the data of a result and throws when it is an error.
const unwrap = (result) => {
  if (result !== null && typeof result === 'object' && typeof result.then === 'function') return result.then(unwrap);
  if (!(result instanceof ToolResult)) return result;
  if (result.isError) throw new Error(result.text === '' ? 'the tool reported an error without a text' : result.text);
  return result.data;
};
fix(globalThis, 'unwrap', unwrap);

fix(globalThis, 'results', freeze({
  list: () => host.list(),
  get: (id) => {
    if (typeof id !== 'string') throw new TypeError('results.get takes the id of a result, such as "r3-1"; results.list() gives them');
    return host.get(id);
  },
}));

const shortName = (name) => name.replace(/[^A-Za-z0-9_$]/g, '_');
// offer makes the global tools of the names that are offered.
const offer = (names) => {
  const offered = {};
  for (const name of names) {
    const call = (args) => host.call(name, args);
    defineProperty(call, 'name', { value: name });
    fix(offered, name, call);
  }
  const shorts = new Map();
  for (const name of names) shorts.set(shortName(name), [...(shorts.get(shortName(name)) ?? []), name]);
  for (const [short, group] of shorts) {
    if (group.length === 1 && group[0] !== short) defineProperty(offered, short, { value: offered[group[0]], enumerable: false });
    else if (group.length > 1 && !group.includes(short)) {
      defineProperty(offered, short, {
        get() { throw new ReferenceError(`tools.${short} could be ${group.map((n) => `tools[${JSON.stringify(n)}]`).join(' or ')}: use the exact name`); },
        enumerable: false,
      });
    }
  }
  freeze(offered);
  fix(globalThis, 'tools', new Proxy(offered, {
    get(target, key) {
      if (typeof key === 'string' && !(key in target) && key !== 'then' && key !== 'toJSON') host.missed(key);
      return target[key];
    },
  }));
};

// begin takes what belongs to one script; the realm has waited for it.
const begin = (names, args, argsError, heap, inner) => {
  setHeap(heap);
  innerChars = inner;
  offer(names);
  if (argsError !== undefined) defineProperty(globalThis, 'args', { get() { throw new RangeError(`args cannot be read: ${argsError}`); } });
  else defineProperty(globalThis, 'args', { value: args, writable: true, enumerable: true, configurable: false });
};
