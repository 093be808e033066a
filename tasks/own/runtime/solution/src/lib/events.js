// Its states, formulas and conditions follow Node.js 18's own, as they are known; see ../LICENSE-node.
// EventEmitter.
const kErrors = Symbol('kCapture');

function EventEmitter(options) {
	EventEmitter.init.call(this, options);
}
EventEmitter.init = function () {
	if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
		this._events = Object.create(null);
		this._eventsCount = 0;
	}
	this._maxListeners = this._maxListeners || undefined;
};
EventEmitter.prototype._events = undefined;
EventEmitter.prototype._eventsCount = 0;
EventEmitter.prototype._maxListeners = undefined;
EventEmitter.defaultMaxListeners = 10;

function checked(listener) {
	if (typeof listener !== 'function') throw need('errors').invalidType('listener', 'function', listener);
}

function add(emitter, name, listener, first) {
	checked(listener);
	let events = emitter._events;
	if (events === undefined) {
		events = emitter._events = Object.create(null);
		emitter._eventsCount = 0;
	} else if (events.newListener !== undefined) {
		emitter.emit('newListener', name, listener.listener ? listener.listener : listener);
		events = emitter._events;
	}
	const there = events[name];
	if (there === undefined) {
		events[name] = listener;
		emitter._eventsCount++;
	} else if (typeof there === 'function') events[name] = first ? [listener, there] : [there, listener];
	else if (first) there.unshift(listener);
	else there.push(listener);
	return emitter;
}

function once(emitter, name, listener) {
	checked(listener);
	const wrapped = function (...values) {
		if (wrapped.fired) return;
		wrapped.fired = true;
		emitter.removeListener(name, wrapped);
		return listener.apply(emitter, values);
	};
	wrapped.fired = false;
	wrapped.listener = listener;
	return wrapped;
}

const methods = {
	on(name, listener) {
		return add(this, name, listener, false);
	},
	addListener(name, listener) {
		return add(this, name, listener, false);
	},
	prependListener(name, listener) {
		return add(this, name, listener, true);
	},
	once(name, listener) {
		return this.on(name, once(this, name, listener));
	},
	prependOnceListener(name, listener) {
		return this.prependListener(name, once(this, name, listener));
	},
	removeListener(name, listener) {
		checked(listener);
		const events = this._events;
		if (events === undefined) return this;
		const there = events[name];
		if (there === undefined) return this;
		if (there === listener || there.listener === listener) {
			if (--this._eventsCount === 0) this._events = Object.create(null);
			else delete events[name];
			if (events.removeListener) this.emit('removeListener', name, there.listener || listener);
			if (this._eventsCount === 0 && events.removeListener) this._events = Object.create(null);
		} else if (typeof there !== 'function') {
			let at = -1;
			for (let i = there.length - 1; i >= 0; i--)
				if (there[i] === listener || there[i].listener === listener) {
					at = i;
					break;
				}
			if (at < 0) return this;
			const copy = there.slice();
			copy.splice(at, 1);
			events[name] = copy.length === 1 ? copy[0] : copy;
			if (events.removeListener !== undefined) this.emit('removeListener', name, listener);
		}
		return this;
	},
	off(name, listener) {
		return this.removeListener(name, listener);
	},
	removeAllListeners(name) {
		const events = this._events;
		if (events === undefined) return this;
		if (events.removeListener === undefined) {
			if (arguments.length === 0) {
				this._events = Object.create(null);
				this._eventsCount = 0;
			} else if (events[name] !== undefined) {
				if (--this._eventsCount === 0) this._events = Object.create(null);
				else delete events[name];
			}
			return this;
		}
		if (arguments.length === 0) {
			for (const key of Reflect.ownKeys(events)) if (key !== 'removeListener') this.removeAllListeners(key);
			this.removeAllListeners('removeListener');
			this._events = Object.create(null);
			this._eventsCount = 0;
			return this;
		}
		const there = events[name];
		if (typeof there === 'function') this.removeListener(name, there);
		else if (there !== undefined) for (let i = there.length - 1; i >= 0; i--) this.removeListener(name, there[i]);
		return this;
	},
	listenerCount(name) {
		const there = this._events && this._events[name];
		return there === undefined ? 0 : typeof there === 'function' ? 1 : there.length;
	},
	listeners(name) {
		const there = this._events && this._events[name];
		if (there === undefined) return [];
		return (typeof there === 'function' ? [there] : there).map((one) => one.listener || one);
	},
	rawListeners(name) {
		const there = this._events && this._events[name];
		return there === undefined ? [] : typeof there === 'function' ? [there] : there.slice();
	},
	eventNames() {
		return this._eventsCount > 0 ? Reflect.ownKeys(this._events) : [];
	},
	setMaxListeners(count) {
		this._maxListeners = count;
		return this;
	},
	getMaxListeners() {
		return this._maxListeners === undefined ? EventEmitter.defaultMaxListeners : this._maxListeners;
	},
	emit(name, ...values) {
		const events = this._events;
		if (name === 'error' && (events === undefined || events.error === undefined)) {
			const error = values[0];
			if (error instanceof Error) throw error;
			const thrown = need('errors').coded(Error, 'ERR_UNHANDLED_ERROR', `Unhandled error. (${
				typeof error === 'string' ? `'${error}'` : need('util').inspect(error)})`);
			thrown.context = error;
			throw thrown;
		}
		if (events === undefined) return false;
		const there = events[name];
		if (there === undefined) return false;
		if (typeof there === 'function') Reflect.apply(there, this, values);
		else for (const listener of there.slice()) Reflect.apply(listener, this, values);
		return true;
	},
};
for (const name of Object.keys(methods)) EventEmitter.prototype[name] = methods[name];

EventEmitter.EventEmitter = EventEmitter;
EventEmitter.listenerCount = (emitter, name) => emitter.listenerCount(name);
EventEmitter.errorMonitor = Symbol('events.errorMonitor');
EventEmitter.captureRejectionSymbol = Symbol.for('nodejs.rejection');
EventEmitter.captureRejections = false;
EventEmitter.usingDomains = false;
EventEmitter.setMaxListeners = (count, ...emitters) => {
	for (const emitter of emitters) if (emitter.setMaxListeners) emitter.setMaxListeners(count);
};
EventEmitter.getEventListeners = (emitter, name) => emitter.listeners(name);

EventEmitter.once = function once(emitter, name, options = {}) {
	const signal = options && options.signal;
	return new Promise((resolve, reject) => {
		if (signal && signal.aborted) {
			reject(need('errors').aborted(signal.reason));
			return;
		}
		if (typeof emitter.addEventListener === 'function' && typeof emitter.on !== 'function') {
			emitter.addEventListener(name, (event) => resolve([event]), { once: true });
			return;
		}
		const done = (...values) => {
			emitter.removeListener('error', failed);
			if (signal) signal.removeEventListener('abort', aborted);
			resolve(values);
		};
		const failed = (error) => {
			emitter.removeListener(name, done);
			if (signal) signal.removeEventListener('abort', aborted);
			reject(error);
		};
		const aborted = () => {
			emitter.removeListener(name, done);
			emitter.removeListener('error', failed);
			reject(need('errors').aborted(signal.reason));
		};
		emitter.once(name, done);
		if (name !== 'error') emitter.once('error', failed);
		if (signal) signal.addEventListener('abort', aborted, { once: true });
	});
};

EventEmitter.on = function on(emitter, name, options = {}) {
	const queue = [], waiting = [];
	let error = null, finished = false;
	const signal = options.signal;
	const listener = (...values) => {
		if (waiting.length) waiting.shift().resolve({ value: values, done: false });
		else queue.push(values);
	};
	const failed = (reason) => {
		finished = true;
		if (waiting.length) waiting.shift().reject(reason);
		else error = reason;
		iterator.return();
	};
	const iterator = {
		next() {
			if (queue.length) return Promise.resolve({ value: queue.shift(), done: false });
			if (error) {
				const reason = error;
				error = null;
				return Promise.reject(reason);
			}
			if (finished) return Promise.resolve({ value: undefined, done: true });
			return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
		},
		return() {
			emitter.removeListener(name, listener);
			emitter.removeListener('error', failed);
			finished = true;
			for (const one of waiting.splice(0)) one.resolve({ value: undefined, done: true });
			return Promise.resolve({ value: undefined, done: true });
		},
		throw(reason) {
			error = reason;
			emitter.removeListener(name, listener);
			emitter.removeListener('error', failed);
		},
		[Symbol.asyncIterator]() {
			return this;
		},
	};
	emitter.on(name, listener);
	if (name !== 'error') emitter.on('error', failed);
	if (signal) signal.addEventListener('abort', () => failed(need('errors').aborted(signal.reason)), { once: true });
	return iterator;
};
module.exports = EventEmitter;
