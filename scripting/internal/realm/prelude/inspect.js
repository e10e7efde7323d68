// inspect shows any value as text, much as other consoles do: one line where it fits in 72 columns, four
// levels deep, at most a hundred members each.

const isProxyLike = (f) => { try { return f(); } catch { return undefined; } };
const tag = (x) => Object.prototype.toString.call(x).slice(8, -1);
const identifier = /^[A-Za-z_$][\w$]*$/;
const quote = (s) => {
  const q = !s.includes("'") ? "'" : !s.includes('"') ? '"' : !s.includes('`') ? '`' : "'";
  let out = '';
  for (let i = 0; i < s.length; i++) {
    const c = s[i], n = s.charCodeAt(i);
    if (c === '\\' || c === q) out += `\\${c}`;
    else if (c === '\n') out += '\\n';
    else if (c === '\t') out += '\\t';
    else if (c === '\r') out += '\\r';
    else if (c === '\b') out += '\\b';
    else if (c === '\f') out += '\\f';
    else if (c === '\v') out += '\\v';
    else if (n < 32 || n === 127) out += `\\x${n.toString(16).toUpperCase().padStart(2, '0')}`;
    else out += c;
  }
  return q + out + q;
};
const showString = (s) => (s.length > 10000 ? `${quote(s.slice(0, 10000))}... ${s.length - 10000} more character${s.length > 10001 ? 's' : ''}` : quote(s));
const showNumber = (n) => (Object.is(n, -0) ? '-0' : `${n}`);
const showKey = (k) => (typeof k === 'symbol' ? `[${String(k)}]` : identifier.test(k) ? k : quote(k));
const mostMembers = 100;
const more = (n) => `... ${n} more item${n > 1 ? 's' : ''}`;

const className = (x) => isProxyLike(() => {
  for (let p = getPrototypeOf(x); p !== null; p = getPrototypeOf(p)) {
    const d = getOwnPropertyDescriptor(p, 'constructor');
    if (d !== undefined && typeof d.value === 'function' && d.value.name !== '') return d.value.name;
  }
  return null;
});

const showError = (e) => {
  const name = isProxyLike(() => `${e.name}`) ?? 'Error';
  const message = isProxyLike(() => `${e.message}`) ?? '';
  return message === '' ? name : `${name}: ${message}`;
};

const showPrimitive = (x) => {
  switch (typeof x) {
    case 'string': return showString(x);
    case 'number': return showNumber(x);
    case 'bigint': return `${x}n`;
    case 'symbol': return String(x);
    default: return `${x}`;
  }
};

const inspect = (value, depth = 4) => {
  const open = [];
  const circles = [];
  let budget = 20000;

  const members = (x, skip, level) => {
    const out = [];
    for (const key of Reflect.ownKeys(x)) {
      const d = getOwnPropertyDescriptor(x, key);
      if (d === undefined || !d.enumerable || skip(key)) continue;
      if (out.length >= mostMembers) { out.push(more(ownKeys(x).length - mostMembers)); break; }
      let text;
      if ('value' in d) text = show(d.value, level + 1);
      else text = d.get ? (d.set ? '[Getter/Setter]' : '[Getter]') : '[Setter]';
      out.push(`${showKey(key)}: ${text}`);
    }
    return out;
  };

  const layout = (prefix, [before, after], parts, level) => {
    const lead = prefix === '' ? '' : `${prefix} `;
    if (parts.length === 0) return `${lead}${before}${after}`;
    const line = `${lead}${before} ${parts.join(', ')} ${after}`;
    if (line.length + level * 2 <= 72 && !line.includes('\n')) return line;
    const pad = '  '.repeat(level + 1);
    const rows = [];
    if (before === '[' && parts.length > 6 && parts.every((p) => p.length <= 16 && !p.includes('\n'))) {
      let row = '';
      for (const p of parts) {
        if (row !== '' && row.length + p.length + pad.length + 2 > 76) { rows.push(row); row = p; } else row = row === '' ? p : `${row}, ${p}`;
      }
      rows.push(row);
    } else rows.push(...parts);
    return `${lead}${before}\n${pad}${rows.join(`,\n${pad}`)}\n${'  '.repeat(level)}${after}`;
  };

  const show = (x, level) => {
    if (x === null || (typeof x !== 'object' && typeof x !== 'function')) return showPrimitive(x);
    const at = open.indexOf(x);
    if (at >= 0) {
      if (!circles.includes(x)) circles.push(x);
      return `[Circular *${circles.indexOf(x) + 1}]`;
    }
    if (--budget < 0) return '...';
    open.push(x);
    let text;
    try { text = composite(x, level); } catch (e) { text = `[cannot be shown: ${showError(e)}]`; }
    open.pop();
    const n = circles.indexOf(x);
    return n >= 0 ? `<ref *${n + 1}> ${text}` : text;
  };

  const composite = (x, level) => {
    const name = className(x);
    const none = () => false;
    const deep = (what) => (level > depth ? `[${what}]` : null);
    if (typeof x === 'function') {
      const isClass = /^class\b/.test(isProxyLike(() => Function.prototype.toString.call(x)) ?? '');
      const base = isClass ? `[class ${x.name || '(anonymous)'}${getPrototypeOf(x)?.name ? ` extends ${getPrototypeOf(x).name}` : ''}]`
        : `[${tag(x) === 'Function' ? 'Function' : tag(x)}${x.name ? `: ${x.name}` : ' (anonymous)'}]`;
      const own = members(x, none, level);
      return own.length ? layout(base, ['{', '}'], own, level) : base;
    }
    if (isArray(x)) {
      const head = name === 'Array' ? '' : `${name ?? '[Array: null prototype]'}(${x.length})`;
      if (level > depth) return `[${name === 'Array' ? 'Array' : name}]`;
      const parts = [];
      let i = 0;
      for (; i < x.length && parts.length < mostMembers; i++) {
        if (i in x) { parts.push(show(x[i], level + 1)); continue; }
        let holes = 0;
        while (i < x.length && !(i in x) && holes < 1e6) { holes++; i++; }
        i--;
        parts.push(`<${holes} empty item${holes > 1 ? 's' : ''}>`);
      }
      if (i < x.length) parts.push(more(x.length - i));
      parts.push(...members(x, (k) => typeof k === 'string' && /^\d+$/.test(k), level));
      return layout(head, ['[', ']'], parts, level);
    }
    if (x instanceof Error) {
      const own = members(x, (k) => k === 'stack' || k === 'message' || k === 'name', level);
      if (x.cause !== undefined && getOwnPropertyDescriptor(x, 'cause')) own.push(`[cause]: ${show(x.cause, level + 1)}`);
      if (x instanceof AggregateError && isArray(x.errors)) own.push(`[errors]: ${show(x.errors, level + 1)}`);
      const head = level > 0 ? `[${showError(x)}]` : showError(x);
      return own.length ? layout(head, ['{', '}'], own, level) : head;
    }
    if (isRegExp(x)) return `${x}`;
    if (x instanceof Date) return Number.isNaN(x.getTime()) ? 'Invalid Date' : x.toISOString();
    if (x instanceof Map) return deep(name) ?? layout(`${name}(${x.size})`, ['{', '}'], limited(x, ([k, v]) => `${show(k, level + 1)} => ${show(v, level + 1)}`, x.size), level);
    if (x instanceof Set) return deep(name) ?? layout(`${name}(${x.size})`, ['{', '}'], limited(x, (v) => show(v, level + 1), x.size), level);
    if (x instanceof Promise) return `Promise { <pending or settled> }`;
    if (x instanceof WeakMap || x instanceof WeakSet) return `${name} { <items unknown> }`;
    if (x instanceof ArrayBuffer) return `ArrayBuffer { byteLength: ${x.byteLength} }`;
    if (ArrayBuffer.isView(x) && x.length !== undefined) return deep(name) ?? layout(`${name}(${x.length})`, ['[', ']'], limited(x, showPrimitive, x.length), level);
    if (x instanceof Number || x instanceof String || x instanceof Boolean) return `[${name}: ${showPrimitive(x.valueOf())}]`;
    const label = tag(x);
    let head = name === null ? '[Object: null prototype]' : name === 'Object' ? '' : name;
    if (label !== 'Object' && label !== name && typeof x[Symbol.toStringTag] === 'string') head = `${head || 'Object'} [${label}]`;
    if (level > depth) return `[${head || 'Object'}]`;
    return layout(head, ['{', '}'], members(x, none, level), level);
  };

  const limited = (list, f, n) => {
    const out = [];
    for (const item of list) {
      if (out.length >= mostMembers) { out.push(more(n - mostMembers)); break; }
      out.push(f(item));
    }
    return out;
  };

  return show(value, 0);
};

// format is what console.log prints of its arguments.
const format = (args) => {
  const out = [];
  let i = 0;
  if (typeof args[0] === 'string') {
    i = 1;
    out.push(args.length === 1 ? args[0] : args[0].replace(/%[sdifjoOc%]/g, (d) => {
      if (d === '%%') return '%';
      if (i >= args.length) return d;
      const x = args[i++];
      switch (d) {
        case '%s': return typeof x === 'string' ? x : typeof x === 'object' && x !== null ? inspect(x, 0) : showPrimitive(x);
        case '%d': return typeof x === 'bigint' ? `${x}n` : typeof x === 'object' ? 'NaN' : showNumber(Number(x));
        case '%i': return typeof x === 'bigint' ? `${x}n` : typeof x === 'object' ? 'NaN' : showNumber(parseInt(x, 10));
        case '%f': return typeof x === 'symbol' ? 'NaN' : showNumber(parseFloat(x));
        case '%j': return JSON.stringify(x);
        case '%c': return '';
        default: return inspect(x);
      }
    }));
  }
  for (; i < args.length; i++) out.push(typeof args[i] === 'string' ? args[i] : inspect(args[i]));
  return out.join(' ');
};
