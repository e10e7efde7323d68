// What the host asks of the prelude once a script runs.

host.plain((x) => {
  if (x instanceof Map) return [...x.keys()].every((k) => typeof k === 'string') ? Object.fromEntries(x) : [...x];
  if (x instanceof Set) return [...x];
  if (x instanceof Error) return { name: x.name, message: x.message, ...x };
  return x;
});

return {
  begin,
  result: makeResult,
  describe: (x) => {
    if (x !== null && typeof x === 'object' && x instanceof Error) {
      let text = showError(x);
      if (x instanceof AggregateError && isArray(x.errors)) text += ` [${x.errors.slice(0, 5).map((e) => (e instanceof Error ? showError(e) : inspect(e, 1))).join('; ')}]`;
      if (x.cause !== undefined) text += ` (cause: ${x.cause instanceof Error ? showError(x.cause) : inspect(x.cause, 1)})`;
      return { text, stack: isProxyLike(() => `${x.stack}`) ?? '' };
    }
    return { text: `Uncaught ${typeof x === 'string' ? x : inspect(x, 2)}`, stack: '' };
  },
};
