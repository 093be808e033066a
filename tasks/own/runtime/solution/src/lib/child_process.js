// child_process
const core = need('core');
const { coded, invalidType, system } = need('errors');
const { Buffer } = need('buffer');
const EventEmitter = need('events');
const { Socket } = need('net');
const signals = need('signals');

const running = new Map();
function reapAll() {
	for (const child of [...running.values()]) {
		const ended = sys.reap(child.pid, false);
		if (ended) {
			running.delete(child.pid);
			if (child._kept) core.keep(-1);
			child._ended(ended[1], ended[2]);
		}
	}
}

function environment(env) {
	const list = [];
	const values = env || core.process.env;
	for (const key of Object.keys(values)) if (values[key] !== undefined) list.push(`${key}=${values[key]}`);
	return list;
}
// execvp looks for programs with the path of this process, so it is looked up here with the child's.
function program(file, options) {
	if (file.includes('/')) return file;
	const paths = ((options.env || core.process.env).PATH || '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin').split(':');
	for (const folder of paths) {
		const place = `${folder || '.'}/${file}`;
		if (sys.access_(place[0] === '/' || !options.cwd ? place : `${options.cwd}/${place}`, 1) >= 0) {
			const info = sys.stat_(place, 0);
			if (typeof info === 'number' || (info[1] & 61440) !== 16384) return place;
		}
	}
	return null;
}
function normal(file, args, options) {
	if (typeof file !== 'string') throw invalidType('file', 'string', file);
	if (file.length === 0) throw need('errors').invalidValue('file', file, 'cannot be empty');
	if (Array.isArray(args)) args = args.slice();
	else if (args == null) args = [];
	else if (typeof args !== 'object') throw invalidType('args', 'object', args);
	else {
		options = args;
		args = [];
	}
	if (options === undefined) options = {};
	else if (options === null || typeof options !== 'object') throw invalidType('options', 'object', options);
	options = { ...options };
	if (options.cwd != null && typeof options.cwd === 'object' && options.cwd.href) options.cwd = need('url').fileURLToPath(options.cwd);
	args = args.map((one) => `${one}`);
	if (options.shell) {
		const command = [file, ...args].join(' ');
		file = typeof options.shell === 'string' ? options.shell : '/bin/sh';
		args = ['-c', command];
	}
	return { file, args, options, argv0: options.argv0 || file };
}
function signalNumber(signal) {
	if (signal === undefined || signal === null) return 15;
	if (typeof signal === 'number') return signal;
	const number = signals.numbers[`${signal}`.toUpperCase()];
	if (number === undefined) throw coded(TypeError, 'ERR_UNKNOWN_SIGNAL', `Unknown signal: ${signal}`);
	return number;
}

class ChildProcess extends EventEmitter {
	constructor() {
		super();
		this._open = 1;
		this._kept = true;
		this.exitCode = null;
		this.signalCode = null;
		this.killed = false;
		this.pid = undefined;
		this.connected = false;
		this.stdio = [];
		this.stdin = this.stdout = this.stderr = null;
		this.spawnfile = null;
		this.spawnargs = [];
	}
	_start({ file, args, options, argv0 }) {
		let kinds = options.stdio === undefined ? 'pipe' : options.stdio;
		if (typeof kinds === 'string') kinds = kinds === 'inherit' ? [0, 1, 2] : [kinds, kinds, kinds];
		kinds = kinds.slice();
		while (kinds.length < 3) kinds.push('pipe');
		const theirs = [], toClose = [], ours = [];
		kinds.forEach((kind, i) => {
			if (kind === undefined || kind === null) kind = i < 3 ? 'pipe' : 'ignore';
			if (kind === 'inherit') kind = i;
			if (kind === 'pipe' || kind === 'overlapped' || kind === 'ipc') {
				const pair = sys.socketPair();
				if (typeof pair === 'number') throw system(pair, 'spawn');
				sys.nonblock_(pair[0]);
				theirs.push(pair[1]);
				toClose.push(pair[1]);
				ours.push(pair[0]);
			} else if (kind === 'ignore') {
				const fd = sys.open_('/dev/null', 2, 0);
				theirs.push(fd);
				toClose.push(fd);
				ours.push(-1);
			} else if (typeof kind === 'number') {
				theirs.push(kind);
				ours.push(-1);
			} else if (kind && typeof kind.fd === 'number') {
				theirs.push(kind.fd);
				ours.push(-1);
			} else if (kind && kind._fd >= 0) {
				theirs.push(kind._fd);
				ours.push(-1);
			} else throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'stdio' is invalid.`);
		});
		this.spawnfile = file;
		this.spawnargs = [argv0, ...args];
		const found = program(file, options);
		signals.onChild(reapAll);
		const pid = found === null ? -2 : sys.spawn(found, this.spawnargs, environment(options.env), options.cwd == null ? undefined : `${options.cwd}`, theirs,
			!!options.detached, options.uid, options.gid);
		for (const fd of toClose) sys.close_(fd);
		this._pipes = ours.map((fd, i) => {
			if (fd < 0) return null;
			const socket = new Socket({ fd, readable: i !== 0, writable: i === 0 || i > 2, allowHalfOpen: false });
			if (pid < 0) {
				// There is nobody behind it.
				if (i !== 0) socket.resume();
			}
			this._open++;
			socket.once('close', () => this._closed());
			return socket;
		});
		this.stdio = this._pipes.slice();
		[this.stdin, this.stdout, this.stderr] = this._pipes;
		if (pid < 0) {
			const error = system(pid, `spawn ${file}`, file);
			error.message = `spawn ${file} ${error.code}`;
			error.spawnargs = args;
			this.exitCode = pid;
			core.tick(() => {
				if (this.stdin) this.stdin.destroy();
				this.emit('error', error);
				this._closed();
			});
			for (const socket of this._pipes) if (socket && socket !== this.stdin) socket._read(0);
			return this;
		}
		this.pid = pid;
		running.set(pid, this);
		core.keep(1);
		core.tick(() => this.emit('spawn'));
		if (options.timeout > 0) {
			const timer = core.timers.setTimeout(() => {
				this.kill(options.killSignal);
			}, options.timeout);
			this.once('exit', () => core.timers.clearTimeout(timer));
		}
		if (options.signal) {
			const { signal } = options;
			const abort = () => {
				if (this.exitCode !== null || this.signalCode !== null) return;
				this.kill(options.killSignal);
				this.emit('error', need('errors').aborted(signal.reason));
			};
			if (signal.aborted) core.tick(abort);
			else {
				signal.addEventListener('abort', abort, { once: true });
				this.once('exit', () => signal.removeEventListener('abort', abort));
			}
		}
		return this;
	}
	_ended(code, signal) {
		if (signal) this.signalCode = signals.nameOf(signal);
		else this.exitCode = code;
		if (this.stdin) this.stdin.destroy();
		core.run(() => this.emit('exit', this.exitCode, this.signalCode));
		core.tick(() => {
			for (const socket of this._pipes) {
				if (!socket || socket === this.stdin) continue;
				// What nobody reads is thrown away, so that it can be closed.
				if (socket.readableFlowing === null && socket.listenerCount('readable') === 0 && !socket._readableState.readableListening) socket.resume();
			}
		});
		core.run(() => this._closed());
	}
	_closed() {
		if (--this._open === 0) {
			const code = this.exitCode;
			this.emit('close', code, this.signalCode);
		}
	}
	kill(signal) {
		const number = signalNumber(signal);
		if (this.pid === undefined || !running.has(this.pid)) return false;
		const status = sys.kill_(this.pid, number);
		if (status >= 0) {
			this.killed = true;
			return true;
		}
		if (status === -3) return false;
		if (status === -22) throw system(status, 'kill');
		this.emit('error', system(status, 'kill'));
		return false;
	}
	ref() {
		if (!this._kept && running.has(this.pid)) core.keep(1);
		this._kept = true;
	}
	unref() {
		if (this._kept && running.has(this.pid)) core.keep(-1);
		this._kept = false;
	}
}
for (const name of ['_open', '_kept', '_pipes']) Object.defineProperty(ChildProcess.prototype, name, { writable: true, enumerable: false });

function spawn(file, args, options) {
	return new ChildProcess()._start(normal(file, args, options));
}

function collect(child, options, callback, command) {
	const encoding = options.encoding === undefined ? 'utf8' : options.encoding;
	const isText = encoding && encoding !== 'buffer' && Buffer.isEncoding(encoding);
	const most = options.maxBuffer === undefined ? 1024 * 1024 : options.maxBuffer;
	const parts = { stdout: [], stderr: [] }, sizes = { stdout: 0, stderr: 0 };
	let failure = null, exited = false, killed = false, timer = null;
	const kill = () => {
		if (child.stdout) child.stdout.destroy();
		if (child.stderr) child.stderr.destroy();
		killed = true;
		try {
			child.kill(options.killSignal);
		} catch (error) {
			if (!failure) failure = error;
			exit();
		}
	};
	if (options.timeout > 0)
		timer = core.timers.setTimeout(() => {
			kill();
			timer = null;
		}, options.timeout);
	for (const name of ['stdout', 'stderr']) {
		const stream = child[name];
		if (!stream) continue;
		if (isText) stream.setEncoding(encoding);
		stream.on('data', (chunk) => {
			const size = isText ? Buffer.byteLength(chunk, encoding) : chunk.length;
			sizes[name] += size;
			if (sizes[name] > most) {
				parts[name].push(chunk.slice(0, most - (sizes[name] - size)));
				failure = coded(RangeError, 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER', `${name} maxBuffer length exceeded`);
				kill();
			} else parts[name].push(chunk);
		});
	}
	function exit(code = null, signal = null) {
		if (exited) return;
		exited = true;
		if (timer) core.timers.clearTimeout(timer);
		const output = ['stdout', 'stderr'].map((name) => (isText ? parts[name].join('') : Buffer.concat(parts[name])));
		if (!failure && code === 0 && signal === null) {
			callback(null, output[0], output[1]);
			return;
		}
		if (!failure) {
			failure = new Error(`Command failed: ${command}\n${output[1]}`);
			failure.code = code < 0 ? need('errors').codeOf(code) : code;
			failure.killed = child.killed || killed;
			failure.signal = signal;
		}
		failure.cmd = command;
		failure.stdout = output[0];
		failure.stderr = output[1];
		callback(failure, output[0], output[1]);
	}
	child.on('close', exit);
	child.on('error', (error) => {
		failure = error;
		if (child.stdout) child.stdout.destroy();
		if (child.stderr) child.stderr.destroy();
		exit();
	});
	return child;
}
function execFile(file, args, options, callback) {
	if (typeof args === 'function') [callback, args, options] = [args, [], {}];
	else if (!Array.isArray(args) && args != null) [callback, options, args] = [options, args, []];
	if (typeof options === 'function') [callback, options] = [options, {}];
	options = { ...options };
	const { timeout, ...rest } = options;
	const child = spawn(file, args || [], rest);
	const command = [file, ...(args || [])].join(' ');
	return collect(child, options, callback || (() => {}), command);
}
function exec(command, options, callback) {
	if (typeof command !== 'string') throw invalidType('command', 'string', command);
	if (typeof options === 'function') [callback, options] = [options, {}];
	options = { ...options };
	const { timeout, ...rest } = options;
	const child = spawn(command, [], { ...rest, shell: typeof options.shell === 'string' ? options.shell : true });
	return collect(child, options, callback || (() => {}), command);
}
for (const [one, run] of [[exec, exec], [execFile, execFile]])
	Object.defineProperty(one, Symbol.for('nodejs.util.promisify.custom'), {
		enumerable: false,
		value: (...values) => {
			let child;
			const promise = new Promise((resolve, reject) => {
				child = run(...values, (error, stdout, stderr) => {
					if (error) {
						error.stdout = stdout;
						error.stderr = stderr;
						reject(error);
					} else resolve({ stdout, stderr });
				});
			});
			promise.child = child;
			return promise;
		},
	});

function spawnSync(file, args, options) {
	return runSync(normal(file, args, options));
}
function runSync({ file, args, options, argv0 }) {
	const most = options.maxBuffer === undefined ? 1024 * 1024 : options.maxBuffer;
	let kinds = options.stdio === undefined ? 'pipe' : options.stdio;
	if (typeof kinds === 'string') kinds = kinds === 'inherit' ? [0, 1, 2] : [kinds, kinds, kinds];
	kinds = kinds.slice();
	while (kinds.length < 3) kinds.push('pipe');
	let input = options.input;
	if (typeof input === 'string') input = Buffer.from(input, options.encoding && options.encoding !== 'buffer' ? options.encoding : 'utf8');
	else if (ArrayBuffer.isView(input)) input = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
	const theirs = [], toClose = [], ours = [];
	kinds.forEach((kind, i) => {
		if (kind == null) kind = i < 3 ? 'pipe' : 'ignore';
		if (kind === 'inherit') kind = i;
		if (kind === 'pipe') {
			const pair = sys.pipe_();
			const [mine, other] = i === 0 ? [pair[1], pair[0]] : pair;
			theirs.push(other);
			toClose.push(other);
			ours.push(mine);
			sys.nonblock_(mine);
		} else if (kind === 'ignore') {
			const fd = sys.open_('/dev/null', 2, 0);
			theirs.push(fd);
			toClose.push(fd);
			ours.push(-1);
		} else {
			theirs.push(typeof kind === 'number' ? kind : kind.fd);
			ours.push(-1);
		}
	});
	const found = program(file, options);
	const pid = found === null ? -2 : sys.spawn(found, [argv0, ...args], environment(options.env), options.cwd == null ? undefined : `${options.cwd}`, theirs,
		!!options.detached, options.uid, options.gid);
	for (const fd of toClose) sys.close_(fd);
	const result = { status: null, signal: null, output: null, pid: 0, stdout: null, stderr: null };
	if (pid < 0) {
		for (const fd of ours) if (fd >= 0) sys.close_(fd);
		const error = system(pid, `spawnSync ${file}`, file);
		error.message = `spawnSync ${file} ${error.code}`;
		error.spawnargs = args;
		return { error, ...result };
	}
	result.pid = pid;
	const parts = ours.map(() => []), sizes = ours.map(() => 0);
	const deadline = options.timeout > 0 ? sys.now() + options.timeout : Infinity;
	let error = null, at = 0;
	const room = new Uint8Array(65536);
	const closeOne = (i) => {
		sys.close_(ours[i]);
		ours[i] = -1;
	};
	if (ours[0] >= 0 && (!input || input.length === 0)) closeOne(0);
	const kill = (reason) => {
		if (!error) {
			error = system(reason, `spawnSync ${file}`, file);
			error.message = `spawnSync ${file} ${error.code}`;
			error.spawnargs = args;
			sys.kill_(pid, signalNumber(options.killSignal));
		}
	};
	let ended = null;
	while (ours.some((fd) => fd >= 0)) {
		const list = [], places = [];
		ours.forEach((fd, i) => {
			if (fd < 0) return;
			list.push(fd, i === 0 ? 4 : 1);
			places.push(i);
		});
		const left = error ? 1000 : deadline - sys.now();
		if (left <= 0) {
			kill(-110);
			continue;
		}
		const events = sys.poll_(list, left === Infinity ? -1 : Math.ceil(left));
		if (error && events.every((event) => event === 0)) break;
		events.forEach((event, k) => {
			if (!event) return;
			const i = places[k];
			if (i === 0) {
				const count = sys.write_(ours[0], input, at, Math.min(input.length - at, 65536), -1);
				if (count > 0) at += count;
				if ((count < 0 && count !== -11) || at >= input.length) closeOne(0);
				return;
			}
			const count = sys.read_(ours[i], room, 0, room.length, -1);
			if (count > 0) {
				sizes[i] += count;
				parts[i].push(Buffer.from(room.subarray(0, count)));
				if (sizes[i] > most) {
					parts[i].push(Buffer.concat(parts[i].splice(0)).subarray(0, most));
					kill(-105);
				}
			} else if (count !== -11) closeOne(i);
		});
	}
	for (let i = 0; i < ours.length; i++) if (ours[i] >= 0) closeOne(i);
	while (!ended) {
		if (deadline === Infinity || error) ended = sys.reap(pid, true);
		else {
			ended = sys.reap(pid, false);
			if (!ended) {
				if (sys.now() >= deadline) kill(-110);
				else sys.poll_([], 2);
			}
		}
	}
	if (ended[2]) result.signal = signals.nameOf(ended[2]);
	else result.status = ended[1];
	const text = options.encoding && options.encoding !== 'buffer';
	result.output = kinds.map((kind, i) => {
		if (i === 0 || (kind !== 'pipe' && kind != null)) return null;
		const bytes = Buffer.concat(parts[i]);
		return text ? bytes.toString(options.encoding) : bytes;
	});
	[, result.stdout, result.stderr] = result.output;
	if (error) {
		if (error.errno === -105) error.code = 'ENOBUFS';
		result.error = error;
	}
	return result;
}
function checked(result, command, inherits) {
	if (inherits && result.stderr && result.stderr.length) core.writeAll(2, result.stderr);
	let error;
	if (result.error) {
		error = result.error;
		Object.assign(error, result);
		delete error.error;
	} else if (result.status !== 0) {
		error = new Error(`Command failed: ${command}\n${result.stderr ? result.stderr.toString() : ''}`);
		Object.assign(error, result);
	}
	if (error) throw error;
	return result.stdout;
}
function execFileSync(file, args, options) {
	const all = normal(file, args, options);
	const inherits = !all.options.stdio;
	return checked(runSync(all), [file, ...all.args].join(' '), inherits);
}
function execSync(command, options) {
	if (typeof command !== 'string') throw invalidType('command', 'string', command);
	options = { ...options };
	const all = normal(command, [], { ...options, shell: typeof options.shell === 'string' ? options.shell : true });
	return checked(runSync(all), command, !options.stdio);
}
Object.assign(exports, { ChildProcess, exec, execFile, execFileSync, execSync, spawn, spawnSync });
