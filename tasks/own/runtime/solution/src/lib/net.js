// Sockets as streams, and servers of them.
const core = need('core');
const { Duplex } = need('stream');
const EventEmitter = need('events');
const { Buffer } = need('buffer');
const { coded, network, invalidType } = need('errors');
const room = new Uint8Array(65536);

class Socket extends Duplex {
	constructor(options = {}) {
		super({
			allowHalfOpen: !!options.allowHalfOpen, emitClose: true, autoDestroy: true, decodeStrings: true, highWaterMark: options.highWaterMark,
			readable: options.readable, writable: options.writable,
		});
		this._fd = -1;
		this._handle = null;
		this._reading = false;
		this._waiting = null;
		this._kept = true;
		this._ended = null;
		this._timer = null;
		this.connecting = false;
		this.bytesRead = 0;
		this.bytesWritten = 0;
		this.timeout = 0;
		if (options.fd !== undefined) this._attach(options.fd);
	}
	_attach(fd) {
		this._fd = fd;
		this._handle = new core.Handle(fd, 0, (events) => this._ready(events));
		if (!this._kept) this._handle.unref();
	}
	_arm() {
		if (this._handle)
			this._handle.set((this._reading ? core.IN : 0) | (this._waiting || this.connecting ? core.OUT : 0));
	}
	_ready(events) {
		if (this.connecting) {
			this._connected();
			return;
		}
		if (events & (core.OUT | core.ERR | core.HUP) && this._waiting) this._flush();
		if (this._handle && events & (core.IN | core.HUP | core.ERR) && this._reading) this._receive();
		else if (this._handle && events & (core.ERR | core.HUP) && !this._waiting && !this._reading) this._handle.set(0);
	}
	_receive() {
		const count = sys.read_(this._fd, room, 0, room.length, -1);
		if (count > 0) {
			this.bytesRead += count;
			this._active();
			const more = this.push(Buffer.from(room.subarray(0, count)));
			if (!more) {
				this._reading = false;
				this._arm();
			}
		} else if (count === 0) {
			this._reading = false;
			this._arm();
			this.push(null);
			this.read(0);
		} else if (count !== -11) {
			this._reading = false;
			if (this._handle) this._arm();
			this.destroy(network(count, 'read'));
		}
	}
	_read() {
		if (this.connecting || this._fd < 0) {
			if (this.connecting) this.once('connect', () => this._read(0));
			return;
		}
		if (!this._reading) {
			this._reading = true;
			this._arm();
		}
	}
	_write(data, encoding, callback) {
		if (this.connecting) {
			this.once('connect', () => this._write(data, encoding, callback));
			return;
		}
		if (this._fd < 0) {
			callback(coded(Error, 'ERR_SOCKET_CLOSED', 'Socket is closed'));
			return;
		}
		const job = { data, at: 0, callback };
		this._active();
		const status = this._send(job);
		if (status === 1) callback();
		else if (status < 0) callback(network(status, 'write'));
		else {
			this._waiting = job;
			this._arm();
		}
	}
	_writev(chunks, callback) {
		this._write(chunks.length === 1 ? chunks[0].chunk : Buffer.concat(chunks.map((one) => one.chunk)), 'buffer', callback);
	}
	// 1 if all of it went out, 0 if it has to wait.
	_send(job) {
		while (job.at < job.data.length) {
			const count = sys.write_(this._fd, job.data, job.at, job.data.length - job.at, -1);
			if (count === -11) return 0;
			if (count < 0) return count;
			job.at += count;
			this.bytesWritten += count;
		}
		return 1;
	}
	_flush() {
		const job = this._waiting, status = this._send(job);
		if (status === 0) {
			this._active();
			return;
		}
		this._waiting = null;
		this._arm();
		if (status === 1) job.callback();
		else job.callback(network(status, 'write'));
	}
	_final(callback) {
		if (this.connecting) {
			this.once('connect', () => this._final(callback));
			return;
		}
		if (this._fd >= 0) sys.shutdown_(this._fd);
		callback();
	}
	_destroy(error, callback) {
		this.connecting = false;
		this.setTimeout(0);
		const waiting = this._waiting;
		this._waiting = null;
		if (this._handle) {
			this._handle.remove();
			this._handle = null;
			if (this._abrupt) sys.reset(this._fd);
			sys.close_(this._fd);
			this._fd = -1;
			core.onClose(() => callback(error));
		} else callback(error);
		if (waiting) core.tick(waiting.callback, error || coded(Error, 'ERR_STREAM_DESTROYED', 'Cannot call write after a stream was destroyed'));
		if (this._server) {
			this._server._gone(this);
			this._server = null;
		}
	}
	destroySoon() {
		if (this.writable) this.end();
		if (this.writableFinished) this.destroy();
		else this.once('finish', this.destroy);
	}
	resetAndDestroy() {
		this._abrupt = true;
		return this.destroy();
	}
	connect(...values) {
		let [options, callback] = values;
		if (typeof options === 'number' || (typeof options === 'string' && /^\d+$/.test(options))) {
			options = { port: +options, host: typeof values[1] === 'string' ? values[1] : undefined };
			callback = values.find((one) => typeof one === 'function');
		} else if (typeof options === 'string') options = { path: options };
		if (callback) this.once('connect', callback);
		this.connecting = true;
		if (options.path) {
			this._connectTo(options.path, undefined, 0);
			return this;
		}
		const port = +options.port;
		need('dns')._find(options.host || 'localhost', (error, address, family) => {
			if (this.destroyed) return;
			this.emit('lookup', error, address, family, options.host);
			if (error) {
				this.connecting = false;
				this.destroy(error);
				return;
			}
			this._connectTo(address, port, family);
		});
		return this;
	}
	_connectTo(address, port, family) {
		const fd = sys.socket_(family, false);
		if (fd < 0) {
			core.tick(() => this.destroy(network(fd, 'connect', address, port)));
			return;
		}
		this._target = [address, port];
		const status = sys.connect_(fd, address, port);
		if (status < 0 && status !== -115) {
			sys.close_(fd);
			this.connecting = false;
			core.tick(() => this.destroy(network(status, 'connect', address, port)));
			return;
		}
		this._attach(fd);
		this._arm();
	}
	_connected() {
		const error = sys.socketError(this._fd);
		this.connecting = false;
		if (error < 0) {
			this.destroy(network(error, 'connect', ...this._target));
			return;
		}
		this._arm();
		this.emit('connect');
		this.emit('ready');
		if (!this.isPaused()) this.read(0);
	}
	_active() {
		if (this._timer) this._timer.refresh();
	}
	setTimeout(after, callback) {
		this.timeout = after;
		if (this._timer) core.timers.clearTimeout(this._timer);
		this._timer = null;
		if (after > 0) {
			this._timer = core.timers.setTimeout(() => this.emit('timeout'), after);
			this._timer.unref();
			if (callback) this.once('timeout', callback);
		} else if (callback) this.removeListener('timeout', callback);
		return this;
	}
	setNoDelay(on = true) {
		if (this._fd >= 0) sys.noDelay(this._fd, on);
		return this;
	}
	setKeepAlive(on) {
		if (this._fd >= 0) sys.keepAlive(this._fd, !!on);
		return this;
	}
	ref() {
		this._kept = true;
		if (this._handle) this._handle.ref();
		return this;
	}
	unref() {
		this._kept = false;
		if (this._handle) this._handle.unref();
		return this;
	}
	address() {
		const name = this._fd >= 0 ? sys.socketName(this._fd, false) : [];
		return Array.isArray(name) && name[2] ? { address: name[0], family: `IPv${name[2]}`, port: name[1] } : {};
	}
	_peer() {
		if (!this._peerName && this._fd >= 0) {
			const name = sys.socketName(this._fd, true);
			if (Array.isArray(name)) this._peerName = name;
		}
		return this._peerName || [];
	}
	get remoteAddress() {
		return this._peer()[0];
	}
	get remotePort() {
		return this._peer()[1];
	}
	get remoteFamily() {
		return this._peer()[2] ? `IPv${this._peer()[2]}` : undefined;
	}
	get localAddress() {
		return this.address().address;
	}
	get localPort() {
		return this.address().port;
	}
	get pending() {
		return this._fd < 0 || this.connecting;
	}
	get readyState() {
		if (this.connecting) return 'opening';
		if (this.readable && this.writable) return 'open';
		return this.readable ? 'readOnly' : this.writable ? 'writeOnly' : 'closed';
	}
}
for (const name of ['_fd', '_handle', '_reading', '_waiting', '_kept', '_ended', '_timer', '_server', '_abrupt', '_target', '_peerName'])
	Object.defineProperty(Socket.prototype, name, { writable: true, enumerable: false, value: undefined });

class Server extends EventEmitter {
	constructor(options, listener) {
		super();
		if (typeof options === 'function') [listener, options] = [options, {}];
		this._options = options || {};
		this._handle = null;
		this._sockets = new Set();
		this._kept = true;
		this.listening = false;
		if (listener) this.on('connection', listener);
	}
	get _connections() {
		return this._sockets.size;
	}
	listen(...values) {
		const callback = values.find((one) => typeof one === 'function');
		let [port, host] = values, path, backlog = 511;
		if (typeof port === 'object' && port !== null) {
			({ host, path } = port);
			backlog = port.backlog || backlog;
			port = port.port;
		} else if (typeof port === 'string' && !/^\d+$/.test(port)) [path, port] = [port, undefined];
		if (typeof host !== 'string') host = undefined;
		if (callback) this.once('listening', callback);
		if (this._handle) throw coded(Error, 'ERR_SERVER_ALREADY_LISTEN', 'Listen method has been called more than once without closing.');
		if (path === undefined) {
			port = port === undefined || port === null || typeof port === 'function' ? 0 : +port;
			if (!Number.isInteger(port) || port < 0 || port > 65535)
				throw coded(RangeError, 'ERR_SOCKET_BAD_PORT', `options.port should be >= 0 and < 65536.`);
		}
		const open = (address, family) => {
			let fd = sys.socket_(path !== undefined ? 0 : family, false), status = fd;
			if (fd >= 0) status = path !== undefined ? sys.bind_(fd, path, undefined) : sys.bind_(fd, address, port, false);
			if (status < 0 && host === undefined && address === '::') {
				if (fd >= 0) sys.close_(fd);
				address = '0.0.0.0';
				fd = sys.socket_(4, false);
				status = sys.bind_(fd, address, port, false);
			}
			if (status >= 0) status = sys.listen_(fd, backlog);
			if (status < 0) {
				if (fd >= 0) sys.close_(fd);
				const error = network(status, 'listen', path === undefined ? address : path, path === undefined ? port : undefined);
				core.tick(() => this.emit('error', error));
				return;
			}
			this._handle = new core.Handle(fd, core.IN, () => this._accept());
			if (!this._kept) this._handle.unref();
			this._path = path;
			this.listening = true;
			core.tick(() => {
				if (this._handle) this.emit('listening');
			});
		};
		if (path !== undefined) open();
		else if (host === undefined) open('::', 6);
		else need('dns')._find(host, (error, address, family) => {
			if (error) core.tick(() => this.emit('error', error));
			else open(address, family);
		}, true);
		return this;
	}
	_accept() {
		for (let i = 0; i < 64 && this._handle; i++) {
			const fd = sys.accept_(this._handle.fd);
			if (fd < 0) {
				if (fd === -24 || fd === -23) {
					// No descriptor is free: those who wait, wait.
					const handle = this._handle;
					handle.set(0);
					core.keep(1);
					core.timers.setTimeout(() => {
						core.keep(-1);
						if (this._handle === handle) handle.set(core.IN);
					}, 50);
				}
				return;
			}
			const socket = new Socket({ fd, allowHalfOpen: !!this._options.allowHalfOpen });
			socket._server = this;
			socket.server = this;
			this._sockets.add(socket);
			core.run(() => {
				this.emit('connection', socket);
				socket.read(0);
			});
		}
	}
	_gone(socket) {
		this._sockets.delete(socket);
		this._emitCloseIfDone();
	}
	_emitCloseIfDone() {
		if (this._handle || this._sockets.size || !this._closing) return;
		this._closing = false;
		core.tick(() => this.emit('close'));
	}
	address() {
		if (!this._handle) return null;
		if (this._path !== undefined) return this._path;
		const name = sys.socketName(this._handle.fd, false);
		return { address: name[0], family: `IPv${name[2]}`, port: name[1] };
	}
	getConnections(callback) {
		core.tick(callback, null, this._sockets.size);
	}
	close(callback) {
		if (typeof callback === 'function') {
			if (!this._handle) this.once('close', () => callback(coded(Error, 'ERR_SERVER_NOT_RUNNING', 'Server is not running.')));
			else this.once('close', callback);
		}
		if (this._handle) {
			this._handle.remove();
			sys.close_(this._handle.fd);
			this._handle = null;
			this.listening = false;
		}
		this._closing = true;
		this._emitCloseIfDone();
		return this;
	}
	ref() {
		this._kept = true;
		if (this._handle) this._handle.ref();
		return this;
	}
	unref() {
		this._kept = false;
		if (this._handle) this._handle.unref();
		return this;
	}
}
for (const name of ['_options', '_handle', '_sockets', '_kept', '_path', '_closing'])
	Object.defineProperty(Server.prototype, name, { writable: true, enumerable: false, value: undefined });

exports.Socket = Socket;
exports.Stream = Socket;
exports.Server = Server;
exports.createServer = (options, listener) => new Server(options, listener);
exports.connect = exports.createConnection = (...values) => {
	const socket = new Socket(typeof values[0] === 'object' ? values[0] : {});
	return socket.connect(...values);
};
exports.isIP = (text) => (/^\d{1,3}(\.\d{1,3}){3}$/.test(text) && text.split('.').every((part) => +part < 256) ? 4 : /^[0-9a-fA-F:.]+$/.test(text) && text.includes(':') ? 6 : 0);
exports.isIPv4 = (text) => exports.isIP(text) === 4;
exports.isIPv6 = (text) => exports.isIP(text) === 6;
