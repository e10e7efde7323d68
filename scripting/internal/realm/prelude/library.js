// What the language has and the engine lacks. Each is added only where it is missing.

const add = (target, members) => {
  for (const name of Reflect.ownKeys(members)) if (!(name in target)) {
    const d = getOwnPropertyDescriptor(members, name);
    d.enumerable = false;
    defineProperty(target, name, d);
  }
};

add(Object, {
  groupBy(list, f) {
    const out = Object.create(null);
    let i = 0;
    for (const item of list) {
      const k = f(item, i++);
      const key = typeof k === 'symbol' ? k : `${k}`;
      if (key in out) out[key].push(item); else out[key] = [item];
    }
    return out;
  },
});
add(Map, {
  groupBy(list, f) {
    const out = new Map();
    let i = 0;
    for (const item of list) {
      const key = f(item, i++);
      const group = out.get(key);
      if (group) group.push(item); else out.set(key, [item]);
    }
    return out;
  },
});
add(Promise, {
  withResolvers() {
    let resolve, reject;
    const promise = new this((a, b) => { resolve = a; reject = b; });
    return { promise, resolve, reject };
  },
  try(f, ...args) { return new this((resolve) => resolve(f(...args))); },
});
const { isWellFormed, toWellFormed } = {
  isWellFormed() { return host.wellFormed(`${this}`) === `${this}`; },
  toWellFormed() { return host.wellFormed(`${this}`); },
};
add(String.prototype, { isWellFormed, toWellFormed });

add(Array, {
  async fromAsync(source, f, self) {
    const out = [];
    let i = 0;
    const push = async (value) => { out.push(f ? await Reflect_apply(f, self, [await value, i]) : await value); i++; };
    if (source[Symbol.asyncIterator]) {
      const it = source[Symbol.asyncIterator]();
      for (;;) {
        const step = await it.next();
        if (step.done) break;
        await push(step.value);
      }
    } else if (source[Symbol.iterator]) for (const value of source) await push(value);
    else for (; i < source.length;) await push(source[i]);
    return out;
  },
});

if (typeof Symbol.asyncIterator === 'undefined') defineProperty(Symbol, 'asyncIterator', { value: Symbol('Symbol.asyncIterator') });
for (const name of ['dispose', 'asyncDispose']) if (!(name in Symbol)) defineProperty(Symbol, name, { value: Symbol(`Symbol.${name}`) });

// Iterator helpers (ECMA-262 2025, %Iterator.prototype%).
const helper = (next, close) => {
  const it = Object.create(HelperPrototype);
  steps.set(it, { next, close, done: false });
  return it;
};
const steps = new WeakMap();
const HelperPrototype = Object.create(IteratorPrototype);
hide(HelperPrototype, {
  next() {
    const s = steps.get(this);
    if (s.done) return { value: undefined, done: true };
    let r;
    try { r = s.next(); } catch (e) { s.done = true; throw e; }
    if (r.done) { s.done = true; return { value: undefined, done: true }; }
    return r;
  },
  return() {
    const s = steps.get(this);
    if (!s.done) { s.done = true; s.close(); }
    return { value: undefined, done: true };
  },
});
const direct = (it) => {
  if (it === null || typeof it !== 'object' && typeof it !== 'function') throw new TypeError('the receiver is not an object');
  const next = it.next;
  return { step: () => { const r = Reflect_apply(next, it, []); if (r === null || typeof r !== 'object') throw new TypeError('Iterator result is not an object'); return r; }, close: () => { const f = it.return; if (f !== undefined && f !== null) Reflect_apply(f, it, []); } };
};
const callable = (f) => { if (typeof f !== 'function') throw new TypeError(`${typeof f} is not a function`); return f; };
const whole = (n) => { n = Number(n); if (Number.isNaN(n)) throw new RangeError(`${n} must be positive`); n = Math.trunc(n); if (n < 0) throw new RangeError(`${n} must be positive`); return n; };
const closing = (d, f) => { try { return f(); } catch (e) { try { d.close(); } catch { /* the first error is the one to tell */ } throw e; } };
const iterate = (source) => {
  const f = source[Symbol.iterator];
  return typeof f === 'function' ? direct(Reflect_apply(f, source, [])) : direct(source);
};
add(IteratorPrototype, {
  map(f) {
    callable(f);
    const d = direct(this);
    let i = 0;
    return helper(() => { const r = d.step(); return r.done ? r : { value: closing(d, () => f(r.value, i++)), done: false }; }, d.close);
  },
  filter(f) {
    callable(f);
    const d = direct(this);
    let i = 0;
    return helper(() => { for (;;) { const r = d.step(); if (r.done || closing(d, () => f(r.value, i++))) return r; } }, d.close);
  },
  take(limit) {
    let n = whole(limit);
    const d = direct(this);
    return helper(() => { if (n-- <= 0) { d.close(); return { value: undefined, done: true }; } return d.step(); }, d.close);
  },
  drop(limit) {
    let n = whole(limit);
    const d = direct(this);
    return helper(() => { for (;;) { const r = d.step(); if (r.done || n-- <= 0) return r; } }, d.close);
  },
  flatMap(f) {
    callable(f);
    const d = direct(this);
    let i = 0, inner = null;
    return helper(() => {
      for (;;) {
        if (inner !== null) { const r = inner.step(); if (!r.done) return r; inner = null; }
        const r = d.step();
        if (r.done) return r;
        inner = closing(d, () => { const made = f(r.value, i++); if (typeof made === 'string') throw new TypeError('flatMap takes an iterable that is no string'); return iterate(made); });
      }
    }, () => { if (inner !== null) inner.close(); d.close(); });
  },
  reduce(f, ...rest) {
    callable(f);
    const d = direct(this);
    let acc, i = 0;
    if (rest.length > 0) acc = rest[0];
    else {
      const r = d.step();
      if (r.done) throw new TypeError('Reduce of a done iterator with no initial value');
      acc = r.value; i = 1;
    }
    for (;;) { const r = d.step(); if (r.done) return acc; acc = closing(d, () => f(acc, r.value, i++)); }
  },
  toArray() { const d = direct(this); const out = []; for (;;) { const r = d.step(); if (r.done) return out; out.push(r.value); } },
  forEach(f) { callable(f); const d = direct(this); let i = 0; for (;;) { const r = d.step(); if (r.done) return; closing(d, () => f(r.value, i++)); } },
  some(f) { callable(f); const d = direct(this); let i = 0; for (;;) { const r = d.step(); if (r.done) return false; if (closing(d, () => f(r.value, i++))) { d.close(); return true; } } },
  every(f) { callable(f); const d = direct(this); let i = 0; for (;;) { const r = d.step(); if (r.done) return true; if (!closing(d, () => f(r.value, i++))) { d.close(); return false; } } },
  find(f) { callable(f); const d = direct(this); let i = 0; for (;;) { const r = d.step(); if (r.done) return undefined; if (closing(d, () => f(r.value, i++))) { d.close(); return r.value; } } },
});
if (typeof globalThis.Iterator === 'undefined') {
  const Iterator = function Iterator() { if (new.target === undefined || new.target === Iterator) throw new TypeError('Iterator is abstract'); };
  defineProperty(Iterator, 'prototype', { value: IteratorPrototype, writable: false });
  hide(Iterator, {
    from(source) {
      const f = typeof source === 'string' ? String.prototype[Symbol.iterator] : source[Symbol.iterator];
      const it = typeof f === 'function' ? Reflect_apply(f, source, []) : source;
      if (it instanceof Iterator) return it;
      const d = direct(it);
      return helper(() => d.step(), d.close);
    },
  });
  hide(globalThis, { Iterator });
}

if (typeof globalThis.WeakRef === 'undefined') {
  const held = new WeakMap();
  // A script is short: what a WeakRef points at stays as long as the WeakRef does.
  class WeakRef { constructor(x) { if (x === null || typeof x !== 'object' && typeof x !== 'function' && typeof x !== 'symbol') throw new TypeError('WeakRef: invalid target'); held.set(this, x); } deref() { return held.get(this); } }
  class FinalizationRegistry { constructor(f) { callable(f); } register() {} unregister() { return false; } }
  hide(globalThis, { WeakRef, FinalizationRegistry });
}
