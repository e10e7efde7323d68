// Regular expressions: patterns are rewritten for the engine, a search that runs out of time is an error,
// and a loop over a long text takes linear time.

const EngineRegExp = RegExp;
const written = new WeakMap(); // of a rewritten expression: its source and flags as they were given
const sourceOf = getOwnPropertyDescriptor(EngineRegExp.prototype, 'source').get;
const flagsOf = getOwnPropertyDescriptor(EngineRegExp.prototype, 'flags').get;
const isRegExp = (x) => x !== null && typeof x === 'object' && x instanceof EngineRegExp;
const compiled = new Map();

const ownRegExp = function RegExp(pattern, flags) {
  if (new.target === undefined && isRegExp(pattern) && flags === undefined && pattern.constructor === ownRegExp) return pattern;
  let source, plain;
  if (isRegExp(pattern)) {
    source = pattern.source;
    plain = flags === undefined ? pattern.flags : `${flags}`;
  } else {
    source = pattern === undefined ? '' : `${pattern}`;
    plain = flags === undefined ? '' : `${flags}`;
  }
  const target = new.target === undefined || new.target === ownRegExp ? EngineRegExp : new.target;
  const key = `${plain}/${source}`;
  const known = compiled.get(key);
  let made;
  if (known !== undefined && target === EngineRegExp) made = new EngineRegExp(known.expression);
  else {
    const [lowered, rest] = host.pattern(source, plain);
    made = Reflect.construct(EngineRegExp, [lowered, rest], target);
    if (target === EngineRegExp && compiled.size < 500) compiled.set(key, { expression: new EngineRegExp(made) });
    if (lowered !== source || rest !== plain) written.set(compiled.get(key) ? compiled.get(key).expression : made, { source, flags: plain });
  }
  const changed = known !== undefined ? written.get(known.expression) : compiled.get(key) && written.get(compiled.get(key).expression);
  if (changed !== undefined) written.set(made, changed);
  return made;
};
defineProperty(ownRegExp, 'prototype', { value: EngineRegExp.prototype, writable: false });
defineProperty(ownRegExp, 'length', { value: 2, configurable: true });
defineProperty(ownRegExp, Symbol.species, { get() { return this; }, configurable: true });
defineProperty(EngineRegExp.prototype, 'constructor', { value: ownRegExp, writable: true, configurable: true });
defineProperty(globalThis, 'RegExp', { value: ownRegExp, writable: true, configurable: true });
defineProperty(EngineRegExp.prototype, 'source', {
  get() { const w = written.get(this); return w ? w.source : Reflect_apply(sourceOf, this, []).replaceAll('\\u002f', '\\/'); }, configurable: true,
});
defineProperty(EngineRegExp.prototype, 'toString', {
  value: function toString() { return `/${this.source}/${this.flags}`; }, writable: true, configurable: true,
});
const special = /[\\^$.*+?()[\]{}|\/]/;
hide(ownRegExp, {
  // ECMA-262 (2025), EncodeForRegExpEscape.
  escape(text) {
    if (typeof text !== 'string') throw new TypeError('RegExp.escape takes a string');
    let out = '';
    for (const c of text) {
      const n = c.codePointAt(0);
      if (out === '' && /[0-9A-Za-z]/.test(c)) out += `\\x${n.toString(16).padStart(2, '0')}`;
      else if (special.test(c)) out += `\\${c}`;
      else if ('\t\n\v\f\r'.includes(c)) out += `\\${'tnvfr'['\t\n\v\f\r'.indexOf(c)]}`;
      else if (",-=<>#&!%:;@~'`\"".includes(c)) out += `\\x${n.toString(16).padStart(2, '0')}`;
      else if (/\s/.test(c) || (n >= 0xd800 && n <= 0xdfff)) out += n < 256 ? `\\x${n.toString(16).padStart(2, '0')}` : `\\u${n.toString(16).padStart(4, '0')}`;
      else out += c;
    }
    return out;
  },
});

// A search that took its time and found nothing is suspicious where the back-tracking engine ran.
const hard = (re, started) => !isRegExp(re) || started > 0 || host.hard(Reflect_apply(sourceOf, re, []), re.flags);
const watched = (name, found) => {
  const original = EngineRegExp.prototype[name];
  const wrapped = host.watch(original, (result, re, ...args) => found(result, ...args) || !hard(re, re.sticky ? 1 : 0));
  defineProperty(EngineRegExp.prototype, name, { value: wrapped, writable: true, configurable: true });
  return wrapped;
};
watched('test', (result) => result);
watched(Symbol.match, (result) => result !== null);
watched(Symbol.search, (result) => result >= 0);
const replaceAll = watched(Symbol.replace, (result, text) => result !== text);
watched(Symbol.split, (result) => result.length !== 1);
const engineMatchAll = EngineRegExp.prototype[Symbol.matchAll];
const engineExec = EngineRegExp.prototype.exec;

// collect finds every match in one pass: arrays of what a replacer gets.
const collect = (re, text) => {
  const all = [];
  const copy = new EngineRegExp(re);
  copy.lastIndex = 0;
  Reflect_apply(replaceAll, copy, [text, (...args) => { all.push(args); return ''; }]);
  return all;
};
const asMatch = (args) => {
  let n = args.length - 1;
  let groups;
  if (typeof args[n] === 'object') groups = args[n--];
  const match = args.slice(0, n - 1);
  match.index = args[n - 1];
  match.input = args[n];
  match.groups = groups;
  return match;
};
const plainRegExp = (re) => isRegExp(re) && getPrototypeOf(re) === EngineRegExp.prototype && re.exec === engineExec;
const IteratorPrototype = getPrototypeOf(getPrototypeOf([][Symbol.iterator]()));

defineProperty(EngineRegExp.prototype, Symbol.matchAll, {
  value: {
    [Symbol.matchAll](text) {
      text = `${text}`;
      if (!plainRegExp(this) || !this.global || this.sticky || this.lastIndex !== 0) return Reflect_apply(engineMatchAll, this, [text]);
      const all = collect(this, text);
      let i = 0;
      const iterator = Object.create(IteratorPrototype);
      hide(iterator, {
        next() { return i < all.length ? { value: asMatch(all[i++]), done: false } : { value: undefined, done: true }; },
        [Symbol.toStringTag]: 'RegExp String Iterator',
      });
      return iterator;
    },
  }[Symbol.matchAll],
  writable: true, configurable: true,
});

// exec in a loop: from the second search of a long text on, the matches of one pass are handed out.
const watchedExec = host.watch((re, text) => Reflect_apply(engineExec, re, [text]), (result, self, re) => result !== null || !hard(re, re.global || re.sticky ? re.lastIndex : 0));
const passes = new WeakMap();
const longText = 2000;
// after is where a search goes on behind a match: a script steps over an empty one by itself.
const goesOn = (pass, at) => at === pass.end || (pass.end === pass.start && at === pass.end + 1);
const searchOnce = (re, text) => {
  if (typeof text !== 'string') text = `${text}`;
  if (text.length < longText || !re.global || re.sticky) return watchedExec(re, text);
  const at = re.lastIndex;
  const pass = passes.get(re);
  if (pass !== undefined && at > 0 && goesOn(pass, at) && host.same(pass.text, text)) {
    if (pass.all === null) {
      pass.all = collect(re, text);
      pass.next = pass.all.findIndex((m) => offset(m) === pass.start && m[0].length === pass.end - pass.start) + 1;
    }
    if (pass.next > 0) {
      if (pass.next >= pass.all.length) { passes.delete(re); re.lastIndex = 0; return null; }
      const match = asMatch(pass.all[pass.next++]);
      pass.start = match.index;
      re.lastIndex = pass.end = match.index + match[0].length;
      return match;
    }
  }
  const match = watchedExec(re, text);
  if (match === null) passes.delete(re);
  else passes.set(re, { text, start: match.index, end: re.lastIndex, all: null, next: 0 });
  return match;
};
const offset = (args) => args[args.length - (typeof args[args.length - 1] === 'object' ? 3 : 2)];

defineProperty(globalThis, '__exec__', {
  value: (target, ...args) => {
    if (args.length > 0 && plainRegExp(target)) return searchOnce(target, args[0]);
    if (target === undefined || target === null) throw new TypeError(`Cannot read properties of ${target} (reading 'exec')`);
    const f = target.exec;
    if (typeof f !== 'function') throw new TypeError('exec is not a function');
    return Reflect_apply(f, target, args);
  },
});
// A long text that grows by += takes the time of what is added, not that of the whole.
host.forms('a', '\u00e9');
const grow = host.grow;
defineProperty(globalThis, '__grow__', {
  value: (a, b) => {
    if (typeof a !== 'string' || a.length < 1000) return a + b;
    switch (typeof b) {
      case 'string': return grow(a, b);
      case 'number': case 'bigint': case 'boolean': return grow(a, `${b}`);
    }
    return a + b;
  },
});
// Literals that the engine would take wrongly are made by the constructor.
defineProperty(globalThis, '__regexp__', { value: (source, flags) => new ownRegExp(source, flags) });
defineProperty(globalThis, '__thrown__', {
  value: (x) => (x !== null && typeof x === 'object' && x instanceof Error ? x : host.thrown(x)),
});
