// Its states, formulas and conditions follow Node.js 18's own, as they are known; see ../LICENSE-node.
// util: how values are shown, and small helps.
const { types, typedName } = need('kinds');
const custom = Symbol.for('nodejs.util.inspect.custom');
const hasOwn = Object.hasOwn;

const defaults = {
	showHidden: false, depth: 2, colors: false, customInspect: true, showProxy: false, maxArrayLength: 100,
	maxStringLength: 10000, breakLength: 128, compact: 3, sorted: false, getters: false, numericSeparator: false,
};
const PLAIN = 0, ELEMENT = 1, EXTRA = 2;

function inspect(value, options, ...old) {
	const ctx = { budget: {}, indentationLvl: 0, seen: [], currentDepth: 0, stylize: (text) => `${text}`, ...defaults, ...inspect.defaultOptions };
	if (typeof options === 'boolean') {
		ctx.showHidden = options;
		if (old[0] !== undefined) ctx.depth = old[0];
	} else if (options) {
		for (const key of Object.keys(options)) if (hasOwn(defaults, key) || key === 'stylize') ctx[key] = options[key];
		ctx.userOptions = options;
	}
	if (ctx.breakLength === undefined) ctx.breakLength = 80;
	if (ctx.maxArrayLength === null) ctx.maxArrayLength = Infinity;
	if (ctx.maxStringLength === null) ctx.maxStringLength = Infinity;
	return formatValue(ctx, value, 0);
}
inspect.custom = custom;
inspect.defaultOptions = { breakLength: 80 };
inspect.colors = {};
inspect.styles = {};

const named = ['\\b', '\\t', '\\n', '\\x0B', '\\f', '\\r'];
function escapeOne(char, quote) {
	const code = char.charCodeAt(0);
	if (code >= 8 && code <= 13) return named[code - 8];
	if (char === '\\' || char === quote) return '\\' + char;
	if (code >= 0xd800) return '\\u' + code.toString(16).toUpperCase();
	return '\\x' + code.toString(16).toUpperCase().padStart(2, '0');
}
const special = /[\x00-\x1f'\\\x7f-\x9f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
function quoted(text) {
	if (!special.test(text)) return `'${text}'`;
	let quote = "'";
	if (text.includes("'")) {
		if (!text.includes('"')) quote = '"';
		else if (!text.includes('`') && !text.includes('${')) quote = '`';
	}
	let out = '';
	for (let i = 0; i < text.length; i++) {
		const code = text.charCodeAt(i), char = text[i];
		if (code < 32 || (code >= 127 && code <= 159) || char === '\\' || char === quote) out += escapeOne(char, quote);
		else if (code >= 0xd800 && code <= 0xdfff) {
			const next = text.charCodeAt(i + 1);
			if (code < 0xdc00 && next >= 0xdc00 && next <= 0xdfff) out += char + text[++i];
			else out += escapeOne(char, quote);
		} else out += char;
	}
	return quote + out + quote;
}

function number(value) {
	return Object.is(value, -0) ? '-0' : `${value}`;
}


function formatPrimitive(ctx, value) {
	switch (typeof value) {
	case 'string': {
		let trailer = '';
		if (value.length > ctx.maxStringLength) {
			const left = value.length - ctx.maxStringLength;
			value = value.slice(0, ctx.maxStringLength);
			trailer = `... ${left} more character${left > 1 ? 's' : ''}`;
		}
		if (ctx.compact !== true && value.length > 16 && value.length > ctx.breakLength - ctx.indentationLvl - 4)
			return value.split(/(?<=\n)/).map((line) => ctx.stylize(quoted(line), 'string'))
				.join(` +\n${' '.repeat(ctx.indentationLvl + 2)}`) + trailer;
		return ctx.stylize(quoted(value), 'string') + trailer;
	}
	case 'number':
		return ctx.stylize(number(value), 'number');
	case 'bigint':
		return ctx.stylize(`${value}n`, 'bigint');
	case 'boolean':
		return ctx.stylize(`${value}`, 'boolean');
	case 'undefined':
		return ctx.stylize('undefined', 'undefined');
	default:
		return ctx.stylize(Symbol.prototype.toString.call(value), 'symbol');
	}
}

function formatValue(ctx, value, depth, inTyped) {
	if ((typeof value !== 'object' && typeof value !== 'function') || value === null)
		return value === null ? ctx.stylize('null', 'null') : formatPrimitive(ctx, value);
	const proxy = types.isProxy(value);
	if (ctx.customInspect) {
		const own = value[custom];
		if (typeof own === 'function' && own !== inspect && !(value.constructor && value.constructor.prototype === value)) {
			const left = ctx.depth === null ? null : ctx.depth - depth;
			const options = {};
			for (const key of Object.keys(defaults)) options[key] = ctx[key];
			Object.assign(options, ctx.userOptions);
			options.stylize = ctx.stylize;
			options.depth = left;
			const result = Reflect.apply(own, value, [left, options, inspect]);
			if (result !== value) {
				if (typeof result !== 'object') return `${result}`;
				return formatValue(ctx, result, depth);
			}
		}
	}
	if (ctx.seen.includes(value)) {
		let index = 1;
		if (ctx.circular === undefined) {
			ctx.circular = new Map();
			ctx.circular.set(value, index);
		} else {
			index = ctx.circular.get(value);
			if (index === undefined) {
				index = ctx.circular.size + 1;
				ctx.circular.set(value, index);
			}
		}
		return ctx.stylize(`[Circular *${index}]`, 'special');
	}
	return formatRaw(ctx, value, depth, inTyped, proxy);
}

function isInstance(object, Type) {
	try {
		return object instanceof Type;
	} catch {
		return false;
	}
}

function constructorName(object, ctx, depth) {
	let first;
	const start = object;
	while (object || typeof object === 'function') {
		const descriptor = Object.getOwnPropertyDescriptor(object, 'constructor');
		if (descriptor !== undefined && typeof descriptor.value === 'function' && descriptor.value.name !== '' &&
			isInstance(start, descriptor.value)) return `${descriptor.value.name}`;
		object = Object.getPrototypeOf(object);
		if (first === undefined) first = object;
	}
	if (first === null) return null;
	const name = innerName(start);
	if (ctx.depth !== null && depth > ctx.depth) return `${name} <Complex prototype>`;
	const outer = constructorName(first, ctx, depth + 1);
	if (outer === null)
		return `${name} <${inspect(first, { ...ctx, customInspect: false, depth: -1 })}>`;
	return `${name} <${outer}>`;
}

function innerName(value) {
	if (typeof value === 'function') return 'Function';
	if (Array.isArray(value)) return 'Array';
	const name = typedName(value);
	if (name) return name;
	for (const one of ['Map', 'Set', 'Promise', 'Date', 'RegExp', 'WeakMap', 'WeakSet', 'ArrayBuffer', 'DataView'])
		if (types['is' + one](value)) return one;
	return types.isNativeError(value) ? 'Error' : 'Object';
}

function prefixOf(constructor, tag, fallback, size = '') {
	if (constructor === null) {
		if (tag !== '' && fallback !== tag) return `[${fallback}${size}: null prototype] [${tag}] `;
		return `[${fallback}${size}: null prototype] `;
	}
	if (tag !== '' && constructor !== tag) return `${constructor}${size} [${tag}] `;
	return `${constructor}${size} `;
}

const index = /^(0|[1-9][0-9]*)$/;
const isIndex = (key) => typeof key === 'string' && index.test(key) && +key < 4294967295;

function keysOf(value, hidden) {
	let keys;
	const symbols = Object.getOwnPropertySymbols(value);
	if (hidden) {
		keys = Object.getOwnPropertyNames(value);
		if (symbols.length) keys.push(...symbols);
		return keys;
	}
	try {
		keys = Object.keys(value);
	} catch {
		keys = Object.getOwnPropertyNames(value);
	}
	for (const symbol of symbols) if (Object.prototype.propertyIsEnumerable.call(value, symbol)) keys.push(symbol);
	return keys;
}
function otherKeys(value, hidden) {
	return keysOf(value, hidden).filter((key) => !isIndex(key));
}

function functionBase(value, constructor, tag) {
	const text = Function.prototype.toString.call(value);
	if (/^class\b/.test(text) && text.endsWith('}')) {
		const name = (hasOwn(value, 'name') && value.name) || '(anonymous)';
		let base = `class ${name}`;
		if (constructor !== 'Function' && constructor !== null) base += ` [${constructor}]`;
		if (tag !== '' && constructor !== tag) base += ` [${tag}]`;
		if (constructor !== null) {
			const parent = Object.getPrototypeOf(value).name;
			if (parent) base += ` extends ${parent}`;
		} else base += ' extends null';
		return `[${base}]`;
	}
	let type = 'Function';
	if (types.isGeneratorFunction(value)) type = `Generator${type}`;
	if (types.isAsyncFunction(value)) type = `Async${type}`;
	let base = `[${type}`;
	if (constructor === null) base += ' (null prototype)';
	base += value.name === '' ? ' (anonymous)' : `: ${value.name}`;
	base += ']';
	if (constructor !== type && constructor !== null) base += ` ${constructor}`;
	if (tag !== '' && constructor !== tag) base += ` [${tag}]`;
	return base;
}

// The engine's stack has no first line; a program's own is taken as it is.
function stackOf(error) {
	let stack = error.stack;
	if (typeof stack === 'string' && /^ {4}at /.test(stack)) {
		const header = Error.prototype.toString.call(error);
		stack = `${header}\n${stack.trimEnd()}`;
	}
	return stack ? String(stack) : Error.prototype.toString.call(error);
}

function formatError(error, constructor, tag, ctx, keys) {
	const name = error.name != null ? String(error.name) : 'Error';
	let stack = stackOf(error);
	if (!ctx.showHidden && keys.length !== 0)
		for (const key of ['name', 'message', 'stack']) {
			const at = keys.indexOf(key);
			if (at !== -1 && (typeof error[key] !== 'string' || stack.includes(error[key]))) keys.splice(at, 1);
		}
	if ('cause' in error && !keys.includes('cause')) keys.push('cause');
	if (Array.isArray(error.errors) && !keys.includes('errors')) keys.push('errors');
	const length = name.length;
	if (constructor === null || (name.endsWith('Error') && stack.startsWith(name) &&
		(stack.length === length || stack[length] === ':' || stack[length] === '\n'))) {
		let fallback = 'Error', cut = length;
		if (constructor === null) {
			const start = /^([A-Z][a-z_ A-Z0-9[\]()-]+)(?::|\n\s+at)/.exec(stack) || /^([a-z_A-Z0-9-]*Error)$/.exec(stack);
			fallback = (start && start[1]) || '';
			cut = fallback.length;
			fallback = fallback || 'Error';
		}
		const prefix = prefixOf(constructor, tag, fallback).slice(0, -1);
		if (name !== prefix) {
			if (prefix.includes(name)) stack = cut === 0 ? `${prefix}: ${stack}` : `${prefix}${stack.slice(cut)}`;
			else stack = `${prefix} [${name}]${stack.slice(cut)}`;
		}
	}
	let at = (error.message && stack.indexOf(error.message)) || -1;
	if (at !== -1) at += error.message.length;
	if (stack.indexOf('\n    at', at) === -1) stack = `[${stack}]`;
	if (ctx.indentationLvl !== 0) stack = stack.replaceAll('\n', `\n${' '.repeat(ctx.indentationLvl)}`);
	return stack;
}

function formatRaw(ctx, value, depth, inTyped) {
	let keys;
	const constructor = constructorName(value, ctx, depth);
	let tag = value[Symbol.toStringTag];
	if (typeof tag !== 'string' || (tag !== '' &&
		(ctx.showHidden ? hasOwn(value, Symbol.toStringTag) : Object.prototype.propertyIsEnumerable.call(value, Symbol.toStringTag))))
		tag = '';
	let base = '', formatter = () => [], braces, plain = true, kind = PLAIN;
	if (value[Symbol.iterator] || constructor === null) {
		plain = false;
		if (Array.isArray(value)) {
			const prefix = constructor !== 'Array' || tag !== '' ? prefixOf(constructor, tag, 'Array', `(${value.length})`) : '';
			keys = otherKeys(value, ctx.showHidden);
			braces = [`${prefix}[`, ']'];
			if (value.length === 0 && keys.length === 0) return `${braces[0]}]`;
			kind = EXTRA;
			formatter = formatArray;
		} else if (types.isSet(value)) {
			const size = Object.getOwnPropertyDescriptor(Set.prototype, 'size').get.call(value);
			const prefix = prefixOf(constructor, tag, 'Set', `(${size})`);
			keys = keysOf(value, ctx.showHidden);
			formatter = formatSet;
			if (size === 0 && keys.length === 0) return `${prefix}{}`;
			braces = [`${prefix}{`, '}'];
		} else if (types.isMap(value)) {
			const size = Object.getOwnPropertyDescriptor(Map.prototype, 'size').get.call(value);
			const prefix = prefixOf(constructor, tag, 'Map', `(${size})`);
			keys = keysOf(value, ctx.showHidden);
			formatter = formatMap;
			if (size === 0 && keys.length === 0) return `${prefix}{}`;
			braces = [`${prefix}{`, '}'];
		} else if (types.isTypedArray(value)) {
			keys = otherKeys(value, ctx.showHidden);
			const prefix = prefixOf(constructor, tag, typedName(value), `(${value.length})`);
			braces = [`${prefix}[`, ']'];
			if (value.length === 0 && keys.length === 0 && !ctx.showHidden) return `${braces[0]}]`;
			formatter = formatTyped;
			kind = EXTRA;
		} else if (types.isMapIterator(value) || types.isSetIterator(value)) {
			keys = keysOf(value, ctx.showHidden);
			braces = [`[${tag}] {`, '}'];
			formatter = formatIterator;
		} else plain = true;
	}
	if (plain) {
		keys = keysOf(value, ctx.showHidden);
		braces = ['{', '}'];
		if (constructor === 'Object') {
			if (types.isArgumentsObject(value)) braces[0] = '[Arguments] {';
			else if (tag !== '') braces[0] = `${prefixOf(constructor, tag, 'Object')}{`;
			if (keys.length === 0) return `${braces[0]}}`;
		} else if (typeof value === 'function') {
			base = functionBase(value, constructor, tag);
			if (keys.length === 0) return ctx.stylize(base, 'special');
		} else if (types.isRegExp(value)) {
			base = RegExp.prototype.toString.call(constructor !== null ? value : new RegExp(value));
			const prefix = prefixOf(constructor, tag, 'RegExp');
			if (prefix !== 'RegExp ') base = `${prefix}${base}`;
			if (keys.length === 0 || (ctx.depth !== null && depth > ctx.depth)) return ctx.stylize(base, 'regexp');
		} else if (types.isDate(value)) {
			base = Number.isNaN(Date.prototype.getTime.call(value)) ? Date.prototype.toString.call(value) : Date.prototype.toISOString.call(value);
			const prefix = prefixOf(constructor, tag, 'Date');
			if (prefix !== 'Date ') base = `${prefix}${base}`;
			if (keys.length === 0) return ctx.stylize(base, 'date');
		} else if (types.isNativeError(value) || value instanceof Error) {
			base = formatError(value, constructor, tag, ctx, keys);
			if (keys.length === 0) return base;
		} else if (types.isAnyArrayBuffer(value)) {
			const prefix = prefixOf(constructor, tag, types.isArrayBuffer(value) ? 'ArrayBuffer' : 'SharedArrayBuffer');
			if (inTyped === undefined) formatter = formatBytes;
			else if (keys.length === 0) return `${prefix}{ byteLength: ${value.byteLength} }`;
			braces[0] = `${prefix}{`;
			keys.unshift('byteLength');
		} else if (types.isDataView(value)) {
			braces[0] = `${prefixOf(constructor, tag, 'DataView')}{`;
			keys.unshift('byteLength', 'byteOffset', 'buffer');
		} else if (types.isPromise(value)) {
			braces[0] = `${prefixOf(constructor, tag, 'Promise')}{`;
			formatter = formatPromise;
		} else if (types.isWeakSet(value) || types.isWeakMap(value)) {
			braces[0] = `${prefixOf(constructor, tag, types.isWeakSet(value) ? 'WeakSet' : 'WeakMap')}{`;
			formatter = () => ['<items unknown>'];
		} else if (types.isModuleNamespaceObject(value)) {
			braces[0] = `${prefixOf(constructor, tag, 'Module')}{`;
			const names = keys;
			keys = [];
			formatter = (ctx, value, depth) => names.map((name) => {
				try {
					return formatProperty(ctx, value, depth, name, PLAIN);
				} catch {
					return `${name}: <uninitialized>`;
				}
			});
		} else if (types.isBoxedPrimitive(value)) {
			base = boxedBase(value, ctx, keys, constructor, tag);
			if (keys.length === 0) return base;
		} else {
			if (keys.length === 0) return `${prefixOf(constructor, tag, 'Object')}{}`;
			braces[0] = `${prefixOf(constructor, tag, 'Object')}{`;
		}
	}
	if (ctx.depth !== null && depth > ctx.depth) {
		const name = prefixOf(constructor, tag, Array.isArray(value) ? 'Array' : 'Object').slice(0, -1);
		return ctx.stylize(constructor !== null ? `[${name}]` : name, 'special');
	}
	if (ctx.seen.length >= 1500) return '[Inspection interrupted prematurely. Maximum call stack size exceeded.]';
	depth += 1;
	ctx.seen.push(value);
	ctx.currentDepth = depth;
	let output;
	try {
		output = formatter(ctx, value, depth);
		for (const key of keys) output.push(formatProperty(ctx, value, depth, key, kind));
	} catch (error) {
		if (error instanceof RangeError && /stack/.test(error.message)) {
			ctx.seen.length = ctx.seen.lastIndexOf(value);
			return `[${constructorName(value, ctx, depth).slice(0, -1)}: Inspection interrupted prematurely. Maximum call stack size exceeded.]`;
		}
		throw error;
	}
	if (ctx.circular !== undefined) {
		const reference = ctx.circular.get(value);
		if (reference !== undefined) {
			const text = `<ref *${reference}>`;
			if (ctx.compact !== true) base = base === '' ? text : `${text} ${base}`;
			else braces[0] = `${text} ${braces[0]}`;
		}
	}
	ctx.seen.pop();
	if (ctx.sorted) {
		const comparator = ctx.sorted === true ? undefined : ctx.sorted;
		if (kind === PLAIN) output.sort(comparator);
		else if (keys.length > 1) {
			const sorted = output.slice(output.length - keys.length).sort(comparator);
			output.splice(output.length - keys.length, keys.length, ...sorted);
		}
	}
	return joined(ctx, output, base, braces, kind, depth, value);
}

function boxedBase(value, ctx, keys, constructor, tag) {
	let inner, type;
	if (types.isNumberObject(value)) [inner, type] = [Number.prototype.valueOf, 'Number'];
	else if (types.isStringObject(value)) {
		[inner, type] = [String.prototype.valueOf, 'String'];
		keys.splice(0, value.length);
	} else if (types.isBooleanObject(value)) [inner, type] = [Boolean.prototype.valueOf, 'Boolean'];
	else if (types.isBigIntObject(value)) [inner, type] = [BigInt.prototype.valueOf, 'BigInt'];
	else [inner, type] = [Symbol.prototype.valueOf, 'Symbol'];
	let base = `[${type}`;
	if (type !== constructor) base += constructor === null ? ' (null prototype)' : ` (${constructor})`;
	base += `: ${formatPrimitive({ ...ctx, stylize: (text) => text }, inner.call(value))}]`;
	if (tag !== '' && tag !== constructor) base += ` [${tag}]`;
	return base;
}

function formatArray(ctx, value, depth) {
	const length = value.length, shown = Math.min(Math.max(0, ctx.maxArrayLength), length);
	const output = [];
	for (let i = 0; i < shown; i++) {
		if (!hasOwn(value, i)) return formatHoles(ctx, value, depth, shown, output, i);
		output.push(formatProperty(ctx, value, depth, i, ELEMENT));
	}
	const left = length - shown;
	if (left > 0) output.push(`... ${left} more item${left > 1 ? 's' : ''}`);
	return output;
}

function formatHoles(ctx, value, depth, most, output, from) {
	const keys = Object.keys(value);
	let at = from;
	for (let i = from; i < keys.length && output.length < most; i++) {
		const key = keys[i];
		if (`${at}` !== key) {
			if (!index.test(key)) break;
			const empty = key - at;
			output.push(`<${empty} empty item${empty > 1 ? 's' : ''}>`);
			at = +key;
			if (output.length === most) break;
		}
		output.push(formatProperty(ctx, value, depth, key, ELEMENT));
		at++;
	}
	const left = value.length - at;
	if (output.length !== most) {
		if (left > 0) output.push(`<${left} empty item${left > 1 ? 's' : ''}>`);
	} else if (left > 0) output.push(`... ${left} more item${left > 1 ? 's' : ''}`);
	return output;
}

function formatTyped(ctx, value, depth) {
	const shown = Math.min(Math.max(0, ctx.maxArrayLength), value.length), left = value.length - shown;
	const output = new Array(shown);
	for (let i = 0; i < shown; i++)
		output[i] = typeof value[i] === 'bigint' ? ctx.stylize(`${value[i]}n`, 'bigint') : ctx.stylize(number(value[i]), 'number');
	if (left > 0) output[shown] = `... ${left} more item${left > 1 ? 's' : ''}`;
	if (ctx.showHidden) {
		ctx.indentationLvl += 2;
		for (const key of ['BYTES_PER_ELEMENT', 'length', 'byteLength', 'byteOffset', 'buffer'])
			output.push(`[${key}]: ${formatValue(ctx, value[key], depth, true)}`);
		ctx.indentationLvl -= 2;
	}
	return output;
}

function formatBytes(ctx, value) {
	let bytes;
	try {
		bytes = new Uint8Array(value);
	} catch {
		return ['(detached)'];
	}
	const shown = Math.min(Math.max(0, ctx.maxArrayLength), bytes.length);
	let text = sys.decode(bytes, 0, shown, 3).replace(/(.{2})/g, '$1 ').trim();
	const left = bytes.length - shown;
	if (left > 0) text += ` ... ${left} more byte${left > 1 ? 's' : ''}`;
	return [`${ctx.stylize('[Uint8Contents]', 'special')}: <${text}>`];
}

function formatSet(ctx, value, depth) {
	const output = [];
	ctx.indentationLvl += 2;
	for (const one of Set.prototype.values.call(value)) {
		output.push(formatValue(ctx, one, depth));
	}
	ctx.indentationLvl -= 2;
	return output;
}

function formatMap(ctx, value, depth) {
	const output = [];
	ctx.indentationLvl += 2;
	for (const [key, one] of Map.prototype.entries.call(value)) {
		output.push(`${formatValue(ctx, key, depth)} => ${formatValue(ctx, one, depth)}`);
	}
	ctx.indentationLvl -= 2;
	return output;
}

function formatIterator() {
	return ['<items unknown>'];
}

function formatPromise(ctx, value, depth) {
	const [state, result] = sys.promiseState(value);
	if (state === 0) return [ctx.stylize('<pending>', 'special')];
	ctx.indentationLvl += 2;
	const text = formatValue(ctx, result, depth);
	ctx.indentationLvl -= 2;
	return [state === 2 ? `${ctx.stylize('<rejected>', 'special')} ${text}` : text];
}

function formatProperty(ctx, value, depth, key, kind) {
	let text, extra = ' ';
	const descriptor = Object.getOwnPropertyDescriptor(value, key) || { value: value[key], configurable: true, enumerable: true };
	if (descriptor.value !== undefined) {
		const more = ctx.compact !== true || kind !== PLAIN ? 2 : 3;
		ctx.indentationLvl += more;
		text = formatValue(ctx, descriptor.value, depth);
		if (more === 3 && ctx.breakLength < width(text)) extra = `\n${' '.repeat(ctx.indentationLvl)}`;
		ctx.indentationLvl -= more;
	} else if (descriptor.get !== undefined) {
		const label = descriptor.set !== undefined ? 'Getter/Setter' : 'Getter';
		if (ctx.getters && (ctx.getters === true || (ctx.getters === 'get' && descriptor.set === undefined) ||
			(ctx.getters === 'set' && descriptor.set !== undefined))) {
			try {
				const got = descriptor.get.call(value);
				ctx.indentationLvl += 2;
				if (got === null) text = `[${label}: null]`;
				else if (typeof got === 'object') text = `[${label}] ${formatValue(ctx, got, depth)}`;
				else text = `[${label}: ${formatPrimitive(ctx, got)}]`;
				ctx.indentationLvl -= 2;
			} catch (error) {
				text = `[${label}: <Inspection threw (${error.message})>]`;
			}
		} else text = ctx.stylize(`[${label}]`, 'special');
	} else if (descriptor.set !== undefined) text = ctx.stylize('[Setter]', 'special');
	else text = ctx.stylize('undefined', 'undefined');
	if (kind === ELEMENT) return text;
	let name;
	if (typeof key === 'symbol') {
		name = `[${ctx.stylize(Symbol.prototype.toString.call(key).replace(/[\x00-\x1f'\\\x7f-\x9f]/g, (char) => escapeOne(char, "'")), 'symbol')}]`;
	} else if (key === '__proto__') name = "['__proto__']";
	else if (descriptor.enumerable === false)
		name = `[${key.replace(/[\x00-\x1f'\\\x7f-\x9f]/g, (char) => escapeOne(char, "'"))}]`;
	else if (/^[a-zA-Z_][a-zA-Z_0-9]*$/.test(key)) name = ctx.stylize(key, 'name');
	else name = ctx.stylize(quoted(key), 'string');
	return `${name}:${extra}${text}`;
}

// Columns that a text takes on a screen.
function width(text) {
	let sum = 0;
	if (/^[\x20-\x7e]*$/.test(text)) return text.length;
	for (const char of text.normalize('NFC')) {
		const code = char.codePointAt(0);
		if (code < 32 || (code >= 127 && code < 160)) continue;
		if (code <= 0x1f && code >= 0) continue;
		if ((code >= 0x300 && code <= 0x36f) || (code >= 0x200b && code <= 0x200f) || (code >= 0x20d0 && code <= 0x20ff) ||
			(code >= 0xfe00 && code <= 0xfe0f) || (code >= 0xfe20 && code <= 0xfe2f) || (code >= 0xe0100 && code <= 0xe01ef)) continue;
		if (code >= 0x1100 && (code <= 0x115f || code === 0x2329 || code === 0x232a ||
			(code >= 0x2e80 && code <= 0x3247 && code !== 0x303f) || (code >= 0x3250 && code <= 0x4dbf) ||
			(code >= 0x4e00 && code <= 0xa4c6) || (code >= 0xa960 && code <= 0xa97c) || (code >= 0xac00 && code <= 0xd7a3) ||
			(code >= 0xf900 && code <= 0xfaff) || (code >= 0xfe10 && code <= 0xfe19) || (code >= 0xfe30 && code <= 0xfe6b) ||
			(code >= 0xff01 && code <= 0xff60) || (code >= 0xffe0 && code <= 0xffe6) || (code >= 0x1b000 && code <= 0x1b001) ||
			(code >= 0x1f200 && code <= 0x1f251) || (code >= 0x1f300 && code <= 0x1f64f) || (code >= 0x1f900 && code <= 0x1f9ff) ||
			(code >= 0x20000 && code <= 0x3fffd))) sum += 2;
		else sum++;
	}
	return sum;
}

function fits(ctx, output, start, base) {
	let total = output.length + start;
	if (total + output.length > ctx.breakLength) return false;
	for (const one of output) {
		total += one.length;
		if (total > ctx.breakLength) return false;
	}
	return base === '' || !base.includes('\n');
}

function joined(ctx, output, base, braces, kind, depth, value) {
	if (ctx.compact !== true) {
		if (typeof ctx.compact === 'number' && ctx.compact >= 1) {
			const entries = output.length;
			if (kind === EXTRA && entries > 6) output = grouped(ctx, output, value);
			if (ctx.currentDepth - depth < ctx.compact && entries === output.length) {
				const start = output.length + ctx.indentationLvl + braces[0].length + base.length + 10;
				if (fits(ctx, output, start, base)) {
					const line = output.join(', ');
					if (!line.includes('\n')) return `${base ? `${base} ` : ''}${braces[0]} ${line} ${braces[1]}`;
				}
			}
		}
		const indentation = `\n${' '.repeat(ctx.indentationLvl)}`;
		return `${base ? `${base} ` : ''}${braces[0]}${indentation}  ${output.join(`,${indentation}  `)}${indentation}${braces[1]}`;
	}
	if (fits(ctx, output, 0, base))
		return `${braces[0]}${base ? ` ${base}` : ''} ${output.join(', ')} ${braces[1]}`;
	const indentation = `\n${' '.repeat(ctx.indentationLvl)}`;
	const line = base === '' && braces[0].length === 1 ? ' ' : `${base ? ` ${base}` : ''}${indentation}  `;
	return `${braces[0]}${line}${output.join(`,${indentation}  `)} ${braces[1]}`;
}

// Many short elements stand in columns.
function grouped(ctx, output, value) {
	let total = 0, longest = 0, i = 0;
	let count = output.length;
	if (ctx.maxArrayLength < output.length) count--;
	const between = 2, lengths = new Array(count);
	for (; i < count; i++) {
		const length = width(output[i]);
		lengths[i] = length;
		total += length + between;
		if (longest < length) longest = length;
	}
	const cell = longest + between;
	if (cell * 3 + ctx.indentationLvl < ctx.breakLength && (total / cell > 5 || longest <= 6)) {
		const bias = Math.sqrt(cell - total / output.length);
		const biased = Math.max(cell - 3 - bias, 1);
		const columns = Math.min(
			Math.round(Math.sqrt(2.5 * biased * count) / biased),
			Math.floor((ctx.breakLength - ctx.indentationLvl) / cell),
			ctx.compact * 4,
			15,
		);
		if (columns <= 1) return output;
		const lines = [], widths = [];
		for (let column = 0; column < columns; column++) {
			let most = 0;
			for (let j = column; j < output.length; j += columns) if (lengths[j] > most) most = lengths[j];
			widths.push(most + between);
		}
		let toLeft = false;
		if (value !== undefined)
			for (let j = 0; j < output.length; j++)
				if (typeof value[j] !== 'number' && typeof value[j] !== 'bigint') {
					toLeft = true;
					break;
				}
		for (let first = 0; first < count; first += columns) {
			const end = Math.min(first + columns, count);
			let line = '', j = first;
			for (; j < end - 1; j++) {
				const cellWidth = widths[j - first] + output[j].length - lengths[j];
				line += toLeft ? `${output[j]}, `.padEnd(cellWidth) : `${output[j]}, `.padStart(cellWidth);
			}
			if (toLeft) line += output[j];
			else line += output[j].padStart(widths[j - first] + output[j].length - lengths[j] - between);
			lines.push(line);
		}
		if (ctx.maxArrayLength < output.length) lines.push(output[count]);
		output = lines;
	}
	return output;
}

function builtInToString(value) {
	if (types.isProxy(value)) return true;
	if (typeof value.toString !== 'function') return true;
	if (hasOwn(value, 'toString')) return false;
	let pointer = value;
	do pointer = Object.getPrototypeOf(pointer);
	while (!hasOwn(pointer, 'toString'));
	const descriptor = Object.getOwnPropertyDescriptor(pointer, 'constructor');
	return descriptor !== undefined && typeof descriptor.value === 'function' && builtIns.has(descriptor.value.name) &&
		descriptor.value === globalThis[descriptor.value.name];
}
// The engine's own; what is added to them is found by an accessor or is a class of ours.
const builtIns = new Set(['Object', 'Function', 'Error', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError',
	'AggregateError', 'Array', 'Number', 'Boolean', 'String', 'Symbol', 'BigInt', 'Date', 'RegExp', 'Promise', 'Map', 'Set', 'WeakMap', 'WeakSet',
	'WeakRef', 'ArrayBuffer', 'SharedArrayBuffer', 'DataView', 'Uint8Array', 'Uint8ClampedArray', 'Int8Array', 'Uint16Array', 'Int16Array',
	'Uint32Array', 'Int32Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array', 'Proxy', 'FinalizationRegistry']);

function json(value) {
	try {
		return JSON.stringify(value);
	} catch (error) {
		if (/circular/.test(error.message)) return '[Circular]';
		throw error;
	}
}

function formatWithOptions(options, ...values) {
	const first = values[0];
	let at = 0, text = '', join = '';
	if (typeof first === 'string') {
		if (values.length === 1) return first;
		let last = 0;
		for (let i = 0; i < first.length - 1; i++) {
			if (first[i] !== '%') continue;
			const next = first[++i];
			let piece;
			if (at + 1 !== values.length) {
				const value = values[at + 1];
				switch (next) {
				case 's':
					at++;
					if (typeof value === 'number') piece = number(value);
					else if (typeof value === 'bigint') piece = `${value}n`;
					else if (typeof value !== 'object' || value === null || !builtInToString(value)) piece = String(value);
					else piece = inspect(value, { ...options, depth: 0, colors: false, compact: 3 });
					break;
				case 'j':
					at++;
					piece = json(value);
					break;
				case 'd':
					at++;
					if (typeof value === 'bigint') piece = `${value}n`;
					else if (typeof value === 'symbol') piece = 'NaN';
					else piece = number(Number(value));
					break;
				case 'O':
					at++;
					piece = inspect(value, options);
					break;
				case 'o':
					at++;
					piece = inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 });
					break;
				case 'i':
					at++;
					if (typeof value === 'bigint') piece = `${value}n`;
					else if (typeof value === 'symbol') piece = 'NaN';
					else piece = number(parseInt(value));
					break;
				case 'f':
					at++;
					piece = typeof value === 'symbol' ? 'NaN' : number(parseFloat(value));
					break;
				case 'c':
					at++;
					piece = '';
					break;
				case '%':
					text += first.slice(last, i);
					last = i + 1;
					continue;
				default:
					continue;
				}
				if (last !== i - 1) text += first.slice(last, i - 1);
				text += piece;
				last = i + 1;
			} else if (next === '%') {
				text += first.slice(last, i);
				last = i + 1;
			}
		}
		if (last !== 0) {
			at++;
			join = ' ';
			if (last < first.length) text += first.slice(last);
		}
	}
	while (at < values.length) {
		const value = values[at];
		text += join;
		text += typeof value !== 'string' ? inspect(value, { ...options, compact: 3, colors: false, depth: 2, ...options }) : value;
		join = ' ';
		at++;
	}
	return text;
}

const promisifyCustom = Symbol.for('nodejs.util.promisify.custom');
function promisify(original) {
	if (typeof original !== 'function') throw need('errors').invalidType('original', 'function', original);
	if (original[promisifyCustom]) return original[promisifyCustom];
	const names = original[promisify.names];
	function promised(...values) {
		return new Promise((resolve, reject) => {
			Reflect.apply(original, this, [...values, (error, ...results) => {
				if (error) reject(error);
				else if (names !== undefined && results.length > 1)
					resolve(Object.fromEntries(names.map((name, i) => [name, results[i]])));
				else resolve(results[0]);
			}]);
		});
	}
	Object.setPrototypeOf(promised, Object.getPrototypeOf(original));
	Object.defineProperty(promised, promisifyCustom, { value: promised, enumerable: false, writable: false, configurable: true });
	return Object.defineProperties(promised, Object.getOwnPropertyDescriptors(original));
}
promisify.custom = promisifyCustom;
Object.defineProperty(promisify, 'names', { value: Symbol('names') });

function callbackify(original) {
	return function (...values) {
		const callback = values.pop();
		const { tick } = need('core');
		Reflect.apply(original, this, values).then((value) => tick(callback, null, value), (error) => tick(callback, error || new Error('rejected')));
	};
}

Object.assign(exports, {
	inspect, formatWithOptions, promisify, callbackify,
	format: (...values) => formatWithOptions(undefined, ...values),
	types,
	isDeepStrictEqual: (a, b) => need('equal').deep(a, b, true),
	inherits(constructor, parent) {
		Object.defineProperty(constructor, 'super_', { value: parent, writable: true, configurable: true });
		Object.setPrototypeOf(constructor.prototype, parent.prototype);
	},
	deprecate: (callback) => callback,
	debuglog: () => Object.assign(() => {}, { enabled: false }),
	debug: () => Object.assign(() => {}, { enabled: false }),
	isArray: Array.isArray,
	stripVTControlCharacters: (text) => text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, ''),
	toUSVString: (text) => String(text).toWellFormed(),
	aborted: (signal) => new Promise((resolve) => {
		if (signal.aborted) resolve();
		else signal.addEventListener('abort', () => resolve(), { once: true });
	}),
});
Object.defineProperty(exports, 'TextEncoder', { enumerable: true, configurable: true, get: () => need('text').TextEncoder });
Object.defineProperty(exports, 'TextDecoder', { enumerable: true, configurable: true, get: () => need('text').TextDecoder });
exports._width = width;
exports._stackOf = stackOf;
Object.defineProperty(exports, '_width', { enumerable: false });
Object.defineProperty(exports, '_stackOf', { enumerable: false });
