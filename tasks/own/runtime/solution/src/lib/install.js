// `skarn install`: what package.json asks for, from a registry, into node_modules.
const fs = need('fs');
const path = need('path');
const { Buffer } = need('buffer');
const { process, writeAll } = need('core');

const MOST = 64 << 20;
const SILENCE = 20000;
const AT_ONCE = 6;
const STAGE = '.skarn-new', FORMER = '.skarn-former';
const NAME = /^(?:@[a-z0-9~_-][a-z0-9~._-]*\/)?[a-z0-9~_-][a-z0-9~._-]*$/i;
const COMMAND = /^[a-z0-9~_-][a-z0-9~._-]*$/i;

class Refused extends Error {}
const refuse = (why) => {
	throw new Refused(why);
};

// -- versions ---------------------------------------------------------------------------------------

const VERSION = /^[v=\s]*(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?\s*$/;
const PART = '[xX*]|\\d+';
const PARTIAL = new RegExp(`^[v=\\s]*(${PART})(?:\\.(${PART})(?:\\.(${PART})(?:-([0-9A-Za-z.-]+))?(?:\\+[0-9A-Za-z.-]+)?)?)?$`);

function parsed(text) {
	const found = VERSION.exec(text);
	if (!found) return null;
	const pre = found[4] ? found[4].split('.').map((id) => (/^\d+$/.test(id) ? Number(id) : id)) : [];
	return { major: Number(found[1]), minor: Number(found[2]), patch: Number(found[3]), pre };
}

function compareIds(a, b) {
	if (a === b) return 0;
	if (typeof a === 'number') return typeof b === 'number' ? a - b : -1;
	if (typeof b === 'number') return 1;
	return a < b ? -1 : 1;
}

function compare(a, b) {
	const first = a.major - b.major || a.minor - b.minor || a.patch - b.patch;
	if (first) return first;
	if (!a.pre.length || !b.pre.length) return b.pre.length - a.pre.length;
	for (let n = 0; n < Math.max(a.pre.length, b.pre.length); n++) {
		if (n >= a.pre.length) return -1;
		if (n >= b.pre.length) return 1;
		const order = compareIds(a.pre[n], b.pre[n]);
		if (order) return order;
	}
	return 0;
}

const at = (major, minor, patch, pre = []) => ({ major, minor, patch, pre });
const isX = (part) => part === undefined || part === 'x' || part === 'X' || part === '*';

// What one word of a range means: comparators, or null where it is none.
function comparators(word) {
	const [, sign, rest] = /^(\^|~>|~|>=|<=|>|<|=|)\s*(.*)$/.exec(word);
	if (rest === '' || rest === '*' || /^[xX]$/.test(rest)) {
		if (sign === '<' || sign === '>') return [{ op: '<', than: at(0, 0, 0, [0]) }];
		return [];
	}
	const found = PARTIAL.exec(rest);
	if (!found) return null;
	const [, a, b, c, tail] = found;
	if (isX(a)) return sign === '<' || sign === '>' ? [{ op: '<', than: at(0, 0, 0, [0]) }] : [];
	const major = Number(a), minor = isX(b) ? 0 : Number(b), patch = isX(b) || isX(c) ? 0 : Number(c);
	const pre = tail ? parsed(`0.0.0-${tail}`).pre : [];
	const from = at(major, minor, patch, pre);
	const below = (x, y, z) => ({ op: '<', than: at(x, y, z, [0]) });
	const wide = isX(b), open = wide || isX(c);
	switch (sign) {
	case '^':
		if (wide) return [{ op: '>=', than: from }, below(major + 1, 0, 0)];
		if (isX(c)) return [{ op: '>=', than: from }, major === 0 ? below(0, minor + 1, 0) : below(major + 1, 0, 0)];
		if (major > 0) return [{ op: '>=', than: from }, below(major + 1, 0, 0)];
		if (minor > 0) return [{ op: '>=', than: from }, below(0, minor + 1, 0)];
		return [{ op: '>=', than: from }, below(0, 0, patch + 1)];
	case '~': case '~>':
		return [{ op: '>=', than: from }, wide ? below(major + 1, 0, 0) : below(major, minor + 1, 0)];
	case '>':
		if (wide) return [{ op: '>=', than: at(major + 1, 0, 0) }];
		if (open) return [{ op: '>=', than: at(major, minor + 1, 0) }];
		return [{ op: '>', than: from }];
	case '>=':
		return [{ op: '>=', than: from }];
	case '<':
		return [{ op: '<', than: open ? at(major, minor, patch, [0]) : from }];
	case '<=':
		if (wide) return [below(major + 1, 0, 0)];
		if (open) return [below(major, minor + 1, 0)];
		return [{ op: '<=', than: from }];
	default:
		if (wide) return [{ op: '>=', than: from }, below(major + 1, 0, 0)];
		if (open) return [{ op: '>=', than: from }, below(major, minor + 1, 0)];
		return [{ op: '=', than: from }];
	}
}

function hyphen(low, high) {
	const first = PARTIAL.exec(low), last = PARTIAL.exec(high);
	if (!first || !last) return null;
	const list = [];
	if (!isX(first[1])) list.push(...comparators(`>=${low.replace(/^[v=\s]+/, '').replace(/\.[xX*]/g, '.0')}`));
	if (!isX(last[1])) list.push(...comparators(`<=${high.replace(/^[v=\s]+/, '')}`));
	return list;
}

// A range as lists of comparators, of which one has to hold whole; null where it is no range.
function ranged(text) {
	const sets = [];
	for (const part of text.split('||')) {
		const trimmed = part.trim();
		const between = /^(\S+)\s+-\s+(\S+)$/.exec(trimmed);
		if (between) {
			const list = hyphen(between[1], between[2]);
			if (!list) return null;
			sets.push(list);
			continue;
		}
		const list = [];
		const words = trimmed.replace(/(\^|~>|~|>=|<=|>|<|=)\s+/g, '$1').split(/\s+/);
		for (const word of words) {
			const found = comparators(word);
			if (!found) return null;
			list.push(...found);
		}
		sets.push(list);
	}
	return sets;
}

function holds(version, { op, than }) {
	const order = compare(version, than);
	switch (op) {
	case '<': return order < 0;
	case '<=': return order <= 0;
	case '>': return order > 0;
	case '>=': return order >= 0;
	default: return order === 0;
	}
}

function admits(sets, version) {
	return sets.some((list) => {
		if (!list.every((one) => holds(version, one))) return false;
		if (!version.pre.length) return true;
		// A prerelease is meant only where one of the same numbers is named.
		return list.some(({ op, than }) => than.pre.length && !(op === '<' && than.pre.length === 1 && than.pre[0] === 0)
			&& than.major === version.major && than.minor === version.minor && than.patch === version.patch);
	});
}

function highest(texts, range) {
	const sets = ranged(range);
	if (!sets) return undefined;
	let best, found;
	for (const text of texts) {
		const version = parsed(text);
		if (version && admits(sets, version) && (!best || compare(version, best) > 0)) {
			best = version;
			found = text;
		}
	}
	return found;
}

// -- the registry -------------------------------------------------------------------------------------

async function once(url, most) {
	const answer = await need('fetch').exchange(new (need('url').URL)(url), 'GET', [['accept', '*/*']], null, null, null, { idle: SILENCE });
	const parts = [];
	let total = 0;
	for (;;) {
		const piece = await answer.body._next();
		if (!piece) break;
		total += piece.length;
		if (total > most) refuse(`${url} is larger than ${most} bytes`);
		parts.push(piece);
	}
	return { status: answer.status, bytes: Buffer.concat(parts) };
}

async function get(url, most) {
	let answer;
	for (let n = 0; n < 3; n++) {
		answer = await once(url, most);
		if (answer.status !== 500 && answer.status !== 503) break;
		if (n < 2) await new Promise((done) => setTimeout(done, 100 << n));
	}
	if (answer.status === 404) return null;
	if (answer.status !== 200) refuse(`${url} is answered with ${answer.status}`);
	return answer.bytes;
}

class Registry {
	constructor(url) {
		this.url = url.replace(/\/+$/, '');
		this.known = new Map();
	}
	packument(name) {
		let found = this.known.get(name);
		if (!found) this.known.set(name, found = this.fetch(name));
		return found;
	}
	async fetch(name) {
		const bytes = await get(`${this.url}/${name.replace('/', '%2f')}`, 32 << 20);
		if (!bytes) return null;
		let told;
		try {
			told = JSON.parse(bytes.toString());
		} catch {
			refuse(`what the registry says of ${name} is no JSON`);
		}
		if (!isObject(told) || !isObject(told.versions)) refuse(`what the registry says of ${name} has no versions`);
		return told;
	}
	// The version that a range gets, or undefined.
	async choose(name, range) {
		const told = await this.packument(name);
		if (!told) return undefined;
		const tags = told['dist-tags'];
		const text = isObject(tags) && Object.hasOwn(tags, range) ? tags[range] : highest(Object.keys(told.versions), range);
		const manifest = typeof text === 'string' && Object.hasOwn(told.versions, text) ? told.versions[text] : undefined;
		if (manifest === undefined) return undefined;
		if (!isObject(manifest) || !parsed(text)) refuse(`what the registry says of ${name} ${text} is no version`);
		return { name, version: text, manifest };
	}
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

function asked(manifest, what) {
	const found = manifest[what];
	if (found === undefined) return {};
	if (!isObject(found)) refuse(`${what} is no list`);
	for (const [name, range] of Object.entries(found)) {
		if (!NAME.test(name)) refuse(`${JSON.stringify(name)} is no name of a package`);
		if (typeof range !== 'string') refuse(`${name} is asked for by no range`);
	}
	return found;
}

// -- what is needed, and where it lies ---------------------------------------------------------------------

async function resolve(registry, root, missing) {
	// Every package that is needed: `name version` to what it is and what each of its names gets.
	const packages = new Map();
	const visit = async (manifest) => {
		const gets = new Map();
		const dependencies = asked(manifest, 'dependencies'), optional = asked(manifest, 'optionalDependencies');
		const names = { ...dependencies, ...optional };
		const chosen = await Promise.all(Object.entries(names).map(async ([name, range]) => {
			const may = Object.hasOwn(optional, name);
			try {
				const found = await registry.choose(name, range);
				if (!found) {
					if (may) return null;
					refuse(`nothing fits ${name} ${range}`);
				}
				if (missing.has(`${name} ${found.version}`)) {
					if (may) return null;
					refuse(missing.get(`${name} ${found.version}`).message);
				}
				return found;
			} catch (error) {
				if (may) return null;
				throw error;
			}
		}));
		for (const found of chosen) {
			if (!found) continue;
			const key = `${found.name} ${found.version}`;
			gets.set(found.name, { key, may: Object.hasOwn(optional, found.name) });
			if (packages.has(key)) continue;
			const entry = { ...found, gets: null };
			packages.set(key, entry);
			try {
				entry.gets = await visit(found.manifest);
			} catch (error) {
				entry.error = error;
			}
		}
		return gets;
	};
	const gets = await visit(root);
	// What cannot be had falls, and who needs it, up to an optional name.
	for (let again = true; again;) {
		again = false;
		for (const [key, entry] of packages) {
			if (entry.error) continue;
			for (const [name, got] of entry.gets) {
				const error = packages.get(got.key).error;
				if (!error) continue;
				if (got.may) entry.gets.delete(name);
				else entry.error = error;
				again = true;
			}
			void key;
		}
	}
	for (const [name, got] of gets) {
		const error = packages.get(got.key).error;
		if (!error) continue;
		if (!got.may) throw error;
		gets.delete(name);
	}
	return { gets, packages };
}

function arrange({ gets, packages }) {
	const places = new Map();
	const find = (where, name) => {
		for (;;) {
			const place = where ? `${where}/node_modules/${name}` : `node_modules/${name}`;
			if (places.has(place)) return places.get(place);
			if (!where) return undefined;
			const cut = where.lastIndexOf('/node_modules/');
			where = cut < 0 ? '' : where.slice(0, cut);
		}
	};
	const queue = [['', gets]];
	while (queue.length) {
		const [where, wants] = queue.shift();
		for (const name of [...wants.keys()].sort()) {
			const { key } = wants.get(name);
			if (find(where, name) === key) continue;
			const top = `node_modules/${name}`;
			const place = places.has(top) && where ? `${where}/${top}` : top;
			places.set(place, key);
			queue.push([place, packages.get(key).gets]);
		}
	}
	return places;
}

// -- archives ------------------------------------------------------------------------------------------------

function digestOf(integrity, what) {
	if (typeof integrity !== 'string') refuse(`${what} has no integrity`);
	const found = integrity.split(/\s+/).find((one) => one.startsWith('sha512-'));
	const digest = found ? Buffer.from(found.slice(7).split('?')[0], 'base64') : null;
	if (!digest || digest.length !== 64) refuse(`${what} has no integrity of sha512`);
	return digest;
}

const sha512 = (bytes) => Buffer.from(sys.digest(512, [bytes]));

class Cache {
	constructor(folder, offline) {
		this.folder = folder;
		this.offline = offline;
	}
	async archive(what, url, integrity) {
		const digest = digestOf(integrity, what);
		const file = path.join(this.folder, `${digest.toString('hex')}.tgz`);
		try {
			const bytes = fs.readFileSync(file);
			if (sha512(bytes).equals(digest)) return bytes;
		} catch (error) {
			if (error.code !== 'ENOENT') throw error;
		}
		if (this.offline) refuse(`${what} is not in ${this.folder}`);
		if (typeof url !== 'string' || !/^http:\/\//.test(url)) refuse(`${what} has no address`);
		const bytes = await get(url, MOST);
		if (!bytes) refuse(`${url} is not there`);
		if (!sha512(bytes).equals(digest)) refuse(`${what} is not what its integrity says`);
		fs.mkdirSync(this.folder, { recursive: true });
		written(`${file}.${process.pid}`, bytes, 0o644);
		fs.renameSync(`${file}.${process.pid}`, file);
		return bytes;
	}
}

const zero = (bytes) => bytes.every((byte) => byte === 0);
const text = (bytes) => {
	const end = bytes.indexOf(0);
	return bytes.toString('utf8', 0, end < 0 ? bytes.length : end);
};

function number(bytes, what) {
	if (bytes[0] & 0x80) refuse(`${what}: a number that is too large`);
	const digits = text(bytes).trim();
	if (digits !== '' && !/^[0-7]+$/.test(digits)) refuse(`${what}: a header is spoilt`);
	return digits === '' ? 0 : parseInt(digits, 8);
}

function extended(bytes, what) {
	const found = {};
	for (let from = 0; from < bytes.length;) {
		const space = bytes.indexOf(32, from);
		const length = space < 0 ? NaN : Number(bytes.toString('latin1', from, space));
		if (!(length > 0) || from + length > bytes.length) refuse(`${what}: a header is spoilt`);
		const line = bytes.toString('utf8', space + 1, from + length - 1);
		const equals = line.indexOf('=');
		found[line.slice(0, equals)] = line.slice(equals + 1);
		from += length;
	}
	return found;
}

// Files of an archive by their paths below its first folder; nothing is written.
function unpacked(bytes, what) {
	const plain = sys.gunzip(bytes, MOST + (1 << 20));
	if (plain === -1) refuse(`${what} is a damaged archive`);
	if (plain === -2) refuse(`${what} unpacks to more than 64 MiB`);
	const tar = Buffer.from(plain);
	const files = new Map();
	let total = 0, next = {}, from = 0;
	for (;;) {
		if (from + 512 > tar.length) {
			if (from === tar.length && files.size) break;
			refuse(`${what} ends too soon`);
		}
		const head = tar.subarray(from, from + 512);
		if (zero(head)) break;
		let sum = 256;
		for (let n = 0; n < 512; n++) if (n < 148 || n >= 156) sum += head[n];
		if (number(head.subarray(148, 156), what) !== sum) refuse(`${what}: a header is spoilt`);
		const kind = String.fromCharCode(head[156]);
		let size = number(head.subarray(124, 136), what);
		if (next.size !== undefined && kind !== 'x' && kind !== 'g' && kind !== 'L') size = Number(next.size);
		from += 512;
		if (!(size >= 0) || from + size > tar.length) refuse(`${what} ends too soon`);
		const data = tar.subarray(from, from + size);
		from += Math.ceil(size / 512) * 512;
		if (kind === 'x') {
			next = { ...next, ...extended(data, what) };
			continue;
		}
		if (kind === 'g') continue;
		if (kind === 'L') {
			next = { ...next, path: text(data) };
			continue;
		}
		const prefix = head.toString('latin1', 257, 262) === 'ustar' && head[263] !== 32 ? text(head.subarray(345, 500)) : '';
		const name = next.path ?? (prefix ? `${prefix}/` : '') + text(head.subarray(0, 100));
		next = {};
		if (kind !== '0' && kind !== '\0' && kind !== '5') refuse(`${what} has more than files (${name})`);
		if (name.startsWith('/') || name.includes('\0')) refuse(`${what}: ${name} leaves the package`);
		const parts = name.split('/').filter((part) => part !== '' && part !== '.');
		if (parts.includes('..')) refuse(`${what}: ${name} leaves the package`);
		const below = parts.slice(1).join('/');
		if (kind === '5') continue;
		if (!below) refuse(`${what}: ${name} is in no folder`);
		total += size;
		if (total > MOST) refuse(`${what} unpacks to more than 64 MiB`);
		files.set(below, { data, executable: (number(head.subarray(100, 108), what) & 0o111) !== 0 });
	}
	for (const file of files.keys()) {
		const parts = file.split('/');
		for (let n = 1; n < parts.length; n++) if (files.has(parts.slice(0, n).join('/'))) refuse(`${what}: ${file} is below a file`);
		if (parts[0] === 'node_modules') refuse(`${what} brings packages of its own`);
	}
	return files;
}

function commands(name, manifest) {
	const found = manifest.bin;
	if (found === undefined || found === null) return {};
	const list = typeof found === 'string' ? { [name.slice(name.indexOf('/') + 1)]: found } : found;
	if (!isObject(list)) refuse(`${name}: bin is no list`);
	const clean = {};
	for (const [command, target] of Object.entries(list)) {
		if (!COMMAND.test(command)) refuse(`${name}: ${JSON.stringify(command)} is no name of a command`);
		if (typeof target !== 'string' || target.startsWith('/') || target.split('/').includes('..')) refuse(`${name}: ${command} is no file of it`);
		clean[command] = path.normalize(target);
	}
	return clean;
}

function manifestIn(files, what) {
	const found = files.get('package.json');
	if (!found) return {};
	try {
		const told = JSON.parse(found.data.toString());
		if (isObject(told)) return told;
	} catch {
		// Said below.
	}
	return refuse(`${what}: its package.json is spoilt`);
}

// -- the disk -----------------------------------------------------------------------------------------------------

function written(file, data, mode) {
	const fd = fs.openSync(file, 'w', mode);
	try {
		for (let done = 0; done < data.length;) done += fs.writeSync(fd, data, done, data.length - done, null);
		fs.fsyncSync(fd);
	} finally {
		fs.closeSync(fd);
	}
}

function settled(folder) {
	const fd = fs.openSync(folder, 'r');
	try {
		fs.fsyncSync(fd);
	} finally {
		fs.closeSync(fd);
	}
}

class Stage {
	constructor(site) {
		this.folder = path.join(site, STAGE);
		this.folders = new Set();
		fs.rmSync(this.folder, { recursive: true, force: true });
		this.make(this.folder);
	}
	make(folder) {
		if (this.folders.has(folder)) return;
		if (folder !== this.folder) this.make(path.dirname(folder));
		fs.mkdirSync(folder);
		this.folders.add(folder);
	}
	file(place, data, executable) {
		const file = path.join(this.folder, place);
		this.make(path.dirname(file));
		written(file, data, executable ? 0o755 : 0o644);
		if (executable) fs.chmodSync(file, 0o755);
	}
	link(place, target) {
		const file = path.join(this.folder, place);
		this.make(path.dirname(file));
		fs.symlinkSync(target, file);
	}
	settle() {
		for (const folder of [...this.folders].reverse()) settled(folder);
	}
}

async function each(list, work) {
	const queue = list.slice();
	let failure;
	await Promise.all(Array.from({ length: AT_ONCE }, async () => {
		while (queue.length && !failure) {
			try {
				await work(queue.shift());
			} catch (error) {
				failure ??= error;
			}
		}
	}));
	if (failure) throw failure;
}

// -- the command ----------------------------------------------------------------------------------------------------

const LOCK = 'skarn-lock.json';
const PLACE = /^(?:node_modules\/(?:@[a-z0-9~_-][a-z0-9~._-]*\/)?[a-z0-9~_-][a-z0-9~._-]*)(?:\/node_modules\/(?:@[a-z0-9~_-][a-z0-9~._-]*\/)?[a-z0-9~_-][a-z0-9~._-]*)*$/i;

const sorted = (object) => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));

function lockOf(site, asks) {
	let told;
	try {
		told = JSON.parse(fs.readFileSync(path.join(site, LOCK), 'utf8'));
	} catch {
		return null;
	}
	if (!isObject(told) || told.lockVersion !== 1 || !isObject(told.packages) || JSON.stringify(told.asks) !== JSON.stringify(asks)) return null;
	for (const [place, entry] of Object.entries(told.packages)) {
		if (!PLACE.test(place) || !isObject(entry)) refuse(`${LOCK} is spoilt`);
	}
	return told.packages;
}

async function planned(registry, cache, manifest) {
	// Archives that do not come may be of optional packages: what is left is looked for again.
	const missing = new Map();
	for (;;) {
		const found = await resolve(registry, manifest, missing);
		const places = arrange(found);
		const archives = new Map();
		const before = missing.size;
		await each([...new Set(places.values())], async (key) => {
			const { manifest: told } = found.packages.get(key);
			const dist = isObject(told.dist) ? told.dist : {};
			try {
				commands(found.packages.get(key).name, told);
				archives.set(key, unpacked(await cache.archive(key, dist.tarball, dist.integrity), key));
			} catch (error) {
				missing.set(key, error);
			}
		});
		if (missing.size > before) continue;
		const packages = {};
		const files = new Map();
		for (const place of [...places.keys()].sort()) {
			const key = places.get(place), { version, manifest: told } = found.packages.get(key);
			packages[place] = { version, resolved: told.dist.tarball, integrity: told.dist.integrity };
			files.set(place, archives.get(key));
		}
		return { packages, files };
	}
}

async function fromLock(packages, cache) {
	const files = new Map(), archives = new Map();
	await each(Object.entries(packages), async ([place, entry]) => {
		const what = `${place} ${entry.version}`;
		const archive = archives.get(entry.integrity) ?? unpacked(await cache.archive(what, entry.resolved, entry.integrity), what);
		archives.set(entry.integrity, archive);
		files.set(place, archive);
	});
	return { packages, files };
}

async function install(args) {
	let offline = false;
	for (const arg of args) {
		if (arg === '--offline') offline = true;
		else refuse(`install: bad option: ${arg}`);
	}
	const site = process.cwd();
	let manifest;
	try {
		manifest = JSON.parse(fs.readFileSync(path.join(site, 'package.json'), 'utf8'));
	} catch (error) {
		refuse(`package.json: ${error.message}`);
	}
	if (!isObject(manifest)) refuse('package.json is no object');
	const asks = sorted({ ...asked(manifest, 'dependencies'), ...asked(manifest, 'optionalDependencies') });
	const url = process.env.SKARN_REGISTRY;
	const folder = process.env.SKARN_CACHE || path.join(process.env.HOME || '/', '.cache/skarn');
	const cache = new Cache(folder, offline);
	const lock = lockOf(site, asks);
	if (!lock && offline) refuse(`--offline, and no ${LOCK} that fits package.json`);
	if (!lock && !url) refuse('SKARN_REGISTRY is not set');
	const { packages, files } = lock ? await fromLock(lock, cache) : await planned(new Registry(url), cache, manifest);
	const bins = new Map();
	for (const [place, archive] of files) {
		const name = place.slice(place.lastIndexOf('node_modules/') + 13);
		const list = commands(name, manifestIn(archive, place));
		if (place !== `node_modules/${name}`) continue;
		for (const [command, target] of Object.entries(list)) {
			const file = archive.get(target);
			if (!file) continue;
			file.command = true;
			if (!bins.has(command)) bins.set(command, `../${name}/${target}`);
		}
	}
	try {
		const stage = new Stage(site);
		for (const [place, archive] of files) {
			const top = place.lastIndexOf('node_modules/') === 0;
			for (const [file, { data, executable, command }] of archive) stage.file(`${place.slice(13)}/${file}`, data, executable || top && command);
		}
		for (const [command, target] of bins) stage.link(`.bin/${command}`, target);
		stage.settle();
		if (fs.existsSync(folder)) settled(folder);
		written(path.join(site, `${LOCK}.new`), Buffer.from(JSON.stringify({ lockVersion: 1, asks, packages }, null, 2) + '\n'), 0o644);
		const target = path.join(site, 'node_modules'), former = path.join(site, FORMER);
		fs.rmSync(former, { recursive: true, force: true });
		if (fs.existsSync(target)) fs.renameSync(target, former);
		fs.renameSync(stage.folder, target);
		fs.renameSync(path.join(site, `${LOCK}.new`), path.join(site, LOCK));
		settled(site);
		fs.rmSync(former, { recursive: true, force: true });
		settled(site);
	} catch (error) {
		fs.rmSync(path.join(site, STAGE), { recursive: true, force: true });
		fs.rmSync(path.join(site, `${LOCK}.new`), { force: true });
		throw error;
	}
}

exports.command = async (args) => {
	try {
		await install(args);
	} catch (error) {
		writeAll(2, `skarn install: ${error.message}\n`);
		process.exit(1);
	}
};
exports.highest = highest;
