// Its states, formulas and conditions follow Node.js 18's own, as they are known; see ../LICENSE-node.
// How modules are found and loaded.
const { coded } = need('errors');
const path = need('path');

const builtins = {
	assert: 'assert', 'assert/strict': 'assert_strict', buffer: 'buffer', child_process: 'child_process', console: 'console',
	crypto: 'crypto', events: 'events', fs: 'fs', 'fs/promises': 'fs_promises', http: 'http', module: 'module', net: 'net', os: 'os',
	path: 'path', 'path/posix': 'path', perf_hooks: 'perf_hooks', process: 'process', querystring: 'querystring', stream: 'stream',
	'stream/promises': 'stream_promises', string_decoder: 'string_decoder', timers: 'timers', 'timers/promises': 'timers_promises',
	url: 'url', util: 'util', 'util/types': 'util_types', worker_threads: 'worker_threads', 'node:test': 'test',
};
function builtinName(request) {
	if (request.startsWith('node:')) {
		const name = request.slice(5);
		if (Object.hasOwn(builtins, name) && name !== 'node:test') return name;
		if (name === 'test') return 'node:test';
		return null;
	}
	return Object.hasOwn(builtins, request) && request !== 'node:test' ? request : null;
}
function builtin(name) {
	switch (name) {
	case 'process': return need('core').process;
	case 'console': return need('core').console;
	case 'util/types': return need('kinds').types;
	case 'module': return Module;
	case 'timers': return { ...publicTimers(), promises: need('timers_promises') };
	default: return need(builtins[name]);
	}
}
function publicTimers() {
	const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = need('core').timers;
	return { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate };
}

// Files
function kind(file) {
	const info = sys.stat_(file, 0);
	if (typeof info === 'number') return -1;
	const type = info[1] & 0o170000;
	return type === 0o040000 ? 1 : 0;
}
function readText(file) {
	const bytes = sys.readText(file);
	if (typeof bytes === 'number') throw need('errors').system(bytes, 'open', file);
	let text = sys.decode(bytes, 0, bytes.byteLength, 0);
	if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
	return text;
}
const realpath = (file) => {
	const real = sys.realpath_(file);
	return typeof real === 'string' ? real : file;
};

const manifests = new Map();
function manifest(folder) {
	const file = folder === '/' ? '/package.json' : `${folder}/package.json`;
	let value = manifests.get(file);
	if (value !== undefined) return value;
	const bytes = sys.readText(file);
	if (typeof bytes === 'number') value = null;
	else {
		let data;
		try {
			data = JSON.parse(sys.decode(bytes, 0, bytes.byteLength, 0));
		} catch (error) {
			throw coded(Error, 'ERR_INVALID_PACKAGE_CONFIG', `Invalid package config ${file}. ${error.message}`);
		}
		if (data === null || typeof data !== 'object') data = {};
		value = {
			folder, file,
			main: typeof data.main === 'string' ? data.main : undefined,
			name: typeof data.name === 'string' ? data.name : undefined,
			type: data.type === 'module' || data.type === 'commonjs' ? data.type : 'none',
			exports: data.exports, imports: data.imports !== null && typeof data.imports === 'object' ? data.imports : undefined,
		};
	}
	manifests.set(file, value);
	return value;
}
function scope(file) {
	let folder = path.dirname(file);
	for (;;) {
		if (!folder.endsWith('/node_modules')) {
			const found = manifest(folder);
			if (found) return found;
		}
		if (folder === '/') return null;
		folder = path.dirname(folder);
	}
}

// Addresses
function toUrl(file) {
	return 'file://' + file.replace(/[%\\\n\r\t?# "<>`{}|^\x00-\x1f\x7f]|[^\x00-\x7f]+/g, (part) => {
		if (part === '|' || part === '^') return part;
		const bytes = new Uint8Array(sys.encode(part, 0));
		let out = '';
		for (const byte of bytes) out += '%' + byte.toString(16).toUpperCase().padStart(2, '0');
		return out;
	});
}
function toFile(url) {
	const end = url.search(/[?#]/);
	return decodeURIComponent((end < 0 ? url : url.slice(0, end)).slice(7));
}

// Packages, as both kinds of modules find them.
function parseName(request, base) {
	let slash = request.indexOf('/');
	let valid = true;
	if (request[0] === '@') {
		if (slash < 0) valid = false;
		else slash = request.indexOf('/', slash + 1);
	}
	const name = slash < 0 ? request : request.slice(0, slash);
	if (name === '' || name[0] === '.' || /[\\%]/.test(name)) valid = false;
	return { name, subpath: '.' + (slash < 0 ? '' : request.slice(slash)), valid };
}

const badSegment = /(^|\\|\/)((\.|%2e)(\.|%2e)?|(n|%6e|%4e)(o|%6f|%4f)(d|%64|%44)(e|%65|%45)(_|%5f)(m|%6d|%4d)(o|%6f|%4f)(d|%64|%44)(u|%75|%55)(l|%6c|%4c)(e|%65|%45)(s|%73|%53))(\\|\/|$)/i;

function invalidTarget(pack, key, target, isImports, base) {
	return coded(Error, 'ERR_INVALID_PACKAGE_TARGET',
		`Invalid "${isImports ? 'imports' : 'exports'}" target ${JSON.stringify(target)} defined for '${key}' in the package config ${pack.file}`);
}
function notExported(pack, subpath) {
	return coded(Error, 'ERR_PACKAGE_PATH_NOT_EXPORTED', subpath === '.' ? `No "exports" main defined in ${pack.file}` :
		`Package subpath '${subpath}' is not defined by "exports" in ${pack.file}`);
}

function target(pack, value, match, key, pattern, isImports, conditions, base) {
	if (typeof value === 'string') {
		if (match !== '' && !pattern && !value.endsWith('/')) throw invalidTarget(pack, key, value, isImports, base);
		if (!value.startsWith('./')) {
			if (isImports && !value.startsWith('../') && !value.startsWith('/')) {
				let isUrl = true;
				if (!/^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(value)) isUrl = false;
				if (!isUrl) {
					const request = pattern ? value.replaceAll('*', () => match) : value + match;
					return { request, from: pack.file };
				}
				if (value.startsWith('node:')) return { request: value, from: pack.file };
			}
			throw invalidTarget(pack, key, value, isImports, base);
		}
		if (badSegment.test(value.slice(2))) throw invalidTarget(pack, key, value, isImports, base);
		const file = path.join(pack.folder, value);
		if (match === '') return { file };
		if (badSegment.test(match))
			throw coded(TypeError, 'ERR_INVALID_MODULE_SPECIFIER', `Invalid module "${pattern ? key.replace('*', () => match) : key + match}"`);
		return { file: pattern ? path.join(pack.folder, value.replaceAll('*', () => match)) : path.join(file, match) };
	}
	if (Array.isArray(value)) {
		if (value.length === 0) return null;
		let last;
		for (const one of value) {
			let found;
			try {
				found = target(pack, one, match, key, pattern, isImports, conditions, base);
			} catch (error) {
				last = error;
				if (error.code !== 'ERR_INVALID_PACKAGE_TARGET') throw error;
				continue;
			}
			if (found === undefined) continue;
			if (found === null) {
				last = null;
				continue;
			}
			return found;
		}
		if (last === undefined || last === null) return null;
		throw last;
	}
	if (typeof value === 'object' && value !== null) {
		const keys = Object.keys(value);
		if (keys.some((name) => `${+name}` === name))
			throw coded(Error, 'ERR_INVALID_PACKAGE_CONFIG', `Invalid package config ${pack.file}. "exports" cannot contain numeric property keys.`);
		for (const name of keys) {
			if (name !== 'default' && !conditions.has(name)) continue;
			const found = target(pack, value[name], match, key, pattern, isImports, conditions, base);
			if (found !== undefined) return found;
		}
		return undefined;
	}
	if (value === null) return null;
	throw invalidTarget(pack, key, value, isImports, base);
}

function bestPattern(table, name) {
	let best = '', match;
	const compare = (a, b) => {
		const atA = a.indexOf('*'), atB = b.indexOf('*');
		const baseA = atA < 0 ? a.length : atA + 1, baseB = atB < 0 ? b.length : atB + 1;
		if (baseA > baseB) return -1;
		if (baseB > baseA) return 1;
		if (atA < 0) return 1;
		if (atB < 0) return -1;
		return a.length > b.length ? -1 : b.length > a.length ? 1 : 0;
	};
	for (const key of Object.keys(table)) {
		const star = key.indexOf('*');
		if (star < 0 || !name.startsWith(key.slice(0, star))) continue;
		const trailer = key.slice(star + 1);
		if (name.length >= key.length && name.endsWith(trailer) && (best === '' || compare(best, key) === 1) &&
			key.lastIndexOf('*') === star) {
			best = key;
			match = name.slice(star, name.length - trailer.length);
		}
	}
	return best && [best, match];
}

function fromExports(pack, subpath, conditions, base) {
	let table = pack.exports;
	let sugar = typeof table === 'string' || Array.isArray(table);
	if (!sugar && typeof table === 'object' && table !== null) {
		let first, i = 0;
		for (const key of Object.keys(table)) {
			const plain = key === '' || key[0] !== '.';
			if (i++ === 0) first = plain;
			else if (first !== plain)
				throw coded(Error, 'ERR_INVALID_PACKAGE_CONFIG', `Invalid package config ${pack.file}. "exports" cannot contain some keys starting with '.' and some not.`);
		}
		sugar = !!first;
	}
	if (sugar) table = { '.': table };
	if (Object.hasOwn(table, subpath) && !subpath.includes('*') && !subpath.endsWith('/')) {
		const found = target(pack, table[subpath], '', subpath, false, false, conditions, base);
		if (found == null) throw notExported(pack, subpath);
		return found;
	}
	const best = bestPattern(table, subpath);
	if (best) {
		const found = target(pack, table[best[0]], best[1], best[0], true, false, conditions, base);
		if (found == null) throw notExported(pack, subpath);
		return found;
	}
	throw notExported(pack, subpath);
}

function fromImports(name, base, conditions) {
	if (name === '#' || name.startsWith('#/') || name.endsWith('/'))
		throw coded(TypeError, 'ERR_INVALID_MODULE_SPECIFIER', `Invalid module "${name}" is not a valid internal imports specifier name`);
	const pack = scope(base);
	if (pack && pack.imports) {
		if (Object.hasOwn(pack.imports, name) && !name.includes('*')) {
			const found = target(pack, pack.imports[name], '', name, false, true, conditions, base);
			if (found != null) return found;
		} else {
			const best = bestPattern(pack.imports, name);
			if (best) {
				const found = target(pack, pack.imports[best[0]], best[1], best[0], true, true, conditions, base);
				if (found != null) return found;
			}
		}
	}
	throw coded(TypeError, 'ERR_PACKAGE_IMPORT_NOT_DEFINED',
		`Package import specifier "${name}" is not defined${pack ? ` in package ${pack.file}` : ''} imported from ${base}`);
}

// ECMAScript's modules
const importing = new Set(['node', 'import', 'node-addons']);
const requiring = new Set(['node', 'require', 'node-addons']);

function notFound(what, base, isPackage) {
	return coded(Error, 'ERR_MODULE_NOT_FOUND', `Cannot find ${isPackage ? 'package' : 'module'} '${what}' imported from ${base}`);
}

function finish(file, base, suffix = '') {
	const type = kind(file.endsWith('/') ? file.slice(0, -1) : file);
	if (type === 1)
		throw coded(Error, 'ERR_UNSUPPORTED_DIR_IMPORT', `Directory import '${file}' is not supported resolving ES modules imported from ${base}`);
	if (type < 0 || file.endsWith('/')) throw notFound(file, base);
	return toUrl(realpath(file)) + suffix;
}

function resolvePackage(request, base, conditions) {
	const { name, subpath, valid } = parseName(request, base);
	if (!valid) throw coded(TypeError, 'ERR_INVALID_MODULE_SPECIFIER', `Invalid module "${request}" is not a valid package name imported from ${base}`);
	const own = scope(base);
	if (own && own.name === name && own.exports !== undefined && own.exports !== null)
		return fromExports(own, subpath, conditions, base);
	let folder = path.dirname(base);
	for (;;) {
		if (!folder.endsWith('/node_modules')) {
			const place = `${folder === '/' ? '' : folder}/node_modules/${name}`;
			if (kind(place) === 1) {
				const pack = manifest(place);
				if (pack && pack.exports !== undefined && pack.exports !== null) return fromExports(pack, subpath, conditions, base);
				if (subpath !== '.') return { file: path.join(place, subpath) + (subpath.endsWith('/') ? '/' : '') };
				const tries = [];
				if (pack && pack.main !== undefined)
					for (const end of ['', '.js', '.json', '.node', '/index.js', '/index.json', '/index.node']) tries.push(`./${pack.main}${end}`);
				tries.push('index.js', 'index.json', 'index.node');
				for (const one of tries) {
					const file = path.join(place, one);
					if (kind(file) === 0) return { file };
				}
				throw notFound(place, base, true);
			}
		}
		if (folder === '/') break;
		folder = path.dirname(folder);
	}
	throw notFound(name, base, true);
}

function resolveImport(base, request) {
	if (base.startsWith('file://')) base = toFile(base);
	const name = builtinName(request);
	if (name) return name === 'node:test' ? 'node:test' : `node:${name}`;
	if (request.startsWith('node:')) throw coded(Error, 'ERR_UNKNOWN_BUILTIN_MODULE', `No such built-in module: ${request}`);
	let relative = request;
	if (request.startsWith('file:')) {
		const rest = request.slice(5);
		if (rest.startsWith('//')) {
			const slash = rest.indexOf('/', 2);
			const host = rest.slice(2, slash < 0 ? undefined : slash);
			if (host && host !== 'localhost') throw coded(TypeError, 'ERR_INVALID_FILE_URL_HOST', 'File URL host must be "localhost" or empty on linux');
			relative = slash < 0 ? '/' : rest.slice(slash);
		} else relative = rest;
	} else if (/^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(request))
		throw coded(Error, 'ERR_UNSUPPORTED_ESM_URL_SCHEME', 'Only URLs with a scheme in: file, data and node are supported by the default ESM loader.');
	if (relative[0] === '/' || /^\.\.?(\/|$)/.test(relative)) {
		const end = relative.search(/[?#]/);
		let place = end < 0 ? relative : relative.slice(0, end);
		if (/%2f|%5c/i.test(place))
			throw coded(TypeError, 'ERR_INVALID_MODULE_SPECIFIER', `Invalid module "${request}" must not include encoded "/" or "\\" characters imported from ${base}`);
		try {
			place = decodeURIComponent(place);
		} catch {}
		const folder = /(^|\/)\.\.?$/.test(place);
		const file = path.resolve(path.dirname(base), place);
		return finish(file + ((place.endsWith('/') || folder) && file !== '/' ? '/' : ''), base, end < 0 ? '' : relative.slice(end));
	}
	const found = request[0] === '#' ? fromImports(request, base, importing) : resolvePackage(request, base, importing);
	if (found.request !== undefined) {
		const inner = builtinName(found.request);
		if (inner) return `node:${inner}`;
		const again = resolvePackage(found.request, found.from, importing);
		return finish(again.file, base);
	}
	return finish(found.file, base);
}

function formatOf(file) {
	const extension = path.extname(file);
	switch (extension) {
	case '.mjs': case '.mts': return 'module';
	case '.cjs': case '.cts': return 'commonjs';
	case '.json': return 'json';
	case '.js': case '.ts': {
		const pack = scope(file);
		return pack && pack.type === 'module' ? 'module' : 'commonjs';
	}
	case '.node':
		throw coded(Error, 'ERR_UNKNOWN_FILE_EXTENSION', `Unknown file extension ".node" for ${file}`);
	case '': {
		const pack = scope(file);
		if (pack && pack.type === 'module') throw coded(TypeError, 'ERR_UNKNOWN_FILE_EXTENSION', `Unknown file extension "" for ${file}`);
		return 'commonjs';
	}
	default: {
		throw coded(TypeError, 'ERR_UNKNOWN_FILE_EXTENSION', `Unknown file extension "${extension}" for ${file}`);
	}
	}
}

const isTyped = (file) => /\.[mc]?ts$/.test(file);
function sourceOf(file) {
	const text = readText(file);
	const source = text.startsWith('#!') ? '//' + text : text;
	return isTyped(file) ? need('types').strip(source, file) : source;
}

// What a CommonJS text exports by name.
function exportNames(text) {
	const names = new Set();
	const clean = text.replace(/\/\*[^]*?\*\/|(^|[^:'"`\\])\/\/[^\n]*/g, '$1 ');
	for (const found of clean.matchAll(/(?<![\w$.])(?:module\s*\.\s*)?exports\s*(?:\.\s*([A-Za-z_$][\w$]*)|\[\s*(?:'([^'\\\n]+)'|"([^"\\\n]+)")\s*\])\s*=(?![=>])/g))
		names.add(found[1] || found[2] || found[3]);
	for (const found of clean.matchAll(/Object\s*\.\s*defineProperty\s*\(\s*(?:module\s*\.\s*)?exports\s*,\s*['"]([^'"\\\n]+)['"]\s*,\s*\{\s*(?:enumerable\s*:\s*(?:true|!0)\s*,\s*)?(?:value\s*:|get\s*(?::|\())/g))
		names.add(found[1]);
	const reexports = [];
	const word = /^\s*(?:([A-Za-z_$][\w$]*)|'([^'\\\n]*)'|"([^"\\\n]*)")/;
	for (const found of clean.matchAll(/(?<![\w$.])module\s*\.\s*exports\s*=\s*(?:(\{)|require\s*\(\s*['"]([^'"\\\n]+)['"]\s*\))/g)) {
		if (found[2]) {
			reexports.push(found[2]);
			continue;
		}
		let rest = clean.slice(found.index + found[0].length);
		for (;;) {
			const spread = /^\s*\.\.\.\s*require\s*\(\s*['"]([^'"\\\n]+)['"]\s*\)/.exec(rest);
			if (spread) {
				reexports.push(spread[1]);
				rest = rest.slice(spread[0].length);
			} else {
				const key = word.exec(rest);
				if (!key) break;
				rest = rest.slice(key[0].length);
				const colon = /^\s*:\s*/.exec(rest);
				if (!colon && key[1] === undefined) break;
				if (!colon && !/^\s*[,}]/.test(rest)) {
					if (/^\s*\(/.test(rest) && false) names.add(key[1]);
					break;
				}
				names.add(key[1] || key[2] || key[3]);
				if (colon) {
					rest = rest.slice(colon[0].length);
					const value = /^[A-Za-z_$][\w$]*/.exec(rest);
					if (!value) break;
					rest = rest.slice(value[0].length);
				}
			}
			const comma = /^\s*,/.exec(rest);
			if (!comma) break;
			rest = rest.slice(comma[0].length);
		}
	}
	return { names, reexports };
}

function allNames(file, seen = new Set()) {
	if (seen.has(file)) return new Set();
	seen.add(file);
	let found;
	try {
		found = exportNames(readText(file));
	} catch {
		return new Set();
	}
	for (const request of found.reexports) {
		try {
			const inner = resolveRequire(request, file);
			if (inner[0] === '/' && (/\.c?js$/.test(inner) || path.extname(inner) === ''))
				for (const name of allNames(inner, seen)) found.names.add(name);
		} catch {}
	}
	return found.names;
}

// url → how its values come, for what is no module of the engine's.
const filled = new Map();

function read(url) {
	if (url.startsWith('node:')) {
		const name = url === 'node:test' ? url : url.slice(5);
		const value = builtin(name);
		const keys = Object.keys(value).filter((key) => key !== 'default');
		filled.set(url, () => {
			const list = ['default', value];
			for (const key of keys) list.push(key, value[key]);
			return list;
		});
		return ['default', ...keys];
	}
	const file = toFile(url);
	let format = formatOf(file);
	if (format === 'json')
		throw coded(TypeError, 'ERR_IMPORT_ASSERTION_TYPE_MISSING', `Module "${url}" needs an import assertion of type "json"`);
	if (format === 'commonjs' && isTyped(file)) format = typedFormat(file);
	if (format === 'module') return sourceOf(file);
	const names = allNames(file);
	names.delete('default');
	const keys = [...names];
	filled.set(url, () => {
		const end = url.search(/[?#]/);
		const value = load(file);
		const list = ['default', value];
		for (const key of keys) {
			let one;
			try {
				one = value == null ? undefined : value[key];
			} catch {}
			list.push(key, one);
		}
		return list;
	});
	return ['default', ...keys];
}
function typedFormat(file) {
	const pack = scope(file);
	if (path.extname(file) !== '.ts' || (pack && pack.type === 'commonjs')) return 'commonjs';
	return /^[ \t]*(?:import\b(?!\s*\()|export\b)/m.test(sourceOf(file)) ? 'module' : 'commonjs';
}

// CommonJS
class Module {
	constructor(id = '', parent) {
		this.id = id;
		this.path = path.dirname(id);
		this.exports = {};
		Object.defineProperty(this, 'parent', { value: parent, configurable: true, writable: true });
		this.filename = null;
		this.loaded = false;
		this.children = [];
		if (parent && parent.children) parent.children.push(this);
	}
	require(request) {
		if (typeof request !== 'string') throw need('errors').invalidType('id', 'string', request);
		if (request === '') throw need('errors').invalidValue('id', request, 'must be a non-empty string');
		return requireFrom(request, this.filename || this.id, this);
	}
	_compile(text, file) {
		const source = text.startsWith('#!') ? '//' + text : text;
		const body = sys.compile(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, file);
		return Reflect.apply(body, this.exports, [this.exports, makeRequire(this), this, file, path.dirname(file)]);
	}
	load(file) {
		this.filename = file;
		this.paths = folders(path.dirname(file));
		const extension = path.extname(file);
		const own = Module._extensions[Object.hasOwn(Module._extensions, extension) ? extension : '.js'];
		own(this, file);
		this.loaded = true;
	}
}
Module._cache = Object.create(null);
Module._extensions = Object.create(null);
Module._extensions['.js'] = (module, file) => {
	if (file.endsWith('.mjs') || file.endsWith('.mts') || (/\.[jt]s$/.test(file) && formatOf(file) === 'module'))
		throw coded(Error, 'ERR_REQUIRE_ESM', `require() of ES Module ${file} not supported.`);
	module._compile(isTyped(file) ? sourceOf(file) : readText(file), file);
};
Module._extensions['.json'] = (module, file) => {
	try {
		module.exports = JSON.parse(readText(file));
	} catch (error) {
		error.message = `${file}: ${error.message}`;
		throw error;
	}
};
Module.builtinModules = Object.keys(builtins).filter((name) => name !== 'node:test');
Module.isBuiltin = (name) => builtinName(name) !== null;
Module.createRequire = (place) => {
	let file = typeof place === 'object' && place !== null ? place.href : place;
	if (typeof file !== 'string') throw need('errors').invalidValue('filename', place);
	if (file.startsWith('file:')) file = toFile(file);
	else if (file[0] !== '/') throw need('errors').invalidValue('filename', place, 'must be a file URL object, file URL string, or absolute path string');
	const module = new Module(file);
	module.filename = file.endsWith('/') ? file + 'noop.js' : file;
	module.paths = folders(path.dirname(module.filename));
	return makeRequire(module);
};
Module._nodeModulePaths = folders;
Module._load = (request, parent) => requireFrom(request, parent && parent.filename || need('core').process.cwd() + '/x', parent);
Module._resolveFilename = (request, parent) => resolveRequire(request, parent && parent.filename || need('core').process.cwd() + '/x');
Module.Module = Module;
Module.globalPaths = [];
Module.wrap = (text) => `(function (exports, require, module, __filename, __dirname) { ${text}\n});`;
let mainModule;

function folders(from) {
	const list = [];
	for (let folder = from; ; folder = path.dirname(folder)) {
		if (!folder.endsWith('/node_modules')) list.push(folder === '/' ? '/node_modules' : `${folder}/node_modules`);
		if (folder === '/') return list;
	}
}

function makeRequire(module) {
	const require = function require(request) {
		return module.require(request);
	};
	require.resolve = function resolve(request, options) {
		if (typeof request !== 'string') throw need('errors').invalidType('request', 'string', request);
		if (options && options.paths) {
			for (const place of options.paths) {
				try {
					return resolveRequire(request, path.resolve(place) + '/x');
				} catch (error) {
					if (error.code !== 'MODULE_NOT_FOUND') throw error;
				}
			}
			throw missing(request, module.filename);
		}
		return resolveRequire(request, module.filename);
	};
	require.resolve.paths = function paths(request) {
		if (builtinName(request)) return null;
		if (/^\.\.?\//.test(request)) return [path.dirname(module.filename)];
		return folders(path.dirname(module.filename));
	};
	require.main = mainModule;
	require.extensions = Module._extensions;
	require.cache = Module._cache;
	return require;
}

function missing(request, from) {
	const error = coded(Error, 'MODULE_NOT_FOUND', `Cannot find module '${request}'\nRequire stack:\n- ${from}`);
	error.requireStack = [from];
	return error;
}

function asFile(file) {
	if (kind(file) === 0) return file;
	for (const extension of ['.js', '.json', '.node']) if (kind(file + extension) === 0) return file + extension;
	return null;
}
function asFolder(folder) {
	if (kind(folder) !== 1) return null;
	const pack = manifest(folder);
	if (pack && pack.main) {
		const main = path.resolve(folder, pack.main);
		const found = asFile(main) || indexOf(main);
		if (found) return found;
		const index = indexOf(folder);
		if (index) return index;
		throw coded(Error, 'MODULE_NOT_FOUND', `Cannot find module '${main}'. Please verify that the package.json has a valid "main" entry`);
	}
	return indexOf(folder);
}
function indexOf(folder) {
	for (const extension of ['.js', '.json', '.node']) if (kind(`${folder}/index${extension}`) === 0) return `${folder}/index${extension}`;
	return null;
}

function resolveRequire(request, from) {
	const name = builtinName(request);
	if (name) return request;
	if (request.startsWith('node:')) throw coded(Error, 'ERR_UNKNOWN_BUILTIN_MODULE', `No such built-in module: ${request}`);
	if (request[0] === '/' || /^\.\.?(\/|$)/.test(request)) {
		const file = path.resolve(path.dirname(from), request);
		const found = (/(^|\/)\.{0,2}$/.test(request) ? null : asFile(file)) || asFolder(file);
		if (!found) throw missing(request, from);
		return realpath(found);
	}
	const exact = (found, conditions) => {
		if (found.request !== undefined) return resolveRequire(found.request, found.from);
		if (kind(found.file) !== 0) throw missing(found.file, from);
		return realpath(found.file);
	};
	if (request[0] === '#') {
		const pack = scope(from);
		if (pack && pack.imports) return exact(fromImports(request, from, requiring));
	}
	const { name: wanted, subpath, valid } = parseName(request, from);
	if (valid) {
		const own = scope(from);
		if (own && own.name === wanted && own.exports !== undefined && own.exports !== null)
			return exact(fromExports(own, subpath, requiring, from));
	}
	for (const folder of folders(path.dirname(from))) {
		if (kind(folder) !== 1) continue;
		if (valid) {
			const place = `${folder}/${wanted}`, pack = manifest(place);
			if (pack && pack.exports !== undefined && pack.exports !== null) return exact(fromExports(pack, subpath, requiring, from));
		}
		const file = path.join(folder, request);
		const found = (request.endsWith('/') ? null : asFile(file)) || asFolder(file);
		if (found) return realpath(found);
	}
	throw missing(request, from);
}

function requireFrom(request, from, parent) {
	const name = builtinName(request);
	if (name && !(Module._cache[request] && !request.startsWith('node:'))) return builtin(name);
	const file = resolveRequire(request, from);
	return load(file, parent);
}

function load(file, parent, id) {
	const there = Module._cache[file];
	if (there) {
		if (parent && parent.children && !parent.children.includes(there)) parent.children.push(there);
		return there.exports;
	}
	const module = new Module(id || file, parent);
	module.path = path.dirname(file);
	if (id) {
		mainModule = module;
		need('core').process.mainModule = module;
	}
	Module._cache[file] = module;
	module.filename = file;
	let done = false;
	try {
		module.load(file);
		done = true;
	} finally {
		if (!done) {
			delete Module._cache[file];
			if (parent && parent.children) parent.children.splice(parent.children.indexOf(module), 1);
		}
	}
	return module.exports;
}

// The first module
let outstanding = null;
function importMain(url, base) {
	const core = need('core');
	sys.enqueue(() => {
		outstanding = sys.load(base, url);
		outstanding.then(() => {
			outstanding = null;
		}, (error) => {
			outstanding = null;
			core.fatal(error);
		});
	});
}

function runMain(argument) {
	const core = need('core');
	const wanted = path.resolve(argument);
	let file = asFile(wanted) || asFolder(wanted);
	if (!file) throw missing(wanted, '');
	file = realpath(file);
	core.process.argv[1] = wanted;
	let format = /\.(mjs|mts|[cm]?[jt]s|json)$/.test(file) || path.extname(file) === '' ? formatOf(file) : 'commonjs';
	if (format === 'commonjs' && isTyped(file)) format = typedFormat(file);
	if (format === 'module') importMain(toUrl(file), toUrl(file));
	else load(file, null, '.');
}

function runText(text, name) {
	const core = need('core');
	const file = path.join(core.process.cwd(), name);
	const module = new Module(name);
	module.filename = file;
	module.paths = folders(path.dirname(file));
	// Text has the variables of a module, and its declarations are global.
	const give = (key, value) => Object.defineProperty(globalThis, key, { value, writable: true, configurable: true, enumerable: false });
	give('module', module);
	give('exports', module.exports);
	give('require', makeRequire(module));
	give('__filename', name);
	give('__dirname', '.');
	for (const key of Object.keys(builtins)) {
		if (key.includes('/') || key.includes(':') || key in globalThis) continue;
		Object.defineProperty(globalThis, key, {
			configurable: true, enumerable: false,
			get() {
				const value = builtin(key);
				give(key, value);
				return value;
			},
			set(value) {
				give(key, value);
			},
		});
	}
	sys.compile(text.startsWith('#!') ? '//' + text : text, file);
}

Object.assign(exports, {
	hooks: {
		resolve: resolveImport,
		read,
		fill: (url) => filled.get(url)(),
		meta(url, meta) {
			meta.url = url;
		},
	},
	waiting: () => outstanding !== null,
	runMain, runText, resolveImport, resolveRequire, formatOf, toUrl, toFile, readText, builtinName, Module, kind, isTyped, allNames,
	importMain,
});
