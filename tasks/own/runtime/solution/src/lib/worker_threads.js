// worker_threads: each worker is a thread of the kernel's, with an engine of its own.
const core = need('core');
const EventEmitter = need('events');
const clone = need('clone');
const { coded, invalidType } = need('errors');

// One end of a channel. It keeps the loop alive as long as somebody listens.
// Ports of this thread, by number; the two ends of a channel are neighbours.
const here = new Map();
const otherEnd = (id) => (id % 2 ? id + 1 : id - 1);

class Port extends EventEmitter {
	constructor(id) {
		super();
		this._portId = id;
		here.set(id, this);
		this._handle = null;
		this._closed = false;
		this._kept = true;
		this._begun = false;
		this._onmessage = null;
		for (const name of ['_portId', '_handle', '_closed', '_kept', '_begun', '_onmessage', '_targets'])
			Object.defineProperty(this, name, { enumerable: false, writable: true, configurable: true, value: this[name] });
	}
	start() {
		if (this._begun || this._closed) return;
		this._begun = true;
		this._handle = new core.Handle(sys.portEvent(this._portId), core.IN, () => this._receive());
		if (!this._kept) this._handle.unref();
	}
	_receive() {
		for (let i = 0; i < 1000 && !this._closed && this._handle; i++) {
			const packed = sys.take(this._portId);
			if (packed === undefined) return;
			if (packed === null) {
				this._shut();
				return;
			}
			core.run(() => this._deliver(packed));
		}
	}
	_deliver(packed) {
		let value;
		try {
			value = clone.unpack(packed);
		} catch (error) {
			this.emit('messageerror', error);
			return;
		}
		if (this._onmessage) this._onmessage.call(this, { data: value, type: 'message', target: this });
		for (const listener of [...(this._targets || [])]) {
			if (listener.once) this._targets.splice(this._targets.indexOf(listener), 1);
			listener.call.call(this, { data: value, type: 'message', target: this });
		}
		this.emit('message', value);
	}
	postMessage(value, transfer) {
		const list = Array.isArray(transfer) ? transfer : transfer && transfer.transfer ? [...transfer.transfer] : [];
		clone.packAndLeave(value, list, (packed) => this._closed || sys.post(this._portId, packed));
	}
	on(name, listener) {
		super.on(name, listener);
		if (name === 'message') {
			this.ref();
			this.start();
		}
		return this;
	}
	addListener(name, listener) {
		return this.on(name, listener);
	}
	removeListener(name, listener) {
		super.removeListener(name, listener);
		if (name === 'message' && this.listenerCount('message') === 0) this.unref();
		return this;
	}
	off(name, listener) {
		return this.removeListener(name, listener);
	}
	get onmessage() {
		return this._onmessage;
	}
	set onmessage(callback) {
		this._onmessage = typeof callback === 'function' ? callback : null;
		if (this._onmessage) {
			this.ref();
			this.start();
		} else this.unref();
	}
	addEventListener(name, listener, options) {
		if (name !== 'message') return this.on(name, listener);
		(this._targets = this._targets || []).push({ call: listener, once: options && options.once });
		this.ref();
		this.start();
	}
	removeEventListener(name, listener) {
		if (this._targets) this._targets = this._targets.filter((one) => one.call !== listener);
	}
	ref() {
		this._kept = true;
		if (this._handle) this._handle.ref();
	}
	unref() {
		this._kept = false;
		if (this._handle) this._handle.unref();
	}
	hasRef() {
		return this._kept && !!this._handle;
	}
	_stop() {
		if (this._handle) this._handle.remove();
		this._handle = null;
	}
	// It was given to somebody else.
	_leave() {
		here.delete(this._portId);
		this._stop();
		this._closed = true;
	}
	_shut() {
		if (this._closed) return;
		this._stop();
		this._closed = true;
		here.delete(this._portId);
		sys.closePort(this._portId);
		core.onClose(() => this.emit('close'));
		const peer = here.get(otherEnd(this._portId));
		if (peer && !peer._begun) core.onClose(() => peer._shut());
	}
	close(callback) {
		if (callback) this.once('close', callback);
		this._shut();
	}
}
const MessagePort = Port;
class MessageChannel {
	constructor() {
		const [one, two] = sys.channel();
		this.port1 = new Port(one);
		this.port2 = new Port(two);
	}
}

let last = core.worker ? core.worker.threadId * 1000 : 0;
const workers = new Set();
class Worker extends EventEmitter {
	constructor(file, options = {}) {
		super();
		options = options || {};
		let text = null;
		if (options.eval) text = `${file}`;
		else if (file && typeof file === 'object' && file.href) file = need('url').fileURLToPath(file);
		else if (typeof file !== 'string') throw invalidType('filename', 'string or an instance of URL', file);
		else if (file.startsWith('file:')) file = need('url').fileURLToPath(file);
		else if (!/^(\/|\.\.?\/)/.test(file)) throw coded(TypeError, 'ERR_WORKER_PATH', 'The worker script or module filename must be an absolute path or a relative path starting with \'./\' or \'../\'.');
		else file = need('path').resolve(file);
		this.threadId = ++last;
		const [mine, theirs] = sys.channel(), [control, other] = sys.channel();
		this._port = new Port(mine);
		this._port.on('message', (value) => this.emit('message', value));
		this._port.on('messageerror', (error) => this.emit('messageerror', error));
		this._control = control;
		this._theirs = theirs;
		this._ended = false;
		this._kept = true;
		this.resourceLimits = {};
		clone.packAndLeave(options.workerData, options.transferList || [], (packed) => sys.post(control, packed));
		this._watch = new core.Handle(sys.portEvent(control), core.IN, () => this._told());
		const env = options.env === undefined || typeof options.env === 'symbol' ? { ...core.process.env } : { ...options.env };
		const begin = JSON.stringify({
			file, text, threadId: this.threadId, port: theirs, control: other, env, argv: (options.argv || []).map(String), name: options.name,
		});
		const limit = options.resourceLimits && options.resourceLimits.maxOldGenerationSizeMb;
		this._slot = sys.startWorker(other, begin, this.threadId, Math.floor((limit || 0) * 1048576));
		workers.add(this);
		if (this._slot < 0) {
			const error = coded(Error, 'ERR_WORKER_INIT_FAILED', 'Worker initialization failure');
			this._finish(1, error);
		}
	}
	_told() {
		for (;;) {
			const said = sys.take(this._control);
			if (said === undefined) return;
			if (said === null) {
				if (!this._ended) this._finish(1);
				return;
			}
			if (typeof said === 'number') {
				if (this._slot >= 0) sys.joinWorker(this._slot);
				this._finish(said);
				return;
			}
			core.run(() => {
				const value = clone.unpack(said);
				if (value.online) this.emit('online');
				else if ('error' in value) {
					this._failed = true;
					this.emit('error', value.error);
				}
			});
		}
	}
	_finish(code, error) {
		if (this._ended) return;
		this._ended = true;
		// What it has said is heard before it is known to have ended.
		this._port._receive();
		this._port._shut();
		this._watch.remove();
		sys.closePort(this._control);
		sys.closePort(this._theirs);
		workers.delete(this);
		this.threadId = -1;
		core.onClose(() => {
			if (error) this.emit('error', error);
			this.emit('exit', code);
		});
	}
	postMessage(value, transfer) {
		this._port.postMessage(value, transfer);
	}
	terminate() {
		if (this._ended) return Promise.resolve();
		this.ref();
		sys.stopWorker(this._slot);
		return new Promise((resolve) => this.once('exit', resolve));
	}
	ref() {
		if (this._ended) return;
		this._watch.ref();
		this._port.ref();
	}
	unref() {
		if (this._ended) return;
		this._watch.unref();
		this._port.unref();
	}
	getHeapSnapshot() {}
}
for (const name of ['_port', '_control', '_theirs', '_ended', '_kept', '_watch', '_slot', '_failed'])
	Object.defineProperty(Worker.prototype, name, { writable: true, enumerable: false, value: undefined });

Object.assign(exports, {
	Worker, MessageChannel, MessagePort, isMainThread: true, parentPort: null, threadId: 0, workerData: null, resourceLimits: {},
	SHARE_ENV: Symbol.for('nodejs.worker_threads.SHARE_ENV'),
	receiveMessageOnPort(port) {
		const packed = sys.take(port._portId);
		return packed === undefined || packed === null ? undefined : { message: clone.unpack(packed) };
	},
	markAsUntransferable() {}, getEnvironmentData() {}, setEnvironmentData() {},
});
for (const [name, value] of Object.entries({
	_portFrom: (id) => new Port(id),
	// Workers that this thread has started end with it.
	_closing() {
		for (const one of workers) {
			sys.stopWorker(one._slot);
			sys.joinWorker(one._slot);
		}
	},
	_begin(start) {
		const { process } = core;
		exports.isMainThread = false;
		exports.threadId = start.threadId;
		const control = new Port(start.control);
		exports.workerData = clone.unpack(sys.take(start.control));
		const port = exports.parentPort = new Port(start.port);
		process.argv = [process.execPath, start.file || '[worker eval]', ...start.argv];
		process.chdir = () => {
			throw coded(TypeError, 'ERR_WORKER_UNSUPPORTED_OPERATION', 'process.chdir() is not supported in workers');
		};
		control.start();
		control.unref();
		// The other end's closing is no reason to stop.
		control._shut = () => control._stop();
		clone.packAndLeave({ online: true }, [], (packed) => sys.post(start.control, packed));
		if (start.text !== null) need('modules').runText(start.text, '[worker eval]');
		else need('modules').runMain(start.file);
		return port;
	},
})) Object.defineProperty(exports, name, { value, enumerable: false });
