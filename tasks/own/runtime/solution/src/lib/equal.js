// Its states, formulas and conditions follow Node.js 18's own, as they are known; see ../LICENSE-node.
// Deep equality, strict and loose.
const { types, typedName } = need('kinds');
const keysOf = (value) => [
	...Object.keys(value),
	...Object.getOwnPropertySymbols(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key)),
];
const isIndex = (key) => typeof key === 'string' && /^(0|[1-9][0-9]*)$/.test(key);

function deep(a, b, strict, memo) {
	if (a === b) {
		if (a !== 0) return true;
		return strict ? Object.is(a, b) : true;
	}
	if (strict) {
		if (typeof a !== 'object') return typeof a === 'number' && Number.isNaN(a) && Number.isNaN(b);
		if (typeof b !== 'object' || a === null || b === null) return false;
		if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
	} else {
		if (a === null || typeof a !== 'object') {
			if (b === null || typeof b !== 'object') return a == b || (Number.isNaN(a) && Number.isNaN(b));
			return false;
		}
		if (b === null || typeof b !== 'object') return false;
	}
	const tagA = Object.prototype.toString.call(a);
	if (tagA !== Object.prototype.toString.call(b)) return false;
	if (Array.isArray(a)) {
		if (!Array.isArray(b) || a.length !== b.length) return false;
		const keysA = keysOf(a).filter((key) => !isIndex(key)), keysB = keysOf(b).filter((key) => !isIndex(key));
		if (strict || true) if (keysA.length !== keysB.length) return false;
		return compare(a, b, strict, memo, 'array', keysA);
	}
	if (tagA === '[object Object]' && !types.isMap(a) && !types.isSet(a) && !types.isDate(a) && !types.isNativeError(a) &&
		!types.isMap(b) && !types.isSet(b) && !types.isDate(b)) return compare(a, b, strict, memo, 'none');
	if (types.isDate(a)) {
		if (!types.isDate(b)) return false;
		if (Date.prototype.getTime.call(a) !== Date.prototype.getTime.call(b) &&
			!(Number.isNaN(a.getTime()) && Number.isNaN(b.getTime()))) return false;
	} else if (types.isRegExp(a)) {
		if (!types.isRegExp(b) || a.source !== b.source || a.flags !== b.flags || a.lastIndex !== b.lastIndex) return false;
	} else if (types.isNativeError(a) || a instanceof Error) {
		if ((!types.isNativeError(b) && !(b instanceof Error)) || a.message !== b.message || a.name !== b.name) return false;
	} else if (ArrayBuffer.isView(a)) {
		if (typedName(a) !== typedName(b)) return false;
		if (!strict && (types.isFloat32Array(a) || types.isFloat64Array(a))) {
			if (a.length !== b.length) return false;
			for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
		} else if (a.byteLength !== b.byteLength || sys.compareBytes(new Uint8Array(a.buffer, a.byteOffset, a.byteLength), new Uint8Array(b.buffer, b.byteOffset, b.byteLength)) !== 0)
			return false;
		const keysA = keysOf(a).filter((key) => !isIndex(key)), keysB = keysOf(b).filter((key) => !isIndex(key));
		if (keysA.length !== keysB.length) return false;
		return compare(a, b, strict, memo, 'none', keysA);
	} else if (types.isSet(a)) {
		if (!types.isSet(b) || a.size !== b.size) return false;
		return compare(a, b, strict, memo, 'set');
	} else if (types.isMap(a)) {
		if (!types.isMap(b) || a.size !== b.size) return false;
		return compare(a, b, strict, memo, 'map');
	} else if (types.isAnyArrayBuffer(a)) {
		if (!types.isAnyArrayBuffer(b) || a.byteLength !== b.byteLength ||
			sys.compareBytes(new Uint8Array(a), new Uint8Array(b)) !== 0) return false;
	} else if (types.isBoxedPrimitive(a)) {
		if (!types.isBoxedPrimitive(b) || typeof a.valueOf() !== typeof b.valueOf() || !Object.is(a.valueOf(), b.valueOf())) return false;
	} else if (Array.isArray(b) || ArrayBuffer.isView(b) || types.isSet(b) || types.isMap(b) || types.isDate(b) || types.isRegExp(b) ||
		types.isAnyArrayBuffer(b) || types.isBoxedPrimitive(b) || types.isNativeError(b) || b instanceof Error) return false;
	return compare(a, b, strict, memo, 'none');
}

function compare(a, b, strict, memo, kind, keys) {
	if (keys === undefined) {
		keys = Object.keys(a);
		if (keys.length !== Object.keys(b).length) return false;
	}
	for (const key of keys) if (!Object.hasOwn(b, key)) return false;
	if (strict && kind !== 'array') {
		const symbols = Object.getOwnPropertySymbols(a).filter((key) => Object.prototype.propertyIsEnumerable.call(a, key));
		const others = Object.getOwnPropertySymbols(b).filter((key) => Object.prototype.propertyIsEnumerable.call(b, key));
		if (symbols.length !== others.length) return false;
		for (const key of symbols) if (!Object.prototype.propertyIsEnumerable.call(b, key)) return false;
		keys = [...keys.filter((key) => typeof key !== 'symbol'), ...symbols];
	}
	if (keys.length === 0 && (kind === 'none' || (kind === 'array' && a.length === 0) || a.size === 0)) return true;
	if (memo === undefined) memo = { a: new Map(), b: new Map(), at: 0 };
	else {
		const there = memo.a.get(a);
		if (there !== undefined) {
			const other = memo.b.get(b);
			if (other !== undefined) return there === other;
		}
		memo.at++;
	}
	memo.a.set(a, memo.at);
	memo.b.set(b, memo.at);
	const same = equal(a, b, strict, keys, memo, kind);
	memo.a.delete(a);
	memo.b.delete(b);
	return same;
}

function equal(a, b, strict, keys, memo, kind) {
	if (kind === 'set') {
		let rest = null;
		for (const value of a) {
			if (typeof value === 'object' && value !== null) (rest = rest || []).push(value);
			else if (!b.has(value)) {
				if (strict) return false;
				(rest = rest || []).push(value);
			}
		}
		if (rest) {
			const left = [...b].filter((value) => (typeof value === 'object' && value !== null) || (!strict && !a.has(value)));
			for (const value of rest) {
				const at = left.findIndex((other) => deep(value, other, strict, memo));
				if (at < 0) return false;
				left.splice(at, 1);
			}
		}
	} else if (kind === 'map') {
		let rest = null;
		for (const [key, value] of a) {
			if (typeof key === 'object' && key !== null) (rest = rest || []).push(key);
			else if (b.has(key)) {
				if (!deep(value, b.get(key), strict, memo)) return false;
			} else if (strict) return false;
			else (rest = rest || []).push(key);
		}
		if (rest) {
			const left = [...b.keys()].filter((key) => (typeof key === 'object' && key !== null) || (!strict && !a.has(key)));
			for (const key of rest) {
				const at = left.findIndex((other) => deep(key, other, strict, memo) && deep(a.get(key), b.get(other), strict, memo));
				if (at < 0) return false;
				left.splice(at, 1);
			}
		}
	} else if (kind === 'array') {
		for (let i = 0; i < a.length; i++) {
			if (Object.hasOwn(a, i)) {
				if (!Object.hasOwn(b, i) || !deep(a[i], b[i], strict, memo)) return false;
			} else if (Object.hasOwn(b, i)) return false;
		}
	}
	for (const key of keys) if (!deep(a[key], b[key], strict, memo)) return false;
	return true;
}
exports.deep = deep;
