// Structured clones: first a flat list of plain values, which the engine can write down; then copies from it.
const { types, typedName } = need('kinds');

function refused(value) {
	const { DOMException } = need('abort');
	let text;
	try {
		text = typeof value === 'symbol' ? value.toString() : typeof value === 'function' ? `${value}` : '#<Object>';
	} catch {
		text = 'value';
	}
	return new DOMException(`${text} could not be cloned.`, 'DataCloneError');
}
const errorTypes = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

// Values that are no objects stand for themselves; others are [index].
function pack(value, transfer = []) {
	const list = [], seen = new Map(), moved = new Map();
	for (const one of transfer) {
		if (moved.has(one)) throw new (need('abort').DOMException)('Transfer list contains duplicate ArrayBuffer', 'DataCloneError');
		if (types.isArrayBuffer(one)) {
			moved.set(one, 'buffer');
		} else if (one && one._portId !== undefined) moved.set(one, 'port');
		else throw need('errors').coded(TypeError, 'ERR_INVALID_TRANSFER_OBJECT', 'Found invalid object in transferList');
	}
	const walk = (value) => {
		switch (typeof value) {
		case 'function': case 'symbol':
			throw refused(value);
		case 'object':
			break;
		default:
			return value;
		}
		if (value === null) return null;
		const there = seen.get(value);
		if (there !== undefined) return [there];
		const index = list.length;
		list.push(null);
		seen.set(value, index);
		if (moved.get(value) === 'port') list[index] = ['port', value._portId];
		else if (Array.isArray(value)) {
			const entry = ['array', value.length];
			list[index] = entry;
			for (const key of Object.keys(value)) entry.push(key, walk(value[key]));
		} else if (types.isDate(value)) list[index] = ['date', Date.prototype.getTime.call(value)];
		else if (types.isRegExp(value)) list[index] = ['regexp', value.source, value.flags];
		else if (types.isBoxedPrimitive(value)) {
			const inner = value.valueOf();
			if (typeof inner === 'symbol') throw refused(value);
			list[index] = ['boxed', inner];
		} else if (types.isMap(value)) {
			const entry = ['map'];
			list[index] = entry;
			for (const [key, one] of [...Map.prototype.entries.call(value)]) entry.push(walk(key), walk(one));
		} else if (types.isSet(value)) {
			const entry = ['set'];
			list[index] = entry;
			for (const one of [...Set.prototype.values.call(value)]) entry.push(walk(one));
		} else if (types.isSharedArrayBuffer(value)) list[index] = ['raw', value];
		else if (types.isArrayBuffer(value)) {
			if (sys.isDetached && sys.isDetached(value)) throw refused(value);
			list[index] = ['raw', value];
		} else if (types.isTypedArray(value)) list[index] = ['typed', typedName(value), walk(value.buffer), value.byteOffset, value.length];
		else if (types.isDataView(value)) list[index] = ['typed', 'DataView', walk(value.buffer), value.byteOffset, value.byteLength];
		else if (types.isNativeError(value)) {
			const name = Object.hasOwn(errorTypes, value.name) ? value.name : 'Error';
			const message = Object.getOwnPropertyDescriptor(value, 'message');
			const stack = typeof value.stack === 'string' ? need('util')._stackOf(value) : undefined;
			const entry = ['error', name, message ? `${message.value}` : undefined, stack];
			list[index] = entry;
			if (Object.hasOwn(value, 'cause')) entry.push(walk(value.cause));
		} else if (types.isProxy(value) || types.isPromise(value) || types.isWeakMap(value) || types.isWeakSet(value) || types.isGeneratorObject(value) ||
			(value._portId !== undefined) || types.isMapIterator(value) || types.isSetIterator(value)) throw refused(value);
		else {
			const entry = ['object'];
			list[index] = entry;
			for (const key of Object.keys(value)) entry.push(key, walk(value[key]));
		}
		return [index];
	};
	const root = walk(value);
	return [root, list, moved];
}
function plain(packed) {
	return [packed[0], packed[1]];
}
// What is moved is empty here afterwards.
function leave(moved) {
	for (const [one, kind] of moved) {
		if (kind === 'buffer') sys.detach(one);
		else one._leave();
	}
}

function unpack([root, list], copy) {
	const made = new Array(list.length);
	const build = (ref) => {
		if (!Array.isArray(ref)) return ref;
		const index = ref[0];
		if (made[index] !== undefined) return made[index];
		const entry = list[index];
		let value;
		switch (entry[0]) {
		case 'array':
			made[index] = value = [];
			value.length = entry[1];
			for (let i = 2; i < entry.length; i += 2) value[entry[i]] = build(entry[i + 1]);
			break;
		case 'object':
			made[index] = value = {};
			for (let i = 1; i < entry.length; i += 2)
				Object.defineProperty(value, entry[i], { value: build(entry[i + 1]), writable: true, enumerable: true, configurable: true });
			break;
		case 'date':
			value = new Date(entry[1]);
			break;
		case 'regexp':
			value = new RegExp(entry[1], entry[2]);
			break;
		case 'boxed':
			value = Object(entry[1]);
			break;
		case 'map':
			made[index] = value = new Map();
			for (let i = 1; i < entry.length; i += 2) value.set(build(entry[i]), build(entry[i + 1]));
			break;
		case 'set':
			made[index] = value = new Set();
			for (let i = 1; i < entry.length; i++) value.add(build(entry[i]));
			break;
		case 'raw':
			value = copy && types.isArrayBuffer(entry[1]) ? entry[1].slice(0) : entry[1];
			break;
		case 'typed': {
			const Type = globalThis[entry[1]];
			value = new Type(build(entry[2]), entry[3], entry[4]);
			break;
		}
		case 'error': {
			const Type = errorTypes[entry[1]] || Error;
			value = Object.create(Type.prototype);
			value = entry[2] === undefined ? new Type() : new Type(entry[2]);
			made[index] = value;
			Object.defineProperty(value, 'stack', { value: entry[3], writable: true, configurable: true, enumerable: false });
			if (entry.length > 4) Object.defineProperty(value, 'cause', { value: build(entry[4]), writable: true, configurable: true, enumerable: false });
			break;
		}
		case 'port':
			value = need('worker_threads')._portFrom(entry[1]);
			break;
		}
		made[index] = value;
		return value;
	};
	return build(root);
}
exports.pack = (value, transfer) => {
	const packed = pack(value, transfer);
	return plain(packed);
};
exports.packAndLeave = (value, transfer, send) => {
	const packed = pack(value, transfer);
	const result = send(plain(packed));
	leave(packed[2]);
	return result;
};
exports.unpack = (packed) => unpack(packed, false);
exports.structuredClone = function structuredClone(value, options) {
	const transfer = options && options.transfer ? [...options.transfer] : [];
	const packed = pack(value, transfer);
	const result = unpack(plain(packed), true);
	leave(packed[2]);
	return result;
};
