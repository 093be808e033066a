// HTTP: what both sides need, and the server.
const core = need('core');
const net = need('net');
const { Readable, Writable } = need('stream');
const { Buffer } = need('buffer');
const { coded, invalidType, network } = need('errors');

const STATUS_CODES = {
	100: 'Continue', 101: 'Switching Protocols', 102: 'Processing', 103: 'Early Hints', 200: 'OK', 201: 'Created', 202: 'Accepted',
	203: 'Non-Authoritative Information', 204: 'No Content', 205: 'Reset Content', 206: 'Partial Content', 207: 'Multi-Status',
	208: 'Already Reported', 226: 'IM Used', 300: 'Multiple Choices', 301: 'Moved Permanently', 302: 'Found', 303: 'See Other',
	304: 'Not Modified', 305: 'Use Proxy', 307: 'Temporary Redirect', 308: 'Permanent Redirect', 400: 'Bad Request',
	401: 'Unauthorized', 402: 'Payment Required', 403: 'Forbidden', 404: 'Not Found', 405: 'Method Not Allowed', 406: 'Not Acceptable',
	407: 'Proxy Authentication Required', 408: 'Request Timeout', 409: 'Conflict', 410: 'Gone', 411: 'Length Required',
	412: 'Precondition Failed', 413: 'Payload Too Large', 414: 'URI Too Long', 415: 'Unsupported Media Type', 416: 'Range Not Satisfiable',
	417: 'Expectation Failed', 418: 'I\'m a Teapot', 421: 'Misdirected Request', 422: 'Unprocessable Entity', 423: 'Locked',
	424: 'Failed Dependency', 425: 'Too Early', 426: 'Upgrade Required', 428: 'Precondition Required', 429: 'Too Many Requests',
	431: 'Request Header Fields Too Large', 451: 'Unavailable For Legal Reasons', 500: 'Internal Server Error', 501: 'Not Implemented',
	502: 'Bad Gateway', 503: 'Service Unavailable', 504: 'Gateway Timeout', 505: 'HTTP Version Not Supported', 506: 'Variant Also Negotiates',
	507: 'Insufficient Storage', 508: 'Loop Detected', 509: 'Bandwidth Limit Exceeded', 510: 'Not Extended', 511: 'Network Authentication Required',
};
const METHODS = ['ACL', 'BIND', 'CHECKOUT', 'CONNECT', 'COPY', 'DELETE', 'GET', 'HEAD', 'LINK', 'LOCK', 'M-SEARCH', 'MERGE', 'MKACTIVITY',
	'MKCALENDAR', 'MKCOL', 'MOVE', 'NOTIFY', 'OPTIONS', 'PATCH', 'POST', 'PROPFIND', 'PROPPATCH', 'PURGE', 'PUT', 'REBIND', 'REPORT', 'SEARCH',
	'SOURCE', 'SUBSCRIBE', 'TRACE', 'UNBIND', 'UNLINK', 'UNLOCK', 'UNSUBSCRIBE'];
const methods = new Set(METHODS);
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const badValue = /[^\t\x20-\x7e\x80-\xff]/;
const most = 16384;
const single = new Set(['age', 'authorization', 'content-length', 'content-type', 'etag', 'expires', 'from', 'host', 'if-modified-since',
	'if-unmodified-since', 'last-modified', 'location', 'max-forwards', 'proxy-authorization', 'referer', 'retry-after', 'server', 'user-agent']);

class Bad extends Error {
	constructor(status, code) {
		super(`Parse Error: ${code}`);
		this.status = status;
		this.code = code;
	}
}

function fold(raw) {
	const headers = {};
	for (let i = 0; i < raw.length; i += 2) {
		const name = raw[i].toLowerCase(), value = raw[i + 1];
		if (name === 'set-cookie') {
			if (headers[name] === undefined) headers[name] = [value];
			else headers[name].push(value);
		} else if (headers[name] === undefined) Object.defineProperty(headers, name, { value, writable: true, enumerable: true, configurable: true });
		else if (!single.has(name)) headers[name] += (name === 'cookie' ? '; ' : ', ') + value;
	}
	return headers;
}

// Takes messages apart that come in pieces. `on` has head(first line, raw), data(bytes), end(), for one after the other.
class Parser {
	constructor(on, response) {
		this.on = on;
		this.response = response;
		this.rest = null;
		this.state = 'head';
		this.left = 0;
		this.seen = 0;
		this.stopped = false;
	}
	feed(chunk) {
		let bytes = this.rest ? Buffer.concat([this.rest, chunk]) : chunk;
		this.rest = null;
		while (!this.stopped) {
			if (bytes.length === 0 && this.state !== 'done') break;
			switch (this.state) {
			case 'head': {
				let at = 0;
				if (this.seen === 0) while (at < bytes.length && (bytes[at] === 13 || bytes[at] === 10)) at++;
				if (at) bytes = bytes.subarray(at);
				if (bytes.length === 0) break;
				const end = sys.headerEnd(bytes, Math.max(0, this.seen - 3), bytes.length);
				if (end < 0) {
					this.check(bytes);
					if (bytes.length > most) throw new Bad(431, 'HPE_HEADER_OVERFLOW');
					this.seen = bytes.length;
					this.rest = bytes;
					return;
				}
				if (end > most + 256) throw new Bad(431, 'HPE_HEADER_OVERFLOW');
				this.seen = 0;
				const text = sys.decode(bytes, 0, end, 1);
				bytes = bytes.subarray(end);
				this.head(text);
				break;
			}
			case 'body': {
				const part = bytes.length > this.left ? bytes.subarray(0, this.left) : bytes;
				bytes = bytes.subarray(part.length);
				this.left -= part.length;
				this.on.data(part);
				if (this.left === 0) this.finish();
				break;
			}
			case 'all':
				this.on.data(bytes);
				return;
			case 'size': {
				const at = bytes.indexOf(10);
				if (at < 0) {
					if (bytes.length > 4096) throw new Bad(400, 'HPE_INVALID_CHUNK_SIZE');
					if (!/^[0-9a-fA-F]*($|[;\r\t ])/.test(sys.decode(bytes, 0, bytes.length, 1))) throw new Bad(400, 'HPE_INVALID_CHUNK_SIZE');
					this.rest = Buffer.from(bytes);
					return;
				}
				const line = sys.decode(bytes, 0, at, 1).replace(/\r$/, ''), match = /^([0-9a-fA-F]{1,13})[ \t]*(;.*)?$/.exec(line);
				if (!match) throw new Bad(400, 'HPE_INVALID_CHUNK_SIZE');
				bytes = bytes.subarray(at + 1);
				this.left = parseInt(match[1], 16);
				this.state = this.left === 0 ? 'trailer' : 'chunk';
				break;
			}
			case 'chunk': {
				const part = bytes.length > this.left ? bytes.subarray(0, this.left) : bytes;
				bytes = bytes.subarray(part.length);
				this.left -= part.length;
				this.on.data(part);
				if (this.left === 0) this.state = 'line';
				break;
			}
			case 'line':
				if (bytes[0] === 10) {
					bytes = bytes.subarray(1);
					this.state = 'size';
				} else if (bytes[0] === 13) {
					if (bytes.length < 2) {
						this.rest = Buffer.from(bytes);
						return;
					}
					if (bytes[1] !== 10) throw new Bad(400, 'HPE_STRICT');
					bytes = bytes.subarray(2);
					this.state = 'size';
				} else throw new Bad(400, 'HPE_STRICT');
				break;
			case 'trailer': {
				const at = bytes.indexOf(10);
				if (at < 0) {
					if (bytes.length > most) throw new Bad(431, 'HPE_HEADER_OVERFLOW');
					this.rest = Buffer.from(bytes);
					return;
				}
				const empty = at === 0 || (at === 1 && bytes[0] === 13);
				this.seen += at;
				if (this.seen > most) throw new Bad(431, 'HPE_HEADER_OVERFLOW');
				bytes = bytes.subarray(at + 1);
				if (empty) {
					this.seen = 0;
					this.finish();
				}
				break;
			}
			case 'done':
				return;
			}
			if (this.paused && bytes.length) {
				this.rest = Buffer.from(bytes);
				return;
			}
		}
		if (bytes.length) this.rest = Buffer.from(bytes);
	}
	// What can be seen to be no HTTP before its head is whole.
	check(bytes) {
		const text = sys.decode(bytes, 0, Math.min(bytes.length, 64), 1);
		if (this.response) {
			if (!'HTTP/'.startsWith(text.slice(0, 5))) throw new Bad(400, 'HPE_INVALID_CONSTANT');
			return;
		}
		const space = text.indexOf(' '), method = space < 0 ? text : text.slice(0, space);
		if (space < 0 ? !METHODS.some((one) => one.startsWith(method)) : !methods.has(method)) throw new Bad(400, 'HPE_INVALID_METHOD');
		const line = bytes.indexOf(10);
		if (line >= 0) this.firstLine(sys.decode(bytes, 0, line, 1).replace(/\r$/, ''));
	}
	firstLine(line) {
		if (this.response) {
			const match = /^HTTP\/1\.([01]) ([0-9]{3})(?: (.*))?$/.exec(line);
			if (!match) throw new Bad(400, 'HPE_INVALID_CONSTANT');
			return { version: `1.${match[1]}`, status: +match[2], message: match[3] || '' };
		}
		const match = /^([A-Z-]+) ([^\x00-\x20\x7f]+) HTTP\/([0-9])\.([0-9])$/.exec(line);
		if (!match || !methods.has(match[1])) throw new Bad(400, 'HPE_INVALID_METHOD');
		if (match[3] !== '1' || +match[4] > 1) throw new Bad(400, 'HPE_INVALID_VERSION');
		return { method: match[1], url: match[2], version: `${match[3]}.${match[4]}` };
	}
	head(text) {
		const lines = text.split('\n');
		const first = this.firstLine(lines[0].replace(/\r$/, ''));
		const raw = [];
		for (let i = 1; i < lines.length; i++) {
			const line = lines[i].replace(/\r$/, '');
			if (line === '') continue;
			const colon = line.indexOf(':');
			if (colon <= 0) throw new Bad(400, 'HPE_INVALID_HEADER_TOKEN');
			const name = line.slice(0, colon), value = line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '');
			if (!token.test(name)) throw new Bad(400, 'HPE_INVALID_HEADER_TOKEN');
			if (badValue.test(value)) throw new Bad(400, 'HPE_INVALID_HEADER_TOKEN');
			raw.push(name, value);
		}
		const headers = fold(raw);
		let length = null, coding = null;
		for (let i = 0; i < raw.length; i += 2) {
			const name = raw[i].toLowerCase();
			if (name === 'content-length') {
				if (length !== null || !/^[0-9]{1,15}$/.test(raw[i + 1])) throw new Bad(400, 'HPE_UNEXPECTED_CONTENT_LENGTH');
				length = +raw[i + 1];
			} else if (name === 'transfer-encoding') coding = coding === null ? raw[i + 1] : `${coding},${raw[i + 1]}`;
		}
		const chunked = coding !== null && /(^|,)[ \t]*chunked[ \t]*$/i.test(coding);
		if (coding !== null && (length !== null || (!chunked && !this.response))) throw new Bad(400, 'HPE_INVALID_TRANSFER_ENCODING');
		const bodiless = this.on.head(first, raw, headers, { length, chunked });
		if (bodiless) this.finish();
		else if (chunked) this.state = 'size';
		else if (length !== null) {
			this.left = length;
			if (length === 0) this.finish();
			else this.state = 'body';
		} else if (this.response) this.state = 'all';
		else this.finish();
	}
	finish() {
		this.state = this.response ? 'done' : 'head';
		this.on.end();
	}
	// The other side has closed: was it the end of something?
	over() {
		if (this.state === 'all') {
			this.state = 'done';
			this.on.end();
			return true;
		}
		return this.state === 'done' || (this.state === 'head' && !this.rest);
	}
}

class IncomingMessage extends Readable {
	constructor(socket) {
		super({ highWaterMark: 65536, autoDestroy: false });
		this.socket = this.connection = socket;
		this.httpVersion = '1.1';
		this.headers = {};
		this.rawHeaders = [];
		this.trailers = {};
		this.rawTrailers = [];
		this.aborted = false;
		this.complete = false;
		this.url = '';
		this.method = null;
		this.statusCode = null;
		this.statusMessage = null;
		this._wanted = null;
	}
	get httpVersionMajor() {
		return 1;
	}
	get httpVersionMinor() {
		return +this.httpVersion[2];
	}
	_read() {
		if (this._wanted) this._wanted();
	}
	_destroy(error, callback) {
		if (!this.readableEnded || !this.complete) {
			this.aborted = true;
			this.emit('aborted');
			if (!this.complete && this._abort) this._abort(error);
		}
		if (error && this.listenerCount('error') === 0) error = null;
		core.tick(callback, error);
	}
	setTimeout(after, callback) {
		this.socket.setTimeout(after, callback);
		return this;
	}
}
for (const name of ['_wanted', '_abort', '_answered', '_dumped'])
	Object.defineProperty(IncomingMessage.prototype, name, { writable: true, enumerable: false, value: null });

function checkName(name) {
	if (typeof name !== 'string' || !token.test(name)) throw coded(TypeError, 'ERR_INVALID_HTTP_TOKEN', `Header name must be a valid HTTP token ["${name}"]`);
}
function checkValue(name, value) {
	if (value === undefined) throw coded(TypeError, 'ERR_HTTP_INVALID_HEADER_VALUE', `Invalid value "${value}" for header "${name}"`);
	if (badValue.test(`${value}`)) throw coded(TypeError, 'ERR_INVALID_CHAR', `Invalid character in header content ["${name}"]`);
}
function sent(what) {
	return coded(Error, 'ERR_HTTP_HEADERS_SENT', `Cannot ${what} headers after they are sent to the client`);
}

class ServerResponse extends Writable {
	constructor(req) {
		super({ decodeStrings: true });
		this.req = req;
		this.statusCode = 200;
		this.statusMessage = undefined;
		this.sendDate = true;
		this.headersSent = false;
		this._names = new Map();
		this._connection = null;
		this._bodiless = req.method === 'HEAD';
		this._chunked = false;
		this._length = null;
		this._sentBytes = 0;
		this._last = false;
		this._queue = null;
		this.socket = this.connection = null;
	}
	get finished() {
		return this.writableEnded;
	}
	setHeader(name, value) {
		if (this.headersSent) throw sent('set');
		checkName(name);
		for (const one of Array.isArray(value) ? value : [value]) checkValue(name, one);
		this._names.set(name.toLowerCase(), [name, value]);
		return this;
	}
	appendHeader(name, value) {
		const there = this.getHeader(name);
		return this.setHeader(name, there === undefined ? value : [].concat(there, value));
	}
	getHeader(name) {
		const found = this._names.get(`${name}`.toLowerCase());
		return found && found[1];
	}
	getHeaders() {
		const all = Object.create(null);
		for (const [key, [, value]] of this._names) all[key] = value;
		return all;
	}
	getHeaderNames() {
		return [...this._names.keys()];
	}
	hasHeader(name) {
		return this._names.has(`${name}`.toLowerCase());
	}
	removeHeader(name) {
		if (this.headersSent) throw sent('remove');
		this._names.delete(`${name}`.toLowerCase());
	}
	writeHead(status, message, headers) {
		if (this.headersSent || this._written) throw sent('write');
		const code = status | 0;
		if (code < 100 || code > 999) throw coded(RangeError, 'ERR_HTTP_INVALID_STATUS_CODE', `Invalid status code: ${status}`);
		if (typeof message === 'string') this.statusMessage = message;
		else headers = message;
		this.statusCode = code;
		if (Array.isArray(headers)) {
			if (Array.isArray(headers[0])) headers = headers.flat();
			for (let i = 0; i < headers.length; i += 2) {
				checkName(headers[i]);
				const key = headers[i].toLowerCase(), there = this._names.get(key);
				checkValue(headers[i], headers[i + 1]);
				this._names.set(key, [headers[i], there && there[2] === headers ? [].concat(there[1], headers[i + 1]) : headers[i + 1], headers]);
			}
		} else if (headers) for (const key of Object.keys(headers)) if (key) this.setHeader(key, headers[key]);
		if (this.statusMessage !== undefined && badValue.test(this.statusMessage)) throw coded(TypeError, 'ERR_INVALID_CHAR', 'Invalid character in statusMessage');
		this._written = true;
		this.headersSent = true;
		return this;
	}
	flushHeaders() {
		this._begin();
	}
	writeContinue() {
		this._push(Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'));
	}
	setTimeout(after, callback) {
		if (callback) this.once('timeout', callback);
		return this;
	}
	write(chunk, encoding, callback) {
		if (this._connection && !this.writableEnded && !this.destroyed && !this._begun && chunk !== null && chunk !== undefined) this._begin();
		return super.write(chunk, encoding, callback);
	}
	end(chunk, encoding, callback) {
		if (typeof chunk === 'function') [callback, chunk] = [chunk, undefined];
		else if (typeof encoding === 'function') [callback, encoding] = [encoding, undefined];
		if (!this.writableEnded && !this._begun && !this.destroyed) {
			const length = chunk === undefined || chunk === null ? 0 : typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : chunk.length;
			this._begin(length || 0);
		}
		if (callback && !this.writableEnded && !this.destroyed) {
			this.once('finish', callback);
			callback = undefined;
		}
		return super.end(chunk, encoding, callback);
	}
	// Writes the head; the length is known if the body comes at once.
	_begin(length) {
		if (this._begun) return;
		this._begun = true;
		this._written = true;
		this.headersSent = true;
		const { req } = this;
		const none = this.statusCode === 204 || this.statusCode === 304 || (this.statusCode >= 100 && this.statusCode < 200);
		if (none) this._bodiless = true;
		const connection = `${this.getHeader('connection') || ''}`.toLowerCase();
		const asked = `${req.headers.connection || ''}`.toLowerCase();
		let keep = req.httpVersion === '1.1' ? !/\bclose\b/.test(asked) : /\bkeep-alive\b/.test(asked);
		if (/\bclose\b/.test(connection)) keep = false;
		if (this._connection.server._closingAll) keep = false;
		const given = this.getHeader('content-length'), coding = this.getHeader('transfer-encoding');
		const lines = [];
		if (none) {
			if (this.statusCode !== 304) this._names.delete('content-length');
			this._names.delete('transfer-encoding');
		} else if (coding !== undefined && /chunked/i.test(`${coding}`)) this._chunked = req.httpVersion === '1.1';
		else if (given !== undefined) this._length = +given;
		else if (length !== undefined && !(this._bodiless && length === 0)) {
			lines.push(`Content-Length: ${length}`);
		} else if (this._bodiless) {
			// Nothing is said about what is not sent.
		} else if (req.httpVersion === '1.1') {
			this._chunked = true;
			lines.push('Transfer-Encoding: chunked');
		} else keep = false;
		this._last = !keep;
		let text = `HTTP/1.1 ${this.statusCode} ${this.statusMessage === undefined ? STATUS_CODES[this.statusCode] || 'unknown' : this.statusMessage}\r\n`;
		for (const [name, value] of this._names.values())
			if (Array.isArray(value) && !(name.toLowerCase() === 'cookie')) for (const one of value) text += `${name}: ${one}\r\n`;
			else text += `${name}: ${Array.isArray(value) ? value.join('; ') : value}\r\n`;
		if (this.sendDate && !this.hasHeader('date')) lines.push(`Date: ${new Date().toUTCString()}`);
		if (!this.hasHeader('connection')) lines.push(`Connection: ${keep ? 'keep-alive' : 'close'}`);
		if (keep && !this.hasHeader('keep-alive') && !this.hasHeader('connection')) lines.push(`Keep-Alive: timeout=${Math.floor(this._connection.server.keepAliveTimeout / 1000)}`);
		this._headBytes = Buffer.from(`${text}${lines.map((line) => `${line}\r\n`).join('')}\r\n`, 'latin1');
		if (length === undefined) {
			const head = this._headBytes;
			this._headBytes = null;
			this._push(head, () => {});
		}
	}
	_frame(data) {
		if (this._bodiless) return null;
		if (!this._chunked) return data;
		if (data.length === 0) return null;
		return Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`, 'latin1'), data, Buffer.from('\r\n')]);
	}
	_write(data, encoding, callback) {
		if (!this._begun) this._begin();
		let bytes = this._frame(data);
		if (this._headBytes) {
			bytes = bytes ? Buffer.concat([this._headBytes, bytes]) : this._headBytes;
			this._headBytes = null;
		}
		if (bytes) this._push(bytes, callback);
		else callback();
	}
	_final(callback) {
		if (!this._begun) this._begin(0);
		let bytes = this._chunked && !this._bodiless ? Buffer.from('0\r\n\r\n') : null;
		if (this._headBytes) {
			bytes = bytes ? Buffer.concat([this._headBytes, bytes]) : this._headBytes;
			this._headBytes = null;
		}
		const done = () => {
			callback();
			this._connection.answered(this);
		};
		if (bytes) this._push(bytes, done);
		else this._push(Buffer.alloc(0), done);
	}
	// In order: what belongs to a later answer waits.
	_push(bytes, callback = () => {}) {
		if (this._connection.queue[0] !== this) {
			(this._queue = this._queue || []).push([bytes, callback]);
			return;
		}
		this._connection.send(bytes, callback);
	}
	_turn() {
		const queue = this._queue;
		this._queue = null;
		for (const [bytes, callback] of queue || []) this._connection.send(bytes, callback);
	}
	_destroy(error, callback) {
		if (this._connection && !this.writableFinished) this._connection.socket.destroy(error);
		callback(error);
	}
}

class Connection {
	constructor(server, socket) {
		this.server = server;
		this.socket = socket;
		this.queue = [];
		this.req = null;
		this.failed = null;
		this.idle = null;
		this.served = 0;
		this.parser = new Parser({
			head: (first, raw, headers, size) => this.head(first, raw, headers, size),
			data: (bytes) => {
				if (this.req && !this.req.destroyed && !this.req._dumped) {
					// The socket's buffer is its own each time.
					if (!this.req.push(bytes)) {
						this.parser.paused = true;
						socket.pause();
					}
				}
			},
			end: () => {
				const { req } = this;
				this.req = null;
				if (req) {
					req.complete = true;
					if (!req.destroyed) {
						req.push(null);
						if (req._dumped) req.resume();
					}
				}
			},
		}, false);
		socket.on('data', (chunk) => this.feed(chunk));
		socket.on('end', () => this.ended());
		socket.on('error', (error) => {
			if (server.listenerCount('clientError') > 0) server.emit('clientError', error, socket);
		});
		socket.on('close', () => this.closed());
		socket.on('timeout', () => {
			if (!server.emit('timeout', socket)) socket.destroy();
		});
		socket._http = this;
		this.rest();
	}
	// Nobody asks for now: after a while the connection is closed.
	rest() {
		if (this.idle) core.timers.clearTimeout(this.idle);
		const after = this.served ? this.server.keepAliveTimeout : this.server.headersTimeout;
		this.idle = after > 0 ? core.timers.setTimeout(() => this.late(), after + (this.served ? 1000 : 0)) : null;
		if (this.idle) this.idle.unref();
	}
	late() {
		this.idle = null;
		if (this.queue.length) return;
		if (this.parser.rest || !this.served) this.fail(new Bad(408, 'ERR_HTTP_REQUEST_TIMEOUT'));
		else this.socket.destroy();
	}
	feed(chunk) {
		if (this.failed) return;
		try {
			this.parser.feed(chunk);
		} catch (error) {
			if (!(error instanceof Bad)) throw error;
			this.fail(error);
		}
	}
	more() {
		if (this.failed) return;
		if (this.parser.paused) {
			this.parser.paused = false;
			if (this.parser.rest) {
				const { rest } = this.parser;
				this.parser.rest = null;
				this.feed(rest);
			}
		}
		if (!this.parser.paused && this.queue.length < 64) this.socket.resume();
	}
	fail(error) {
		this.failed = error;
		this.parser.stopped = true;
		if (this.req && !this.req.destroyed) {
			this.reset(this.req);
			this.req = null;
		}
		if (this.server.listenerCount('clientError') > 0) {
			this.server.emit('clientError', error, this.socket);
			return;
		}
		if (this.queue.length === 0 || !this.queue[0].headersSent) this.refuse();
		else this.socket.destroy();
	}
	refuse() {
		const { socket, failed } = this;
		const message = STATUS_CODES[failed.status];
		for (const res of this.queue.splice(0)) {
			res._connection = null;
			res.destroy();
		}
		if (socket.destroyed) return;
		socket.end(`HTTP/1.1 ${failed.status} ${message}\r\nConnection: close\r\n\r\n`);
		// What is still on its way is read, else the answer would be lost with it.
		socket.resume();
		const timer = core.timers.setTimeout(() => socket.destroy(), 1000);
		socket.once('close', () => core.timers.clearTimeout(timer));
	}
	head(first, raw, headers, size) {
		const { server, socket } = this;
		if (this.idle) core.timers.clearTimeout(this.idle);
		this.idle = null;
		const req = new server._Request(socket);
		Object.assign(req, { method: first.method, url: first.url, httpVersion: first.version, headers, rawHeaders: raw });
		req._wanted = () => this.more();
		req._abort = () => {
			if (this.req === req) socket.destroy();
		};
		this.req = req;
		const res = new server._Response(req);
		res._connection = this;
		res.socket = res.connection = socket;
		this.queue.push(res);
		this.served++;
		if (this.queue.length >= 64) socket.pause();
		const expect = headers.expect;
		core.run(() => {
			if (expect !== undefined && first.version === '1.1') {
				if (/^100-continue$/i.test(expect)) {
					if (server.emit('checkContinue', req, res)) return;
					res.writeContinue();
				} else if (server.emit('checkExpectation', req, res)) return;
				else {
					res.writeHead(417);
					res.end();
					return;
				}
			}
			server.emit('request', req, res);
		});
		return false;
	}
	send(bytes, callback) {
		if (this.socket.destroyed || !this.socket.writable) {
			core.tick(callback);
			return;
		}
		// Who has gone is no error of the answer's.
		this.socket.write(bytes, () => callback());
	}
	answered(res) {
		const { req } = res;
		if (!req.complete || !req.readableEnded) {
			// The rest of what was asked is thrown away.
			if (req.readableFlowing !== true) {
				req._dumped = true;
				req.resume();
			}
			this.more();
		}
		req._answered = true;
		req._abort = null;
		const leave = () => {
			if (!res.destroyed) res.destroy();
			if (req.readableEnded) req.destroy();
			else req.once('end', () => core.tick(() => req.destroy()));
		};
		// After `finish`, and after the end of what nobody has read.
		core.tick(() => core.tick(() => core.tick(leave)));
		this.queue.shift();
		if (res._last) {
			this.parser.stopped = true;
			this.failed = this.failed || new Bad(400, 'closed');
			this.socket.destroySoon();
			return;
		}
		if (this.queue.length) this.queue[0]._turn();
		else if (this.failed) this.refuse();
		else if (this.halfClosed) this.socket.end();
		else this.rest();
		this.more();
	}
	ended() {
		this.halfClosed = true;
		if (!this.parser.over() && !this.failed) {
			if (this.req) {
				this.reset(this.req);
				this.req = null;
				this.socket.destroy();
			} else this.fail(new Bad(400, 'HPE_INVALID_EOF_STATE'));
			return;
		}
		// Who has closed gets nothing more, as with Node.
		this.socket.end();
	}
	closed() {
		if (this.idle) core.timers.clearTimeout(this.idle);
		this.parser.stopped = true;
		this.failed = this.failed || new Bad(400, 'closed');
		this.req = null;
		for (const res of this.queue.splice(0)) {
			this.reset(res.req);
			if (!res.destroyed) res.destroy();
		}
	}
	// A request whose client is gone before it was answered.
	reset(req) {
		if (req._answered || req.destroyed) return;
		req._abort = null;
		req.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }));
	}
}

class Server extends net.Server {
	constructor(options, listener) {
		if (typeof options === 'function') [listener, options] = [options, {}];
		super({ allowHalfOpen: true });
		options = options || {};
		this._Request = options.IncomingMessage || IncomingMessage;
		this._Response = options.ServerResponse || ServerResponse;
		this.keepAliveTimeout = options.keepAliveTimeout === undefined ? 5000 : options.keepAliveTimeout;
		this.headersTimeout = options.headersTimeout === undefined ? 60000 : options.headersTimeout;
		this.requestTimeout = options.requestTimeout === undefined ? 300000 : options.requestTimeout;
		this.timeout = 0;
		this.maxHeadersCount = null;
		if (listener) this.on('request', listener);
		this.on('connection', (socket) => {
			socket.setNoDelay(true);
			if (this.timeout) socket.setTimeout(this.timeout);
			new Connection(this, socket);
		});
	}
	setTimeout(after, callback) {
		this.timeout = after;
		if (callback) this.on('timeout', callback);
		return this;
	}
	closeAllConnections() {
		for (const socket of [...this._sockets]) socket.destroy();
	}
	closeIdleConnections() {
		for (const socket of [...this._sockets]) if (socket._http && socket._http.queue.length === 0 && !socket._http.req) socket.destroy();
	}
}
for (const name of ['_Request', '_Response']) Object.defineProperty(Server.prototype, name, { writable: true, enumerable: false, value: undefined });

Object.assign(exports, {
	METHODS, STATUS_CODES, Server, ServerResponse, IncomingMessage, maxHeaderSize: most,
	createServer: (options, listener) => new Server(options, listener),
	validateHeaderName: checkName, validateHeaderValue: checkValue,
});
Object.defineProperty(exports, '_Parser', { value: Parser });
