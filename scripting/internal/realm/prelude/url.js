// URL and URLSearchParams (WHATWG URL), for hosts in ASCII: a host with other letters is an error.

const defaultPorts = { 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443', 'ftp:': '21', 'file:': '' };
const bytesOf = (text) => new Uint8Array(host.encode(text));
const percent = (b) => `%${b < 16 ? '0' : ''}${b.toString(16).toUpperCase()}`;
const escapeWith = (set) => (text) => {
  let out = '';
  for (const c of text) {
    const n = c.codePointAt(0);
    if (n > 0x20 && n < 0x7f && !set.includes(c)) out += c;
    else for (const b of bytesOf(c)) out += percent(b);
  }
  return out;
};
const escapeFragment = escapeWith('"<>`');
const escapeQuery = escapeWith('"#<>\'');
const escapeOpaqueQuery = escapeWith('"#<>');
const escapePath = escapeWith('"#<>?`{}^');
const escapeUser = escapeWith('"#<>?`{}/:;=@[\\]^|');
const escapeForm = (text) => {
  let out = '';
  for (const b of bytesOf(text)) {
    const c = String.fromCharCode(b);
    if (c === ' ') out += '+';
    else if (/[A-Za-z0-9*\-._]/.test(c)) out += c;
    else out += percent(b);
  }
  return out;
};
const unescapeBytes = (text) => {
  const bytes = [];
  const raw = bytesOf(text);
  for (let i = 0; i < raw.length; i++) {
    const hex = raw[i] === 37 && i + 2 < raw.length ? String.fromCharCode(raw[i + 1], raw[i + 2]) : '';
    if (/^[0-9A-Fa-f]{2}$/.test(hex)) { bytes.push(parseInt(hex, 16)); i += 2; } else bytes.push(raw[i]);
  }
  const view = new Uint8Array(bytes);
  return host.decode(view.buffer, 0, view.length, false);
};

const pairs = new WeakMap();
const owners = new WeakMap();
const parseForm = (text) => text.split('&').filter((p) => p !== '').map((p) => {
  const i = p.indexOf('=');
  const [k, v] = i < 0 ? [p, ''] : [p.slice(0, i), p.slice(i + 1)];
  return [unescapeBytes(k.replaceAll('+', ' ')), unescapeBytes(v.replaceAll('+', ' '))];
});
const serialize = (list) => list.map(([k, v]) => `${escapeForm(k)}=${escapeForm(v)}`).join('&');

class URLSearchParams {
  constructor(init) {
    let list = [];
    if (init === undefined || init === null) list = [];
    else if (typeof init === 'object') {
      if (typeof init[Symbol.iterator] === 'function') {
        for (const pair of init) {
          const p = [...pair];
          if (p.length !== 2) throw new TypeError('Each query pair must be an iterable [name, value] tuple');
          list.push([`${p[0]}`, `${p[1]}`]);
        }
      } else for (const k of ownKeys(init)) list.push([k, `${init[k]}`]);
    } else list = parseForm(`${init}`.replace(/^\?/, ''));
    pairs.set(this, list);
  }
  get size() { return pairs.get(this).length; }
  append(k, v) { pairs.get(this).push([`${k}`, `${v}`]); update(this); }
  delete(k, v) { k = `${k}`; pairs.set(this, pairs.get(this).filter((p) => p[0] !== k || v !== undefined && p[1] !== `${v}`)); update(this); }
  get(k) { const p = pairs.get(this).find((q) => q[0] === `${k}`); return p ? p[1] : null; }
  getAll(k) { return pairs.get(this).filter((q) => q[0] === `${k}`).map((q) => q[1]); }
  has(k, v) { return pairs.get(this).some((q) => q[0] === `${k}` && (v === undefined || q[1] === `${v}`)); }
  set(k, v) {
    const list = pairs.get(this), i = list.findIndex((q) => q[0] === `${k}`);
    if (i < 0) list.push([`${k}`, `${v}`]);
    else { list[i][1] = `${v}`; pairs.set(this, list.filter((q, j) => j <= i || q[0] !== `${k}`)); }
    update(this);
  }
  sort() { pairs.get(this).sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)); update(this); }
  forEach(f, self) { for (const [k, v] of pairs.get(this)) Reflect_apply(f, self, [v, k, this]); }
  * keys() { for (const p of pairs.get(this)) yield p[0]; }
  * values() { for (const p of pairs.get(this)) yield p[1]; }
  * entries() { for (const p of pairs.get(this)) yield [p[0], p[1]]; }
  toString() { return serialize(pairs.get(this)); }
}
hide(URLSearchParams.prototype, { [Symbol.iterator]: URLSearchParams.prototype.entries, [Symbol.toStringTag]: 'URLSearchParams' });
const update = (params) => {
  const u = owners.get(params);
  if (u) u.query = pairs.get(params).length ? serialize(pairs.get(params)) : null;
};

const invalid = (text) => { const e = new TypeError('Invalid URL'); e.code = 'ERR_INVALID_URL'; e.input = text; return e; };

// parseHost gives a host in its written form: lower case, IPv4 in four parts, IPv6 in brackets.
const parseHost = (text, special, whole) => {
  if (text.startsWith('[')) {
    if (!/^\[[0-9A-Fa-f:.]+\]$/.test(text)) throw invalid(whole);
    return text.toLowerCase();
  }
  if (!special) {
    if (/[\0\t\n\r #/<>?@[\\\]^|]/.test(text)) throw invalid(whole);
    return escapeWith('')(text);
  }
  const name = unescapeBytes(text).toLowerCase();
  if (/[^\x00-\x7f]/.test(name)) throw new TypeError(`URL: a host with letters outside of ASCII is not supported (${name}); write it in its xn-- form`);
  if (name === '' || /[\x00-\x20"#%/:<>?@[\\\]^`{|}\x7f]/.test(name)) throw invalid(whole);
  const parts = name.replace(/\.$/, '').split('.');
  if (/^(\d+|0x[0-9a-f]*)$/.test(parts[parts.length - 1])) {
    const numbers = parts.map((p) => (/^0x[0-9a-f]*$/.test(p) ? parseInt(p.slice(2) || '0', 16) : /^0[0-7]*$/.test(p) ? parseInt(p, 8) : /^\d+$/.test(p) ? parseInt(p, 10) : NaN));
    const last = numbers.pop();
    if (numbers.length > 3 || Number.isNaN(last) || numbers.some((n) => !(n < 256)) || last >= 256 ** (4 - numbers.length)) throw invalid(whole);
    let n = last;
    numbers.forEach((x, i) => { n += x * 256 ** (3 - i); });
    return [24, 16, 8, 0].map((b) => floor(n / 2 ** b) % 256).join('.');
  }
  return name;
};

const resolveDots = (segments) => {
  const out = [];
  segments.forEach((s, i) => {
    const plain = s.replace(/%2e/gi, '.');
    const last = i === segments.length - 1;
    if (plain === '..') { out.pop(); if (last) out.push(''); } else if (plain === '.') { if (last) out.push(''); } else out.push(s);
  });
  return out;
};

const parseAuthority = (u, text, whole) => {
  const at = text.lastIndexOf('@');
  if (at >= 0) {
    const [user, ...pass] = text.slice(0, at).split(':');
    u.username = escapeUser(user); u.password = escapeUser(pass.join(':'));
    text = text.slice(at + 1);
  }
  const m = /^(.*?)(?::(\d*))?$/.exec(text.startsWith('[') ? text.slice(text.indexOf(']') + 1) : text);
  const bracket = text.startsWith('[') ? text.slice(0, text.indexOf(']') + 1) : '';
  if (bracket && m[1] !== '') throw invalid(whole);
  if (m[2]) {
    const port = parseInt(m[2], 10);
    if (port > 65535) throw invalid(whole);
    u.port = `${port}` === defaultPorts[u.protocol] ? '' : `${port}`;
  }
  const name = bracket || m[1];
  if (name === '' && (u.special && u.protocol !== 'file:' || at >= 0)) throw invalid(whole);
  u.host = name === '' ? '' : parseHost(name, u.special, whole);
  if (u.protocol === 'file:' && u.host === 'localhost') u.host = '';
};

const parseURL = (input, base) => {
  const whole = `${input}`;
  let text = whole.replace(/^[\x00-\x20]+|[\x00-\x20]+$/g, '').replace(/[\t\n\r]/g, '');
  const u = { protocol: '', special: false, username: '', password: '', host: null, port: '', path: [], opaque: null, query: null, fragment: null };
  const hash = text.indexOf('#');
  if (hash >= 0) { u.fragment = escapeFragment(text.slice(hash + 1)); text = text.slice(0, hash); }
  const scheme = /^([A-Za-z][A-Za-z0-9+.\-]*):/.exec(text);
  let relative = !scheme;
  if (scheme) {
    u.protocol = `${scheme[1].toLowerCase()}:`;
    u.special = u.protocol in defaultPorts;
    text = text.slice(scheme[0].length);
    if (u.special && base && base.protocol === u.protocol && !/^[/\\]{2}/.test(text)) relative = true;
  }
  if (relative) {
    if (!base || base.opaque !== null && !(text === '' && hash >= 0)) throw invalid(whole);
    u.protocol = base.protocol; u.special = base.special;
  }
  const query = text.indexOf('?');
  if (query >= 0) { u.query = (u.special ? escapeQuery : escapeOpaqueQuery)(text.slice(query + 1)); text = text.slice(0, query); }
  if (u.special) text = text.replaceAll('\\', '/');
  const take = (b) => { u.username = b.username; u.password = b.password; u.host = b.host; u.port = b.port; };
  const segments = (p) => resolveDots(p.split('/').map(escapePath));
  if (text.startsWith('//') || u.special && !relative && u.protocol !== 'file:') {
    const rest = text.replace(u.special && u.protocol !== 'file:' ? /^\/*/ : /^\/\//, '');
    const slash = rest.indexOf('/');
    parseAuthority(u, slash < 0 ? rest : rest.slice(0, slash), whole);
    u.path = slash < 0 ? (u.special ? [''] : []) : segments(rest.slice(slash + 1));
  } else if (relative) {
    take(base);
    if (text === '') {
      u.path = [...base.path]; u.opaque = base.opaque;
      if (query < 0) u.query = base.query;
    } else if (text.startsWith('/')) u.path = segments(text.slice(1));
    else u.path = resolveDots([...base.path.slice(0, -1), ...text.split('/').map(escapePath)]);
  } else if (text.startsWith('/')) {
    if (u.protocol === 'file:') u.host = '';
    u.path = segments(text.slice(1));
  } else if (u.protocol === 'file:') { u.host = ''; u.path = segments(text); } else u.opaque = escapeWith('')(text);
  return u;
};
const pathOf = (u) => (u.opaque !== null ? u.opaque : u.path.length ? `/${u.path.join('/')}` : '');
const hostOf = (u) => (u.host ?? '') + (u.port === '' ? '' : `:${u.port}`);
const hrefOf = (u) => {
  let s = u.protocol;
  if (u.host !== null) {
    s += '//';
    if (u.username !== '' || u.password !== '') s += `${u.username}${u.password === '' ? '' : `:${u.password}`}@`;
    s += hostOf(u);
  }
  return s + pathOf(u) + (u.query === null ? '' : `?${u.query}`) + (u.fragment === null ? '' : `#${u.fragment}`);
};

const urls = new WeakMap();
class URL {
  constructor(input, base) {
    const u = parseURL(input, base === undefined ? undefined : parseURL(base));
    urls.set(this, u);
    const params = new URLSearchParams(u.query ?? '');
    owners.set(params, u);
    u.params = params;
  }
  static canParse(input, base) { try { new URL(input, base); return true; } catch { return false; } }
  static parse(input, base) { try { return new URL(input, base); } catch { return null; } }
  get href() { return hrefOf(urls.get(this)); }
  set href(v) { const u = urls.get(this); Object.assign(u, parseURL(v)); pairs.set(u.params, parseForm(u.query ?? '')); }
  get origin() { const u = urls.get(this); if (u.protocol === 'blob:') { try { return new URL(u.opaque).origin; } catch { return 'null'; } } return u.special && u.protocol !== 'file:' ? `${u.protocol}//${hostOf(u)}` : 'null'; }
  get protocol() { return urls.get(this).protocol; }
  set protocol(v) { const u = urls.get(this), p = `${`${v}`.replace(/:.*$/, '').toLowerCase()}:`; if (p in defaultPorts === u.special) { u.protocol = p; if (u.port === defaultPorts[p]) u.port = ''; } }
  get username() { return urls.get(this).username; }
  set username(v) { urls.get(this).username = escapeUser(`${v}`); }
  get password() { return urls.get(this).password; }
  set password(v) { urls.get(this).password = escapeUser(`${v}`); }
  get host() { return hostOf(urls.get(this)); }
  set host(v) { const u = urls.get(this), keep = [u.username, u.password]; u.port = ''; parseAuthority(u, `${v}`, `${v}`); [u.username, u.password] = keep; }
  get hostname() { return urls.get(this).host ?? ''; }
  set hostname(v) { const u = urls.get(this); u.host = parseHost(`${v}`, u.special, `${v}`); }
  get port() { return urls.get(this).port; }
  set port(v) { const u = urls.get(this), n = `${v}` === '' ? '' : `${parseInt(v, 10)}`; if (n === 'NaN' || +n > 65535) return; u.port = n === defaultPorts[u.protocol] ? '' : n; }
  get pathname() { return pathOf(urls.get(this)); }
  set pathname(v) { const u = urls.get(this); if (u.opaque === null) u.path = resolveDots(`${v}`.replace(u.special ? /^[/\\]/ : /^\//, '').split('/').map(escapePath)); }
  get search() { const q = urls.get(this).query; return q ? `?${q}` : ''; }
  set search(v) { const u = urls.get(this), q = `${v}`.replace(/^\?/, ''); u.query = q === '' ? null : escapeQuery(q); pairs.set(u.params, parseForm(q)); }
  get hash() { const f = urls.get(this).fragment; return f ? `#${f}` : ''; }
  set hash(v) { const f = `${v}`.replace(/^#/, ''); urls.get(this).fragment = f === '' ? null : escapeFragment(f); }
  get searchParams() { return urls.get(this).params; }
  toString() { return this.href; }
  toJSON() { return this.href; }
}
hide(globalThis, { URL, URLSearchParams });
