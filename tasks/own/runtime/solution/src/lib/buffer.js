// Its states, formulas and conditions follow Node.js 18's own, as they are known; see ../LICENSE-node.
// Buffer
const errors = need('errors');
const { types } = need('kinds');
const UTF8 = 0, LATIN1 = 1, UTF16 = 2, HEX = 3, BASE64 = 4, BASE64URL = 5, ASCII = 6;
const encodings = {
	utf8: UTF8, 'utf-8': UTF8, latin1: LATIN1, binary: LATIN1, utf16le: UTF16, 'utf-16le': UTF16, ucs2: UTF16, 'ucs-2': UTF16,
	hex: HEX, base64: BASE64, base64url: BASE64URL, ascii: ASCII,
};
function encodingOf(name) {
	if (name === undefined || name === null || name === '' || name === 'utf8') return UTF8;
	const kind = Object.hasOwn(encodings, name) ? encodings[name] : encodings[`${name}`.toLowerCase()];
	return kind;
}
function known(name) {
	const kind = encodingOf(name);
	if (kind === undefined) throw errors.coded(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${name}`);
	return kind;
}
const most = 2 ** 32;

class FastBuffer extends Uint8Array {
	constructor(one, two, three) {
		super(one, two, three);
	}
}

function Buffer(value, encoding, length) {
	if (typeof value === 'number') {
		if (typeof encoding === 'string') throw errors.invalidType('string', 'string', value);
		return Buffer.alloc(value);
	}
	return Buffer.from(value, encoding, length);
}
Object.defineProperty(Buffer, Symbol.species, { configurable: true, get: () => FastBuffer });
Buffer.prototype = FastBuffer.prototype;
Object.defineProperty(Buffer.prototype, 'constructor', { value: Buffer, writable: true, configurable: true, enumerable: false });
Object.setPrototypeOf(Buffer, Uint8Array);
Buffer.poolSize = 8192;

function checkSize(size) {
	if (typeof size !== 'number') throw errors.invalidType('size', 'number', size);
	if (!(size >= 0 && size <= most))
		throw errors.coded(RangeError, 'ERR_INVALID_ARG_VALUE', `The argument 'size' is invalid. Received ${size}`);
}
Buffer.alloc = function alloc(size, fill, encoding) {
	checkSize(size);
	const buffer = new FastBuffer(size);
	if (fill !== undefined && fill !== 0 && size > 0) return fillIn(buffer, fill, undefined, undefined, encoding);
	return buffer;
};
Buffer.allocUnsafe = function allocUnsafe(size) {
	checkSize(size);
	return new FastBuffer(size);
};
Buffer.allocUnsafeSlow = Buffer.allocUnsafe;

function fromText(text, encoding) {
	return new FastBuffer(sys.encode(text, encoding === undefined ? UTF8 : known(encoding)));
}
Buffer.from = function from(value, second, length) {
	if (typeof value === 'string') return fromText(value, typeof second === 'string' && second !== '' ? second : undefined);
	if (typeof value === 'object' && value !== null) {
		if (types.isAnyArrayBuffer(value)) {
			let offset = second === undefined ? 0 : +second;
			if (Number.isNaN(offset)) offset = 0;
			const left = value.byteLength - offset;
			if (left < 0) throw errors.coded(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', '"offset" is outside of buffer bounds');
			if (length === undefined) length = left;
			else {
				length = +length;
				if (length > 0) {
					if (length > left) throw errors.coded(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', '"length" is outside of buffer bounds');
				} else length = 0;
			}
			return new FastBuffer(value, offset, length);
		}
		const inner = value.valueOf && value.valueOf();
		if (inner != null && inner !== value && (typeof inner === 'string' || typeof inner === 'object')) return Buffer.from(inner, second, length);
		const made = fromObject(value);
		if (made) return made;
		if (typeof value[Symbol.toPrimitive] === 'function') {
			const primitive = value[Symbol.toPrimitive]('string');
			if (typeof primitive === 'string') return fromText(primitive, second);
		}
	}
	throw errors.coded(TypeError, 'ERR_INVALID_ARG_TYPE',
		'The first argument must be of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object.');
};
function fromList(list) {
	const length = Math.max(0, Math.trunc(+list.length) || 0);
	const buffer = new FastBuffer(length);
	for (let i = 0; i < length; i++) buffer[i] = list[i];
	return buffer;
}
function fromObject(value) {
	if (types.isTypedArray(value)) {
		if (value instanceof Uint8Array) {
			const buffer = new FastBuffer(value.length);
			buffer.set(value);
			return buffer;
		}
		return fromList(value);
	}
	if (value.length !== undefined || types.isAnyArrayBuffer(value.buffer)) {
		if (typeof value.length !== 'number') return new FastBuffer(0);
		return fromList(value);
	}
	if (value.type === 'Buffer' && Array.isArray(value.data)) return fromList(value.data);
}
Buffer.of = (...values) => fromList(values);
Buffer.isBuffer = (value) => value instanceof Buffer;
Buffer.isEncoding = (name) => typeof name === 'string' && name.length !== 0 && encodingOf(name) !== undefined;
Buffer.compare = function compare(a, b) {
	if (!(a instanceof Uint8Array)) throw errors.invalidType('buf1', 'Buffer or Uint8Array', a);
	if (!(b instanceof Uint8Array)) throw errors.invalidType('buf2', 'Buffer or Uint8Array', b);
	return a === b ? 0 : sys.compareBytes(a, b);
};
Buffer.concat = function concat(list, total) {
	if (!Array.isArray(list)) throw errors.invalidType('list', 'Array', list);
	if (list.length === 0) return new FastBuffer(0);
	if (total === undefined) {
		total = 0;
		for (const one of list) if (one.length) total += one.length;
	} else {
		if (typeof total !== 'number') throw errors.invalidType('length', 'number', total);
		if (!Number.isInteger(total) || total < 0) throw errors.outOfRange('length', '>= 0', total);
	}
	const buffer = new FastBuffer(total);
	let at = 0;
	for (let i = 0; i < list.length; i++) {
		const one = list[i];
		if (!(one instanceof Uint8Array)) throw errors.invalidType(`list[${i}]`, 'Buffer or Uint8Array', one);
		if (at >= total) continue;
		buffer.set(one.length > total - at ? one.subarray(0, total - at) : one, at);
		at += one.length;
	}
	return buffer;
};
Buffer.byteLength = function byteLength(value, encoding) {
	if (typeof value !== 'string') {
		if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) return value.byteLength;
		throw errors.invalidType('string', 'string or an instance of Buffer or ArrayBuffer', value);
	}
	switch (encodingOf(encoding)) {
	case LATIN1: case ASCII: return value.length;
	case UTF16: return value.length * 2;
	case HEX: return value.length >>> 1;
	case BASE64: case BASE64URL: {
		let length = value.length;
		if (value[length - 1] === '=') length--;
		if (length > 1 && value[length - 1] === '=') length--;
		return (length * 3) >>> 2;
	}
	default: return sys.textLength(value);
	}
};

function fillIn(buffer, value, offset, end, encoding) {
	if (typeof value === 'string') {
		if (typeof offset === 'string') {
			encoding = offset;
			offset = undefined;
		} else if (typeof end === 'string') {
			encoding = end;
			end = undefined;
		}
		if (encoding !== undefined && typeof encoding !== 'string') throw errors.invalidType('encoding', 'string', encoding);
		const kind = known(encoding);
		if (value.length === 0) value = 0;
		else {
			const bytes = new Uint8Array(sys.encode(value, kind));
			if (bytes.length === 0) throw errors.invalidValue('value', value);
			value = bytes;
		}
	} else if (typeof value === 'boolean') value = +value;
	if (offset === undefined) {
		offset = 0;
		end = buffer.length;
	} else {
		checkRange(offset, 'offset', 0, most);
		if (end === undefined) end = buffer.length;
		else checkRange(end, 'end', 0, buffer.length);
		if (offset >= end) return buffer;
	}
	if (value instanceof Uint8Array) {
		if (value.length === 0) throw errors.invalidValue('value', value);
		for (let i = offset, k = 0; i < end; i++) {
			buffer[i] = value[k];
			if (++k === value.length) k = 0;
		}
	} else {
		const byte = typeof value === 'number' ? value & 255 : +value & 255;
		Uint8Array.prototype.fill.call(buffer, byte, offset, end);
	}
	return buffer;
}
function checkRange(value, name, low, high) {
	if (typeof value !== 'number') throw errors.invalidType(name, 'number', value);
	if (!Number.isInteger(value)) throw errors.outOfRange(name, 'an integer', value);
	if (value < low || value > high) throw errors.outOfRange(name, `>= ${low} && <= ${high}`, value);
}
function integer(value, otherwise) {
	value = +value;
	if (!Number.isNaN(value) && value >= -9007199254740991 && value <= 9007199254740991)
		return value % 1 === 0 ? value : Math.trunc(value);
	return otherwise;
}
function bounds(value, length, name) {
	if (Math.floor(value) !== value) {
		if (typeof value !== 'number') throw errors.invalidType(name || 'offset', 'number', value);
		throw errors.outOfRange(name || 'offset', 'an integer', value);
	}
	if (length < 0) throw errors.coded(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', 'Attempt to access memory outside buffer bounds');
	throw errors.outOfRange(name || 'offset', `>= ${name ? 1 : 0} and <= ${length}`, value);
}
function checkOffset(buffer, offset, size) {
	if (typeof offset !== 'number') throw errors.invalidType('offset', 'number', offset);
	if (buffer[offset] === undefined || buffer[offset + size - 1] === undefined) bounds(offset, buffer.length - size);
}
const view = (buffer) => new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);

function find(buffer, value, offset, encoding, forwards) {
	if (typeof offset === 'string') {
		encoding = offset;
		offset = undefined;
	} else if (offset > 0x7fffffff) offset = 0x7fffffff;
	else if (offset < -0x80000000) offset = -0x80000000;
	offset = +offset;
	if (Number.isNaN(offset)) offset = forwards ? 0 : buffer.length;
	offset = Math.trunc(offset);
	let needle, step = 1;
	if (typeof value === 'number') {
		needle = new Uint8Array([value & 255]);
	} else if (typeof value === 'string') {
		const kind = known(encoding);
		needle = new Uint8Array(sys.encode(value, kind));
		if (kind === UTF16) step = 2;
	} else if (value instanceof Uint8Array) {
		needle = value;
		if (encodingOf(encoding) === UTF16) step = 2;
	} else throw errors.invalidType('value', 'number or string or an instance of Buffer or Uint8Array', value);
	if (offset < 0) {
		offset += buffer.length;
		if (offset < 0) {
			if (!forwards) return -1;
			offset = 0;
		}
	}
	if (needle.length === 0 && !(typeof value === 'number')) return Math.min(offset, buffer.length);
	if (forwards && offset > buffer.length) return -1;
	return sys.find(buffer, needle, offset, !forwards, step);
}

const prototype = {
	toString(encoding, start, end) {
		if (arguments.length === 0) return sys.decode(this, 0, this.length, UTF8);
		const length = this.length;
		if (start <= 0) start = 0;
		else if (start >= length) return '';
		else start |= 0;
		if (end === undefined || end > length) end = length;
		else end |= 0;
		if (end <= start) return '';
		return sys.decode(this, start, end, known(encoding));
	},
	toLocaleString(encoding, start, end) {
		return this.toString(encoding, start, end);
	},
	equals(other) {
		if (!(other instanceof Uint8Array)) throw errors.invalidType('otherBuffer', 'Buffer or Uint8Array', other);
		return this === other || (this.byteLength === other.byteLength && sys.compareBytes(this, other) === 0);
	},
	compare(target, targetStart, targetEnd, sourceStart, sourceEnd) {
		if (!(target instanceof Uint8Array)) throw errors.invalidType('target', 'Buffer or Uint8Array', target);
		if (targetStart === undefined) targetStart = 0;
		else checkRange(targetStart, 'targetStart', 0, most);
		if (targetEnd === undefined) targetEnd = target.length;
		else checkRange(targetEnd, 'targetEnd', 0, target.length);
		if (sourceStart === undefined) sourceStart = 0;
		else checkRange(sourceStart, 'sourceStart', 0, most);
		if (sourceEnd === undefined) sourceEnd = this.length;
		else checkRange(sourceEnd, 'sourceEnd', 0, this.length);
		if (sourceStart >= sourceEnd) return targetStart >= targetEnd ? 0 : -1;
		if (targetStart >= targetEnd) return 1;
		return sys.compareBytes(this.subarray(sourceStart, sourceEnd), target.subarray(targetStart, targetEnd));
	},
	indexOf(value, offset, encoding) {
		return find(this, value, offset, encoding, true);
	},
	lastIndexOf(value, offset, encoding) {
		return find(this, value, offset, encoding, false);
	},
	includes(value, offset, encoding) {
		return find(this, value, offset, encoding, true) !== -1;
	},
	fill(value, offset, end, encoding) {
		return fillIn(this, value, offset, end, encoding);
	},
	write(text, offset, length, encoding) {
		if (offset === undefined) return put(this, text, 0, this.length, undefined);
		if (length === undefined && typeof offset === 'string') return put(this, text, 0, this.length, offset);
		checkRange(offset, 'offset', 0, this.length);
		const left = this.length - offset;
		if (length === undefined) length = left;
		else if (typeof length === 'string') {
			encoding = length;
			length = left;
		} else {
			checkRange(length, 'length', 0, this.length);
			if (length > left) length = left;
		}
		return put(this, text, offset, length, encoding);
	},
	copy(target, targetStart, sourceStart, sourceEnd) {
		if (!(target instanceof Uint8Array)) throw errors.invalidType('target', 'Buffer or Uint8Array', target);
		if (targetStart === undefined) targetStart = 0;
		else {
			targetStart = integer(targetStart, 0);
			if (targetStart < 0) throw errors.outOfRange('targetStart', '>= 0', targetStart);
		}
		if (sourceStart === undefined) sourceStart = 0;
		else {
			sourceStart = integer(sourceStart, 0);
			if (sourceStart < 0 || sourceStart > this.length) throw errors.outOfRange('sourceStart', `>= 0 && <= ${this.length}`, sourceStart);
		}
		if (sourceEnd === undefined) sourceEnd = this.length;
		else {
			sourceEnd = integer(sourceEnd, 0);
			if (sourceEnd < 0) throw errors.outOfRange('sourceEnd', '>= 0', sourceEnd);
		}
		if (targetStart >= target.length || sourceStart >= sourceEnd) return 0;
		let count = sourceEnd - sourceStart;
		if (count > target.length - targetStart) count = target.length - targetStart;
		if (count > this.length - sourceStart) count = this.length - sourceStart;
		Uint8Array.prototype.set.call(target, new Uint8Array(this.buffer, this.byteOffset + sourceStart, count), targetStart);
		return count;
	},
	toJSON() {
		return { type: 'Buffer', data: Array.from(this) };
	},
	subarray(start, end) {
		const length = this.length;
		const adjust = (value) => {
			value = Math.trunc(value);
			if (value === 0 || Number.isNaN(value)) return 0;
			if (value < 0) {
				value += length;
				return value > 0 ? value : 0;
			}
			return value < length ? value : length;
		};
		start = adjust(start);
		end = end !== undefined ? adjust(end) : length;
		return new FastBuffer(this.buffer, this.byteOffset + start, end > start ? end - start : 0);
	},
	slice(start, end) {
		return this.subarray(start, end);
	},
	swap16() {
		return swap(this, 2);
	},
	swap32() {
		return swap(this, 4);
	},
	swap64() {
		return swap(this, 8);
	},
};
function swap(buffer, size) {
	if (buffer.length % size) throw errors.coded(RangeError, 'ERR_INVALID_BUFFER_SIZE', `Buffer size must be a multiple of ${size * 8}-bits`);
	for (let i = 0; i < buffer.length; i += size) Uint8Array.prototype.reverse.call(new Uint8Array(buffer.buffer, buffer.byteOffset + i, size));
	return buffer;
}
function put(buffer, text, offset, length, encoding) {
	if (typeof text !== 'string') throw errors.invalidType('argument', 'string', text);
	const kind = known(encoding);
	let bytes = new Uint8Array(sys.encode(text, kind));
	if (bytes.length > length) {
		// No part of a character is written.
		if (kind === UTF8) {
			while (length > 0 && (bytes[length] & 0xc0) === 0x80) length--;
		} else if (kind === UTF16) length -= length % 2;
		bytes = bytes.subarray(0, length);
	}
	buffer.set(bytes, offset);
	return bytes.length;
}

// Numbers in bytes
const sizes = [['Int8', 1], ['UInt8', 1], ['Int16', 2], ['UInt16', 2], ['Int32', 4], ['UInt32', 4], ['Float', 4], ['Double', 8], ['BigInt64', 8], ['BigUInt64', 8]];
for (const [name, size] of sizes) {
	const method = { UInt8: 'Uint8', UInt16: 'Uint16', UInt32: 'Uint32', Float: 'Float32', Double: 'Float64', BigUInt64: 'BigUint64' }[name] || name;
	const get = DataView.prototype[`get${method}`], set = DataView.prototype[`set${method}`];
	const signed = !/U/.test(name), bits = BigInt(size * 8), big = name.startsWith('Big');
	const low = signed ? -(2n ** (bits - 1n)) : 0n, high = signed ? 2n ** (bits - 1n) - 1n : 2n ** bits - 1n;
	const least = big ? low : Number(low), greatest = big ? high : Number(high);
	const floats = name === 'Float' || name === 'Double';
	for (const order of size === 1 ? [''] : ['LE', 'BE']) {
		const little = order === 'LE';
		const reader = { [`read${name}${order}`](offset = 0) {
			checkOffset(this, offset, size);
			return get.call(view(this), offset, little);
		} }[`read${name}${order}`];
		const writer = { [`write${name}${order}`](value, offset = 0) {
			if (!big) value = +value;
			if (size === 1 && typeof offset !== 'number') throw errors.invalidType('offset', 'number', offset);
			if (!floats && (value > greatest || value < least)) throw errors.outOfRange('value', `>= ${least} and <= ${greatest}`, value);
			checkOffset(this, offset, size);
			if (big && typeof value !== 'bigint') throw new TypeError('Cannot mix BigInt and other types, use explicit conversions');
			set.call(view(this), offset, value, little);
			return offset + size;
		} }[`write${name}${order}`];
		prototype[`read${name}${order}`] = reader;
		prototype[`write${name}${order}`] = writer;
		if (/UInt/.test(name)) {
			prototype[`read${name.replace('UInt', 'Uint')}${order}`] = reader;
			prototype[`write${name.replace('UInt', 'Uint')}${order}`] = writer;
		}
	}
}
for (const signed of [true, false])
	for (const little of [true, false]) {
		const name = `${signed ? 'Int' : 'UInt'}${little ? 'LE' : 'BE'}`;
		const reader = { [`read${name}`](offset, size) {
			if (offset === undefined) throw errors.invalidType('offset', 'number', offset);
			sized(size);
			checkOffset(this, offset, size);
			let value = 0;
			for (let i = 0; i < size; i++) value = value * 256 + this[little ? offset + size - 1 - i : offset + i];
			return signed && value >= 2 ** (8 * size - 1) ? value - 2 ** (8 * size) : value;
		} }[`read${name}`];
		const writer = { [`write${name}`](value, offset, size) {
			sized(size);
			value = +value;
			const high = signed ? 2 ** (8 * size - 1) - 1 : 2 ** (8 * size) - 1, low = signed ? -(2 ** (8 * size - 1)) : 0;
			if (value > high || value < low) throw errors.outOfRange('value', `>= ${low} and <= ${high}`, value);
			checkOffset(this, offset, size);
			let rest = Math.trunc(value) || 0;
			if (rest < 0) rest += 2 ** (8 * size);
			for (let i = 0; i < size; i++) {
				this[little ? offset + i : offset + size - 1 - i] = rest % 256;
				rest = Math.floor(rest / 256);
			}
			return offset + size;
		} }[`write${name}`];
		prototype[`read${name}`] = reader;
		prototype[`write${name}`] = writer;
		if (!signed) {
			prototype[`readUint${name.slice(4)}`] = reader;
			prototype[`writeUint${name.slice(4)}`] = writer;
		}
	}
function sized(size) {
	if (size === undefined) throw errors.invalidType('byteLength', 'number', size);
	if (!(size >= 1 && size <= 6) || Math.floor(size) !== size) bounds(size, 6, 'byteLength');
}
for (const [name, kind] of [['utf8', UTF8], ['latin1', LATIN1], ['hex', HEX], ['base64', BASE64], ['ascii', ASCII], ['ucs2', UTF16]]) {
	prototype[`${name}Slice`] = function (start = 0, end = this.length) { return sys.decode(this, start, end, kind); };
	prototype[`${name}Write`] = function (text, offset = 0, length = this.length - offset) { return put(this, text, offset, length, name); };
}
for (const name of Object.keys(prototype))
	Object.defineProperty(Buffer.prototype, name, { value: prototype[name], writable: true, configurable: true, enumerable: true });
Object.defineProperty(Buffer.prototype, 'parent', { enumerable: true, configurable: true, get() { return this instanceof Buffer ? this.buffer : undefined; } });
Object.defineProperty(Buffer.prototype, 'offset', { enumerable: true, configurable: true, get() { return this instanceof Buffer ? this.byteOffset : undefined; } });
Buffer.prototype[Symbol.for('nodejs.util.inspect.custom')] = function (depth, ctx) {
	const shown = Math.min(exports.INSPECT_MAX_BYTES, this.length), left = this.length - shown;
	let text = sys.decode(this, 0, shown, HEX).replace(/(.{2})/g, '$1 ').trim();
	if (left > 0) text += ` ... ${left} more byte${left > 1 ? 's' : ''}`;
	let extras = '';
	const keys = Object.keys(this).filter((key) => !/^\d+$/.test(key));
	if (keys.length) {
		const object = Object.create(null);
		for (const key of keys) object[key] = this[key];
		const inner = need('util').inspect(object, { ...ctx, breakLength: Infinity, compact: true });
		extras = (this.length ? ', ' : '') + inner.slice(27, -2);
	}
	return `<${this.constructor.name}${text || extras ? ' ' : ' '}${text}${extras}>`.replace(/ >$/, this.length === 0 && !extras ? ' >' : '>');
};

const kBytes = Symbol('bytes');
class Blob {
	constructor(parts = [], options = {}) {
		this[kBytes] = Buffer.concat([...parts].map((part) => part instanceof Blob ? part[kBytes] :
			types.isAnyArrayBuffer(part) ? new Uint8Array(part) : ArrayBuffer.isView(part) ?
				new Uint8Array(part.buffer, part.byteOffset, part.byteLength) : Buffer.from(String(part))));
		Object.defineProperty(this, kBytes, { enumerable: false });
		Object.defineProperty(this, 'type', { value: options.type ? String(options.type).toLowerCase() : '', enumerable: false });
	}
	get size() {
		return this[kBytes].length;
	}
	async text() {
		return this[kBytes].toString();
	}
	async arrayBuffer() {
		return this[kBytes].buffer.slice(this[kBytes].byteOffset, this[kBytes].byteOffset + this[kBytes].length);
	}
	slice(start, end, type) {
		return new Blob([this[kBytes].subarray(start, end)], { type });
	}
}

exports.Buffer = Buffer;
exports.SlowBuffer = Buffer.allocUnsafeSlow;
exports.kMaxLength = most;
exports.kStringMaxLength = 2 ** 29 - 24;
exports.constants = { MAX_LENGTH: most, MAX_STRING_LENGTH: 2 ** 29 - 24 };
exports.INSPECT_MAX_BYTES = 50;
exports.Blob = Blob;
exports.transcode = (buffer, from, to) => Buffer.from(buffer.toString(from), to);
exports.isUtf8 = (value) => sys.isUtf8(value);
exports.isAscii = (value) => new Uint8Array(value.buffer || value).every((byte) => byte < 128);

function invalidCharacter() {
	const { DOMException } = need('abort');
	return new DOMException('Invalid character', 'InvalidCharacterError');
}
exports.btoa = function btoa(value) {
	if (arguments.length === 0) throw errors.coded(TypeError, 'ERR_MISSING_ARGS', 'The "input" argument must be specified');
	const text = `${value}`;
	if (/[^\x00-\xff]/.test(text)) throw invalidCharacter();
	return Buffer.from(text, 'latin1').toString('base64');
};
exports.atob = function atob(value) {
	if (arguments.length === 0) throw errors.coded(TypeError, 'ERR_MISSING_ARGS', 'The "input" argument must be specified');
	let text = `${value}`.replace(/[\t\n\f\r ]/g, '');
	if (/[^A-Za-z0-9+/=]/.test(text)) throw invalidCharacter();
	if (text.length % 4 === 0) text = text.replace(/==?$/, '');
	if (text.length % 4 === 1 || text.includes('=')) {
		const error = invalidCharacter();
		throw error;
	}
	return Buffer.from(text, 'base64').toString('latin1');
};
exports._encodingOf = encodingOf;
exports._known = known;
for (const name of ['_encodingOf', '_known']) Object.defineProperty(exports, name, { enumerable: false });
