// URL and URLSearchParams, as the web has them (hosts in ASCII alone), and the conversions of files.
const { coded, invalidType } = need('errors');
const ports = { 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443', 'ftp:': '21', 'file:': '' };
const isSpecial = (protocol) => Object.hasOwn(ports, protocol);

function escapeBytes(text, test) {
	let out = '';
	for (const char of text) {
		if (char.charCodeAt(0) < 0x80 && !test(char)) {
			out += char;
			continue;
		}
		for (const byte of new Uint8Array(sys.encode(char, 0))) out += '%' + byte.toString(16).toUpperCase().padStart(2, '0');
	}
	return out;
}
const among = (chars) => {
	const set = new Set(chars);
	return (char) => char < '!' || char > '~' || set.has(char);
};
const inFragment = among('"<>`'), inQuery = among('"#<>'), inSpecialQuery = among('"#<>\''), inPath = among('"#<>?`{}'),
	inUser = among('"#<>?`{}/:;=@[\\]^|'), inOpaque = (char) => char < ' ' || char > '~';

function invalid(input) {
	const error = coded(TypeError, 'ERR_INVALID_URL', 'Invalid URL');
	error.input = input;
	return error;
}

function parseNumber(text) {
	if (text === '') return NaN;
	let base = 10;
	if (/^0x/i.test(text)) {
		text = text.slice(2);
		base = 16;
	} else if (text.length > 1 && text[0] === '0') {
		text = text.slice(1);
		base = 8;
	}
	if (text === '') return 0;
	if (!(base === 10 ? /^[0-9]+$/ : base === 16 ? /^[0-9a-f]+$/i : /^[0-7]+$/).test(text)) return NaN;
	return parseInt(text, base);
}
function parseFour(host) {
	const parts = host.split('.');
	if (parts[parts.length - 1] === '' && parts.length > 1) parts.pop();
	const last = parts[parts.length - 1];
	if (!(/^[0-9]+$/.test(last) || /^0x[0-9a-f]*$/i.test(last))) return null;
	if (parts.length > 4) return false;
	const numbers = parts.map(parseNumber);
	if (numbers.some(Number.isNaN)) return false;
	for (let i = 0; i < numbers.length - 1; i++) if (numbers[i] > 255) return false;
	const end = numbers[numbers.length - 1];
	if (end >= 256 ** (5 - numbers.length)) return false;
	let value = end;
	for (let i = 0; i < numbers.length - 1; i++) value += numbers[i] * 256 ** (3 - i);
	return [value / 16777216, value / 65536, value / 256, value].map((one) => Math.floor(one) % 256).join('.');
}
function parseSix(text) {
	const four = /^(.*:)(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
	if (four) {
		const bytes = four.slice(2).map(Number);
		if (bytes.some((byte) => byte > 255)) return null;
		text = four[1] + ((bytes[0] << 8) | bytes[1]).toString(16) + ':' + ((bytes[2] << 8) | bytes[3]).toString(16);
	}
	const halves = text.split('::');
	if (halves.length > 2) return null;
	const parse = (half) => (half === '' ? [] : half.split(':'));
	const left = parse(halves[0]), right = halves.length > 1 ? parse(halves[1]) : [];
	if (![...left, ...right].every((part) => /^[0-9a-f]{1,4}$/i.test(part))) return null;
	const missing = 8 - left.length - right.length;
	if (halves.length > 1 ? missing < 1 : missing !== 0) return null;
	const pieces = [...left, ...new Array(halves.length > 1 ? missing : 0).fill('0'), ...right].map((part) => parseInt(part, 16));
	let best = -1, length = 1;
	for (let i = 0; i < 8; i++) {
		let k = i;
		while (k < 8 && pieces[k] === 0) k++;
		if (k - i > length) {
			best = i;
			length = k - i;
		}
		if (k > i) i = k;
	}
	const hex = pieces.map((piece) => piece.toString(16));
	if (best < 0) return hex.join(':');
	return `${hex.slice(0, best).join(':')}::${hex.slice(best + length).join(':')}`;
}
function parseHost(text, special) {
	if (text[0] === '[') {
		if (!text.endsWith(']')) return null;
		const six = parseSix(text.slice(1, -1));
		return six === null ? null : `[${six}]`;
	}
	if (!special) {
		if (/[\0\t\n\r #/:<>?@[\\\]^|]/.test(text)) return null;
		return escapeBytes(text, inOpaque);
	}
	let host;
	try {
		host = decodeURIComponent(text.replace(/%(?![0-9a-fA-F]{2})/g, '%25'));
	} catch {
		return null;
	}
	host = host.toLowerCase();
	if (host === '' || /[\0-\x20#%/:<>?@[\\\]^|\x7f]/.test(host)) return null;
	if (/[^\0-\x7f]/.test(host)) {
		host = host.normalize('NFC').split('.').map((label) => (/[^\0-\x7f]/.test(label) ? 'xn--' + punycode(label) : label)).join('.');
	}
	const four = parseFour(host);
	if (four === false) return null;
	return four === null ? host : four;
}
function punycode(label) {
	const points = [...label].map((char) => char.codePointAt(0));
	let out = points.filter((point) => point < 128).map((point) => String.fromCharCode(point)).join('');
	const basic = out.length;
	let handled = basic, n = 128, delta = 0, bias = 72;
	if (basic) out += '-';
	const digit = (value) => String.fromCharCode(value < 26 ? 97 + value : 22 + value);
	while (handled < points.length) {
		const next = Math.min(...points.filter((point) => point >= n));
		delta += (next - n) * (handled + 1);
		n = next;
		for (const point of points) {
			if (point < n) delta++;
			if (point !== n) continue;
			let q = delta;
			for (let k = 36; ; k += 36) {
				const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
				if (q < t) break;
				out += digit(t + ((q - t) % (36 - t)));
				q = Math.floor((q - t) / (36 - t));
			}
			out += digit(q);
			delta = handled === basic ? Math.floor(delta / 700) : delta >> 1;
			delta += Math.floor(delta / (handled + 1));
			let k = 0;
			for (; delta > 455; k += 36) delta = Math.floor(delta / 35);
			bias = k + Math.floor((36 * delta) / (delta + 38));
			delta = 0;
			handled++;
		}
		delta++;
		n++;
	}
	return out;
}

const isDot = (part) => /^(\.|%2e)$/i.test(part);
const isDots = (part) => /^(\.|%2e)(\.|%2e)$/i.test(part);

// Puts a path onto the parts of one that is there already.
function pathInto(parts, text, special, file) {
	const pieces = text.split(special ? /[/\\]/ : '/');
	for (let i = 0; i < pieces.length; i++) {
		const last = i === pieces.length - 1;
		let piece = pieces[i];
		if (isDots(piece)) {
			if (!(file && parts.length === 1 && /^[a-zA-Z]:$/.test(parts[0]))) parts.pop();
			if (last) parts.push('');
		} else if (isDot(piece)) {
			if (last) parts.push('');
		} else {
			if (file && parts.length === 0 && /^[a-zA-Z][:|]$/.test(piece)) piece = `${piece[0]}:`;
			parts.push(escapeBytes(piece, inPath));
		}
	}
	return parts;
}

// A record of what an address says.
function parse(input, base) {
	const original = input;
	input = input.replace(/^[\0-\x20]+|[\0-\x20]+$/g, '').replace(/[\t\n\r]/g, '');
	const record = { protocol: '', username: '', password: '', host: null, port: '', path: [], opaque: null, query: null, fragment: null };
	const hash = input.indexOf('#');
	if (hash >= 0) {
		record.fragment = escapeBytes(input.slice(hash + 1), inFragment);
		input = input.slice(0, hash);
	}
	const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(input);
	let rest = input, special;
	const takeQuery = () => {
		const mark = rest.indexOf('?');
		if (mark < 0) return;
		record.query = escapeBytes(rest.slice(mark + 1), special ? inSpecialQuery : inQuery);
		rest = rest.slice(0, mark);
	};
	const copy = (names) => {
		for (const name of names) record[name] = Array.isArray(base[name]) ? base[name].slice() : base[name];
	};
	const slashes = () => (special ? /^[/\\]/.test(rest) : rest[0] === '/');
	if (scheme) {
		record.protocol = scheme[1].toLowerCase() + ':';
		special = isSpecial(record.protocol);
		rest = input.slice(scheme[0].length);
		if (record.protocol === 'file:') return fileFrom();
		if (special) {
			if (base && base.protocol === record.protocol && !/^[/\\]{2}/.test(rest)) return relative();
			rest = rest.replace(/^[/\\]*/, '');
			return authority();
		}
		if (rest.startsWith('//')) {
			rest = rest.slice(2);
			return authority();
		}
		takeQuery();
		if (rest[0] === '/') {
			pathInto(record.path, rest.slice(1), false, false);
			return record;
		}
		record.opaque = escapeBytes(rest, inOpaque);
		return record;
	}
	if (!base) throw invalid(original);
	if (base.opaque !== null) {
		if (input !== '' || record.fragment === null) throw invalid(original);
		copy(['protocol', 'username', 'password', 'host', 'port', 'path', 'opaque', 'query']);
		return record;
	}
	record.protocol = base.protocol;
	special = isSpecial(record.protocol);
	if (record.protocol === 'file:') return fileFrom();
	return relative();

	function relative() {
		if (special ? /^[/\\]{2}/.test(rest) : rest.startsWith('//')) {
			rest = special ? rest.replace(/^[/\\]*/, '') : rest.slice(2);
			return authority();
		}
		copy(['username', 'password', 'host', 'port']);
		if (slashes()) {
			takeQuery();
			pathInto(record.path, rest.slice(1), special, false);
			return record;
		}
		record.path = base.path.slice();
		record.query = base.query;
		if (rest === '') return record;
		record.query = null;
		if (rest[0] === '?') {
			takeQuery();
			return record;
		}
		takeQuery();
		record.path.pop();
		pathInto(record.path, rest, special, false);
		return record;
	}
	function authority() {
		const end = rest.search(special ? /[/\\?]/ : /[/?]/);
		let where = end < 0 ? rest : rest.slice(0, end);
		rest = end < 0 ? '' : rest.slice(end);
		const at = where.lastIndexOf('@');
		if (at >= 0) {
			const who = where.slice(0, at), colon = who.indexOf(':');
			record.username = escapeBytes(colon < 0 ? who : who.slice(0, colon), inUser);
			record.password = colon < 0 ? '' : escapeBytes(who.slice(colon + 1), inUser);
			where = where.slice(at + 1);
			if (where === '') throw invalid(original);
		}
		const colon = /:([^\]:]*)$/.exec(where);
		let host = where;
		if (colon && !(where[0] === '[' && !where.includes(']:'))) {
			host = where.slice(0, colon.index);
			if (!/^[0-9]*$/.test(colon[1]) || +colon[1] > 65535) throw invalid(original);
			record.port = colon[1] === '' ? '' : String(+colon[1]);
			if (record.port === ports[record.protocol]) record.port = '';
		}
		if (host === '' && (special || at >= 0 || colon)) throw invalid(original);
		record.host = host === '' ? '' : parseHost(host, special);
		if (record.host === null) throw invalid(original);
		return afterHost();
	}
	function afterHost() {
		takeQuery();
		if (special) pathInto(record.path, rest.replace(/^[/\\]/, ''), true, record.protocol === 'file:');
		else if (rest !== '') pathInto(record.path, rest.slice(1), false, false);
		return record;
	}
	function fileFrom() {
		special = true;
		record.host = '';
		const from = base && base.protocol === 'file:' ? base : null;
		if (/^[/\\]/.test(rest)) {
			if (/^[/\\]{2}/.test(rest)) {
				rest = rest.slice(2);
				const end = rest.search(/[/\\?]/);
				let host = end < 0 ? rest : rest.slice(0, end);
				if (!/^[a-zA-Z][:|]$/.test(host)) {
					rest = end < 0 ? '' : rest.slice(end);
					if (host !== '') {
						host = parseHost(host, true);
						if (host === null) throw invalid(original);
						record.host = host === 'localhost' ? '' : host;
					}
					return afterHost();
				}
			} else if (from) record.host = from.host;
			takeQuery();
			pathInto(record.path, rest.replace(/^[/\\]/, ''), true, true);
			return record;
		}
		if (from) {
			copyFrom(from);
			return record;
		}
		takeQuery();
		pathInto(record.path, rest, true, true);
		return record;
	}
	function copyFrom(from) {
		record.host = from.host;
		record.path = from.path.slice();
		record.query = from.query;
		if (rest === '') return;
		record.query = null;
		const mark = rest[0] === '?';
		takeQuery();
		if (mark) return;
		record.path.pop();
		pathInto(record.path, rest, true, true);
	}
}

function pathText(record) {
	return record.opaque !== null ? record.opaque : record.path.map((part) => `/${part}`).join('');
}
function serialize(record, withoutFragment) {
	let text = record.protocol;
	if (record.host !== null) {
		text += '//';
		if (record.username || record.password) text += `${record.username}${record.password ? `:${record.password}` : ''}@`;
		text += record.host;
		if (record.port) text += `:${record.port}`;
	} else if (record.opaque === null && record.path.length > 1 && record.path[0] === '') text += '/.';
	text += pathText(record);
	if (record.query !== null) text += `?${record.query}`;
	if (record.fragment !== null && !withoutFragment) text += `#${record.fragment}`;
	return text;
}

class URL {
	#record;
	#params = null;
	constructor(input, base) {
		if (arguments.length === 0) throw coded(TypeError, 'ERR_MISSING_ARGS', 'The "url" argument must be specified');
		this.#record = parse(`${input}`, base === undefined ? undefined : parse(`${base}`));
	}
	static canParse(input, base) {
		try {
			return !!new URL(input, base);
		} catch {
			return false;
		}
	}
	get href() {
		return serialize(this.#record);
	}
	set href(value) {
		this.#record = parse(`${value}`);
		this.#refresh();
	}
	#refresh() {
		if (this.#params) this.#params._set(this.#record.query || '');
	}
	get origin() {
		const { protocol, host, port } = this.#record;
		return isSpecial(protocol) && protocol !== 'file:' ? `${protocol}//${host}${port ? `:${port}` : ''}` : 'null';
	}
	get protocol() {
		return this.#record.protocol;
	}
	set protocol(value) {
		const match = /^([a-zA-Z][a-zA-Z0-9+.-]*):?/.exec(`${value}`);
		if (!match) return;
		const protocol = match[1].toLowerCase() + ':';
		if (isSpecial(protocol) !== isSpecial(this.#record.protocol)) return;
		this.#record.protocol = protocol;
		if (this.#record.port === ports[protocol]) this.#record.port = '';
	}
	get username() {
		return this.#record.username;
	}
	set username(value) {
		if (this.#record.host) this.#record.username = escapeBytes(`${value}`, inUser);
	}
	get password() {
		return this.#record.password;
	}
	set password(value) {
		if (this.#record.host) this.#record.password = escapeBytes(`${value}`, inUser);
	}
	get host() {
		const { host, port } = this.#record;
		return host === null ? '' : port ? `${host}:${port}` : host;
	}
	set host(value) {
		if (this.#record.opaque !== null) return;
		const match = /^(\[[^\]]*\]|[^:/?#\\]*)(?::([0-9]*))?/.exec(`${value}`);
		this.hostname = match[1];
		if (match[2]) this.port = match[2];
	}
	get hostname() {
		return this.#record.host === null ? '' : this.#record.host;
	}
	set hostname(value) {
		if (this.#record.opaque !== null) return;
		const text = /^(\[[^\]]*\]|[^:/?#\\]*)/.exec(`${value}`)[1];
		if (text === '' && isSpecial(this.#record.protocol) && this.#record.protocol !== 'file:') return;
		const host = text === '' ? '' : parseHost(text, isSpecial(this.#record.protocol));
		if (host !== null) this.#record.host = host;
	}
	get port() {
		return this.#record.port;
	}
	set port(value) {
		if (!this.#record.host || this.#record.protocol === 'file:') return;
		const text = `${value}`;
		if (text === '') {
			this.#record.port = '';
			return;
		}
		const digits = /^[0-9]+/.exec(text);
		if (!digits || +digits[0] > 65535) return;
		const port = String(+digits[0]);
		this.#record.port = port === ports[this.#record.protocol] ? '' : port;
	}
	get pathname() {
		return pathText(this.#record);
	}
	set pathname(value) {
		if (this.#record.opaque !== null) return;
		const special = isSpecial(this.#record.protocol);
		this.#record.path = pathInto([], `${value}`.replace(/[\t\n\r]/g, '').replace(special ? /^[/\\]/ : /^\//, ''), special, this.#record.protocol === 'file:');
	}
	get search() {
		return this.#record.query ? `?${this.#record.query}` : '';
	}
	set search(value) {
		const text = `${value}`;
		if (text === '') this.#record.query = null;
		else this.#record.query = escapeBytes((text[0] === '?' ? text.slice(1) : text).replace(/[\t\n\r]/g, ''), isSpecial(this.#record.protocol) ? inSpecialQuery : inQuery);
		this.#refresh();
	}
	get searchParams() {
		if (!this.#params) {
			this.#params = new URLSearchParams();
			this.#params._set(this.#record.query || '');
			this.#params._watch((text) => {
				this.#record.query = text === '' ? null : text;
			});
		}
		return this.#params;
	}
	get hash() {
		return this.#record.fragment ? `#${this.#record.fragment}` : '';
	}
	set hash(value) {
		const text = `${value}`;
		this.#record.fragment = text === '' ? null : escapeBytes((text[0] === '#' ? text.slice(1) : text).replace(/[\t\n\r]/g, ''), inFragment);
	}
	toString() {
		return this.href;
	}
	toJSON() {
		return this.href;
	}
	[Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
		if (depth !== null && depth < 0) return this;
		const shown = {};
		for (const name of ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'searchParams', 'hash'])
			shown[name] = this[name];
		return `${this.constructor.name} ${inspect(shown, options)}`;
	}
}
for (const name of ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'searchParams', 'hash', 'toString', 'toJSON'])
	Object.defineProperty(URL.prototype, name, { enumerable: true });
Object.defineProperty(URL.prototype, Symbol.toStringTag, { configurable: true, value: 'URL' });

function formEncode(text) {
	let out = '';
	for (const char of text.toWellFormed()) {
		if (/[A-Za-z0-9*._-]/.test(char)) out += char;
		else if (char === ' ') out += '+';
		else for (const byte of new Uint8Array(sys.encode(char, 0))) out += '%' + byte.toString(16).toUpperCase().padStart(2, '0');
	}
	return out;
}
function formDecode(text) {
	text = text.replaceAll('+', ' ');
	if (!text.includes('%')) return text;
	const bytes = new Uint8Array(sys.encode(text, 0)), out = new Uint8Array(bytes.length);
	let size = 0;
	for (let i = 0; i < bytes.length; i++) {
		if (bytes[i] === 37 && i + 2 < bytes.length + 0) {
			const hex = String.fromCharCode(bytes[i + 1], bytes[i + 2]);
			if (/^[0-9a-fA-F]{2}$/.test(hex)) {
				out[size++] = parseInt(hex, 16);
				i += 2;
				continue;
			}
		}
		out[size++] = bytes[i];
	}
	return sys.decode(out, 0, size, 0);
}
function formParse(text) {
	const list = [];
	for (const part of text.split('&')) {
		if (part === '') continue;
		const at = part.indexOf('=');
		list.push(at < 0 ? [formDecode(part), ''] : [formDecode(part.slice(0, at)), formDecode(part.slice(at + 1))]);
	}
	return list;
}
class URLSearchParams {
	#list = [];
	#changed = null;
	constructor(init) {
		if (init === undefined || init === null) return;
		if (typeof init === 'object' || typeof init === 'function') {
			const method = init[Symbol.iterator];
			if (method === this[Symbol.iterator] && init instanceof URLSearchParams) this.#list = init.#list.map((pair) => [...pair]);
			else if (method != null) {
				if (typeof method !== 'function') throw coded(TypeError, 'ERR_ARG_NOT_ITERABLE', 'Query pairs must be iterable');
				for (const pair of init) {
					if (pair == null || typeof pair !== 'object' || typeof pair[Symbol.iterator] !== 'function')
						throw coded(TypeError, 'ERR_INVALID_TUPLE', 'Each query pair must be an iterable [name, value] tuple');
					const values = [...pair];
					if (values.length !== 2) throw coded(TypeError, 'ERR_INVALID_TUPLE', 'Each query pair must be an iterable [name, value] tuple');
					this.#list.push([`${values[0]}`, `${values[1]}`]);
				}
			} else
				for (const key of Reflect.ownKeys(init)) {
					const descriptor = Object.getOwnPropertyDescriptor(init, key);
					if (descriptor && descriptor.enumerable) this.#list.push([`${key}`, `${init[key]}`]);
				}
		} else {
			const text = `${init}`;
			this.#list = formParse(text[0] === '?' ? text.slice(1) : text);
		}
	}
	_set(text) {
		this.#list = formParse(text);
	}
	_watch(callback) {
		this.#changed = callback;
	}
	#tell() {
		if (this.#changed) this.#changed(this.toString());
	}
	get size() {
		return this.#list.length;
	}
	append(name, value) {
		if (arguments.length < 2) throw coded(TypeError, 'ERR_MISSING_ARGS', 'The "name" and "value" arguments must be specified');
		this.#list.push([`${name}`, `${value}`]);
		this.#tell();
	}
	delete(name) {
		this.#list = this.#list.filter(([key]) => key !== `${name}`);
		this.#tell();
	}
	get(name) {
		const found = this.#list.find(([key]) => key === `${name}`);
		return found ? found[1] : null;
	}
	getAll(name) {
		return this.#list.filter(([key]) => key === `${name}`).map(([, value]) => value);
	}
	has(name) {
		return this.#list.some(([key]) => key === `${name}`);
	}
	set(name, value) {
		name = `${name}`;
		const at = this.#list.findIndex(([key]) => key === name);
		if (at < 0) this.#list.push([name, `${value}`]);
		else {
			this.#list[at][1] = `${value}`;
			this.#list = this.#list.filter(([key], i) => i <= at || key !== name);
		}
		this.#tell();
	}
	sort() {
		this.#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
		this.#tell();
	}
	forEach(callback, self) {
		if (typeof callback !== 'function') throw invalidType('callback', 'function', callback);
		for (const [key, value] of this.#list) callback.call(self, value, key, this);
	}
	*entries() {
		for (const [key, value] of this.#list) yield [key, value];
	}
	*keys() {
		for (const [key] of this.#list) yield key;
	}
	*values() {
		for (const [, value] of this.#list) yield value;
	}
	toString() {
		return this.#list.map(([key, value]) => `${formEncode(key)}=${formEncode(value)}`).join('&');
	}
	[Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
		if (depth !== null && depth < 0) return '[Object]';
		const inner = this.#list.map(([key, value]) => `${inspect(key)} => ${inspect(value)}`);
		return inner.length ? `URLSearchParams { ${inner.join(', ')} }` : 'URLSearchParams {}';
	}
}
Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, { configurable: true, writable: true, value: URLSearchParams.prototype.entries });
Object.defineProperty(URLSearchParams.prototype, Symbol.toStringTag, { configurable: true, value: 'URLSearchParams' });

function fileURLToPath(value) {
	if (typeof value === 'string') value = new URL(value);
	else if (!value || typeof value.href !== 'string' || typeof value.protocol !== 'string') throw invalidType('path', 'string or an instance of URL', value);
	if (value.protocol !== 'file:') throw coded(TypeError, 'ERR_INVALID_URL_SCHEME', 'The URL must be of scheme file');
	if (value.hostname !== '') throw coded(TypeError, 'ERR_INVALID_FILE_URL_HOST', 'File URL host must be "localhost" or empty on linux');
	if (/%2f/i.test(value.pathname)) throw coded(TypeError, 'ERR_INVALID_FILE_URL_PATH', 'File URL path must not include encoded / characters');
	return decodeURIComponent(value.pathname);
}
function pathToFileURL(file) {
	if (typeof file !== 'string') throw invalidType('path', 'string', file);
	let whole = need('path').resolve(file);
	if (file.endsWith('/') && !whole.endsWith('/')) whole += '/';
	const url = new URL('file:///');
	url.pathname = whole.replaceAll('%', '%25').replaceAll('\\', '%5C').replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('\t', '%09')
		.replaceAll('?', '%3F').replaceAll('#', '%23');
	return url;
}
Object.assign(exports, {
	URL, URLSearchParams, fileURLToPath, pathToFileURL,
	format(value, options) {
		if (typeof value === 'string') return value;
		if (value instanceof URL) {
			const url = new URL(value);
			if (options && options.fragment === false) url.hash = '';
			if (options && options.search === false) url.search = '';
			if (options && options.auth === false) url.username = url.password = '';
			return url.href;
		}
		const host = value.host || (value.hostname ? value.hostname + (value.port ? `:${value.port}` : '') : '');
		return `${value.protocol || ''}${value.protocol && !value.protocol.endsWith(':') ? ':' : ''}${host ? `//${host}` : ''}${value.pathname || ''}${value.search || ''}${value.hash || ''}`;
	},
	domainToASCII: (text) => parseHost(text, true) || '',
	urlToHttpOptions: (url) => ({ protocol: url.protocol, hostname: url.hostname, path: `${url.pathname}${url.search}`, href: url.href, port: url.port ? +url.port : undefined }),
	parse(text) {
		const url = { protocol: null, auth: null, host: null, port: null, hostname: null, hash: null, search: null, query: null, pathname: null, path: null, href: text };
		const match = /^(?:([a-z][a-z0-9+.-]*:)?\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/i.exec(text);
		if (match) {
			url.protocol = match[1] || null;
			if (match[2] !== undefined) {
				url.host = match[2];
				const colon = /^(.*?)(?::(\d+))?$/.exec(match[2]);
				url.hostname = colon[1];
				url.port = colon[2] || null;
			}
			url.pathname = match[3] || (url.host ? '/' : null);
			url.search = match[4] || null;
			url.query = match[4] ? match[4].slice(1) : null;
			url.hash = match[5] || null;
			url.path = (url.pathname || '') + (url.search || '') || null;
		}
		return url;
	},
	resolve: (from, to) => new URL(to, new URL(from, 'resolve://')).href.replace(/^resolve:\/\//, ''),
});
Object.defineProperty(exports, '_parse', { value: parse, enumerable: false });
