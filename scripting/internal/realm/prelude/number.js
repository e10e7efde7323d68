// Intl for numbers, texts and words, in en-US alone: another locale or an option that is not known is an error.

const english = new Set(['en-US', 'en', 'en-us', 'default']);
const wantEnglish = (locales, what) => {
  const list = locales === undefined ? [] : isArray(locales) ? locales : [locales];
  if (list.length > 0 && !english.has(`${list[0]}`)) throw new RangeError(`${what}: the locale ${JSON.stringify(`${list[0]}`)} is not supported in a script, only en-US`);
};
const wantKnown = (options, names, what) => {
  if (options === undefined) return {};
  if (options === null || typeof options !== 'object') throw new TypeError(`${what}: the options are no object`);
  for (const k of ownKeys(options)) if (options[k] !== undefined && !names.includes(k)) throw new RangeError(`${what}: the option ${k} is not supported in a script`);
  return options;
};
const oneOf = (value, choices, fallback, name) => {
  if (value === undefined) return fallback;
  if (!choices.includes(`${value}`)) throw new RangeError(`Value ${value} out of range for Intl options property ${name}`);
  return `${value}`;
};
const digitsIn = (value, lo, hi, name) => {
  if (value === undefined) return undefined;
  const n = Number(value);
  if (!(n >= lo && n <= hi)) throw new RangeError(`${name} value is out of range.`);
  return floor(n);
};

const numberOptions = ['style', 'currency', 'currencyDisplay', 'currencySign', 'notation', 'compactDisplay', 'signDisplay', 'useGrouping', 'minimumIntegerDigits',
  'minimumFractionDigits', 'maximumFractionDigits', 'minimumSignificantDigits', 'maximumSignificantDigits', 'localeMatcher', 'numberingSystem', 'roundingMode'];
const noDigits = new Set(['JPY', 'KRW', 'VND', 'CLP', 'ISK', 'PYG', 'UGX', 'XAF', 'XOF', 'XPF', 'RWF', 'KMF', 'GNF', 'DJF', 'BIF', 'VUV']);
const threeDigits = new Set(['BHD', 'JOD', 'KWD', 'OMR', 'TND', 'LYD', 'IQD']);
const resolveNumber = (given, what) => {
  const o = wantKnown(given, numberOptions, what);
  if (o.roundingMode !== undefined && o.roundingMode !== 'halfExpand') throw new RangeError(`${what}: roundingMode ${o.roundingMode} is not supported in a script`);
  if (o.numberingSystem !== undefined && o.numberingSystem !== 'latn') throw new RangeError(`${what}: numberingSystem ${o.numberingSystem} is not supported in a script`);
  const r = {
    style: oneOf(o.style, ['decimal', 'percent', 'currency', 'unit'], 'decimal', 'style'),
    currency: o.currency === undefined ? undefined : `${o.currency}`.toUpperCase(),
    currencyDisplay: oneOf(o.currencyDisplay, ['symbol', 'narrowSymbol', 'code', 'name'], 'symbol', 'currencyDisplay'),
    currencySign: oneOf(o.currencySign, ['standard', 'accounting'], 'standard', 'currencySign'),
    notation: oneOf(o.notation, ['standard', 'scientific', 'engineering', 'compact'], 'standard', 'notation'),
    compactDisplay: oneOf(o.compactDisplay, ['short', 'long'], 'short', 'compactDisplay'),
    signDisplay: oneOf(o.signDisplay, ['auto', 'never', 'always', 'exceptZero', 'negative'], 'auto', 'signDisplay'),
    minimumIntegerDigits: digitsIn(o.minimumIntegerDigits, 1, 21, 'minimumIntegerDigits') ?? 1,
  };
  r.useGrouping = o.useGrouping === undefined ? (r.notation === 'compact' ? 'min2' : 'auto') : `${o.useGrouping}`;
  if (r.style === 'currency') {
    if (r.currency === undefined) throw new TypeError('Currency code is required with currency style.');
    if (!/^[A-Z]{3}$/.test(r.currency)) throw new RangeError(`Invalid currency code : ${o.currency}`);
  } else r.currencySign = 'standard';
  const minS = digitsIn(o.minimumSignificantDigits, 1, 21, 'minimumSignificantDigits');
  const maxS = digitsIn(o.maximumSignificantDigits, minS ?? 1, 21, 'maximumSignificantDigits');
  if (minS !== undefined || maxS !== undefined) {
    r.minimumSignificantDigits = minS ?? 1; r.maximumSignificantDigits = maxS ?? 21;
    return r;
  }
  let min = digitsIn(o.minimumFractionDigits, 0, 100, 'minimumFractionDigits');
  let max = digitsIn(o.maximumFractionDigits, 0, 100, 'maximumFractionDigits');
  if (r.notation === 'compact' && min === undefined && max === undefined) return r;
  const digits = r.style === 'currency' ? (noDigits.has(r.currency) ? 0 : threeDigits.has(r.currency) ? 3 : 2) : 0;
  const most = r.style === 'currency' ? digits : r.style === 'percent' ? 0 : 3;
  if (min === undefined) min = max === undefined ? digits : Math.min(digits, max);
  else if (max !== undefined && min > max) throw new RangeError('maximumFractionDigits value is out of range.');
  if (max === undefined) max = Math.max(most, min);
  r.minimumFractionDigits = min; r.maximumFractionDigits = max;
  return r;
};
const numeral = (x) => {
  if (typeof x === 'bigint') return `${x}`;
  if (typeof x === 'string') { const s = x.trim(); if (/^-?\d+(\.\d+)?$/.test(s)) return s; }
  x = Number(x);
  return Object.is(x, -0) ? '-0' : `${x}`;
};

class NumberFormat {
  constructor(locales, options) {
    wantEnglish(locales, 'Intl.NumberFormat');
    const r = resolveNumber(options, 'Intl.NumberFormat');
    host.formatNumber('0', r);
    hide(this, { format: (x) => host.formatNumber(numeral(x), r), resolvedOptions: () => ({ locale: 'en-US', numberingSystem: 'latn', ...r }) });
  }
  formatToParts() { throw new RangeError('Intl.NumberFormat.formatToParts is not supported in a script'); }
  formatRange() { throw new RangeError('Intl.NumberFormat.formatRange is not supported in a script'); }
}
const numberText = function toLocaleString(locales, options) {
  wantEnglish(locales, 'toLocaleString');
  return host.formatNumber(numeral(this.valueOf()), resolveNumber(options, 'toLocaleString'));
};
hide(Number.prototype, { toLocaleString: numberText });
hide(BigInt.prototype, { toLocaleString: numberText });

const collatorFor = (locales, options, what) => {
  wantEnglish(locales, what);
  const o = wantKnown(options, ['numeric', 'sensitivity', 'usage', 'localeMatcher', 'ignorePunctuation', 'caseFirst'], what);
  if (o.ignorePunctuation) throw new RangeError(`${what}: the option ignorePunctuation is not supported in a script`);
  if (o.caseFirst !== undefined && `${o.caseFirst}` !== 'false') throw new RangeError(`${what}: the option caseFirst is not supported in a script`);
  const sensitivity = oneOf(o.sensitivity, ['base', 'accent', 'case', 'variant'], 'variant', 'sensitivity');
  if (sensitivity === 'case') throw new RangeError(`${what}: the sensitivity case is not supported in a script`);
  return host.collate(!!o.numeric, sensitivity);
};
let plainCollator;
hide(String.prototype, {
  localeCompare(that, locales, options) {
    const compare = locales === undefined && options === undefined ? (plainCollator ??= collatorFor(undefined, undefined, 'localeCompare')) : collatorFor(locales, options, 'localeCompare');
    return compare(`${this}`, `${that}`);
  },
  toLocaleUpperCase(locales) { wantEnglish(locales, 'toLocaleUpperCase'); return `${this}`.toUpperCase(); },
  toLocaleLowerCase(locales) { wantEnglish(locales, 'toLocaleLowerCase'); return `${this}`.toLowerCase(); },
});
class Collator {
  constructor(locales, options) {
    const compare = collatorFor(locales, options, 'Intl.Collator');
    hide(this, { compare: (a, b) => compare(`${a}`, `${b}`) });
  }
}

class PluralRules {
  constructor(locales, options) {
    wantEnglish(locales, 'Intl.PluralRules');
    const type = oneOf(wantKnown(options, ['type', 'localeMatcher'], 'Intl.PluralRules').type, ['cardinal', 'ordinal'], 'cardinal', 'type');
    hide(this, {
      select: (n) => {
        n = Number(n);
        if (type === 'cardinal') return n === 1 || n === -1 ? 'one' : 'other';
        const ten = Math.abs(n) % 10, hundred = Math.abs(n) % 100;
        return ten === 1 && hundred !== 11 ? 'one' : ten === 2 && hundred !== 12 ? 'two' : ten === 3 && hundred !== 13 ? 'few' : 'other';
      },
    });
  }
}
class ListFormat {
  constructor(locales, options) {
    wantEnglish(locales, 'Intl.ListFormat');
    const o = wantKnown(options, ['type', 'style', 'localeMatcher'], 'Intl.ListFormat');
    const type = oneOf(o.type, ['conjunction', 'disjunction', 'unit'], 'conjunction', 'type');
    const style = oneOf(o.style, ['long', 'short', 'narrow'], 'long', 'style');
    if (type === 'unit' || style !== 'long') throw new RangeError(`Intl.ListFormat: type ${type} with style ${style} is not supported in a script`);
    const word = type === 'conjunction' ? 'and' : 'or';
    hide(this, {
      format: (list) => {
        const l = [...list];
        if (l.length < 2) return l.join('');
        return l.length === 2 ? `${l[0]} ${word} ${l[1]}` : `${l.slice(0, -1).join(', ')}, ${word} ${l[l.length - 1]}`;
      },
    });
  }
}
const relativeWords = { day: { '-1': 'yesterday', 0: 'today', 1: 'tomorrow' }, year: { '-1': 'last year', 0: 'this year', 1: 'next year' }, quarter: { '-1': 'last quarter', 0: 'this quarter', 1: 'next quarter' }, month: { '-1': 'last month', 0: 'this month', 1: 'next month' }, week: { '-1': 'last week', 0: 'this week', 1: 'next week' }, hour: { 0: 'this hour' }, minute: { 0: 'this minute' }, second: { 0: 'now' } };
class RelativeTimeFormat {
  constructor(locales, options) {
    wantEnglish(locales, 'Intl.RelativeTimeFormat');
    const o = wantKnown(options, ['numeric', 'style', 'localeMatcher'], 'Intl.RelativeTimeFormat');
    const numeric = oneOf(o.numeric, ['always', 'auto'], 'always', 'numeric');
    if (oneOf(o.style, ['long', 'short', 'narrow'], 'long', 'style') !== 'long') throw new RangeError(`Intl.RelativeTimeFormat: the style ${o.style} is not supported in a script`);
    hide(this, {
      format: (value, unit) => {
        const n = Number(value), name = `${unit}`.replace(/s$/, '');
        if (!(name in relativeWords)) throw new RangeError(`Invalid unit argument for format() '${unit}'`);
        if (!Number.isFinite(n)) throw new RangeError('The value need to be finite number for Intl.RelativeTimeFormat.prototype.format()');
        if (numeric === 'auto' && n in relativeWords[name]) return relativeWords[name][n];
        const past = n < 0 || Object.is(n, -0);
        const text = `${Math.abs(n).toLocaleString()} ${name}${Math.abs(n) === 1 ? '' : 's'}`;
        return past ? `${text} ago` : `in ${text}`;
      },
    });
  }
}
const notHere = (name) => class { constructor() { throw new RangeError(`Intl.${name} is not supported in a script`); } };
