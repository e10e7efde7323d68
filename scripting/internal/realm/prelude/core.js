// What the rest of the prelude stands on: the engine's own functions as they were before a script ran, and
// the guards of those that could ask for more memory than there is.

const {
  Object, Array, String, Number, Boolean, BigInt, Symbol, Function, Math, JSON, Reflect, Proxy, Promise, Date, RegExp,
  Map, Set, WeakMap, WeakSet, ArrayBuffer, DataView, Uint8Array,
  Error, TypeError, RangeError, ReferenceError, SyntaxError, EvalError, URIError, AggregateError, parseInt, parseFloat,
} = globalThis;
const Reflect_apply = Reflect.apply;
const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, freeze, keys: ownKeys } = Object;
const isArray = Array.isArray;
const floor = Math.floor;

// hide adds a property as the language's own are: writable and not enumerable.
const hide = (target, members) => {
  for (const name of Reflect.ownKeys(members)) {
    const d = getOwnPropertyDescriptor(members, name);
    d.enumerable = false;
    defineProperty(target, name, d);
  }
};

// fix adds a property that cannot be replaced.
const fix = (target, name, value) =>
  defineProperty(target, name, { value, writable: false, enumerable: true, configurable: false });

// quarter is the most bytes that one call may ask for. A character takes up to two bytes and is copied, an
// element sixteen. The heap is known when the script is.
let quarter = Infinity, mostChars = Infinity, mostItems = Infinity;
const setHeap = (bytes) => {
  quarter = floor(bytes / 4);
  mostChars = floor(quarter / 4);
  mostItems = floor(quarter / 16);
};
const tooLarge = (what, n) => {
  throw new RangeError(`${what} would make ${n} elements or characters, more than the memory of a script allows (${mostItems}); work in pieces`);
};
const chars = (what, n) => { if (n > mostChars) throw new RangeError(`${what} would make a string of ${n} characters, more than the memory of a script allows (${mostChars}); work in pieces`); };
const items = (what, n) => { if (n > mostItems) tooLarge(what, n); };

// guard wraps a method with a check of its receiver and arguments.
const guard = (owner, name, check) => {
  const original = owner[name];
  const wrapped = { [name](...args) { check(this, args); return Reflect_apply(original, this, args); } }[name];
  defineProperty(wrapped, 'length', { value: original.length, configurable: true });
  defineProperty(owner, name, { value: wrapped, writable: true, enumerable: false, configurable: true });
};

guard(String.prototype, 'repeat', (s, [n]) => { if (n > 0) chars('repeat', String(s).length * n); });
for (const name of ['padStart', 'padEnd']) guard(String.prototype, name, (s, [n]) => chars(name, +n));
guard(String.prototype, 'concat', (s, args) => { let n = String(s).length; for (const a of args) if (typeof a === 'string') n += a.length; chars('concat', n); });

// joined counts how deep join calls itself: an array in an array in an array has no end for the engine's stack.
let joined = 0;
const join = Array.prototype.join;
const joinLength = (list, sep) => {
  const n = list.length;
  items('join', n);
  let total = sep.length * (n > 0 ? n - 1 : 0);
  chars('join', total);
  for (let i = 0; i < n; i++) {
    const item = list[i];
    if (typeof item === 'string') { total += item.length; if (total > mostChars) chars('join', total); }
  }
};
hide(Array.prototype, {
  join(sep) {
    if (isArray(this)) joinLength(this, sep === undefined ? ',' : String(sep));
    else items('join', this.length);
    if (joined >= 1000) throw new RangeError('arrays nest deeper than 1000 levels');
    joined++;
    try { return Reflect_apply(join, this, sep === undefined ? [] : [sep]); } finally { joined--; }
  },
});

guard(Array.prototype, 'fill', (list) => items('fill', list.length));
guard(Array.prototype, 'concat', (list, args) => {
  let n = isArray(list) ? list.length : 1;
  for (const a of args) n += isArray(a) ? a.length : 1;
  items('concat', n);
});
for (const name of ['sort', 'reverse', 'indexOf', 'lastIndexOf', 'includes', 'toSorted', 'toReversed', 'toSpliced', 'with', 'copyWithin']) {
  guard(Array.prototype, name, (list) => { if (list != null) items(name, list.length); });
}

const from = Array.from;
hide(Array, {
  from(source, ...rest) {
    if (source != null && typeof source !== 'string' && source[Symbol.iterator] === undefined) items('Array.from', source.length);
    return Reflect_apply(from, this, [source, ...rest]);
  },
});

// construct replaces a constructor by one that checks its arguments; the prototype stays the same.
const construct = (name, original, check) => {
  const made = {
    [name]: function (...args) {
      check(args);
      if (new.target === undefined) return Reflect_apply(original, this, args);
      return Reflect.construct(original, args, new.target === made ? original : new.target);
    },
  }[name];
  for (const key of Reflect.ownKeys(original)) {
    if (key === 'prototype' || key === 'name' || key === 'length' || key === 'caller' || key === 'arguments') continue;
    defineProperty(made, key, getOwnPropertyDescriptor(original, key));
  }
  defineProperty(made, 'length', { value: original.length, configurable: true });
  defineProperty(made, 'prototype', { value: original.prototype, writable: false });
  defineProperty(original.prototype, 'constructor', { value: made, writable: true, configurable: true });
  defineProperty(globalThis, name, { value: made, writable: true, configurable: true });
  return made;
};
// Array itself needs no check: an array of holes takes no room until something fills it.
construct('ArrayBuffer', ArrayBuffer, ([n]) => { if (+n > quarter) tooLarge('ArrayBuffer', n); });
const views = [];
for (const name of ['Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array']) {
  const view = globalThis[name];
  if (!view) continue;
  const size = view.BYTES_PER_ELEMENT;
  views.push(construct(name, view, ([n]) => {
    const count = typeof n === 'number' ? n : n != null && typeof n === 'object' && !(n instanceof ArrayBuffer) ? n.length : 0;
    if (count * size > quarter) tooLarge(name, count);
  }));
}

// JSON: integers beyond 2^53 are BigInts both ways, nesting and size are bounded.
const revive = (holder, key, reviver) => {
  const value = holder[key];
  if (value !== null && typeof value === 'object') {
    for (const k of ownKeys(value)) {
      const made = revive(value, k, reviver);
      if (made === undefined) delete value[k];
      else defineProperty(value, k, { value: made, writable: true, enumerable: true, configurable: true });
    }
  }
  return Reflect_apply(reviver, holder, [key, value]);
};
const parseJSON = host.parse, stringifyJSON = host.stringify;
hide(JSON, {
  parse(text, reviver) {
    const value = parseJSON(`${text}`);
    return typeof reviver === 'function' ? revive({ '': value }, '', reviver) : value;
  },
  stringify(value, replacer, space) {
    let gap = '';
    if (typeof space === 'object' && space !== null) space = space.valueOf();
    if (typeof space === 'number') gap = '          '.slice(0, Math.max(0, Math.min(10, floor(space))));
    else if (typeof space === 'string') gap = space.slice(0, 10);
    if (isArray(replacer)) {
      const names = [];
      for (const n of replacer) if ((typeof n === 'string' || typeof n === 'number') && !names.includes(String(n))) names.push(String(n));
      replacer = names;
    } else if (typeof replacer !== 'function') replacer = undefined;
    return stringifyJSON(value, replacer, gap);
  },
});
