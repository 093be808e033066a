// fetch, and what belongs to it.
const core = need('core');
const { Buffer } = need('buffer');
const { types } = need('kinds');
const { URL, URLSearchParams } = need('url');
const { DOMException } = need('abort');
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

class Headers {
	#map = new Map();
	constructor(init) {
		if (init === undefined) return;
		if (init === null || typeof init !== 'object') throw new TypeError('Headers constructor: init must be a sequence or a record');
		if (init instanceof Headers) for (const [name, value] of init) this.append(name, value);
		else if (typeof init[Symbol.iterator] === 'function')
			for (const pair of init) {
				const values = [...pair];
				if (values.length !== 2) throw new TypeError('Headers constructor: expected name/value pair to be length 2');
				this.append(values[0], values[1]);
			}
		else for (const key of Reflect.ownKeys(init)) this.append(key, init[key]);
	}
	#name(name) {
		name = `${name}`;
		if (!token.test(name)) throw new TypeError(`${name} is an invalid header name.`);
		return name.toLowerCase();
	}
	#value(value) {
		value = `${value}`.replace(/^[\t\r\n ]+|[\t\r\n ]+$/g, '');
		if (/[\0\r\n]|[^\x00-\xff]/.test(value)) throw new TypeError(`${value} is an invalid header value.`);
		return value;
	}
	append(name, value) {
		if (arguments.length < 2) throw new TypeError('Headers.append: 2 arguments required');
		name = this.#name(name);
		value = this.#value(value);
		const there = this.#map.get(name);
		if (there === undefined) this.#map.set(name, [value]);
		else there.push(value);
	}
	delete(name) {
		this.#map.delete(this.#name(name));
	}
	get(name) {
		const found = this.#map.get(this.#name(name));
		return found === undefined ? null : found.join(', ');
	}
	has(name) {
		return this.#map.has(this.#name(name));
	}
	set(name, value) {
		if (arguments.length < 2) throw new TypeError('Headers.set: 2 arguments required');
		this.#map.set(this.#name(name), [this.#value(value)]);
	}
	getSetCookie() {
		return (this.#map.get('set-cookie') || []).slice();
	}
	*entries() {
		for (const name of [...this.#map.keys()].sort()) {
			const values = this.#map.get(name);
			if (name === 'set-cookie') for (const value of values) yield [name, value];
			else yield [name, values.join(', ')];
		}
	}
	*keys() {
		for (const [name] of this.entries()) yield name;
	}
	*values() {
		for (const [, value] of this.entries()) yield value;
	}
	forEach(callback, self) {
		for (const [name, value] of this.entries()) callback.call(self, value, name, this);
	}
	[Symbol.iterator]() {
		return this.entries();
	}
}
Object.defineProperty(Headers.prototype, Symbol.toStringTag, { configurable: true, value: 'Headers' });

// What is read by pieces. pull() gives a promise for bytes, or null at the end.
class ReadableStream {
	constructor(source) {
		this._source = source || { pull: async () => null, cancel() {} };
		this._used = false;
		this._locked = false;
		for (const name of ['_source', '_used', '_locked']) Object.defineProperty(this, name, { enumerable: false, writable: true });
	}
	get locked() {
		return this._locked;
	}
	async _next() {
		this._used = true;
		return this._source.pull();
	}
	async cancel(reason) {
		this._used = true;
		this._source.cancel(reason);
	}
	getReader() {
		if (this._locked) throw new TypeError('Invalid state: ReadableStream is locked');
		this._locked = true;
		return {
			read: async () => {
				const value = await this._next();
				return value === null ? { value: undefined, done: true } : { value, done: false };
			},
			cancel: (reason) => this.cancel(reason),
			releaseLock: () => {
				this._locked = false;
			},
		};
	}
	async *[Symbol.asyncIterator]() {
		if (this._locked) throw new TypeError('Invalid state: ReadableStream is locked');
		this._locked = true;
		let done = false;
		try {
			for (;;) {
				const value = await this._next();
				if (value === null) {
					done = true;
					return;
				}
				yield value;
			}
		} finally {
			if (!done) this._source.cancel();
		}
	}
}
ReadableStream.prototype.values = ReadableStream.prototype[Symbol.asyncIterator];

function ofBytes(bytes) {
	let given = bytes.length === 0;
	return new ReadableStream({
		pull: async () => {
			if (given) return null;
			given = true;
			return new Uint8Array(bytes);
		},
		cancel() {
			given = true;
		},
	});
}
// [stream, bytes if they are known, content type]
function bodyFrom(value) {
	if (value === null || value === undefined) return [null, null, null];
	if (value instanceof ReadableStream) {
		if (value._used || value._locked) throw new TypeError('Response body object should not be disturbed or locked');
		return [value, null, null];
	}
	let bytes, type = null;
	if (value instanceof URLSearchParams) {
		bytes = Buffer.from(value.toString());
		type = 'application/x-www-form-urlencoded;charset=UTF-8';
	} else if (types.isAnyArrayBuffer(value)) bytes = Buffer.from(value.slice(0));
	else if (ArrayBuffer.isView(value)) bytes = Buffer.from(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
	else if (value instanceof need('buffer').Blob) {
		const blob = value;
		return [new ReadableStream(once(async () => new Uint8Array(await blob.arrayBuffer()))), null, blob.type || null];
	} else if (typeof value === 'object' && typeof value[Symbol.asyncIterator] === 'function') {
		const iterator = value[Symbol.asyncIterator]();
		return [new ReadableStream({
			async pull() {
				const { value: chunk, done } = await iterator.next();
				if (done) return null;
				return typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
			},
			cancel() {
				if (iterator.return) iterator.return();
			},
		}), null, null];
	} else {
		bytes = Buffer.from(`${value}`);
		type = 'text/plain;charset=UTF-8';
	}
	return [ofBytes(bytes), bytes, type];
}
function once(get) {
	let given = false;
	return {
		async pull() {
			if (given) return null;
			given = true;
			return get();
		},
		cancel() {
			given = true;
		},
	};
}

const kBody = Symbol('body'), kBytes = Symbol('bytes');
class Body {
	get body() {
		return this[kBody];
	}
	get bodyUsed() {
		return this[kBody] !== null && this[kBody]._used;
	}
	async _bytes() {
		const stream = this[kBody];
		if (stream === null) return Buffer.alloc(0);
		if (stream._used || stream._locked) throw new TypeError('Body is unusable');
		stream._used = true;
		stream._locked = true;
		const parts = [];
		for (;;) {
			const part = await stream._next();
			if (part === null) break;
			parts.push(part);
		}
		return Buffer.concat(parts);
	}
	async text() {
		const bytes = await this._bytes();
		return new (need('text').TextDecoder)().decode(bytes);
	}
	async json() {
		return JSON.parse(await this.text());
	}
	async arrayBuffer() {
		const bytes = await this._bytes();
		return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
	}
	async blob() {
		const type = this.headers.get('content-type');
		return new (need('buffer').Blob)([await this._bytes()], { type: type || '' });
	}
	async formData() {
		throw new TypeError('not supported');
	}
	_split() {
		const stream = this[kBody];
		if (stream === null) return null;
		if (stream._used || stream._locked) throw new TypeError('Body has already been consumed.');
		const waiting = [[], []];
		const ends = [0, 1].map((i) => new ReadableStream({
			async pull() {
				if (waiting[i].length) return waiting[i].shift();
				const part = await stream._next();
				waiting[1 - i].push(part);
				return part;
			},
			cancel() {},
		}));
		[this[kBody]] = ends;
		return ends[1];
	}
}
Object.defineProperty(Body.prototype, '_bytes', { enumerable: false });

class Request extends Body {
	constructor(input, init = {}) {
		super();
		const from = input instanceof Request ? input : null;
		let url;
		if (from) url = from.url;
		else {
			let parsed;
			try {
				parsed = new URL(`${input}`);
			} catch (error) {
				throw Object.assign(new TypeError(`Failed to parse URL from ${input}`), { cause: error });
			}
			if (parsed.username || parsed.password) throw new TypeError(`Request cannot be constructed from a URL that includes credentials: ${input}`);
			url = parsed.href;
		}
		init = init || {};
		let method = init.method !== undefined ? `${init.method}` : from ? from.method : 'GET';
		if (!token.test(method)) throw new TypeError(`'${method}' is not a valid HTTP method.`);
		if (/^(connect|trace|track)$/i.test(method)) throw new TypeError(`'${method}' HTTP method is unsupported.`);
		if (/^(delete|get|head|options|post|put)$/i.test(method)) method = method.toUpperCase();
		const redirect = init.redirect !== undefined ? `${init.redirect}` : from ? from.redirect : 'follow';
		if (!['follow', 'error', 'manual'].includes(redirect)) throw new TypeError(`Request constructor: ${redirect} is not an accepted type.`);
		const headers = new Headers(init.headers !== undefined ? init.headers : from ? from.headers : undefined);
		if (init.body != null && (method === 'GET' || method === 'HEAD')) throw new TypeError('Request with GET/HEAD method cannot have body.');
		if (init.body != null && typeof init.body === 'object' && (init.body instanceof ReadableStream || typeof init.body[Symbol.asyncIterator] === 'function') &&
			init.duplex === undefined && !(init.body instanceof need('buffer').Blob))
			throw new TypeError('RequestInit: duplex option is required when sending a body.');
		let [stream, bytes, type] = bodyFrom(init.body);
		if (init.body == null && from && from[kBody]) {
			if (from.bodyUsed) throw new TypeError('Cannot construct a Request with a Request object that has already been used.');
			stream = from[kBody];
			bytes = from[kBytes];
		}
		if (type && !headers.has('content-type')) headers.set('content-type', type);
		this[kBody] = stream;
		this[kBytes] = bytes;
		const signal = init.signal !== undefined ? init.signal : from ? from.signal : null;
		if (signal != null && (typeof signal !== 'object' || typeof signal.aborted !== 'boolean')) throw new TypeError('Failed to construct \'Request\': member signal is not of type AbortSignal.');
		const values = { url, method, redirect, headers, signal: signal || new AbortController().signal, credentials: 'same-origin', mode: 'cors', cache: 'default', integrity: '', keepalive: false, referrer: 'about:client', duplex: 'half', destination: '' };
		for (const key of Object.keys(values)) Object.defineProperty(this, key, { value: values[key], configurable: true, enumerable: false });
	}
	clone() {
		const copy = new Request(this.url, { method: this.method, headers: this.headers, redirect: this.redirect, signal: this.signal });
		copy[kBody] = this._split();
		copy[kBytes] = this[kBytes];
		return copy;
	}
}
Object.defineProperty(Request.prototype, Symbol.toStringTag, { configurable: true, value: 'Request' });

class Response extends Body {
	constructor(body = null, init = {}) {
		super();
		init = init || {};
		const status = init.status === undefined ? 200 : Number(init.status);
		if (!init._inner && !(status >= 200 && status <= 599)) throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
		const headers = new Headers(init.headers);
		const [stream, bytes, type] = init._inner ? [body, null, null] : bodyFrom(body);
		if (stream && !init._inner && [204, 205, 304].includes(status)) throw new TypeError(`Response constructor: Invalid response status code ${status}`);
		if (type && !headers.has('content-type')) headers.set('content-type', type);
		this[kBody] = stream;
		this[kBytes] = bytes;
		const values = {
			status, statusText: init.statusText === undefined ? '' : `${init.statusText}`, headers, ok: status >= 200 && status <= 299,
			url: init._url || '', redirected: !!init._redirected, type: init._type || 'default',
		};
		for (const key of Object.keys(values)) Object.defineProperty(this, key, { value: values[key], configurable: true, enumerable: false });
	}
	clone() {
		const stream = this._split();
		return new Response(stream, {
			_inner: true, status: this.status, statusText: this.statusText, headers: this.headers, _url: this.url, _redirected: this.redirected, _type: this.type,
		});
	}
	static error() {
		return new Response(null, { _inner: true, status: 0, _type: 'error' });
	}
	static redirect(url, status = 302) {
		if (![301, 302, 303, 307, 308].includes(status)) throw new RangeError(`Invalid status code ${status}`);
		return new Response(null, { status, headers: { location: new URL(`${url}`).href } });
	}
	static json(value, init) {
		const response = new Response(JSON.stringify(value), init);
		if (!(init && init.headers && new Headers(init.headers).has('content-type'))) response.headers.set('content-type', 'application/json');
		return response;
	}
}
Object.defineProperty(Response.prototype, Symbol.toStringTag, { configurable: true, value: 'Response' });
for (const Type of [Request, Response]) for (const symbol of [kBody, kBytes]) Object.defineProperty(Type.prototype, symbol, { writable: true, enumerable: false, value: null });

function failed(cause) {
	const error = new TypeError('fetch failed');
	if (cause) Object.defineProperty(error, 'cause', { value: cause, configurable: true, writable: true, enumerable: false });
	return error;
}

// One exchange with a server: a promise for its head, with a stream of what follows.
function exchange(url, method, headers, bytes, stream, signal, limits = {}) {
	return new Promise((resolve, reject) => {
		const { Socket } = need('net'), { _Parser } = need('http');
		const socket = new Socket({ allowHalfOpen: true });
		let answered = false, over = false, failure = null, timer = null;
		const chunks = [];
		let wake = null, size = 0;
		const touch = () => {
			if (!limits.idle) return;
			if (timer) core.timers.clearTimeout(timer);
			timer = core.timers.setTimeout(() => fail(new Error('nothing came for too long')), limits.idle);
		};
		const close = () => {
			if (timer) core.timers.clearTimeout(timer);
			timer = null;
			if (signal) signal.removeEventListener('abort', abort);
			socket.destroy();
		};
		const tell = () => {
			if (wake) {
				const go = wake;
				wake = null;
				go();
			}
		};
		const fail = (error, exact) => {
			if (over || failure) return;
			if (!answered) {
				answered = true;
				failure = error;
				reject(exact ? error : failed(error));
			} else {
				failure = exact ? error : Object.assign(new TypeError('terminated'), {});
				if (!exact) Object.defineProperty(failure, 'cause', { value: error, configurable: true, writable: true, enumerable: false });
				tell();
			}
			close();
		};
		// Once there is an answer, whatever the reason was.
		const abort = () => fail(answered ? new DOMException('The operation was aborted.', 'AbortError') : signal.reason, true);
		if (signal) signal.addEventListener('abort', abort, { once: true });
		const body = {
			async pull() {
				for (;;) {
					if (chunks.length) {
						const chunk = chunks.shift();
						size -= chunk.length;
						if (size < 65536 && !over) socket.resume();
						return chunk;
					}
					if (failure) throw failure;
					if (over) return null;
					await new Promise((go) => {
						wake = go;
					});
				}
			},
			cancel() {
				over = true;
				chunks.length = 0;
				close();
			},
		};
		const parser = new _Parser({
			head(first, raw, received, info) {
				if (first.status >= 100 && first.status < 200) {
					interim = true;
					return true;
				}
				interim = false;
				answered = true;
				const none = method === 'HEAD' || first.status === 204 || first.status === 304;
				resolve({ status: first.status, message: first.message, raw, body: none ? null : new ReadableStream(body), none, info });
				return none;
			},
			data(part) {
				chunks.push(new Uint8Array(part));
				size += part.length;
				if (size > 131072) socket.pause();
				tell();
			},
			end() {
				if (interim) {
					parser.state = 'head';
					interim = false;
					return;
				}
				over = true;
				tell();
				close();
			},
		}, true);
		let interim = false;
		touch();
		socket.on('data', (chunk) => {
			touch();
			try {
				if (!over && !failure) parser.feed(Buffer.from(chunk));
			} catch (error) {
				fail(error);
			}
		});
		socket.on('end', () => {
			if (!parser.over() || !answered) fail(new Error('other side closed'));
		});
		socket.on('error', (error) => fail(error));
		socket.on('close', () => {
			if (!over) fail(new Error('other side closed'));
		});
		const port = url.port || '80';
		let text = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nConnection: close\r\n`;
		for (const [name, value] of headers) if (!['host', 'connection', 'content-length', 'transfer-encoding'].includes(name)) text += `${name}: ${value}\r\n`;
		if (bytes) text += `Content-Length: ${bytes.length}\r\n`;
		else if (stream) text += 'Transfer-Encoding: chunked\r\n';
		else if (method === 'POST' || method === 'PUT' || method === 'PATCH') text += 'Content-Length: 0\r\n';
		socket.connect({ host: url.hostname, port: +port }, () => {
			socket.setNoDelay(true);
			socket.write(Buffer.from(`${text}\r\n`, 'latin1'));
			if (bytes && bytes.length) socket.write(bytes);
			else if (stream) {
				(async () => {
					for (;;) {
						const part = await stream._next();
						if (part === null) break;
						if (!(part instanceof Uint8Array)) throw new TypeError('Received non-Uint8Array chunk');
						if (part.length === 0) continue;
						const data = Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]);
						if (!socket.write(data)) await new Promise((go) => {
							socket.once('drain', go);
							socket.once('close', go);
						});
						if (socket.destroyed) return;
					}
					if (!socket.destroyed) socket.write('0\r\n\r\n');
				})().catch((error) => fail(error));
			}
			socket.resume();
		});
	});
}

async function fetch(input, init) {
	const request = new Request(input, init);
	const { signal } = request;
	if (signal.aborted) throw signal.reason;
	let url = new URL(request.url), { method } = request;
	const headers = new Headers(request.headers);
	let bytes = request[kBytes], stream = request[kBody];
	if (stream) stream._used = true;
	for (const [name, value] of [['accept', '*/*'], ['accept-language', '*'], ['sec-fetch-mode', 'cors'], ['user-agent', 'skarn']])
		if (!headers.has(name)) headers.set(name, value);
	for (let count = 0; ; count++) {
		if (url.protocol === 'about:' || !['http:'].includes(url.protocol)) throw failed(new Error('not implemented... yet...'));
		const answer = await exchange(url, method, headers, bytes, bytes ? null : stream, signal);
		const location = [];
		for (let i = 0; i < answer.raw.length; i += 2) if (answer.raw[i].toLowerCase() === 'location') location.push(answer.raw[i + 1]);
		if ([301, 302, 303, 307, 308].includes(answer.status) && request.redirect !== 'manual' && (location.length || request.redirect === 'error')) {
			if (answer.body) answer.body._source.cancel();
			if (request.redirect === 'error') throw failed(new Error('unexpected redirect'));
			let next;
			try {
				next = new URL(location[0], url);
			} catch (error) {
				throw failed(error);
			}
			if (next.protocol !== 'http:' && next.protocol !== 'https:') throw failed(new Error('URL scheme must be a HTTP(S) scheme'));
			if (count >= 20) throw failed(new Error('redirect count exceeded'));
			if (!next.hash && url.hash) next.hash = url.hash;
			if (answer.status !== 303 && stream && !bytes) throw failed(new Error('a stream cannot be sent again'));
			if (((answer.status === 301 || answer.status === 302) && method === 'POST') || (answer.status === 303 && method !== 'GET' && method !== 'HEAD')) {
				method = 'GET';
				bytes = stream = null;
				for (const name of ['content-encoding', 'content-language', 'content-location', 'content-type', 'content-length']) headers.delete(name);
			}
			if (next.origin !== url.origin) for (const name of ['authorization', 'cookie', 'host', 'proxy-authorization']) headers.delete(name);
			url = next;
			continue;
		}
		const received = new Headers();
		for (let i = 0; i < answer.raw.length; i += 2) received.append(answer.raw[i], answer.raw[i + 1]);
		const shown = new URL(url);
		shown.hash = '';
		return new Response(answer.body, {
			_inner: true, status: answer.status, statusText: answer.message, headers: received, _url: shown.href, _redirected: count > 0, _type: 'basic',
		});
	}
}
class FormData {}
const { AbortController } = need('abort');
Object.assign(exports, { fetch, Headers, Request, Response, FormData, ReadableStream, exchange });
