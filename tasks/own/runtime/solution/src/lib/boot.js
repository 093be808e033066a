// The first script: the loop, timers, `process`, `console`, and what starts the program.
const parts = new Map();
need = (name) => {
	let part = parts.get(name);
	if (part === undefined) {
		part = { exports: {} };
		parts.set(name, part);
		const body = sys.part(name);
		if (!body) throw new Error('no part ' + name);
		body.call(undefined, need, sys, part, part.exports);
	}
	return part.exports;
};

// A stack that is too deep, and memory that is at its end, are of a kind of error of the engine's alone.
{
	const inner = globalThis.InternalError;
	Object.setPrototypeOf(inner.prototype, RangeError.prototype);
	inner.prototype.name = 'RangeError';
	inner.prototype.constructor = RangeError;
	delete globalThis.InternalError;
}

const worker = sys.start === undefined ? null : JSON.parse(sys.start);

// Ticks and rejections
let ticks = [], tickAt = 0;
let rejections = [];
const warned = new WeakSet();

function tick(callback, ...values) {
	if (typeof callback !== 'function')
		throw need('errors').invalidType('callback', 'function', callback);
	if (process._exiting) return;
	ticks.push(callback, values);
}

function drain() {
	do {
		while (tickAt < ticks.length) {
			const callback = ticks[tickAt], values = ticks[tickAt + 1];
			ticks[tickAt] = undefined;
			tickAt += 2;
			if (tickAt > 2000 && tickAt * 2 > ticks.length) {
				ticks = ticks.slice(tickAt);
				tickAt = 0;
			}
			try {
				callback(...values);
			} catch (error) {
				fatal(error);
			}
		}
		ticks = [];
		tickAt = 0;
		sys.runJobs();
	} while (ticks.length > 0 || rejected());
}

function rejection(promise, reason, handled) {
	if (!handled) {
		rejections.push({ promise, reason });
		return;
	}
	const at = rejections.findIndex((one) => one.promise === promise);
	if (at < 0) {
		if (warned.has(promise)) {
			warned.delete(promise);
			tick(() => process.emit('rejectionHandled', promise));
		}
		return;
	}
	// A module that throws rejects twice: once with a promise that nobody can have.
	if (at > 0 && rejections[at - 1].reason === reason && loading.has(reason)) rejections.splice(at - 1, 2);
	else rejections.splice(at, 1);
}
// Reasons that modules have been rejected with are noted where they are loaded.
const loading = { has: () => true };

function rejected() {
	let some = false;
	while (rejections.length) {
		const list = rejections;
		rejections = [];
		some = true;
		for (const { promise, reason } of list) {
			warned.add(promise);
			if (process.listenerCount('unhandledRejection') > 0) {
				try {
					process.emit('unhandledRejection', reason, promise);
				} catch (error) {
					fatal(error);
				}
			} else {
				let error = reason;
				if (!(reason instanceof Error)) {
					error = new Error('This error originated either by throwing inside of an async function ' +
						'without a catch block, or by rejecting a promise which was not handled with .catch().');
					error.code = 'ERR_UNHANDLED_REJECTION';
				}
				fatal(error, 'unhandledRejection');
			}
		}
	}
	return some || ticks.length > 0;
}

function describe(error) {
	try {
		return need('util').inspect(error);
	} catch {
		return 'an error that cannot be shown';
	}
}

let failing = false;
// The status with which a worker is about to end.
let left = null;
function fatal(error, origin = 'uncaughtException') {
	// A worker that is stopped is stopped by an error that is none of its own.
	if (worker && (sys.stopped() || left !== null)) sys.leave(left === null ? 1 : left);
	if (process._exiting && failing) leave(7);
	if (process.listenerCount('uncaughtExceptionMonitor') > 0)
		process.emit('uncaughtExceptionMonitor', error, origin);
	if (process.listenerCount('uncaughtException') > 0) {
		try {
			process.emit('uncaughtException', error, origin);
		} catch (second) {
			report(second);
			finish(7);
		}
		return;
	}
	failing = true;
	if (worker) {
		let message;
		try {
			message = need('clone').pack({ error }, []);
		} catch {
			message = need('clone').pack({ error: new Error(String(error && error.message)) }, []);
		}
		sys.post(worker.control, message);
	} else report(error);
	finish(1);
}

function report(error) {
	writeAll(2, 'Uncaught ' + describe(error) + '\n\nskarn\n');
}

// Ends the process, or the worker, after `exit` was told.
function finish(code) {
	if (!process._exiting) {
		process._exiting = true;
		if (code !== 0 || process.exitCode !== undefined) process.exitCode = code;
		try {
			process.emit('exit', code);
		} catch (error) {
			if (!failing) {
				report(error);
				process.exitCode = 1;
			}
		}
		code = process.exitCode || 0;
	}
	leave(code);
}

function leave(code) {
	if (worker && left === null) {
		left = code | 0;
		need('worker_threads')._closing();
	}
	sys.leave(code | 0);
}

// Text to descriptors 1 and 2, all of it, and at once.
function writeAll(fd, text) {
	const bytes = typeof text === 'string' ? sys.encode(text, 0) : text;
	const length = bytes.byteLength;
	let at = 0;
	while (at < length) {
		const count = sys.write_(fd, bytes, at, length - at, -1);
		if (count >= 0) at += count;
		else if (count === -11) sys.poll_([fd, 4], -1);
		else return count;
	}
	return 0;
}

// The loop
const IN = 1, OUT = 4, ERR = 8, HUP = 16;
const handlers = new Map();
let active = 0;
let pending = [];
let immediates = [];
let closing = [];
let clock = sys.now();
const origin = clock;

class Handle {
	constructor(fd, events, callback) {
		this.fd = fd;
		this.events = 0;
		this.callback = callback;
		this.live = false;
		this.kept = true;
		this.set(events);
	}
	// Without events it is not looked at, and keeps nothing alive.
	set(events) {
		if (events === this.events) return 0;
		let status = 0;
		if (events === 0) {
			sys.epoll(2, this.fd, 0);
			handlers.delete(this.fd);
		} else if (this.events === 0) {
			status = sys.epoll(1, this.fd, events);
			if (status < 0) return status;
			handlers.set(this.fd, this);
		} else sys.epoll(3, this.fd, events);
		this.events = events;
		this.count();
		return status;
	}
	count() {
		const live = this.events !== 0 && this.kept;
		if (live !== this.live) {
			this.live = live;
			active += live ? 1 : -1;
		}
	}
	ref() {
		this.kept = true;
		this.count();
	}
	unref() {
		this.kept = false;
		this.count();
	}
	remove() {
		this.set(0);
	}
}

// later(f): in the phase of the loop in which the kernel's answers come.
function later(callback) {
	pending.push(callback);
}

function run(callback, ...values) {
	try {
		callback(...values);
	} catch (error) {
		fatal(error);
	}
	drain();
}

// Timers: a heap by the time at which they are due.
const heap = [];
let serial = 0, timersKept = 0;

function before(a, b) {
	return a.due < b.due || (a.due === b.due && a.order < b.order);
}
function place(timer, at) {
	heap[at] = timer;
	timer.at = at;
}
function rise(timer, at) {
	while (at > 0) {
		const up = (at - 1) >> 1;
		if (!before(timer, heap[up])) break;
		place(heap[up], at);
		at = up;
	}
	place(timer, at);
}
function sink(timer, at) {
	for (;;) {
		let down = 2 * at + 1;
		if (down >= heap.length) break;
		if (down + 1 < heap.length && before(heap[down + 1], heap[down])) down++;
		if (!before(heap[down], timer)) break;
		place(heap[down], at);
		at = down;
	}
	place(timer, at);
}
function schedule(timer) {
	timer.due = clock + timer._idleTimeout;
	timer.order = serial++;
	timer.live = true;
	heap.push(timer);
	rise(timer, heap.length - 1);
	if (timer.kept) timersKept++;
}
function unschedule(timer) {
	if (!timer.live) return;
	timer.live = false;
	if (timer.kept) timersKept--;
	const last = heap.pop();
	if (last !== timer) {
		rise(last, timer.at);
		sink(last, last.at);
	}
}

const known = new Map();
let names = 0;
class Timeout {
	constructor(callback, after, values, repeat) {
		after *= 1;
		if (!(after >= 1 && after <= 2147483647)) after = 1;
		const hide = (name, value) => Object.defineProperty(this, name, { value, writable: true });
		this._idleTimeout = Math.trunc(after);
		this._onTimeout = callback;
		hide('values', values);
		this._repeat = repeat ? this._idleTimeout : null;
		this._destroyed = false;
		hide('kept', true);
		hide('live', false);
		hide('due', 0);
		hide('order', 0);
		hide('at', 0);
		hide('name', 0);
		schedule(this);
	}
	ref() {
		if (!this.kept) {
			this.kept = true;
			if (this.live) timersKept++;
		}
		return this;
	}
	unref() {
		if (this.kept) {
			this.kept = false;
			if (this.live) timersKept--;
		}
		return this;
	}
	hasRef() {
		return this.kept;
	}
	refresh() {
		if (this._destroyed && !this.live && this._onTimeout === null) return this;
		unschedule(this);
		this._destroyed = false;
		schedule(this);
		return this;
	}
	close() {
		clearTimeout(this);
		return this;
	}
	[Symbol.toPrimitive]() {
		if (!this.name) {
			this.name = ++names;
			known.set(this.name, this);
		}
		return this.name;
	}
}

function checked(callback) {
	if (typeof callback !== 'function') throw need('errors').invalidType('callback', 'function', callback);
}
function setTimeout(callback, after, ...values) {
	checked(callback);
	return new Timeout(callback, after, values, false);
}
function setInterval(callback, after, ...values) {
	checked(callback);
	return new Timeout(callback, after, values, true);
}
function clearTimeout(timer) {
	if (typeof timer === 'number' || typeof timer === 'string') timer = known.get(+timer);
	if (!timer || !(timer instanceof Timeout)) return;
	unschedule(timer);
	timer._destroyed = true;
	timer._onTimeout = null;
	if (timer.name) known.delete(timer.name);
}
const clearInterval = function clearInterval(timer) {
	clearTimeout(timer);
};

let immediatesKept = 0;
class Immediate {
	constructor(callback, values) {
		this._onImmediate = callback;
		Object.defineProperty(this, 'values', { value: values, writable: true });
		Object.defineProperty(this, 'kept', { value: true, writable: true });
		this._destroyed = false;
		immediates.push(this);
		immediatesKept++;
	}
	ref() {
		if (!this._destroyed && !this.kept) {
			this.kept = true;
			immediatesKept++;
		}
		return this;
	}
	unref() {
		if (!this._destroyed && this.kept) {
			this.kept = false;
			immediatesKept--;
		}
		return this;
	}
	hasRef() {
		return !!this.kept;
	}
}
function setImmediate(callback, ...values) {
	checked(callback);
	return new Immediate(callback, values);
}
function clearImmediate(one) {
	if (!(one instanceof Immediate) || one._destroyed) return;
	one._destroyed = true;
	if (one.kept) immediatesKept--;
	one.kept = false;
	one._onImmediate = null;
}

function runTimers() {
	clock = sys.now();
	const limit = serial, held = [];
	while (heap.length && heap[0].due <= clock) {
		const timer = heap[0];
		if (timer.order >= limit) {
			// One that was set meanwhile has its turn in the next round.
			unschedule(timer);
			held.push(timer);
			continue;
		}
		unschedule(timer);
		if (timer._repeat === null) timer._destroyed = true;
		const callback = timer._onTimeout;
		try {
			callback.apply(timer, timer.values);
		} catch (error) {
			fatal(error);
		}
		if (timer._repeat !== null && !timer._destroyed && !timer.live) {
			clock = sys.now();
			timer._idleTimeout = timer._repeat;
			schedule(timer);
		} else if (timer._destroyed && !timer.live) {
			if (timer.name) known.delete(timer.name);
		}
		drain();
	}
	for (const timer of held) {
		if (timer._destroyed) continue;
		timer.live = true;
		heap.push(timer);
		rise(timer, heap.length - 1);
		if (timer.kept) timersKept++;
	}
}

function runPending() {
	const list = pending;
	pending = [];
	for (const callback of list) run(callback);
}

function runImmediates() {
	const list = immediates;
	immediates = [];
	for (const one of list) {
		if (one._destroyed) continue;
		one._destroyed = true;
		if (one.kept) immediatesKept--;
		one.kept = null;
		run(() => one._onImmediate.apply(one, one.values));
	}
}

const alive = () => active > 0 || timersKept > 0 || pending.length > 0 || immediatesKept > 0 || closing.length > 0;

function poll() {
	let limit = -1;
	if (pending.length || immediates.length || closing.length || !alive()) limit = 0;
	else if (heap.length) {
		clock = sys.now();
		limit = Math.min(Math.max(0, Math.ceil(heap[0].due - clock)), 2147483647);
	}
	const events = sys.wait(limit);
	clock = sys.now();
	for (let i = 0; i < events.length; i += 2) {
		const handle = handlers.get(events[i]);
		if (handle) run(handle.callback, events[i + 1], handle);
	}
}

function loop() {
	for (;;) {
		while (alive()) {
			runTimers();
			const before = pending.length;
			if (before) runPending();
			if (worker && sys.stopped()) sys.leave(1);
			poll();
			if (immediates.length) runImmediates();
			if (closing.length) {
				const list = closing;
				closing = [];
				for (const callback of list) run(callback);
			}
		}
		run(() => process.emit('beforeExit', process.exitCode || 0));
		if (!alive()) return;
	}
}

// process
const { EventEmitter } = need('events');
const process = new EventEmitter();
{
	const prototype = Object.create(EventEmitter.prototype, {
		constructor: { value: function process() {}, writable: true, configurable: true },
		[Symbol.toStringTag]: { value: 'process', configurable: true },
	});
	Object.setPrototypeOf(process, prototype);
}
const numbers = sys.numbers();
const args = sys.arguments();
Object.assign(process, {
	title: 'skarn', version: 'v18.20.4', platform: 'linux', arch: 'x64', pid: numbers[0], ppid: numbers[1],
	execArgv: [], exitCode: undefined, _exiting: false, argv0: args[0],
	versions: { node: '18.20.4', quickjs: '2025-04-26' },
	release: { name: 'node' }, features: {}, config: {},
	nextTick: tick,
	cwd() {
		const path = sys.folder();
		if (typeof path === 'number') throw need('errors').system(path, 'uv_cwd');
		return path;
	},
	chdir(path) {
		const status = sys.changeFolder(String(path));
		if (status < 0) throw need('errors').system(status, 'chdir', process.cwd(), path);
	},
	exit(code) {
		if (code !== undefined) process.exitCode = code;
		finish(process.exitCode || 0);
	},
	reallyExit: (code) => leave(code || 0),
	abort() {
		sys.watch(6, 0);
		sys.kill_(numbers[0], 6);
	},
	kill(pid, signal = 'SIGTERM') {
		const number = typeof signal === 'number' ? signal : need('signals').numbers[signal];
		if (number === undefined) throw need('errors').coded(TypeError, 'ERR_UNKNOWN_SIGNAL', `Unknown signal: ${signal}`);
		const status = sys.kill_(pid, number);
		if (status < 0) throw need('errors').system(status, 'kill');
		return true;
	},
	umask: (mask) => sys.mask(mask === undefined ? undefined : typeof mask === 'string' ? parseInt(mask, 8) : mask),
	uptime: () => (sys.now() - origin) / 1000,
	hrtime: Object.assign(function hrtime(since) {
		const now = sys.hr();
		if (since === undefined) return now;
		let seconds = now[0] - since[0], nano = now[1] - since[1];
		if (nano < 0) {
			seconds--;
			nano += 1e9;
		}
		return [seconds, nano];
	}, {
		bigint() {
			const [seconds, nano] = sys.hr();
			return BigInt(seconds) * 1000000000n + BigInt(nano);
		},
	}),
	memoryUsage: Object.assign(function memoryUsage() {
		const [total, used, external] = sys.usage();
		return { rss: process.memoryUsage.rss(), heapTotal: total, heapUsed: used, external, arrayBuffers: external };
	}, {
		rss() {
			const bytes = sys.readText('/proc/self/statm');
			return typeof bytes === 'number' ? 0 : +sys.decode(bytes, 0, bytes.byteLength, 1).split(' ')[1] * 4096;
		},
	}),
	cpuUsage(since) {
		const info = sys.machine();
		return { user: info[6] - (since ? since.user : 0), system: info[7] - (since ? since.system : 0) };
	},
	getuid: () => numbers[2], geteuid: () => numbers[3], getgid: () => numbers[4], getegid: () => numbers[5],
	emitWarning(warning) {
		const text = warning instanceof Error ? `${warning.name}: ${warning.message}` : `Warning: ${warning}`;
		tick(() => {
			const error = warning instanceof Error ? warning : Object.assign(new Error(String(warning)), { name: 'Warning' });
			process.emit('warning', error);
		});
		writeAll(2, `(skarn:${numbers[0]}) ${text}\n`);
	},
});
{
	const path = sys.realpath_('/proc/self/exe');
	process.execPath = typeof path === 'string' ? path : args[0];
	const values = Object.create(Object.prototype);
	if (worker) Object.assign(values, worker.env);
	else for (const entry of sys.environment()) {
		const at = entry.indexOf('=');
		if (at > 0) values[entry.slice(0, at)] = entry.slice(at + 1);
	}
	// Whatever is set in it is text.
	process.env = new Proxy(values, {
		set(target, name, value) {
			if (typeof name === 'symbol') throw new TypeError('Cannot convert a Symbol value to a string');
			target[name] = String(value);
			return true;
		},
		defineProperty(target, name, descriptor) {
			if ('value' in descriptor) descriptor.value = String(descriptor.value);
			return Reflect.defineProperty(target, name, descriptor);
		},
	});
}
for (const [name, fd] of [['stdout', 1], ['stderr', 2], ['stdin', 0]])
	Object.defineProperty(process, name, {
		configurable: true, enumerable: true,
		get() {
			const value = need('stdio')[name](fd);
			Object.defineProperty(process, name, { configurable: true, enumerable: true, writable: true, value });
			return value;
		},
		set(value) {
			Object.defineProperty(process, name, { configurable: true, enumerable: true, writable: true, value });
		},
	});
// Signals are watched as long as somebody listens.
process.on('newListener', (name) => {
	if (typeof name === 'string' && name.startsWith('SIG') && !worker && process.listenerCount(name) === 0)
		need('signals').watch(name);
});
process.on('removeListener', (name) => {
	if (typeof name === 'string' && name.startsWith('SIG') && !worker && process.listenerCount(name) === 0)
		need('signals').leave(name);
});
const hidden = process.eventNames().length;
{
	const names = process.eventNames;
	process.eventNames = () => names.call(process).filter((name) =>
		!((name === 'newListener' || name === 'removeListener') && process.listenerCount(name) === 1));
	for (const name of ['eventNames', '_exiting', 'nextTick'])
		Object.defineProperty(process, name, { enumerable: false, writable: true, value: process[name] });
}

// console
const console = {};
let indentation = '';
const counts = new Map(), times = new Map();
function print(fd, values, options) {
	let text;
	if (values.length === 1 && typeof values[0] === 'string') text = values[0];
	else if (values.length === 0) text = '';
	else text = need('util').format(...values);
	if (indentation) text = indentation + (text.includes('\n') ? text.replaceAll('\n', '\n' + indentation) : text);
	text += '\n';
	const stream = fd === 1 ? 'stdout' : 'stderr';
	const own = Object.getOwnPropertyDescriptor(process, stream);
	if (own && own.value) own.value.write(text);
	else writeAll(fd, text);
}
for (const [name, fd] of [['log', 1], ['info', 1], ['debug', 1], ['error', 2], ['warn', 2]])
	console[name] = { [name](...values) { print(fd, values); } }[name];
Object.assign(console, {
	dir(value, options) {
		print(1, [need('util').inspect(value, { customInspect: false, ...options })]);
	},
	dirxml: console.log,
	trace(...values) {
		print(2, ['Trace: ' + need('util').format(...values)]);
	},
	assert(condition, ...values) {
		if (condition) return;
		if (typeof values[0] === 'string') values[0] = 'Assertion failed: ' + values[0];
		else values.unshift('Assertion failed');
		print(2, values);
	},
	group(...values) {
		if (values.length) print(1, values);
		indentation += '  ';
	},
	groupEnd() {
		indentation = indentation.slice(2);
	},
	count(label = 'default') {
		counts.set(`${label}`, (counts.get(`${label}`) || 0) + 1);
		print(1, [`${label}: ${counts.get(`${label}`)}`]);
	},
	countReset(label = 'default') {
		counts.delete(`${label}`);
	},
	time(label = 'default') {
		times.set(`${label}`, sys.now());
	},
	timeEnd(label = 'default') {
		if (times.has(`${label}`)) print(1, [`${label}: ${(sys.now() - times.get(`${label}`)).toFixed(3)}ms`]);
		times.delete(`${label}`);
	},
	timeLog(label = 'default', ...values) {
		if (times.has(`${label}`)) print(1, [`${label}: ${(sys.now() - times.get(`${label}`)).toFixed(3)}ms`, ...values]);
	},
	table(value) {
		print(1, [need('util').table ? need('util').table(value) : value]);
	},
});
console.groupCollapsed = console.group;

// The globals. What is seldom used is made when it is asked for.
const define = (name, value) =>
	Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
const lazy = (name, part, key = name) =>
	Object.defineProperty(globalThis, name, {
		configurable: true, enumerable: false,
		get() {
			const value = need(part)[key];
			define(name, value);
			return value;
		},
		set(value) {
			define(name, value);
		},
	});
define('global', globalThis);
define('process', process);
define('console', console);
for (const [name, value] of Object.entries({
	setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate,
	queueMicrotask(callback) {
		checked(callback);
		sys.enqueue(callback);
	},
	structuredClone(value, options) {
		return need('clone').structuredClone(value, options);
	},
})) Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: true });
Object.defineProperty(globalThis, Symbol.toStringTag, { value: 'global', configurable: true, writable: false });
lazy('Buffer', 'buffer');
lazy('Blob', 'buffer');
lazy('atob', 'buffer');
lazy('btoa', 'buffer');
lazy('TextEncoder', 'text');
lazy('TextDecoder', 'text');
lazy('URL', 'url');
lazy('URLSearchParams', 'url');
for (const name of ['Event', 'EventTarget', 'AbortController', 'AbortSignal', 'DOMException']) lazy(name, 'abort');
for (const name of ['fetch', 'Headers', 'Request', 'Response', 'FormData']) lazy(name, 'fetch');
for (const name of ['MessageChannel', 'MessagePort', 'BroadcastChannel']) lazy(name, 'worker_threads');
lazy('performance', 'perf_hooks');
lazy('crypto', 'crypto', 'webcrypto');
for (const name of ['setTimeout', 'setImmediate', 'setInterval'])
	Object.defineProperty(globalThis[name], Symbol.for('nodejs.util.promisify.custom'), {
		configurable: true, get: () => need('timers_promises')[name],
	});
if (Error.captureStackTrace === undefined)
	Object.defineProperty(Error, 'captureStackTrace', {
		configurable: true, writable: true,
		value(target) {
			let header = 'Error';
			try {
				header = Error.prototype.toString.call(target);
			} catch {}
			const lines = new Error().stack.split('\n').slice(1).join('\n').trimEnd();
			Object.defineProperty(target, 'stack', {
				value: header + '\n' + lines, writable: true, configurable: true, enumerable: false,
			});
		},
	});
if (!('stackTraceLimit' in Error)) Error.stackTraceLimit = 10;

const core = {
	need, sys, Handle, IN, OUT, ERR, HUP, later, run, drain, tick, fatal, finish, writeAll, worker, process, console,
	now: () => clock, keep: (by) => { active += by; }, onClose: (callback) => closing.push(callback),
	timers: { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate, Timeout, Immediate },
	args,
};
parts.set('core', { exports: core });

const modules = need('modules');
sys.hooks({ rejection, fatal, ...modules.hooks });

function start(run) {
	try {
		run();
	} catch (error) {
		fatal(error);
	}
	drain();
	loop();
	if (modules.waiting()) {
		process.exitCode = 13;
		finish(13);
	}
	finish(process.exitCode || 0);
}

if (worker) start(() => need('worker_threads')._begin(worker));
else need('main').begin(args, start);
