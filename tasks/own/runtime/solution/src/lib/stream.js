// Its states, formulas and conditions follow Node.js 18's own, as they are known; see ../LICENSE-node.
// Streams.
const EventEmitter = need('events');
const { coded, invalidType, aborted: abortError } = need('errors');
const { tick, process } = need('core');
const { Buffer } = need('buffer');
const NONE = () => {};

function Stream(options) {
	EventEmitter.call(this, options);
}
Object.setPrototypeOf(Stream.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Stream, EventEmitter);
Stream.prototype.pipe = function (target) {
	this.on('data', (chunk) => {
		if (target.writable && target.write(chunk) === false && this.pause) this.pause();
	});
	target.on('drain', () => this.resume && this.resume());
	this.on('end', () => target.end());
	target.emit('pipe', this);
	return target;
};

function inherits(Type, Parent) {
	Object.setPrototypeOf(Type.prototype, Parent.prototype);
	Object.setPrototypeOf(Type, Parent);
}
const markOf = (options, duplex, key, objects) => {
	const mark = options && options.highWaterMark != null ? options.highWaterMark : duplex ? options && options[key] : null;
	if (mark != null) {
		if (!Number.isInteger(mark) || mark < 0) throw need('errors').invalidValue(duplex ? key : 'highWaterMark', mark);
		return Math.floor(mark);
	}
	return objects ? 16 : 16 * 1024;
};

// What ends a stream before its time.
function destroy(error, callback) {
	const r = this._readableState, w = this._writableState;
	if ((w && w.destroyed) || (r && r.destroyed)) {
		if (typeof callback === 'function') callback();
		return this;
	}
	noteError(error, w, r);
	if (w) w.destroyed = true;
	if (r) r.destroyed = true;
	const state = w || r;
	if (!state.constructed) this.once(kDestroy, (second) => innerDestroy(this, second || error, callback));
	else innerDestroy(this, error, callback);
	return this;
}
const kDestroy = Symbol('destroy');
function noteError(error, w, r) {
	if (!error) return;
	if (w && !w.errored) w.errored = error;
	if (r && !r.errored) r.errored = error;
}
function innerDestroy(stream, error, callback) {
	let called = false;
	const done = (second) => {
		if (called) return;
		called = true;
		const r = stream._readableState, w = stream._writableState;
		noteError(second, w, r);
		if (w) w.closed = true;
		if (r) r.closed = true;
		if (typeof callback === 'function') callback(second);
		if (second) tick(emitErrorClose, stream, second);
		else tick(emitClose, stream);
	};
	try {
		stream._destroy(error || null, done);
	} catch (second) {
		done(second);
	}
}
function emitErrorClose(stream, error) {
	emitError(stream, error);
	emitClose(stream);
}
function emitClose(stream) {
	const r = stream._readableState, w = stream._writableState;
	if (w) w.closeEmitted = true;
	if (r) r.closeEmitted = true;
	if ((w && w.emitClose) || (r && r.emitClose)) stream.emit('close');
}
function emitError(stream, error) {
	const r = stream._readableState, w = stream._writableState;
	if ((w && w.errorEmitted) || (r && r.errorEmitted)) return;
	if (w) w.errorEmitted = true;
	if (r) r.errorEmitted = true;
	stream.emit('error', error);
}
function failOrDestroy(stream, error, sync) {
	const r = stream._readableState, w = stream._writableState;
	if ((w && w.destroyed) || (r && r.destroyed)) return;
	if ((r && r.autoDestroy) || (w && w.autoDestroy)) stream.destroy(error);
	else if (error) {
		if (w && !w.errored) w.errored = error;
		if (r && !r.errored) r.errored = error;
		if (sync) tick(emitError, stream, error);
		else emitError(stream, error);
	}
}
function construct(stream, callback) {
	if (typeof stream._construct !== 'function') return;
	const r = stream._readableState, w = stream._writableState;
	if (r) r.constructed = false;
	if (w) w.constructed = false;
	stream.once(kConstruct, callback);
	if (stream.listenerCount(kConstruct) > 1) return;
	tick(() => {
		let called = false;
		const done = (error) => {
			if (called) {
				failOrDestroy(stream, error || coded(Error, 'ERR_MULTIPLE_CALLBACK', 'Callback called multiple times'));
				return;
			}
			called = true;
			const state = w || r;
			if (r) r.constructed = true;
			if (w) w.constructed = true;
			if (state.destroyed) stream.emit(kDestroy, error);
			else if (error) failOrDestroy(stream, error, true);
			else tick(() => stream.emit(kConstruct));
		};
		try {
			stream._construct((error) => tick(done, error));
		} catch (error) {
			tick(done, error);
		}
	});
}
const kConstruct = Symbol('construct');
function withSignal(signal, stream) {
	const abort = () => stream.destroy(abortError(signal.reason));
	if (signal.aborted) abort();
	else {
		signal.addEventListener('abort', abort, { once: true });
		finished(stream, () => signal.removeEventListener('abort', abort));
	}
	return stream;
}

// Readable
class ReadableState {
	constructor(options, duplex) {
		this.objectMode = !!(options && (options.objectMode || (duplex && options.readableObjectMode)));
		this.highWaterMark = markOf(options, duplex, 'readableHighWaterMark', this.objectMode);
		this.buffer = [];
		this.length = 0;
		this.pipes = [];
		this.flowing = null;
		this.ended = this.endEmitted = this.reading = false;
		this.constructed = true;
		this.sync = true;
		this.needReadable = this.emittedReadable = this.readableListening = this.resumeScheduled = false;
		this.paused = null;
		this.errorEmitted = false;
		this.emitClose = !options || options.emitClose !== false;
		this.autoDestroy = !options || options.autoDestroy !== false;
		this.destroyed = false;
		this.errored = null;
		this.closed = this.closeEmitted = false;
		this.defaultEncoding = (options && options.defaultEncoding) || 'utf8';
		this.waiting = new Set();
		this.readingMore = this.dataEmitted = false;
		this.decoder = null;
		this.encoding = null;
		if (options && options.encoding) {
			this.decoder = new (need('string_decoder').StringDecoder)(options.encoding);
			this.encoding = options.encoding;
		}
	}
}
function Readable(options) {
	if (!(this instanceof Readable)) return new Readable(options);
	this._readableState = new ReadableState(options, this instanceof Duplex);
	hide(this, '_readableState');
	if (options) {
		if (typeof options.read === 'function') this._read = options.read;
		if (typeof options.destroy === 'function') this._destroy = options.destroy;
		if (typeof options.construct === 'function') this._construct = options.construct;
	}
	Stream.call(this, options);
	if (options && options.signal && !(this instanceof Duplex)) withSignal(options.signal, this);
	construct(this, () => {
		if (this._readableState.needReadable) maybeReadMore(this, this._readableState);
	});
}
const hide = (object, name) => object;
inherits(Readable, Stream);
Object.assign(Readable.prototype, {
	destroy,
	_destroy(error, callback) {
		callback(error);
	},
	_read() {
		throw coded(Error, 'ERR_METHOD_NOT_IMPLEMENTED', 'The _read() method is not implemented');
	},
	push(chunk, encoding) {
		return addTo(this, chunk, encoding, false);
	},
	unshift(chunk, encoding) {
		return addTo(this, chunk, encoding, true);
	},
	isPaused() {
		const state = this._readableState;
		return state.paused === true || state.flowing === false;
	},
	setEncoding(encoding) {
		const state = this._readableState;
		const decoder = new (need('string_decoder').StringDecoder)(encoding);
		state.decoder = decoder;
		state.encoding = decoder.encoding;
		let text = '';
		for (const data of state.buffer) text += decoder.write(data);
		state.buffer = text === '' ? [] : [text];
		state.length = text.length;
		return this;
	},
	read(count) {
		const state = this._readableState;
		if (count === undefined) count = NaN;
		else if (!Number.isInteger(count)) count = parseInt(count, 10);
		const asked = count;
		if (count > state.highWaterMark) {
			let mark = 1;
			while (mark < count) mark *= 2;
			state.highWaterMark = mark;
		}
		if (count !== 0) state.emittedReadable = false;
		if (count === 0 && state.needReadable &&
			((state.highWaterMark !== 0 ? state.length >= state.highWaterMark : state.length > 0) || state.ended)) {
			if (state.length === 0 && state.ended) endReadable(this);
			else emitReadable(this);
			return null;
		}
		count = howMuch(count, state);
		if (count === 0 && state.ended) {
			if (state.length === 0) endReadable(this);
			return null;
		}
		let wanted = state.needReadable;
		if (state.length === 0 || state.length - count < state.highWaterMark) wanted = true;
		if (state.ended || state.reading || state.destroyed || state.errored || !state.constructed) wanted = false;
		else if (wanted) {
			state.reading = true;
			state.sync = true;
			if (state.length === 0) state.needReadable = true;
			try {
				this._read(state.highWaterMark);
			} catch (error) {
				failOrDestroy(this, error);
			}
			state.sync = false;
			if (!state.reading) count = howMuch(asked, state);
		}
		let data = count > 0 ? takeFrom(count, state) : null;
		if (data === null) {
			state.needReadable = state.length <= state.highWaterMark;
			count = 0;
		} else {
			state.length -= count;
			state.waiting.clear();
		}
		if (state.length === 0) {
			if (!state.ended) state.needReadable = true;
			if (asked !== count && state.ended) endReadable(this);
		}
		if (data !== null && !state.errored && !state.closeEmitted) {
			state.dataEmitted = true;
			this.emit('data', data);
		}
		return data;
	},
	pipe(target, options) {
		const source = this, state = this._readableState;
		state.pipes.push(target);
		const ending = (!options || options.end !== false) && target !== process.stdout && target !== process.stderr;
		const onEnd = ending ? () => target.end() : () => unpipe();
		if (state.endEmitted) tick(onEnd);
		else source.once('end', onEnd);
		let onDrain = null, cleaned = false;
		const onUnpipe = (readable, info) => {
			if (readable === source && info && info.hasUnpiped === false) {
				info.hasUnpiped = true;
				cleanup();
			}
		};
		target.on('unpipe', onUnpipe);
		const cleanup = () => {
			target.removeListener('close', onClose);
			target.removeListener('finish', onFinish);
			if (onDrain) target.removeListener('drain', onDrain);
			target.removeListener('error', onError);
			target.removeListener('unpipe', onUnpipe);
			source.removeListener('end', onEnd);
			source.removeListener('end', unpipe);
			source.removeListener('data', onData);
			cleaned = true;
			if (onDrain && state.waiting.size && (!target._writableState || target._writableState.needDrain)) onDrain();
		};
		const pause = () => {
			if (!cleaned) {
				state.waiting.add(target);
				source.pause();
			}
			if (!onDrain) {
				onDrain = () => {
					state.waiting.delete(target);
					if (state.waiting.size === 0 && source.listenerCount('data') > 0) source.resume();
				};
				target.on('drain', onDrain);
			}
		};
		const onData = (chunk) => {
			if (target.write(chunk) === false) pause();
		};
		source.on('data', onData);
		const onError = (error) => {
			unpipe();
			target.removeListener('error', onError);
			if (target.listenerCount('error') === 0) {
				const s = target._writableState || target._readableState;
				if (s && !s.errorEmitted) failOrDestroy(target, error);
				else target.emit('error', error);
			}
		};
		target.prependListener('error', onError);
		const onClose = () => {
			target.removeListener('finish', onFinish);
			unpipe();
		};
		target.once('close', onClose);
		const onFinish = () => {
			target.removeListener('close', onClose);
			unpipe();
		};
		target.once('finish', onFinish);
		const unpipe = () => source.unpipe(target);
		target.emit('pipe', source);
		if (target.writableNeedDrain === true) pause();
		else if (!state.flowing) source.resume();
		return target;
	},
	unpipe(target) {
		const state = this._readableState;
		if (state.pipes.length === 0) return this;
		if (!target) {
			const all = state.pipes;
			state.pipes = [];
			this.pause();
			for (const one of all) one.emit('unpipe', this, { hasUnpiped: false });
			return this;
		}
		const at = state.pipes.indexOf(target);
		if (at === -1) return this;
		state.pipes.splice(at, 1);
		if (state.pipes.length === 0) this.pause();
		target.emit('unpipe', this, { hasUnpiped: false });
		return this;
	},
	on(name, listener) {
		const result = Stream.prototype.on.call(this, name, listener), state = this._readableState;
		if (name === 'data') {
			state.readableListening = this.listenerCount('readable') > 0;
			if (state.flowing !== false) this.resume();
		} else if (name === 'readable') {
			if (!state.endEmitted && !state.readableListening) {
				state.readableListening = state.needReadable = true;
				state.flowing = false;
				state.emittedReadable = false;
				if (state.length) emitReadable(this);
				else if (!state.reading) tick(() => this.read(0));
			}
		}
		return result;
	},
	removeListener(name, listener) {
		const result = Stream.prototype.removeListener.call(this, name, listener);
		if (name === 'readable') tick(updateListening, this);
		return result;
	},
	removeAllListeners(name) {
		const result = Stream.prototype.removeAllListeners.apply(this, arguments);
		if (name === 'readable' || name === undefined) tick(updateListening, this);
		return result;
	},
	resume() {
		const state = this._readableState;
		if (!state.flowing) {
			state.flowing = !state.readableListening;
			if (!state.resumeScheduled) {
				state.resumeScheduled = true;
				tick(resumeLater, this, state);
			}
		}
		state.paused = false;
		return this;
	},
	pause() {
		const state = this._readableState;
		if (state.flowing !== false) {
			state.flowing = false;
			this.emit('pause');
		}
		state.paused = true;
		return this;
	},
	wrap(old) {
		old.on('data', (chunk) => {
			if (!this.push(chunk) && old.pause) old.pause();
		});
		old.on('end', () => this.push(null));
		old.on('error', (error) => failOrDestroy(this, error));
		this._read = () => old.resume && old.resume();
		return this;
	},
	[Symbol.asyncIterator]() {
		return iterate(this);
	},
	iterator(options) {
		return iterate(this, options);
	},
});
Readable.prototype.addListener = Readable.prototype.on;
Readable.prototype.off = Readable.prototype.removeListener;

function addTo(stream, chunk, encoding, front) {
	const state = stream._readableState;
	let error;
	if (!state.objectMode) {
		if (typeof chunk === 'string') {
			encoding = encoding || state.defaultEncoding;
			if (state.encoding !== encoding) {
				if (front && state.encoding) chunk = Buffer.from(chunk, encoding).toString(state.encoding);
				else {
					chunk = Buffer.from(chunk, encoding);
					encoding = '';
				}
			}
		} else if (chunk instanceof Buffer) encoding = '';
		else if (chunk instanceof Uint8Array) {
			chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
			encoding = '';
		} else if (chunk != null) error = invalidType('chunk', 'string or an instance of Buffer or Uint8Array', chunk);
	}
	if (error) failOrDestroy(stream, error);
	else if (chunk === null) {
		state.reading = false;
		atEnd(stream, state);
	} else if (state.objectMode || (chunk && chunk.length > 0)) {
		if (front) {
			if (state.endEmitted) failOrDestroy(stream, coded(Error, 'ERR_STREAM_UNSHIFT_AFTER_END_EVENT', 'stream.unshift() after end event'));
			else if (state.destroyed || state.errored) return false;
			else addChunk(stream, state, chunk, true);
		} else if (state.ended) failOrDestroy(stream, coded(Error, 'ERR_STREAM_PUSH_AFTER_EOF', 'stream.push() after EOF'));
		else if (state.destroyed || state.errored) return false;
		else {
			state.reading = false;
			if (state.decoder && !encoding) {
				chunk = state.decoder.write(chunk);
				if (state.objectMode || chunk.length !== 0) addChunk(stream, state, chunk, false);
				else maybeReadMore(stream, state);
			} else addChunk(stream, state, chunk, false);
		}
	} else if (!front) {
		state.reading = false;
		maybeReadMore(stream, state);
	}
	return !state.ended && (state.length < state.highWaterMark || state.length === 0);
}
function addChunk(stream, state, chunk, front) {
	if (state.flowing && state.length === 0 && !state.sync && stream.listenerCount('data') > 0) {
		state.waiting.clear();
		state.dataEmitted = true;
		stream.emit('data', chunk);
	} else {
		state.length += state.objectMode ? 1 : chunk.length;
		if (front) state.buffer.unshift(chunk);
		else state.buffer.push(chunk);
		if (state.needReadable) emitReadable(stream);
	}
	maybeReadMore(stream, state);
}
function atEnd(stream, state) {
	if (state.ended) return;
	if (state.decoder) {
		const chunk = state.decoder.end();
		if (chunk && chunk.length) {
			state.buffer.push(chunk);
			state.length += state.objectMode ? 1 : chunk.length;
		}
	}
	state.ended = true;
	if (state.sync) emitReadable(stream);
	else {
		state.needReadable = false;
		state.emittedReadable = true;
		emitReadableNow(stream);
	}
}
function howMuch(count, state) {
	if (count <= 0 || (state.length === 0 && state.ended)) return 0;
	if (state.objectMode) return 1;
	if (Number.isNaN(count)) return state.flowing && state.length ? state.buffer[0].length : state.length;
	if (count <= state.length) return count;
	return state.ended ? state.length : 0;
}
function takeFrom(count, state) {
	if (state.length === 0) return null;
	if (state.objectMode) return state.buffer.shift();
	if (!count || count >= state.length) {
		let all;
		if (state.decoder) all = state.buffer.join('');
		else if (state.buffer.length === 1) all = state.buffer[0];
		else all = Buffer.concat(state.buffer, state.length);
		state.buffer = [];
		return all;
	}
	const first = state.buffer[0];
	if (count < first.length) {
		state.buffer[0] = first.slice(count);
		return first.slice(0, count);
	}
	if (count === first.length) return state.buffer.shift();
	const parts = [];
	let left = count;
	while (left > 0) {
		const part = state.buffer[0];
		if (part.length <= left) {
			parts.push(part);
			state.buffer.shift();
			left -= part.length;
		} else {
			parts.push(part.slice(0, left));
			state.buffer[0] = part.slice(left);
			left = 0;
		}
	}
	return state.decoder ? parts.join('') : Buffer.concat(parts, count);
}
function emitReadable(stream) {
	const state = stream._readableState;
	state.needReadable = false;
	if (!state.emittedReadable) {
		state.emittedReadable = true;
		tick(emitReadableNow, stream);
	}
}
function emitReadableNow(stream) {
	const state = stream._readableState;
	if (!state.destroyed && !state.errored && (state.length || state.ended)) {
		stream.emit('readable');
		state.emittedReadable = false;
	}
	state.needReadable = !state.flowing && !state.ended && state.length <= state.highWaterMark;
	flow(stream);
}
function maybeReadMore(stream, state) {
	if (state.readingMore || !state.constructed) return;
	state.readingMore = true;
	tick(() => {
		while (!state.reading && !state.ended && (state.length < state.highWaterMark || (state.flowing && state.length === 0))) {
			const before = state.length;
			stream.read(0);
			if (before === state.length) break;
		}
		state.readingMore = false;
	});
}
function updateListening(stream) {
	const state = stream._readableState;
	state.readableListening = stream.listenerCount('readable') > 0;
	if (state.resumeScheduled && state.paused === false) state.flowing = true;
	else if (stream.listenerCount('data') > 0) stream.resume();
	else if (!state.readableListening) state.flowing = null;
}
function resumeLater(stream, state) {
	if (!state.reading) stream.read(0);
	state.resumeScheduled = false;
	stream.emit('resume');
	flow(stream);
	if (state.flowing && !state.reading) stream.read(0);
}
function flow(stream) {
	const state = stream._readableState;
	while (state.flowing && stream.read() !== null);
}
function endReadable(stream) {
	const state = stream._readableState;
	if (state.endEmitted) return;
	state.ended = true;
	tick(() => {
		if (state.errored || state.closeEmitted || state.endEmitted || state.length !== 0) return;
		state.endEmitted = true;
		stream.emit('end');
		const w = stream._writableState;
		if (w && stream.writable && stream.allowHalfOpen === false) {
			tick(() => {
				if (stream.writable && !w.ended && !w.destroyed) stream.end();
			});
		} else if (state.autoDestroy) {
			if (!w || (w.autoDestroy && (w.finished || w.writable === false))) stream.destroy();
		}
	});
}

function iterate(stream, options) {
	return (async function* () {
		let wake = NONE;
		const next = (resolve) => {
			if (resolve === undefined || typeof resolve !== 'function') {
				wake();
				wake = NONE;
			} else wake = resolve;
		};
		const listener = () => next();
		stream.on('readable', listener);
		let error;
		const clean = finished(stream, { writable: false }, (reason) => {
			error = reason || null;
			wake();
			wake = NONE;
		});
		try {
			for (;;) {
				const chunk = stream.destroyed ? null : stream.read();
				if (chunk !== null) yield chunk;
				else if (error) throw error;
				else if (error === null) return;
				else await new Promise(next);
			}
		} catch (reason) {
			error = error || reason;
			throw error;
		} finally {
			if ((error || !options || options.destroyOnReturn !== false) &&
				(error === undefined || stream._readableState.autoDestroy)) stream.destroy(null);
			else {
				stream.off('readable', listener);
				clean();
			}
		}
	})();
}

Object.defineProperties(Readable.prototype, {
	readable: {
		get() {
			const r = this._readableState;
			return !!r && r.readable !== false && !r.destroyed && !r.errorEmitted && !r.endEmitted;
		},
		set(value) {
			if (this._readableState) this._readableState.readable = !!value;
		},
		configurable: true,
	},
	readableDidRead: { get() { return this._readableState.dataEmitted; }, configurable: true },
	readableAborted: {
		get() {
			const r = this._readableState;
			return !!(r.readable !== false && (r.destroyed || r.errored) && !r.endEmitted);
		},
		configurable: true,
	},
	readableHighWaterMark: { get() { return this._readableState.highWaterMark; }, configurable: true },
	readableBuffer: { get() { return this._readableState && this._readableState.buffer; }, configurable: true },
	readableFlowing: { get() { return this._readableState.flowing; }, set(value) { this._readableState.flowing = value; }, configurable: true },
	readableLength: { get() { return this._readableState.length; }, configurable: true },
	readableObjectMode: { get() { return this._readableState ? this._readableState.objectMode : false; }, configurable: true },
	readableEncoding: { get() { return this._readableState ? this._readableState.encoding : null; }, configurable: true },
	readableEnded: { get() { return this._readableState ? this._readableState.endEmitted : false; }, configurable: true },
	errored: { get() { return this._readableState ? this._readableState.errored : null; }, configurable: true },
	closed: { get() { return this._readableState ? this._readableState.closed : false; }, configurable: true },
	destroyed: {
		get() {
			return this._readableState === undefined ? false : this._readableState.destroyed;
		},
		set(value) {
			if (this._readableState) this._readableState.destroyed = value;
		},
		configurable: true,
	},
});

Readable.from = function (iterable, options) {
	if (typeof iterable === 'string' || iterable instanceof Buffer)
		return new Readable({ objectMode: true, ...options, read() {
			this.push(iterable);
			this.push(null);
		} });
	let iterator, isAsync;
	if (iterable && iterable[Symbol.asyncIterator]) {
		isAsync = true;
		iterator = iterable[Symbol.asyncIterator]();
	} else if (iterable && iterable[Symbol.iterator]) {
		isAsync = false;
		iterator = iterable[Symbol.iterator]();
	} else throw invalidType('iterable', 'Iterable', iterable);
	const readable = new Readable({ objectMode: true, highWaterMark: 1, ...options });
	let reading = false;
	readable._read = () => {
		if (!reading) {
			reading = true;
			next();
		}
	};
	readable._destroy = (error, callback) => {
		close(error).then(() => tick(callback, error), (second) => tick(callback, second || error));
	};
	async function close(error) {
		const failed = error !== undefined && error !== null, hasThrow = typeof iterator.throw === 'function';
		if (failed && hasThrow) {
			const { value, done } = await iterator.throw(error);
			await value;
			if (done) return;
		}
		if (typeof iterator.return === 'function') {
			const { value } = await iterator.return();
			await value;
		}
	}
	async function next() {
		for (;;) {
			try {
				const { value, done } = isAsync ? await iterator.next() : iterator.next();
				if (done) readable.push(null);
				else {
					const chunk = value && typeof value.then === 'function' ? await value : value;
					if (chunk === null) {
						reading = false;
						throw coded(TypeError, 'ERR_STREAM_NULL_VALUES', 'May not write null values to stream');
					} else if (readable.push(chunk)) continue;
					else reading = false;
				}
			} catch (error) {
				readable.destroy(error);
			}
			break;
		}
	}
	return readable;
};

// Writable
class WritableState {
	constructor(options, duplex) {
		this.objectMode = !!(options && (options.objectMode || (duplex && options.writableObjectMode)));
		this.highWaterMark = markOf(options, duplex, 'writableHighWaterMark', this.objectMode);
		this.finalCalled = this.needDrain = this.ending = this.ended = this.finished = this.destroyed = false;
		this.decodeStrings = !(options && options.decodeStrings === false);
		this.defaultEncoding = (options && options.defaultEncoding) || 'utf8';
		this.length = 0;
		this.writing = false;
		this.corked = 0;
		this.sync = true;
		this.writeCallback = null;
		this.writeLength = 0;
		this.after = null;
		this.buffered = [];
		this.bufferedAt = 0;
		this.pendingCallbacks = 0;
		this.constructed = true;
		this.prefinished = this.errorEmitted = false;
		this.emitClose = !options || options.emitClose !== false;
		this.autoDestroy = !options || options.autoDestroy !== false;
		this.errored = null;
		this.closed = this.closeEmitted = false;
		this.onFinish = [];
	}
}
function Writable(options) {
	const duplex = this instanceof Duplex;
	if (!duplex && !(this instanceof Writable)) return new Writable(options);
	this._writableState = new WritableState(options, duplex);
	if (options) {
		if (typeof options.write === 'function') this._write = options.write;
		if (typeof options.writev === 'function') this._writev = options.writev;
		if (typeof options.destroy === 'function') this._destroy = options.destroy;
		if (typeof options.final === 'function') this._final = options.final;
		if (typeof options.construct === 'function') this._construct = options.construct;
	}
	Stream.call(this, options);
	if (options && options.signal) withSignal(options.signal, this);
	construct(this, () => {
		const state = this._writableState;
		if (!state.writing) clearBuffer(this, state);
		finishMaybe(this, state);
	});
}
inherits(Writable, Stream);
Object.defineProperty(Writable, Symbol.hasInstance, {
	value(object) {
		if (Function.prototype[Symbol.hasInstance].call(this, object)) return true;
		if (this !== Writable) return false;
		return !!object && object._writableState instanceof WritableState;
	},
});
const writableMethods = {
	destroy(error, callback) {
		const state = this._writableState;
		if (!state.destroyed && (state.bufferedAt < state.buffered.length || state.onFinish.length)) tick(failBuffered, state);
		destroy.call(this, error, callback);
		return this;
	},
	_destroy(error, callback) {
		callback(error);
	},
	_write(chunk, encoding, callback) {
		if (this._writev) this._writev([{ chunk, encoding }], callback);
		else throw coded(Error, 'ERR_METHOD_NOT_IMPLEMENTED', 'The _write() method is not implemented');
	},
	pipe() {
		failOrDestroy(this, coded(Error, 'ERR_STREAM_CANNOT_PIPE', 'Cannot pipe, not readable'));
	},
	write(chunk, encoding, callback) {
		return writeTo(this, chunk, encoding, callback) === true;
	},
	cork() {
		this._writableState.corked++;
	},
	uncork() {
		const state = this._writableState;
		if (state.corked) {
			state.corked--;
			if (!state.writing) clearBuffer(this, state);
		}
	},
	setDefaultEncoding(encoding) {
		need('buffer')._known(encoding);
		this._writableState.defaultEncoding = encoding;
		return this;
	},
	end(chunk, encoding, callback) {
		const state = this._writableState;
		if (typeof chunk === 'function') {
			callback = chunk;
			chunk = encoding = null;
		} else if (typeof encoding === 'function') {
			callback = encoding;
			encoding = null;
		}
		let error;
		if (chunk !== null && chunk !== undefined) {
			const result = writeTo(this, chunk, encoding);
			if (result instanceof Error) error = result;
		}
		if (state.corked) {
			state.corked = 1;
			this.uncork();
		}
		if (error) {
			// Nothing else: the callback gets it.
		} else if (!state.errored && !state.ending) {
			state.ending = true;
			finishMaybe(this, state, true);
			state.ended = true;
		} else if (state.finished) error = coded(Error, 'ERR_STREAM_ALREADY_FINISHED', 'Cannot call end after a stream was finished');
		else if (state.destroyed) error = coded(Error, 'ERR_STREAM_DESTROYED', 'Cannot call end after a stream was destroyed');
		if (typeof callback === 'function') {
			if (error || state.finished) tick(callback, error);
			else state.onFinish.push(callback);
		}
		return this;
	},
};
Object.assign(Writable.prototype, writableMethods);

function writeTo(stream, chunk, encoding, callback) {
	const state = stream._writableState;
	if (typeof encoding === 'function') {
		callback = encoding;
		encoding = state.defaultEncoding;
	} else {
		if (!encoding) encoding = state.defaultEncoding;
		else if (encoding !== 'buffer') need('buffer')._known(encoding);
		if (typeof callback !== 'function') callback = NONE;
	}
	if (chunk === null) throw coded(TypeError, 'ERR_STREAM_NULL_VALUES', 'May not write null values to stream');
	else if (!state.objectMode) {
		if (typeof chunk === 'string') {
			if (state.decodeStrings !== false) {
				chunk = Buffer.from(chunk, encoding);
				encoding = 'buffer';
			}
		} else if (chunk instanceof Buffer) encoding = 'buffer';
		else if (chunk instanceof Uint8Array) {
			chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
			encoding = 'buffer';
		} else throw invalidType('chunk', 'string or an instance of Buffer or Uint8Array', chunk);
	}
	let error;
	if (state.ending) error = coded(Error, 'ERR_STREAM_WRITE_AFTER_END', 'write after end');
	else if (state.destroyed) error = coded(Error, 'ERR_STREAM_DESTROYED', 'Cannot call write after a stream was destroyed');
	if (error) {
		tick(callback, error);
		failOrDestroy(stream, error, true);
		return error;
	}
	state.pendingCallbacks++;
	const length = state.objectMode ? 1 : chunk.length;
	state.length += length;
	const result = state.length < state.highWaterMark;
	if (!result) state.needDrain = true;
	if (state.writing || state.corked || state.errored || !state.constructed) state.buffered.push({ chunk, encoding, callback });
	else {
		state.writeLength = length;
		state.writeCallback = callback;
		state.writing = true;
		state.sync = true;
		stream._write(chunk, encoding, (failure) => onWrite(stream, failure));
		state.sync = false;
	}
	return result && !state.errored && !state.destroyed;
}
function onWriteError(stream, state, error, callback) {
	--state.pendingCallbacks;
	callback(error);
	failBuffered(state);
	failOrDestroy(stream, error);
}
function onWrite(stream, error) {
	const state = stream._writableState, sync = state.sync, callback = state.writeCallback;
	if (typeof callback !== 'function') {
		failOrDestroy(stream, coded(Error, 'ERR_MULTIPLE_CALLBACK', 'Callback called multiple times'));
		return;
	}
	state.writing = false;
	state.writeCallback = null;
	state.length -= state.writeLength;
	state.writeLength = 0;
	if (error) {
		if (!state.errored) state.errored = error;
		if (stream._readableState && !stream._readableState.errored) stream._readableState.errored = error;
		if (sync) tick(onWriteError, stream, state, error, callback);
		else onWriteError(stream, state, error, callback);
		return;
	}
	if (state.buffered.length > state.bufferedAt) clearBuffer(stream, state);
	if (sync) {
		if (state.after !== null && state.after.callback === callback) state.after.count++;
		else {
			const after = { count: 1, callback };
			state.after = after;
			tick(() => {
				state.after = state.after === after ? null : state.after;
				afterWrite(stream, state, after.count, callback);
			});
		}
	} else afterWrite(stream, state, 1, callback);
}
function afterWrite(stream, state, count, callback) {
	const drained = !state.ending && !stream.destroyed && state.length === 0 && state.needDrain;
	if (drained) {
		state.needDrain = false;
		stream.emit('drain');
	}
	while (count-- > 0) {
		state.pendingCallbacks--;
		callback(null);
	}
	if (state.destroyed) failBuffered(state);
	finishMaybe(stream, state);
}
function failBuffered(state) {
	if (state.writing) return;
	const list = state.buffered.slice(state.bufferedAt);
	for (const { chunk, callback } of list) {
		state.length -= state.objectMode ? 1 : chunk.length;
		callback(state.errored || coded(Error, 'ERR_STREAM_DESTROYED', 'Cannot call write after a stream was destroyed'));
	}
	for (const callback of state.onFinish.splice(0))
		callback(state.errored || coded(Error, 'ERR_STREAM_DESTROYED', 'Cannot call end after a stream was destroyed'));
	state.buffered = [];
	state.bufferedAt = 0;
}
function clearBuffer(stream, state) {
	if (state.corked || state.processing || state.destroyed || !state.constructed) return;
	const count = state.buffered.length - state.bufferedAt;
	if (!count) return;
	let at = state.bufferedAt;
	state.processing = true;
	if (count > 1 && stream._writev) {
		state.pendingCallbacks -= count - 1;
		const list = at === 0 ? state.buffered : state.buffered.slice(at);
		const callback = (error) => {
			for (const one of list) one.callback(error);
		};
		const chunks = list.slice();
		chunks.allBuffers = list.every((one) => one.encoding === 'buffer');
		state.writeLength = state.length;
		state.writeCallback = callback;
		state.writing = true;
		state.sync = true;
		state.buffered = [];
		state.bufferedAt = 0;
		stream._writev(chunks, (failure) => onWrite(stream, failure));
		state.sync = false;
	} else {
		do {
			const { chunk, encoding, callback } = state.buffered[at];
			state.buffered[at++] = null;
			state.writeLength = state.objectMode ? 1 : chunk.length;
			state.writeCallback = callback;
			state.writing = true;
			state.sync = true;
			stream._write(chunk, encoding, (failure) => onWrite(stream, failure));
			state.sync = false;
		} while (at < state.buffered.length && !state.writing);
		if (at === state.buffered.length) {
			state.buffered = [];
			state.bufferedAt = 0;
		} else if (at > 256) {
			state.buffered.splice(0, at);
			state.bufferedAt = 0;
		} else state.bufferedAt = at;
	}
	state.processing = false;
}
function needFinish(state) {
	return state.ending && !state.destroyed && state.constructed && state.length === 0 && !state.errored &&
		state.buffered.length === 0 && !state.finished && !state.writing && !state.errorEmitted && !state.closeEmitted;
}
function prefinish(stream, state) {
	if (state.prefinished || state.finalCalled) return;
	if (typeof stream._final === 'function' && !state.destroyed) {
		state.finalCalled = true;
		let called = false;
		const done = (error) => {
			if (called) {
				failOrDestroy(stream, error || coded(Error, 'ERR_MULTIPLE_CALLBACK', 'Callback called multiple times'));
				return;
			}
			called = true;
			state.pendingCallbacks--;
			if (error) {
				for (const callback of state.onFinish.splice(0)) callback(error);
				failOrDestroy(stream, error, state.sync);
			} else if (needFinish(state)) {
				state.prefinished = true;
				stream.emit('prefinish');
				state.pendingCallbacks++;
				tick(finish, stream, state);
			}
		};
		state.sync = true;
		state.pendingCallbacks++;
		try {
			stream._final(done);
		} catch (error) {
			done(error);
		}
		state.sync = false;
	} else {
		state.prefinished = true;
		stream.emit('prefinish');
	}
}
function finishMaybe(stream, state, sync) {
	if (!needFinish(state)) return;
	prefinish(stream, state);
	if (state.pendingCallbacks === 0) {
		if (sync) {
			state.pendingCallbacks++;
			tick(() => {
				if (needFinish(state)) finish(stream, state);
				else state.pendingCallbacks--;
			});
		} else if (needFinish(state)) {
			state.pendingCallbacks++;
			finish(stream, state);
		}
	}
}
function finish(stream, state) {
	state.pendingCallbacks--;
	state.finished = true;
	for (const callback of state.onFinish.splice(0)) callback();
	stream.emit('finish');
	if (state.autoDestroy) {
		const r = stream._readableState;
		if (!r || (r.autoDestroy && (r.endEmitted || r.readable === false))) stream.destroy();
	}
}
const writableProperties = {
	writable: {
		get() {
			const w = this._writableState;
			return !!w && w.writable !== false && !w.destroyed && !w.errored && !w.ending && !w.ended;
		},
		set(value) {
			if (this._writableState) this._writableState.writable = !!value;
		},
		configurable: true,
	},
	writableFinished: { get() { return this._writableState ? this._writableState.finished : false; }, configurable: true },
	writableObjectMode: { get() { return this._writableState ? this._writableState.objectMode : false; }, configurable: true },
	writableBuffer: { get() { return this._writableState && this._writableState.buffered.slice(this._writableState.bufferedAt); }, configurable: true },
	writableEnded: { get() { return this._writableState ? this._writableState.ending : false; }, configurable: true },
	writableNeedDrain: {
		get() {
			const w = this._writableState;
			return !!w && !w.destroyed && !w.ending && w.needDrain;
		},
		configurable: true,
	},
	writableHighWaterMark: { get() { return this._writableState && this._writableState.highWaterMark; }, configurable: true },
	writableCorked: { get() { return this._writableState ? this._writableState.corked : 0; }, configurable: true },
	writableLength: { get() { return this._writableState && this._writableState.length; }, configurable: true },
	writableAborted: {
		get() {
			const w = this._writableState;
			return !!(w.writable !== false && (w.destroyed || w.errored) && !w.finished);
		},
		configurable: true,
	},
};
Object.defineProperties(Writable.prototype, {
	...writableProperties,
	errored: { get() { return this._writableState ? this._writableState.errored : null; }, configurable: true },
	closed: { get() { return this._writableState ? this._writableState.closed : false; }, configurable: true },
	destroyed: {
		get() {
			return this._writableState ? this._writableState.destroyed : false;
		},
		set(value) {
			if (this._writableState) this._writableState.destroyed = value;
		},
		configurable: true,
	},
});

// Duplex and Transform
function Duplex(options) {
	if (!(this instanceof Duplex)) return new Duplex(options);
	Readable.call(this, options);
	Writable.call(this, options);
	if (options) {
		this.allowHalfOpen = options.allowHalfOpen !== false;
		if (options.readable === false) {
			this._readableState.readable = false;
			this._readableState.ended = true;
			this._readableState.endEmitted = true;
		}
		if (options.writable === false) {
			this._writableState.writable = false;
			this._writableState.ending = true;
			this._writableState.ended = true;
			this._writableState.finished = true;
		}
	} else this.allowHalfOpen = true;
}
inherits(Duplex, Readable);
for (const name of Object.keys(writableMethods)) if (name !== 'pipe' && name !== '_destroy') Duplex.prototype[name] = writableMethods[name];
Object.defineProperties(Duplex.prototype, writableProperties);
Object.defineProperty(Duplex.prototype, 'destroyed', {
	configurable: true,
	get() {
		if (this._readableState === undefined || this._writableState === undefined) return false;
		return this._readableState.destroyed && this._writableState.destroyed;
	},
	set(value) {
		if (this._readableState && this._writableState) this._readableState.destroyed = this._writableState.destroyed = value;
	},
});

const kCallback = Symbol('callback');
function Transform(options) {
	if (!(this instanceof Transform)) return new Transform(options);
	const mark = options ? markOf(options, true, 'readableHighWaterMark', true) : null;
	if (mark === 0) options = { ...options, highWaterMark: null, readableHighWaterMark: mark, writableHighWaterMark: options.writableHighWaterMark || 0 };
	Duplex.call(this, options);
	this._readableState.sync = false;
	this[kCallback] = null;
	Object.defineProperty(this, kCallback, { enumerable: false });
	if (options) {
		if (typeof options.transform === 'function') this._transform = options.transform;
		if (typeof options.flush === 'function') this._flush = options.flush;
	}
	this.on('prefinish', function () {
		if (this._final !== flushAll) flushAll.call(this);
	});
}
inherits(Transform, Duplex);
function flushAll(callback) {
	if (typeof this._flush === 'function' && !this.destroyed) {
		this._flush((error, data) => {
			if (error) {
				if (callback) callback(error);
				else this.destroy(error);
				return;
			}
			if (data != null) this.push(data);
			this.push(null);
			if (callback) callback();
		});
	} else {
		this.push(null);
		if (callback) callback();
	}
}
Transform.prototype._final = flushAll;
Transform.prototype._transform = function () {
	throw coded(Error, 'ERR_METHOD_NOT_IMPLEMENTED', 'The _transform() method is not implemented');
};
Transform.prototype._write = function (chunk, encoding, callback) {
	const r = this._readableState, w = this._writableState, before = r.length;
	this._transform(chunk, encoding, (error, value) => {
		if (error) {
			callback(error);
			return;
		}
		if (value != null) this.push(value);
		if (w.ended || before === r.length || r.length < r.highWaterMark) callback();
		else this[kCallback] = callback;
	});
};
Transform.prototype._read = function () {
	if (this[kCallback]) {
		const callback = this[kCallback];
		this[kCallback] = null;
		callback();
	}
};
function PassThrough(options) {
	if (!(this instanceof PassThrough)) return new PassThrough(options);
	Transform.call(this, options);
}
inherits(PassThrough, Transform);
PassThrough.prototype._transform = function (chunk, encoding, callback) {
	callback(null, chunk);
};

// finished and pipeline
const isReadable = (stream) => !!(stream && typeof stream.on === 'function' && (stream._readableState || typeof stream.read === 'function'));
const isWritable = (stream) => !!(stream && typeof stream.write === 'function' && typeof stream.on === 'function');

function finished(stream, options, callback) {
	if (typeof options === 'function') [callback, options] = [options, {}];
	options = options || {};
	let called = false;
	const call = (...values) => {
		if (called) return;
		called = true;
		callback.apply(stream, values);
	};
	const r = stream._readableState, w = stream._writableState;
	const readable = options.readable ?? isReadable(stream), writable = options.writable ?? !!(w || (!r && isWritable(stream)));
	const state = w || r;
	let willClose = !!(state && state.autoDestroy && state.emitClose && state.closed === false &&
		(!!r === readable) && (!!w === writable));
	let doneWriting = !!(w && (w.finished || w.writable === false)) || (stream.writableFinished === true);
	let doneReading = !!(r && (r.endEmitted || r.readable === false)) || (stream.readableEnded === true);
	const onFinish = () => {
		doneWriting = true;
		if (stream.destroyed) willClose = false;
		if (willClose && (!stream.readable || readable)) return;
		if (!readable || doneReading) call();
	};
	const onEnd = () => {
		doneReading = true;
		if (stream.destroyed) willClose = false;
		if (willClose && (!stream.writable || writable)) return;
		if (!writable || doneWriting) call();
	};
	const onError = (error) => call(error);
	let closed = !!(state && state.closed);
	const premature = () => coded(Error, 'ERR_STREAM_PREMATURE_CLOSE', 'Premature close');
	const onClose = () => {
		closed = true;
		const errored = (w && w.errored) || (r && r.errored);
		if (errored && typeof errored !== 'boolean') return call(errored);
		if (readable && !doneReading && isReadable(stream) && !(r && r.endEmitted)) return call(premature());
		if (writable && !doneWriting && !(w && w.finished)) return call(premature());
		call();
	};
	stream.on('end', onEnd);
	stream.on('finish', onFinish);
	if (options.error !== false) stream.on('error', onError);
	stream.on('close', onClose);
	const aborting = !!stream.req && typeof stream.abort === 'function';
	if (closed) tick(onClose);
	else if ((w && w.errorEmitted) || (r && r.errorEmitted)) {
		if (!willClose) tick(onClose);
	} else if (!readable && (!willClose || stream.readable) && (doneWriting || stream.writable === false)) tick(onClose);
	else if (!writable && (!willClose || stream.writable) && (doneReading || stream.readable === false)) tick(onClose);
	const clean = () => {
		call.done = true;
		stream.removeListener('end', onEnd);
		stream.removeListener('finish', onFinish);
		stream.removeListener('error', onError);
		stream.removeListener('close', onClose);
	};
	const { signal } = options;
	if (signal && !closed) {
		const abort = () => {
			clean();
			call(abortError(signal.reason));
		};
		if (signal.aborted) tick(abort);
		else signal.addEventListener('abort', abort, { once: true });
	}
	return () => {
		called = true;
		clean();
	};
}

function pipeline(...streams) {
	let callback = streams.pop();
	if (typeof callback !== 'function') throw invalidType('streams[stream.length - 1]', 'function', callback);
	if (streams.length === 1 && Array.isArray(streams[0])) streams = streams[0];
	return runPipeline(streams, callback);
}
function runPipeline(streams, callback, options = {}) {
	if (streams.length < 2) throw coded(TypeError, 'ERR_MISSING_ARGS', 'The "streams" argument must be specified');
	let error, value, count = 0, over = false;
	const destroys = [];
	const { signal } = options;
	const abort = () => done(abortError(signal && signal.reason));
	if (signal) {
		if (signal.aborted) {
			tick(callback, abortError(signal.reason));
			return;
		}
		signal.addEventListener('abort', abort, { once: true });
	}
	const end = (reason, final) => {
		if (reason && (!error || error.code === 'ERR_STREAM_PREMATURE_CLOSE')) error = reason;
		if (!error && !final) return;
		while (destroys.length) destroys.shift()(error);
		if (signal) signal.removeEventListener('abort', abort);
		if (final && !over) {
			over = true;
			tick(callback, error, value);
		}
	};
	const done = (reason) => end(reason, --count === 0);
	const onlyError = (reason) => end(reason, false);
	const watch = (stream, reading, writing) => {
		let over = false;
		stream.on('close', () => { over = true; });
		finished(stream, { readable: reading, writable: writing }, (reason) => { over = !reason; });
		return (reason) => {
			if (over) return;
			over = true;
			stream.destroy(reason || coded(Error, 'ERR_STREAM_DESTROYED', 'Cannot call pipe after a stream was destroyed'));
		};
	};
	let result;
	for (let i = 0; i < streams.length; i++) {
		const stream = streams[i];
		const reading = i < streams.length - 1, writing = i > 0, last = i === streams.length - 1;
		const isStream = stream && typeof stream.pipe === 'function' || isWritable(stream);
		const ends = reading || !(options.end === false);
		if (isStream) {
			if (ends) destroys.push(watch(stream, reading, writing));
			stream.on('error', (reason) => {
				if (reason && reason.name !== 'AbortError' && reason.code !== 'ERR_STREAM_PREMATURE_CLOSE') onlyError(reason);
			});
		}
		if (i === 0) {
			if (typeof stream === 'function') {
				result = stream({ signal });
				if (!result || (!result[Symbol.asyncIterator] && !result[Symbol.iterator]))
					throw coded(TypeError, 'ERR_INVALID_RETURN_VALUE', 'Expected Iterable to be returned from the "source" function');
			} else if (isStream) result = stream;
			else if (stream && (stream[Symbol.asyncIterator] || stream[Symbol.iterator])) result = stream;
			else throw invalidType('source', 'Stream or Iterable', stream);
		} else if (typeof stream === 'function') {
			const source = result && typeof result.pipe === 'function' ? result : (async function* (from) { yield* from; })(result);
			result = stream(source, { signal });
			if (reading) {
				if (!result || (!result[Symbol.asyncIterator] && !result[Symbol.iterator]))
					throw coded(TypeError, 'ERR_INVALID_RETURN_VALUE', `Expected AsyncIterable to be returned from the "transform[${i - 1}]" function`);
			} else {
				const through = new PassThrough({ objectMode: true });
				if (result && typeof result.then === 'function') {
					count++;
					result.then((got) => {
						value = got;
						if (got != null) through.write(got);
						if (ends) through.end();
						tick(done);
					}, (reason) => {
						through.destroy(reason);
						tick(done, reason);
					});
				} else if (result && result[Symbol.asyncIterator]) {
					count++;
					pump(result, through, done, { end: ends });
				} else throw coded(TypeError, 'ERR_INVALID_RETURN_VALUE', 'Expected AsyncIterable or Promise to be returned from the "destination" function');
				result = through;
				destroys.push(watch(result, false, true));
				if (last) {
					// Nobody reads what comes out behind the last.
					through.resume();
				}
			}
		} else if (isStream) {
			if (result && typeof result.pipe === 'function') {
				count += 2;
				join(result, stream, done, { end: ends });
			} else if (result && (result[Symbol.asyncIterator] || result[Symbol.iterator])) {
				count++;
				pump(result, stream, done, { end: ends });
			}
			result = stream;
		} else throw invalidType('stream', 'Stream', stream);
	}
	return result;
}
function join(source, target, callback, { end }) {
	let over = false;
	target.on('close', () => {
		if (!over) callback(coded(Error, 'ERR_STREAM_PREMATURE_CLOSE', 'Premature close'));
	});
	source.pipe(target, { end: false });
	if (end) {
		const finish = () => {
			over = true;
			target.end();
		};
		if (source.readableEnded) tick(finish);
		else source.once('end', finish);
	} else callback();
	finished(source, { readable: true, writable: false }, (error) => {
		const r = source._readableState;
		if (error && error.code === 'ERR_STREAM_PREMATURE_CLOSE' && r && r.ended && !r.errored && !r.errorEmitted)
			source.once('end', callback).once('error', callback);
		else callback(error);
	});
	finished(target, { readable: false, writable: true }, callback);
}
async function pump(iterable, writable, callback, { end }) {
	let error, wake = null;
	const resume = (reason) => {
		if (reason) error = reason;
		if (wake) {
			const go = wake;
			wake = null;
			go();
		}
	};
	const wait = () => new Promise((resolve, reject) => {
		if (error) reject(error);
		else wake = () => error ? reject(error) : resolve();
	});
	const onDrain = () => resume();
	writable.on('drain', onDrain);
	const clean = finished(writable, { readable: false }, resume);
	try {
		if (writable.writableNeedDrain) await wait();
		for await (const chunk of iterable) if (!writable.write(chunk)) await wait();
		if (end) {
			writable.end();
			await wait();
		}
		callback();
	} catch (reason) {
		callback(error !== reason ? reason : error);
	} finally {
		clean();
		writable.off('drain', onDrain);
	}
}

const promises = {
	pipeline: (...streams) => new Promise((resolve, reject) => {
		let options;
		const last = streams[streams.length - 1];
		if (last && typeof last === 'object' && !isReadable(last) && !isWritable(last) && !last[Symbol.asyncIterator] && !last[Symbol.iterator])
			options = streams.pop();
		if (streams.length === 1 && Array.isArray(streams[0])) streams = streams[0];
		runPipeline(streams, (error, value) => {
			if (error) reject(error);
			else resolve(value);
		}, options);
	}),
	finished: (stream, options) => new Promise((resolve, reject) => {
		finished(stream, options || {}, (error) => {
			if (error) reject(error);
			else resolve();
		});
	}),
};
for (const [one, name] of [[finished, 'finished'], [pipeline, 'pipeline']])
	Object.defineProperty(one, Symbol.for('nodejs.util.promisify.custom'), { enumerable: false, value: promises[name] });

Stream.Stream = Stream;
Object.assign(Stream, {
	Readable, Writable, Duplex, Transform, PassThrough, finished, pipeline, promises,
	addAbortSignal: (signal, stream) => withSignal(signal, stream),
	isReadable: (stream) => !!(stream && stream.readable), isErrored: (stream) => !!(stream && stream.errored),
	isDisturbed: (stream) => !!(stream && (stream.readableDidRead || stream.readableAborted)),
	_failOrDestroy: failOrDestroy,
});
Object.defineProperty(Stream, '_failOrDestroy', { enumerable: false });
module.exports = Stream;
