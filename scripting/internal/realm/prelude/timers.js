// Timers.

const timer = (name, repeat) => ({
  [name](f, ms, ...rest) {
    if (typeof f !== 'function') throw new TypeError(`${name} takes a function`);
    return host.timer(rest.length ? () => f(...rest) : () => f(), ms === undefined ? 0 : +ms, repeat);
  },
}[name]);
const clear = (id) => { if (id !== undefined && id !== null) host.clear(+id); };
const setTimeout = timer('setTimeout', false);
hide(globalThis, {
  setTimeout, setInterval: timer('setInterval', true), setImmediate: (f, ...rest) => setTimeout(f, 0, ...rest),
  clearTimeout: clear, clearInterval: clear, clearImmediate: clear,
  queueMicrotask(f) {
    if (typeof f !== 'function') throw new TypeError('queueMicrotask takes a function');
    Promise.resolve().then(() => { try { f(); } catch (e) { setTimeout(() => { throw e; }, 0); } });
  },
});
fix(globalThis, 'sleep', (ms) => new Promise((done) => { host.timer(() => done(), ms === undefined ? 0 : +ms, false); }));
