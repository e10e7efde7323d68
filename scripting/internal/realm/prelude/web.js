// What scripts know from the web: text and bytes, clones, random ids, aborting, clocks.

class TextEncoder {
  get encoding() { return 'utf-8'; }
  encode(text = '') { return new Uint8Array(host.encode(`${text}`)); }
  encodeInto(text, view) {
    let read = 0, n = 0;
    for (const c of `${text}`) {
      const bytes = this.encode(c);
      if (n + bytes.length > view.length) break;
      view.set(bytes, n);
      n += bytes.length; read += c.length;
    }
    return { read, written: n };
  }
}
const decoders = new WeakMap();
class TextDecoder {
  constructor(label = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
    const name = `${label}`.trim().toLowerCase();
    if (!['utf-8', 'utf8', 'unicode-1-1-utf-8'].includes(name)) throw new RangeError(`TextDecoder: the encoding ${JSON.stringify(`${label}`)} is not supported, only utf-8`);
    decoders.set(this, { fatal: !!fatal, ignoreBOM: !!ignoreBOM });
  }
  get encoding() { return 'utf-8'; }
  get fatal() { return decoders.get(this).fatal; }
  decode(input, options) {
    if (options && options.stream) throw new RangeError('TextDecoder: the option stream is not supported; decode all bytes at once');
    if (input === undefined) return '';
    const view = input instanceof ArrayBuffer ? new Uint8Array(input) : input;
    const text = host.decode(view.buffer, view.byteOffset, view.byteLength, this.fatal);
    if (text === null) throw new TypeError('The encoded data was not valid for encoding utf-8');
    return !decoders.get(this).ignoreBOM && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }
}
hide(globalThis, { TextEncoder, TextDecoder });

class DOMException extends Error {
  constructor(message = '', name = 'Error') { super(message); defineProperty(this, 'name', { value: name, configurable: true, writable: true }); }
  get code() { return { DataCloneError: 25, AbortError: 20, TimeoutError: 23, InvalidCharacterError: 5 }[this.name] ?? 0; }
}
hide(globalThis, { DOMException });

const digits64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
hide(globalThis, {
  btoa(text) {
    text = `${text}`;
    const parts = [];
    for (let i = 0; i < text.length; i += 3) {
      const a = text.charCodeAt(i), b = text.charCodeAt(i + 1), c = text.charCodeAt(i + 2);
      if (a > 255 || b > 255 || c > 255) throw new DOMException('Invalid character', 'InvalidCharacterError');
      const n = (a << 16) | ((b || 0) << 8) | (c || 0);
      parts.push(digits64[n >> 18] + digits64[(n >> 12) & 63] + (i + 1 < text.length ? digits64[(n >> 6) & 63] : '=') + (i + 2 < text.length ? digits64[n & 63] : '='));
    }
    return parts.join('');
  },
  atob(text) {
    let s = `${text}`.replace(/[\t\n\f\r ]/g, '');
    if (s.length % 4 === 0) s = s.replace(/==?$/, '');
    if (s.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(s)) throw new DOMException('The string to be decoded is not correctly encoded.', 'InvalidCharacterError');
    const parts = [];
    let n = 0, bits = 0;
    for (const c of s) {
      n = (n << 6) | digits64.indexOf(c); bits += 6;
      if (bits >= 8) { bits -= 8; parts.push(String.fromCharCode((n >> bits) & 255)); n &= (1 << bits) - 1; }
    }
    return parts.join('');
  },
});

// structuredClone (HTML, 2.7): what it does not take is an error.
const clone = (x, seen, depth) => {
  if (x === null || typeof x !== 'object') {
    if (typeof x === 'function' || typeof x === 'symbol') throw new DOMException(`${typeof x === 'symbol' ? String(x) : x.toString().slice(0, 60)} could not be cloned.`, 'DataCloneError');
    return x;
  }
  if (seen.has(x)) return seen.get(x);
  if (depth > 1000) throw new RangeError('structuredClone: the value nests deeper than 1000 levels');
  const keep = (made) => { seen.set(x, made); return made; };
  if (isArray(x)) {
    const out = keep(new Array(x.length));
    for (const k of ownKeys(x)) out[k] = clone(x[k], seen, depth + 1);
    return out;
  }
  if (x instanceof Date) return keep(new Date(x.getTime()));
  if (isRegExp(x)) return keep(new ownRegExp(x.source, x.flags));
  if (x instanceof Map) {
    const out = keep(new Map());
    for (const [k, v] of [...x]) out.set(clone(k, seen, depth + 1), clone(v, seen, depth + 1));
    return out;
  }
  if (x instanceof Set) {
    const out = keep(new Set());
    for (const v of [...x]) out.add(clone(v, seen, depth + 1));
    return out;
  }
  if (x instanceof ArrayBuffer) return keep(x.slice(0));
  if (ArrayBuffer.isView(x)) return keep(x.length === undefined ? new DataView(x.buffer.slice(0), x.byteOffset, x.byteLength) : new x.constructor(x));
  if (x instanceof Error) {
    const kind = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError }[x.name] ?? Error;
    const made = keep(new kind(x.message));
    for (const k of ['message', 'stack', 'cause']) if (getOwnPropertyDescriptor(x, k)) defineProperty(made, k, { value: k === 'cause' ? clone(x[k], seen, depth + 1) : x[k], writable: true, configurable: true });
    return made;
  }
  if (x instanceof Number || x instanceof String || x instanceof Boolean) return keep(Object(x.valueOf()));
  if (x instanceof Promise || x instanceof WeakMap || x instanceof WeakSet || x instanceof WeakRef) throw new DOMException(`#<${className(x)}> could not be cloned.`, 'DataCloneError');
  const out = keep({});
  for (const k of ownKeys(x)) out[k] = clone(x[k], seen, depth + 1);
  return out;
};
hide(globalThis, {
  structuredClone(value) {
    if (arguments.length === 0) throw new TypeError("The 'value' argument must be specified");
    return clone(value, new Map(), 0);
  },
});

const uuid = () => {
  const h = host.random(16, true);
  const y = '89ab'[parseInt(h[16], 16) & 3];
  return `${h.slice(0, 8)}-${h.slice(8, 12)}-4${h.slice(13, 16)}-${y}${h.slice(17, 20)}-${h.slice(20)}`;
};
hide(globalThis, {
  crypto: freeze({
    randomUUID: () => uuid(),
    getRandomValues: (view) => {
      const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
      if (bytes.length > 65536) throw new DOMException('getRandomValues takes at most 65536 bytes', 'QuotaExceededError');
      bytes.set(new Uint8Array(host.random(bytes.length, false)));
      return view;
    },
    get subtle() { throw new ReferenceError('crypto.subtle is not there in a script: call a tool for hashes and signatures'); },
  }),
  performance: freeze({ now: () => host.now(), timeOrigin: Date.now(), mark: () => undefined, measure: () => undefined }),
});

// Events, as far as aborting needs them.
class Event { constructor(type) { this.type = `${type}`; } }
const listeners = new WeakMap();
class EventTarget {
  constructor() { listeners.set(this, []); }
  addEventListener(type, f, options) { if (f) listeners.get(this).push({ type, f, once: !!(options && options.once) }); }
  removeEventListener(type, f) { listeners.set(this, listeners.get(this).filter((l) => l.type !== type || l.f !== f)); }
  dispatchEvent(event) {
    event.target = this;
    for (const l of [...listeners.get(this)]) if (l.type === event.type) {
      if (l.once) this.removeEventListener(l.type, l.f);
      Reflect_apply(typeof l.f === 'function' ? l.f : l.f.handleEvent, this, [event]);
    }
    const on = this[`on${event.type}`];
    if (typeof on === 'function') Reflect_apply(on, this, [event]);
    return true;
  }
}
const aborted = new WeakMap();
const abort = (signal, reason) => {
  if (aborted.has(signal)) return;
  aborted.set(signal, { reason: reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason });
  signal.dispatchEvent(new Event('abort'));
};
class AbortSignal extends EventTarget {
  get aborted() { return aborted.has(this); }
  get reason() { return aborted.get(this)?.reason; }
  throwIfAborted() { if (this.aborted) throw this.reason; }
  static abort(reason) { const s = new AbortSignal(); abort(s, reason); return s; }
  static timeout(ms) { const s = new AbortSignal(); host.timer(() => abort(s, new DOMException('The operation was aborted due to timeout', 'TimeoutError')), +ms, false); return s; }
  static any(signals) {
    const s = new AbortSignal();
    for (const one of signals) { if (one.aborted) { abort(s, one.reason); break; } one.addEventListener('abort', () => abort(s, one.reason)); }
    return s;
  }
}
class AbortController {
  constructor() { defineProperty(this, 'signal', { value: new AbortSignal(), enumerable: true }); }
  abort(reason) { abort(this.signal, reason); }
}
hide(globalThis, { Event, EventTarget, AbortSignal, AbortController });
