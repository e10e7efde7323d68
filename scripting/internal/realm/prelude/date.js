// Dates as en-US writes them. The time zone of a script is UTC.

const monthNames = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const dayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const dateOptions = ['weekday', 'year', 'month', 'day', 'hour', 'minute', 'second', 'fractionalSecondDigits', 'hour12', 'hourCycle', 'timeZone', 'timeZoneName', 'dateStyle', 'timeStyle', 'localeMatcher', 'formatMatcher', 'calendar', 'numberingSystem'];
const two = (n) => `${n}`.padStart(2, '0');

// resolveDate checks the options; wants says which part is added when none is asked for.
const resolveDate = (given, wants, what) => {
  const o = { ...wantKnown(given, dateOptions, what) };
  for (const [name, only] of [['calendar', 'gregory'], ['numberingSystem', 'latn']]) if (o[name] !== undefined && o[name] !== only) throw new RangeError(`${what}: ${name} ${o[name]} is not supported in a script`);
  const r = {
    weekday: oneOf(o.weekday, ['long', 'short'], undefined, 'weekday'),
    year: oneOf(o.year, ['numeric', '2-digit'], undefined, 'year'),
    month: oneOf(o.month, ['numeric', '2-digit', 'long', 'short'], undefined, 'month'),
    day: oneOf(o.day, ['numeric', '2-digit'], undefined, 'day'),
    hour: oneOf(o.hour, ['numeric', '2-digit'], undefined, 'hour'),
    minute: oneOf(o.minute, ['numeric', '2-digit'], undefined, 'minute'),
    second: oneOf(o.second, ['numeric', '2-digit'], undefined, 'second'),
    fraction: digitsIn(o.fractionalSecondDigits, 1, 3, 'fractionalSecondDigits'),
    timeZoneName: oneOf(o.timeZoneName, ['short'], undefined, 'timeZoneName'),
    dateStyle: oneOf(o.dateStyle, ['full', 'long', 'medium', 'short'], undefined, 'dateStyle'),
    timeStyle: oneOf(o.timeStyle, ['long', 'medium', 'short'], undefined, 'timeStyle'),
    timeZone: o.timeZone === undefined ? 'UTC' : `${o.timeZone}`,
    cycle: o.hour12 !== undefined ? (o.hour12 ? 'h12' : 'h24') : oneOf(o.hourCycle, ['h12', 'h23'], 'h12', 'hourCycle'),
  };
  host.zone(0, r.timeZone);
  const date = ['weekday', 'year', 'month', 'day'], time = ['hour', 'minute', 'second', 'fraction'];
  if (r.dateStyle || r.timeStyle) {
    for (const k of [...date, ...time, 'timeZoneName']) if (r[k] !== undefined) throw new TypeError(`Can't set option ${k} when ${r.dateStyle ? 'dateStyle' : 'timeStyle'} is used`);
    if (wants === 'date' && r.timeStyle || wants === 'time' && r.dateStyle) throw new TypeError(`Invalid option : ${wants === 'date' ? 'timeStyle' : 'dateStyle'}`);
    if (r.dateStyle === 'full') r.weekday = 'long';
    if (r.dateStyle) { r.year = r.dateStyle === 'short' ? '2-digit' : 'numeric'; r.month = { full: 'long', long: 'long', medium: 'short', short: 'numeric' }[r.dateStyle]; r.day = 'numeric'; }
    if (r.timeStyle) { r.hour = 'numeric'; r.minute = '2-digit'; if (r.timeStyle !== 'short') r.second = '2-digit'; if (r.timeStyle === 'long') r.timeZoneName = 'short'; }
    return r;
  }
  const some = (names) => names.some((k) => r[k] !== undefined);
  if (!(wants !== 'time' && some(date)) && !(wants !== 'date' && some(time))) {
    if (wants === 'date' || wants === 'any' || wants === 'day') { r.year = r.month = r.day = 'numeric'; }
    if (wants === 'time' || wants === 'any') { r.hour = 'numeric'; r.minute = r.second = '2-digit'; }
  }
  return r;
};

const oddParts = (parts) => { throw new RangeError(`Intl.DateTimeFormat: the parts ${parts.join(', ')} alone are not supported in a script`); };
const dateParts = (r, c) => {
  const out = [];
  const lit = (value) => out.push({ type: 'literal', value });
  const put = (type, value) => out.push({ type, value: `${value}` });
  const numeric = r.month === undefined || r.month === 'numeric' || r.month === '2-digit';
  const year = () => put('year', r.year === '2-digit' ? two(c.year % 100) : c.year);
  const day = () => put('day', r.day === '2-digit' ? two(c.day) : c.day);
  if (r.weekday) put('weekday', r.weekday === 'long' ? dayNames[c.weekday] : dayNames[c.weekday].slice(0, 3));
  const rest = [r.year && 'year', r.month && 'month', r.day && 'day'].filter(Boolean);
  if (rest.length === 0) return out;
  const shape = rest.join();
  if (shape === 'year,day' || r.weekday && !r.day) oddParts(r.weekday ? ['weekday', ...rest] : rest);
  if (shape === 'day' && r.weekday) { out.length = 0; day(); lit(' '); put('weekday', r.weekday === 'long' ? dayNames[c.weekday] : dayNames[c.weekday].slice(0, 3)); return out; }
  if (r.weekday) lit(', ');
  if (numeric) {
    if (r.month) put('month', r.month === '2-digit' ? two(c.month) : c.month);
    if (r.day) { if (r.month) lit('/'); day(); }
    if (r.year) { if (r.month || r.day) lit('/'); year(); }
    return out;
  }
  put('month', r.month === 'long' ? monthNames[c.month - 1] : monthNames[c.month - 1].slice(0, 3));
  if (r.day) { lit(' '); day(); }
  if (r.year) { lit(r.day ? ', ' : ' '); year(); }
  return out;
};
const timeParts = (r, c) => {
  const out = [];
  const lit = (value) => out.push({ type: 'literal', value });
  const put = (type, value) => out.push({ type, value: `${value}` });
  if (r.hour) {
    const h = r.cycle === 'h12' ? c.hour % 12 || 12 : r.cycle === 'h24' ? c.hour || 24 : c.hour;
    put('hour', r.hour === '2-digit' || r.cycle !== 'h12' ? two(h) : h);
  }
  if (r.hour && !r.minute && r.cycle !== 'h12' && r.timeZoneName) oddParts(['hour', 'timeZoneName']);
  if (r.minute) { if (r.hour) lit(':'); put('minute', r.hour || r.second ? two(c.minute) : c.minute); }
  if (r.second) {
    if (r.hour && !r.minute) oddParts(['hour', 'second']);
    if (r.minute) lit(':');
    put('second', r.minute ? two(c.second) : c.second);
  }
  if (r.fraction) { if (!r.second) oddParts(['fractionalSecondDigits']); lit('.'); put('fractionalSecond', `${c.milli}`.padStart(3, '0').slice(0, r.fraction)); }
  if (r.hour && r.cycle === 'h12') { lit(' '); put('dayPeriod', c.hour < 12 ? 'AM' : 'PM'); }
  return out;
};
const partsOf = (r, ms) => {
  if (!Number.isFinite(ms)) throw new RangeError('Invalid time value');
  const c = host.zone(ms, r.timeZone);
  if (c.year < 1) throw new RangeError('Intl.DateTimeFormat: years before 1 are not supported in a script');
  const date = dateParts(r, c), time = timeParts(r, c);
  const between = date.length && time.length ? [{ type: 'literal', value: r.month === 'long' ? ' at ' : date.length === 1 && r.weekday && r.hour && (r.minute || r.cycle === 'h12') && !r.timeZoneName ? ' ' : ', ' }] : [];
  const out = [...date, ...between, ...time];
  if (r.timeZoneName) out.push({ type: 'literal', value: time.length ? ' ' : r.month === 'long' ? ' at ' : ', ' }, { type: 'timeZoneName', value: c.name });
  return out;
};
const joinParts = (parts) => parts.map((p) => p.value).join('');
const timeOf = (x) => (x === undefined ? Date.now() : x instanceof Date ? x.getTime() : Number(x));

class DateTimeFormat {
  constructor(locales, options) {
    wantEnglish(locales, 'Intl.DateTimeFormat');
    const r = resolveDate(options, 'day', 'Intl.DateTimeFormat');
    hide(this, {
      format: (x) => joinParts(partsOf(r, timeOf(x))),
      formatToParts: (x) => partsOf(r, timeOf(x)),
      resolvedOptions: () => ({ locale: 'en-US', calendar: 'gregory', numberingSystem: 'latn', timeZone: r.timeZone }),
    });
  }
  formatRange() { throw new RangeError('Intl.DateTimeFormat.formatRange is not supported in a script'); }
}
const dateText = (name, wants) => ({
  [name](locales, options) {
    wantEnglish(locales, name);
    const r = resolveDate(options, wants, name), ms = this.getTime();
    return Number.isNaN(ms) ? 'Invalid Date' : joinParts(partsOf(r, ms));
  },
}[name]);
hide(Date.prototype, { toLocaleDateString: dateText('toLocaleDateString', 'date'), toLocaleTimeString: dateText('toLocaleTimeString', 'time'), toLocaleString: dateText('toLocaleString', 'any') });

const classes = { NumberFormat, DateTimeFormat, Collator, PluralRules, ListFormat, RelativeTimeFormat };
for (const name of ownKeys(classes)) hide(classes[name], { supportedLocalesOf: (l) => (isArray(l) ? l : [l]).filter((x) => english.has(x)) });
hide(globalThis, {
  Intl: freeze({
    ...classes, Segmenter: notHere('Segmenter'), DisplayNames: notHere('DisplayNames'), DurationFormat: notHere('DurationFormat'), Locale: notHere('Locale'),
    getCanonicalLocales: (l) => (l === undefined ? [] : isArray(l) ? [...l] : [l]),
  }),
});
