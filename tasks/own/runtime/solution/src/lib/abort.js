// Events as on the web, and what stops work that is under way.
const { coded, invalidType } = need('errors');
const codes = {
	IndexSizeError: 1, NotFoundError: 8, NotSupportedError: 9, InvalidStateError: 11, SyntaxError: 12, InvalidAccessError: 15,
	TimeoutError: 23, AbortError: 20, DataCloneError: 25, InvalidCharacterError: 5, QuotaExceededError: 22, NetworkError: 19,
};
class DOMException extends Error {
	#name;
	constructor(message = '', options = 'Error') {
		super(`${message}`);
		this.#name = typeof options === 'object' ? options.name || 'Error' : `${options}`;
		delete this.message;
		Object.defineProperty(this, 'message', { value: `${message}`, configurable: true, enumerable: false, writable: true });
		if (typeof this.stack === 'string')
			Object.defineProperty(this, 'stack', { value: `${this.#name}: ${message}\n${this.stack}`, configurable: true, writable: true, enumerable: false });
	}
	get name() {
		return this.#name;
	}
	get code() {
		return codes[this.#name] || 0;
	}
}
Object.defineProperty(DOMException.prototype, Symbol.toStringTag, { configurable: true, value: 'DOMException' });
DOMException.ABORT_ERR = 20;

class Event {
	#type;
	#cancelable;
	#stopped = false;
	#prevented = false;
	constructor(type, options = {}) {
		if (arguments.length === 0) throw coded(TypeError, 'ERR_MISSING_ARGS', 'The "type" argument must be specified');
		this.#type = `${type}`;
		this.#cancelable = !!(options && options.cancelable);
		Object.defineProperty(this, '_target', { value: null, writable: true });
		Object.defineProperty(this, 'timeStamp', { value: sys.now(), enumerable: false });
	}
	get type() {
		return this.#type;
	}
	get target() {
		return this._target;
	}
	get currentTarget() {
		return this._target;
	}
	get srcElement() {
		return this._target;
	}
	get bubbles() {
		return false;
	}
	get composed() {
		return false;
	}
	get cancelable() {
		return this.#cancelable;
	}
	get defaultPrevented() {
		return this.#cancelable && this.#prevented;
	}
	get eventPhase() {
		return this._target ? 2 : 0;
	}
	get isTrusted() {
		return false;
	}
	composedPath() {
		return this._target ? [this._target] : [];
	}
	preventDefault() {
		this.#prevented = true;
	}
	stopPropagation() {}
	stopImmediatePropagation() {
		this.#stopped = true;
	}
	get _stopped() {
		return this.#stopped;
	}
}
const kListeners = Symbol('listeners');
class EventTarget {
	constructor() {
		Object.defineProperty(this, kListeners, { value: new Map() });
	}
	addEventListener(type, listener, options = {}) {
		if (listener == null) return;
		const once = typeof options === 'object' && !!options.once, capture = typeof options === 'boolean' ? options : !!(options && options.capture);
		let list = this[kListeners].get(`${type}`);
		if (!list) this[kListeners].set(`${type}`, list = []);
		if (list.some((one) => one.listener === listener && one.capture === capture)) return;
		const entry = { listener, once, capture };
		list.push(entry);
		const signal = options && options.signal;
		if (signal) {
			if (signal.aborted) list.pop();
			else signal.addEventListener('abort', () => this.removeEventListener(type, listener, options), { once: true });
		}
	}
	removeEventListener(type, listener, options = {}) {
		const list = this[kListeners].get(`${type}`);
		if (!list) return;
		const capture = typeof options === 'boolean' ? options : !!(options && options.capture);
		const at = list.findIndex((one) => one.listener === listener && one.capture === capture);
		if (at >= 0) {
			list[at].removed = true;
			list.splice(at, 1);
		}
	}
	dispatchEvent(event) {
		if (!(event instanceof Event)) throw invalidType('event', 'Event', event);
		event._target = this;
		const list = this[kListeners].get(event.type);
		for (const one of list ? list.slice() : []) {
			if (one.removed) continue;
			if (one.once) this.removeEventListener(event.type, one.listener, one.capture);
			try {
				if (typeof one.listener === 'function') one.listener.call(this, event);
				else one.listener.handleEvent(event);
			} catch (error) {
				need('core').tick(() => {
					throw error;
				});
			}
			if (event._stopped) break;
		}
		return !event.defaultPrevented;
	}
}
for (const Type of [Event, EventTarget])
	Object.defineProperty(Type.prototype, Symbol.toStringTag, { configurable: true, value: Type.name });

let inside = false;
class AbortSignal extends EventTarget {
	#aborted = false;
	#reason = undefined;
	constructor() {
		if (!inside) throw coded(TypeError, 'ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor');
		super();
		let handler = null;
		Object.defineProperty(this, 'onabort', {
			configurable: true, enumerable: false, get: () => handler, set: (value) => { handler = value; },
		});
		this.addEventListener('abort', (event) => {
			if (typeof handler === 'function') handler.call(this, event);
		});
	}
	get aborted() {
		return this.#aborted;
	}
	get reason() {
		return this.#reason;
	}
	throwIfAborted() {
		if (this.#aborted) throw this.#reason;
	}
	static _make() {
		inside = true;
		try {
			return new AbortSignal();
		} finally {
			inside = false;
		}
	}
	static _abort(signal, reason) {
		if (signal.#aborted) return;
		signal.#aborted = true;
		signal.#reason = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason;
		signal.dispatchEvent(new Event('abort'));
	}
	static abort(reason) {
		const signal = AbortSignal._make();
		AbortSignal._abort(signal, reason);
		return signal;
	}
	static timeout(after) {
		if (typeof after !== 'number') throw invalidType('delay', 'number', after);
		const signal = AbortSignal._make();
		need('core').timers.setTimeout(() => AbortSignal._abort(signal, new DOMException('The operation was aborted due to timeout', 'TimeoutError')), after).unref();
		return signal;
	}
	static any(signals) {
		const signal = AbortSignal._make();
		for (const one of signals) {
			if (one.aborted) {
				AbortSignal._abort(signal, one.reason);
				break;
			}
			one.addEventListener('abort', () => AbortSignal._abort(signal, one.reason), { once: true });
		}
		return signal;
	}
	[Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
		return `AbortSignal ${inspect({ aborted: this.#aborted })}`;
	}
}
class AbortController {
	#signal = AbortSignal._make();
	get signal() {
		return this.#signal;
	}
	abort(reason) {
		AbortSignal._abort(this.#signal, reason);
	}
	[Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
		return `AbortController ${inspect({ signal: this.#signal })}`;
	}
}
for (const Type of [AbortSignal, AbortController])
	Object.defineProperty(Type.prototype, Symbol.toStringTag, { configurable: true, value: Type.name });
for (const name of ['_make', '_abort', 'any']) Object.defineProperty(AbortSignal, name, { enumerable: false });
Object.assign(exports, { DOMException, Event, EventTarget, AbortSignal, AbortController });
