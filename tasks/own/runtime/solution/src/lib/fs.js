// fs, in its three forms. The work is done at once; who wants it later is told later.
const { coded, system, invalidType, invalidValue, outOfRange } = need('errors');
const { Buffer } = need('buffer');
const core = need('core');
const path = need('path');

const constants = {
	F_OK: 0, X_OK: 1, W_OK: 2, R_OK: 4, COPYFILE_EXCL: 1, COPYFILE_FICLONE: 2, COPYFILE_FICLONE_FORCE: 4,
	O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_NOCTTY: 256, O_TRUNC: 512, O_APPEND: 1024,
	O_NONBLOCK: 2048, O_DSYNC: 4096, O_DIRECT: 16384, O_DIRECTORY: 65536, O_NOFOLLOW: 131072, O_NOATIME: 262144, O_SYNC: 1052672,
	S_IFMT: 61440, S_IFREG: 32768, S_IFDIR: 16384, S_IFCHR: 8192, S_IFBLK: 24576, S_IFIFO: 4096, S_IFLNK: 40960, S_IFSOCK: 49152,
	S_IRWXU: 448, S_IRUSR: 256, S_IWUSR: 128, S_IXUSR: 64, S_IRWXG: 56, S_IRGRP: 32, S_IWGRP: 16, S_IXGRP: 8,
	S_IRWXO: 7, S_IROTH: 4, S_IWOTH: 2, S_IXOTH: 1, UV_DIRENT_UNKNOWN: 0, UV_DIRENT_FILE: 1, UV_DIRENT_DIR: 2,
};
const flagNames = {
	r: 0, rs: 1052672, sr: 1052672, 'r+': 2, 'rs+': 1052674, 'sr+': 1052674, w: 577, wx: 705, xw: 705, 'w+': 578, 'wx+': 706, 'xw+': 706,
	a: 1089, ax: 1217, xa: 1217, as: 1053761, sa: 1053761, 'a+': 1090, 'ax+': 1218, 'xa+': 1218, 'as+': 1053762, 'sa+': 1053762,
};
function flagsOf(flags, otherwise = 'r') {
	if (typeof flags === 'number') return flags;
	if (flags == null) return flagNames[otherwise];
	if (Object.hasOwn(flagNames, flags)) return flagNames[flags];
	throw invalidValue('flags', flags);
}
function modeOf(mode, otherwise, name = 'mode') {
	if (mode == null) {
		if (otherwise === undefined) throw invalidType(name, 'number', mode);
		return otherwise;
	}
	if (typeof mode === 'string') {
		if (!/^[0-7]+$/.test(mode)) throw invalidValue(name, mode, 'must be a 32-bit unsigned integer or an octal string');
		return parseInt(mode, 8);
	}
	if (typeof mode !== 'number') throw invalidType(name, 'number', mode);
	if (!Number.isInteger(mode)) throw outOfRange(name, 'an integer', mode);
	if (mode < 0 || mode > 4294967295) throw outOfRange(name, '>= 0 && <= 4294967295', mode);
	return mode;
}
function pathOf(value, name = 'path') {
	if (typeof value === 'object' && value !== null && typeof value.href === 'string' && typeof value.protocol === 'string')
		value = need('url').fileURLToPath(value);
	if (value instanceof Uint8Array) value = Buffer.from(value).toString();
	if (typeof value !== 'string') throw invalidType(name, 'string or an instance of Buffer or URL', value);
	if (value.includes('\0')) throw invalidValue(name, value, 'must be a string or Uint8Array without null bytes');
	return value;
}
function fdOf(value) {
	if (typeof value !== 'number') throw invalidType('fd', 'number', value);
	if (!Number.isInteger(value)) throw outOfRange('fd', 'an integer', value);
	if (value < 0 || value > 2147483647) throw outOfRange('fd', '>= 0 && <= 2147483647', value);
	return value;
}
function optionsOf(options, otherwise = {}) {
	if (options == null || typeof options === 'function') return otherwise;
	if (typeof options === 'string') options = { encoding: options };
	else if (typeof options !== 'object') throw invalidType('options', 'string or Object', options);
	if (options.encoding !== undefined && options.encoding !== null && options.encoding !== 'buffer') {
		if (!Buffer.isEncoding(options.encoding)) throw invalidValue('encoding', options.encoding, 'is invalid encoding');
	}
	return { ...otherwise, ...options };
}
// While it is set, errors have their fields in the order of those that come later.
let deferred = false;
function check(value, syscall, file, dest) {
	if (typeof value === 'number' && value < 0) throw system(value, syscall, file, dest, deferred);
	return value;
}

class Stats {
	constructor(list) {
		const names = ['dev', 'mode', 'nlink', 'uid', 'gid', 'rdev', 'blksize', 'ino', 'size', 'blocks', 'atimeMs', 'mtimeMs', 'ctimeMs'];
		for (let i = 0; i < names.length; i++) this[names[i]] = list[i];
		this.birthtimeMs = Math.min(list[11], list[12]);
		for (const name of ['atime', 'mtime', 'ctime', 'birthtime']) this[name] = new Date(Math.round(this[`${name}Ms`]));
	}
}
const kinds = { isFile: 32768, isDirectory: 16384, isSymbolicLink: 40960, isFIFO: 4096, isSocket: 49152, isBlockDevice: 24576, isCharacterDevice: 8192 };
for (const [name, kind] of Object.entries(kinds))
	Object.defineProperty(Stats.prototype, name, { configurable: true, writable: true, enumerable: true, value() { return (Number(this.mode) & 61440) === kind; } });
function makeStats(list, options) {
	const stats = new Stats(list);
	if (options && options.bigint)
		for (const key of Object.keys(stats)) {
			if (typeof stats[key] !== 'number') continue;
			stats[key] = BigInt(Math.trunc(stats[key]));
			if (key.endsWith('Ms')) stats[key.replace('Ms', 'Ns')] = BigInt(Math.round(list[{ a: 10, m: 11, c: 12, b: 11 }[key[0]]] * 1000)) * 1000n;
		}
	return stats;
}
const kType = Symbol('type');
class Dirent {
	constructor(name, type, folder) {
		this.name = name;
		this.path = folder;
		this[kType] = type;
	}
}
for (const [name, type] of Object.entries({ isFile: 8, isDirectory: 4, isSymbolicLink: 10, isFIFO: 1, isSocket: 12, isBlockDevice: 6, isCharacterDevice: 2 }))
	Object.defineProperty(Dirent.prototype, name, { configurable: true, writable: true, enumerable: true, value() { return this[kType] === type; } });

function readAll(fd, size) {
	const parts = [];
	let total = 0;
	if (size > 0) {
		const buffer = Buffer.allocUnsafe(size);
		while (total < size) {
			const count = check(sys.read_(fd, buffer, total, size - total, -1), 'read');
			if (count === 0) return buffer.subarray(0, total);
			total += count;
		}
		return buffer;
	}
	for (;;) {
		const buffer = Buffer.allocUnsafe(65536);
		let count = sys.read_(fd, buffer, 0, 65536, -1);
		if (count === -11) {
			sys.poll_([fd, 1], -1);
			continue;
		}
		count = check(count, 'read');
		if (count === 0) break;
		parts.push(buffer.subarray(0, count));
		total += count;
	}
	return Buffer.concat(parts, total);
}
function dataOf(data, encoding) {
	if (typeof data === 'string') return Buffer.from(data, encoding || 'utf8');
	if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
	throw invalidType('data', 'string or an instance of Buffer, TypedArray, or DataView', data);
}
function writeAll(fd, bytes, position = -1) {
	let at = 0;
	while (at < bytes.length) {
		const count = sys.write_(fd, bytes, at, bytes.length - at, position < 0 ? -1 : position + at);
		if (count === -11) {
			sys.poll_([fd, 4], -1);
			continue;
		}
		at += check(count, 'write');
	}
}
const time = (value, name) => {
	if (typeof value === 'string' && +value == value) value = +value;
	if (typeof value === 'number' && Number.isFinite(value)) return value < 0 ? Date.now() / 1000 : value;
	if (value instanceof Date) return value.getTime() / 1000;
	throw invalidType(name, 'number, string or Date', value);
};
const intOf = (value, name, otherwise) => {
	if (value === undefined) return otherwise;
	if (value === null) return otherwise;
	if (typeof value !== 'number') throw invalidType(name, 'number', value);
	if (!Number.isInteger(value)) throw outOfRange(name, 'an integer', value);
	return value;
};
const isFolder = (file) => {
	const info = sys.stat_(file, 256);
	return typeof info !== 'number' && (info[1] & 61440) === 16384;
};
function removeTree(file) {
	const info = sys.stat_(file, 256);
	if (typeof info === 'number') {
		if (info === -2) return;
		throw system(info, 'lstat', file);
	}
	if ((info[1] & 61440) !== 16384) {
		const status = sys.unlink_(file);
		if (status < 0 && status !== -2) check(status, 'rm', file);
		return;
	}
	const list = check(sys.readdir_(file), 'rm', file);
	for (let i = 0; i < list.length; i += 2) removeTree(`${file}/${list[i]}`);
	const status = sys.rmdir_(file);
	if (status < 0 && status !== -2) check(status, 'rm', file);
}
function makeFolders(file, mode) {
	let status = sys.mkdir_(file, mode);
	if (status >= 0) return file;
	if (status === -2) {
		const parent = path.dirname(file);
		if (parent === file) throw system(status, 'mkdir', file);
		const first = makeFolders(parent, mode);
		status = sys.mkdir_(file, mode);
		if (status < 0 && status !== -17) throw system(status, 'mkdir', file);
		return first || file;
	}
	if (status === -17 || status === -21) {
		const info = sys.stat_(file, 0);
		if (typeof info !== 'number' && (info[1] & 61440) === 16384) return undefined;
		throw system(-17, 'mkdir', file, undefined, deferred);
	}
	if (status === -20) throw system(status, 'mkdir', file, undefined, deferred);
	const info = sys.stat_(file, 0);
	if (typeof info !== 'number' && (info[1] & 61440) === 16384) return undefined;
	throw system(status, 'mkdir', file, undefined, deferred);
}
function named(name, encoding) {
	return encoding === 'buffer' ? Buffer.from(name) : encoding && encoding !== 'utf8' && encoding !== 'utf-8' ? Buffer.from(name).toString(encoding) : name;
}
function listFolder(file, options, prefix, out) {
	const list = check(sys.readdir_(file), 'scandir', file);
	const entries = [];
	for (let i = 0; i < list.length; i += 2) entries.push([list[i], list[i + 1]]);
	entries.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
	const below = [];
	for (const entry of entries) {
		let [name, type] = entry;
		if (type === 0) {
			const info = sys.stat_(`${file}/${name}`, 256);
			if (typeof info !== 'number') type = (info[1] & 61440) >> 12;
		}
		if (options.withFileTypes) out.push(new Dirent(named(name, options.encoding), type, file));
		else out.push(named(prefix + name, options.encoding));
		if (options.recursive && type === 4) below.push(name);
	}
	for (const name of below) listFolder(path.join(file, name), options, `${prefix}${name}/`, out);
	return out;
}

// The work itself; what is wrong with arguments is thrown without an errno.
const work = {
	access(file, mode = 0) {
		file = pathOf(file);
		check(sys.access_(file, intOf(mode, 'mode', 0)), 'access', file);
	},
	appendFile(file, data, options) {
		return work.writeFile(file, data, optionsOf(options, { encoding: 'utf8', mode: 0o666, flag: 'a' }));
	},
	chmod(file, mode) {
		file = pathOf(file);
		check(sys.chmod_(file, modeOf(mode)), 'chmod', file);
	},
	chown(file, user, group) {
		file = pathOf(file);
		check(sys.chown_(file, user, group), 'chown', file);
	},
	lchown(file, user, group) {
		file = pathOf(file);
		check(sys.lchown_(file, user, group), 'lchown', file);
	},
	close(fd) {
		check(sys.close_(fdOf(fd)), 'close');
	},
	copyFile(from, to, mode = 0) {
		from = pathOf(from, 'src');
		to = pathOf(to, 'dest');
		mode = intOf(mode, 'mode', 0);
		const input = check(sys.open_(from, 0, 0), 'copyfile', from, to);
		try {
			const info = check(sys.stat_(input, 0), 'copyfile', from, to);
			if ((info[1] & 61440) === 16384) {
				check(-21, 'copyfile', from, to);
			}
			const there = sys.stat_(to, 0);
			const output = check(sys.open_(to, 65 | (mode & 1 ? 128 : 0), info[1] & 0o777), 'copyfile', from, to);
			try {
				if (typeof there !== 'number' && there[0] === info[0] && there[7] === info[7]) return;
				check(sys.ftruncate_(output, 0), 'copyfile', from, to);
				sys.fchmod_(output, info[1] & 0o7777);
				const buffer = new Uint8Array(65536);
				for (;;) {
					const count = check(sys.read_(input, buffer, 0, 65536, -1), 'copyfile', from, to);
					if (count === 0) break;
					let at = 0;
					while (at < count) at += check(sys.write_(output, buffer, at, count - at, -1), 'copyfile', from, to);
				}
			} finally {
				sys.close_(output);
			}
		} finally {
			sys.close_(input);
		}
	},
	exists(file) {
		try {
			return sys.access_(pathOf(file), 0) >= 0;
		} catch {
			return false;
		}
	},
	fchmod: (fd, mode) => void check(sys.fchmod_(fdOf(fd), modeOf(mode)), 'fchmod'),
	fchown: (fd, user, group) => void check(sys.fchown_(fdOf(fd), user, group), 'fchown'),
	fdatasync: (fd) => void check(sys.fdatasync_(fdOf(fd)), 'fdatasync'),
	fsync: (fd) => void check(sys.fsync_(fdOf(fd)), 'fsync'),
	fstat: (fd, options) => makeStats(check(sys.stat_(fdOf(fd), 0), 'fstat'), options),
	ftruncate: (fd, length = 0) => void check(sys.ftruncate_(fdOf(fd), Math.max(0, intOf(length, 'len', 0))), 'ftruncate'),
	futimes: (fd, atime, mtime) => void check(sys.utimes_(fdOf(fd), time(atime, 'atime'), time(mtime, 'mtime'), 0), 'futime'),
	link(from, to) {
		from = pathOf(from, 'existingPath');
		to = pathOf(to, 'newPath');
		check(sys.link_(from, to), 'link', from, to);
	},
	lstat(file, options) {
		file = pathOf(file);
		const info = sys.stat_(file, 256);
		if (options && options.throwIfNoEntry === false && (info === -2 || info === -20)) return undefined;
		return makeStats(check(info, 'lstat', file), options);
	},
	lutimes(file, atime, mtime) {
		file = pathOf(file);
		check(sys.utimes_(file, time(atime, 'atime'), time(mtime, 'mtime'), 256), 'lutime', file);
	},
	mkdir(file, options) {
		let mode = 0o777, recursive = false;
		if (typeof options === 'number' || typeof options === 'string') mode = modeOf(options);
		else if (options) {
			if (options.recursive !== undefined && typeof options.recursive !== 'boolean') throw invalidType('options.recursive', 'boolean', options.recursive);
			recursive = !!options.recursive;
			if (options.mode !== undefined) mode = modeOf(options.mode, undefined, 'options.mode');
		}
		file = pathOf(file);
		if (recursive) {
			return makeFolders(file, mode);
		}
		check(sys.mkdir_(file, mode), 'mkdir', file);
	},
	mkdtemp(prefix, options) {
		options = optionsOf(options);
		prefix = pathOf(prefix, 'prefix');
		return named(check(sys.mkdtemp_(prefix), 'mkdtemp', `${prefix}XXXXXX`), options.encoding);
	},
	open(file, flags = 'r', mode = 0o666) {
		file = pathOf(file);
		flags = flagsOf(flags);
		return check(sys.open_(file, flags, modeOf(mode, 0o666)), 'open', file);
	},
	read(fd, buffer, offset, length, position) {
		fd = fdOf(fd);
		if (typeof offset === 'object' && offset !== null) ({ offset, length, position } = offset);
		if (!ArrayBuffer.isView(buffer)) throw invalidType('buffer', 'Buffer, TypedArray, or DataView', buffer);
		offset = intOf(offset, 'offset', 0);
		if (offset < 0) throw outOfRange('offset', '>= 0', offset);
		if (length === undefined || length === null) length = buffer.byteLength - offset;
		length |= 0;
		if (length === 0) return 0;
		if (buffer.byteLength === 0) throw invalidValue('buffer', buffer, 'is empty and cannot be written');
		if (offset > buffer.byteLength) throw outOfRange('offset', `<= ${buffer.byteLength}`, offset);
		if (length < 0) throw outOfRange('length', '>= 0', length);
		if (length > buffer.byteLength - offset) throw outOfRange('length', `<= ${buffer.byteLength - offset}`, length);
		if (typeof position === 'bigint') position = Number(position);
		if (position === undefined || position === null) position = -1;
		return check(sys.read_(fd, buffer, offset, length, position), 'read');
	},
	readFile(file, options) {
		options = optionsOf(options, { flag: 'r' });
		const own = Number.isInteger(file) && file >= 0;
		const fd = own ? fdOf(file) : work.open(file, options.flag, 0o666);
		let data;
		try {
			const info = check(sys.stat_(fd, 0), 'fstat');
			data = readAll(fd, (info[1] & 61440) === 32768 ? info[8] : 0);
		} finally {
			if (!own) sys.close_(fd);
		}
		return options.encoding && options.encoding !== 'buffer' ? data.toString(options.encoding) : data;
	},
	readdir(file, options) {
		options = optionsOf(options);
		file = pathOf(file);
		return listFolder(file, options, '', []);
	},
	readlink(file, options) {
		options = optionsOf(options);
		file = pathOf(file);
		return named(check(sys.readlink_(file), 'readlink', file), options.encoding);
	},
	realpath(file, options) {
		options = optionsOf(options);
		file = pathOf(file);
		const real = sys.realpath_(file);
		if (typeof real === 'number') {
			// The error names the first part that is not there.
			const whole = path.resolve(file);
			let at = whole;
			for (const parts = whole.split('/').slice(1), i = { n: 1 }; i.n <= parts.length; i.n++) {
				at = '/' + parts.slice(0, i.n).join('/');
				if (typeof sys.stat_(at, 256) === 'number') break;
			}
			check(real, 'lstat', at);
		}
		return named(real, options.encoding);
	},
	rename(from, to) {
		from = pathOf(from, 'oldPath');
		to = pathOf(to, 'newPath');
		check(sys.rename_(from, to), 'rename', from, to);
	},
	rm(file, options = {}) {
		file = pathOf(file);
		options = options || {};
		const info = sys.stat_(file, 256);
		if (typeof info === 'number') {
			if (options.force && info === -2) return;
			check(info, deferred ? 'lstat' : 'lstat', file);
		}
		const folder = (info[1] & 61440) === 16384;
		if (folder && !options.recursive) {
			const error = coded(Error, 'ERR_FS_EISDIR', `Path is a directory: rm returned EISDIR (is a directory) ${file}`);
			Object.defineProperty(error, 'name', { value: 'SystemError', writable: true, configurable: true, enumerable: false });
			Object.assign(error, { info: { code: 'EISDIR', message: 'is a directory', path: file, syscall: 'rm', errno: 21 }, errno: 21, syscall: 'rm', path: file });
			throw error;
		}
		removeTree(file);
	},
	rmdir(file, options) {
		file = pathOf(file);
		if (options && options.recursive) {
			if (!isFolder(file)) check(typeof sys.stat_(file, 256) === 'number' ? -2 : -20, 'rmdir', file);
			removeTree(file);
			return;
		}
		check(sys.rmdir_(file), 'rmdir', file);
	},
	stat(file, options) {
		file = pathOf(file);
		const info = sys.stat_(file, 0);
		if (options && options.throwIfNoEntry === false && (info === -2 || info === -20)) return undefined;
		return makeStats(check(info, 'stat', file), options);
	},
	symlink(target, file) {
		target = pathOf(target, 'target');
		file = pathOf(file);
		check(sys.symlink_(target, file), 'symlink', target, file);
	},
	truncate(file, length = 0) {
		if (typeof file === 'number') return work.ftruncate(file, length);
		file = pathOf(file);
		length = Math.max(0, intOf(length, 'len', 0));
		const fd = check(sys.open_(file, 2, 0), 'open', file);
		try {
			check(sys.ftruncate_(fd, length), 'ftruncate');
		} finally {
			sys.close_(fd);
		}
	},
	unlink(file) {
		file = pathOf(file);
		check(sys.unlink_(file), 'unlink', file);
	},
	utimes(file, atime, mtime) {
		file = pathOf(file);
		check(sys.utimes_(file, time(atime, 'atime'), time(mtime, 'mtime'), 0), 'utime', file);
	},
	write(fd, buffer, offset, length, position) {
		fd = fdOf(fd);
		if (ArrayBuffer.isView(buffer)) {
			if (typeof offset === 'object' && offset !== null) ({ offset, length, position } = offset);
			offset = intOf(offset, 'offset', 0);
			if (typeof length !== 'number') length = buffer.byteLength - offset;
			if (offset < 0 || offset > buffer.byteLength) throw outOfRange('offset', `>= 0 && <= ${buffer.byteLength}`, offset);
			if (length < 0 || length > buffer.byteLength - offset) throw outOfRange('length', `<= ${buffer.byteLength - offset}`, length);
			if (typeof position !== 'number') position = -1;
			return check(sys.write_(fd, buffer, offset, length, position), 'write');
		}
		if (typeof buffer !== 'string') throw invalidType('buffer', 'string or an instance of Buffer, TypedArray, or DataView', buffer);
		const bytes = Buffer.from(buffer, typeof length === 'string' ? length : 'utf8');
		return check(sys.write_(fd, bytes, 0, bytes.length, typeof offset === 'number' ? offset : -1), 'write');
	},
	writeFile(file, data, options) {
		options = optionsOf(options, { encoding: 'utf8', mode: 0o666, flag: 'w' });
		const bytes = dataOf(data, options.encoding);
		const own = typeof file === 'number';
		const fd = own ? file : work.open(file, options.flag === undefined ? 'w' : options.flag, options.mode);
		try {
			writeAll(fd, bytes);
		} finally {
			if (!own) sys.close_(fd);
		}
	},
	readv(fd, buffers, position) {
		let total = 0;
		for (const buffer of buffers) {
			const count = work.read(fd, buffer, 0, buffer.byteLength, typeof position === 'number' ? position + total : null);
			total += count;
			if (count < buffer.byteLength) break;
		}
		return total;
	},
	writev(fd, buffers, position) {
		let total = 0;
		for (const buffer of buffers) {
			writeAll(fdOf(fd), new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength), typeof position === 'number' ? position + total : -1);
			total += buffer.byteLength;
		}
		return total;
	},
	cp(from, to, options = {}) {
		from = pathOf(from, 'src');
		to = pathOf(to, 'dest');
		const info = work.lstat(from);
		if (info.isDirectory()) {
			if (!options || !options.recursive) {
				const error = coded(Error, 'ERR_FS_EISDIR', 'Recursive option not enabled, cannot copy a directory');
				throw error;
			}
			makeFolders(path.resolve(to), 0o777);
			for (const name of work.readdir(from)) work.cp(`${from}/${name}`, `${to}/${name}`, options);
		} else if (info.isSymbolicLink()) {
			if (work.exists(to)) work.unlink(to);
			work.symlink(work.readlink(from), to);
		} else if (options && options.force === false && work.exists(to)) {
			if (options.errorOnExist) throw coded(Error, 'ERR_FS_CP_EEXIST', 'Target already exists');
		} else work.copyFile(from, to);
	},
};

function attempt(name, values) {
	deferred = true;
	try {
		return [null, work[name](...values)];
	} catch (error) {
		if (error.errno === undefined && error.code !== 'ERR_FS_EISDIR') throw error;
		return [error];
	} finally {
		deferred = false;
	}
}
const several = { read: true, write: true, readv: true, writev: true };
for (const name of Object.keys(work)) {
	exports[`${name}Sync`] = { [`${name}Sync`](...values) {
		return work[name](...values);
	} }[`${name}Sync`];
	exports[name] = { [name](...values) {
		let callback = values.pop();
		if (typeof callback !== 'function') throw invalidType('cb', 'function', callback);
		if (name === 'exists') {
			const result = work.exists(values[0]);
			core.later(() => callback(result));
			return;
		}
		if (name === 'read' && values.length === 2 && values[1] && !ArrayBuffer.isView(values[1])) {
			const options = values[1];
			values[1] = options.buffer || Buffer.alloc(16384);
			values[2] = options;
		} else if (name === 'read' && values.length === 1) values[1] = Buffer.alloc(16384);
		if (name === 'close' && values.length) {
			// It is closed when its turn comes.
			const [error] = attempt(name, values);
			core.later(() => callback(error));
			return;
		}
		const [error, result] = attempt(name, values);
		core.later(() => {
			if (error) callback(error);
			else if (several[name]) callback(null, result, values[1]);
			else if (result === undefined) callback(null);
			else callback(null, result);
		});
	} }[name];
}
exports.exists[Symbol.for('nodejs.util.promisify.custom')] = (file) => Promise.resolve(work.exists(file));
exports.existsSync = (file) => work.exists(file);
exports.realpath.native = exports.realpath;
exports.realpathSync.native = exports.realpathSync;
for (const name of ['read', 'write'])
	Object.defineProperty(exports[name], need('util').promisify.names, {
		value: [name === 'read' ? 'bytesRead' : 'bytesWritten', 'buffer'], enumerable: false,
	});

function promised(name, ...values) {
	return new Promise((resolve, reject) => {
		let outcome;
		try {
			outcome = attempt(name, values);
		} catch (error) {
			reject(error);
			return;
		}
		core.later(() => (outcome[0] ? reject(outcome[0]) : resolve(outcome[1])));
	});
}

class FileHandle extends need('events') {
	#fd;
	constructor(fd) {
		super();
		this.#fd = fd;
	}
	get fd() {
		return this.#fd;
	}
	get [Symbol.toStringTag]() {
		return 'FileHandle';
	}
	read(buffer, offset, length, position) {
		if (!ArrayBuffer.isView(buffer)) {
			const options = buffer || {};
			buffer = options.buffer || Buffer.alloc(16384);
			({ offset, length, position } = options);
		}
		return promised('read', this.#fd, buffer, offset, length, position).then((bytesRead) => ({ bytesRead, buffer }));
	}
	write(buffer, offset, length, position) {
		return promised('write', this.#fd, buffer, offset, length, position).then((bytesWritten) => ({ bytesWritten, buffer }));
	}
	readv(buffers, position) {
		return promised('readv', this.#fd, buffers, position).then((bytesRead) => ({ bytesRead, buffers }));
	}
	writev(buffers, position) {
		return promised('writev', this.#fd, buffers, position).then((bytesWritten) => ({ bytesWritten, buffers }));
	}
	readFile(options) {
		return promised('readFile', this.#fd, options);
	}
	writeFile(data, options) {
		return writeAnything(this.#fd, data, options);
	}
	appendFile(data, options) {
		return writeAnything(this.#fd, data, options);
	}
	stat(options) {
		return promised('fstat', this.#fd, options);
	}
	truncate(length) {
		return promised('ftruncate', this.#fd, length);
	}
	sync() {
		return promised('fsync', this.#fd);
	}
	datasync() {
		return promised('fdatasync', this.#fd);
	}
	chmod(mode) {
		return promised('fchmod', this.#fd, mode);
	}
	chown(user, group) {
		return promised('fchown', this.#fd, user, group);
	}
	utimes(atime, mtime) {
		return promised('futimes', this.#fd, atime, mtime);
	}
	close() {
		if (this.#fd === -1) return Promise.resolve();
		const fd = this.#fd;
		this.#fd = -1;
		return promised('close', fd).then(() => {
			this.emit('close');
		});
	}
	createReadStream(options) {
		return new ReadStream(undefined, { ...options, fd: this });
	}
	createWriteStream(options) {
		return new WriteStream(undefined, { ...options, fd: this });
	}
	async *readLines(options) {
		let rest = '';
		for await (const chunk of this.createReadStream({ encoding: 'utf8', ...options })) {
			const lines = (rest + chunk).split(/\r?\n/);
			rest = lines.pop();
			yield* lines;
		}
		if (rest) yield rest;
	}
}
const isIterable = (data) => typeof data === 'object' && data !== null && !ArrayBuffer.isView(data) &&
	(data[Symbol.asyncIterator] || data[Symbol.iterator]);
async function writeAnything(file, data, options, flag = 'w') {
	if (!isIterable(data)) return promised(flag === 'a' ? 'appendFile' : 'writeFile', file, data, options);
	const own = typeof file === 'number';
	options = optionsOf(options, { encoding: 'utf8', mode: 0o666, flag });
	const fd = own ? file : await promised('open', file, options.flag, options.mode);
	try {
		for await (const chunk of data) writeAll(fd, dataOf(chunk, options.encoding));
	} finally {
		if (!own) sys.close_(fd);
	}
}
const unwrap = (file) => (file instanceof FileHandle ? file.fd : file);

const promises = { constants };
for (const name of ['access', 'chmod', 'chown', 'lchown', 'copyFile', 'cp', 'link', 'lstat', 'lutimes', 'mkdir', 'mkdtemp', 'readdir', 'readlink',
	'realpath', 'rename', 'rm', 'rmdir', 'stat', 'symlink', 'truncate', 'unlink', 'utimes'])
	promises[name] = { async [name](...values) {
		return promised(name, ...values);
	} }[name];
promises.realpath = async function realpath(file, options) {
	try {
		return await promised('realpath', file, options);
	} catch (error) {
		if (error.errno === undefined) throw error;
		throw system(error.errno, 'realpath', pathOf(file), undefined, true);
	}
};
promises.open = async function open(file, flags = 'r', mode = 0o666) {
	return new FileHandle(await promised('open', file, flags, mode));
};
promises.readFile = async function readFile(file, options) {
	if (options && options.signal && options.signal.aborted) throw need('errors').aborted(options.signal.reason);
	return promised('readFile', unwrap(file), options);
};
promises.writeFile = async function writeFile(file, data, options) {
	if (options && options.signal && options.signal.aborted) throw need('errors').aborted(options.signal.reason);
	return writeAnything(unwrap(file), data, options);
};
promises.appendFile = async function appendFile(file, data, options) {
	return writeAnything(unwrap(file), data, options, 'a');
};

// Streams
const { Readable, Writable } = need('stream');
function streamOptions(options) {
	if (options == null) return {};
	if (typeof options === 'string') return { encoding: options };
	if (typeof options !== 'object') throw invalidType('options', 'string or Object', options);
	return { ...options };
}
function rangeOf(value, name) {
	if (value === undefined) return undefined;
	if (typeof value !== 'number') throw invalidType(name, 'number', value);
	if (value !== Infinity && !Number.isInteger(value)) throw outOfRange(name, 'an integer', value);
	if (value < 0) throw outOfRange(name, '>= 0', value);
	return value;
}
function openFor(stream, callback) {
	if (stream.fd !== null && stream.fd !== undefined) {
		callback();
		return;
	}
	exports.open(stream.path, stream.flags, stream.mode, (error, fd) => {
		if (error) {
			callback(error);
			return;
		}
		stream.fd = fd;
		callback();
		stream.emit('open', fd);
		stream.emit('ready');
	});
}
function closeOf(stream, error, callback) {
	const fd = stream.fd, handle = stream.handle;
	if (fd === null || fd === undefined || fd < 0) {
		callback(error);
		return;
	}
	stream.fd = null;
	if (handle) {
		handle.close().then(() => callback(error), (second) => callback(second || error));
		return;
	}
	exports.close(fd, (second) => callback(second || error));
}
class ReadStream extends Readable {
	constructor(file, options) {
		options = streamOptions(options);
		if (options.highWaterMark === undefined) options.highWaterMark = 65536;
		const start = rangeOf(options.start, 'start');
		let end = rangeOf(options.end, 'end');
		if (end === undefined) end = Infinity;
		if (start !== undefined && start > end) throw outOfRange('start', `<= "end" (here: ${end})`, start);
		const { encoding, ...rest } = options;
		super({ highWaterMark: options.highWaterMark, encoding, emitClose: options.emitClose, autoDestroy: options.autoClose, signal: options.signal });
		this.fd = null;
		setHandle(this, options.fd);
		this.path = this.fd === null ? pathOf(file) : file;
		this.flags = options.flags === undefined ? 'r' : options.flags;
		this.mode = options.mode === undefined ? 0o666 : options.mode;
		this.start = start;
		this.end = end;
		this.pos = start;
		this.bytesRead = 0;
		this.closing = false;
		flagsOf(this.flags);
	}
	get autoClose() {
		return this._readableState.autoDestroy;
	}
	get pending() {
		return this.fd === null;
	}
	_construct(callback) {
		openFor(this, callback);
	}
	_read(count) {
		count = this.pos !== undefined ? Math.min(this.end - this.pos + 1, count) : Math.min(this.end - this.bytesRead + 1, count);
		if (count <= 0) {
			this.push(null);
			return;
		}
		const buffer = Buffer.allocUnsafe(count);
		exports.read(this.fd, buffer, 0, count, this.pos === undefined ? null : this.pos, (error, got) => {
			if (error) {
				this.destroy(error);
				return;
			}
			if (got > 0) {
				if (this.pos !== undefined) this.pos += got;
				this.bytesRead += got;
				this.push(got === count ? buffer : got < count / 2 ? Buffer.from(buffer.subarray(0, got)) : buffer.subarray(0, got));
			} else this.push(null);
		});
	}
	_destroy(error, callback) {
		closeOf(this, error, callback);
	}
	close(callback) {
		if (callback) finish(this, callback);
		this.destroy();
	}
}
function finish(stream, callback) {
	if (stream.closed) core.tick(callback);
	else stream.once('close', callback);
}
function setHandle(stream, fd) {
	if (fd == null) return;
	if (fd instanceof FileHandle) {
		Object.defineProperty(stream, 'handle', { value: fd });
		stream.fd = fd.fd;
		fd.on('close', () => stream.destroy());
	} else stream.fd = fdOf(fd);
}
class WriteStream extends Writable {
	constructor(file, options) {
		options = streamOptions(options);
		super({
			highWaterMark: options.highWaterMark, decodeStrings: true, emitClose: options.emitClose, autoDestroy: options.autoClose, signal: options.signal,
		});
		const start = rangeOf(options.start, 'start');
		this.fd = null;
		setHandle(this, options.fd);
		this.path = this.fd === null ? pathOf(file) : file;
		this.flags = options.flags === undefined ? 'w' : options.flags;
		this.mode = options.mode === undefined ? 0o666 : options.mode;
		this.start = start;
		this.pos = start;
		this.bytesWritten = 0;
		this.closing = false;
		flagsOf(this.flags);
		if (options.encoding) this.setDefaultEncoding(options.encoding);
	}
	get autoClose() {
		return this._writableState.autoDestroy;
	}
	get pending() {
		return this.fd === null;
	}
	_construct(callback) {
		openFor(this, callback);
	}
	_write(data, encoding, callback) {
		const step = (at) => {
			exports.write(this.fd, data, at, data.length - at, this.pos === undefined ? null : this.pos, (error, count) => {
				if (error) {
					if (error.code === 'EAGAIN') {
						core.timers.setTimeout(() => step(at), 1);
						return;
					}
					callback(error);
					return;
				}
				this.bytesWritten += count;
				if (this.pos !== undefined) this.pos += count;
				if (at + count < data.length) step(at + count);
				else callback();
			});
		};
		step(0);
	}
	_writev(chunks, callback) {
		this._write(Buffer.concat(chunks.map((one) => one.chunk)), 'buffer', callback);
	}
	_destroy(error, callback) {
		closeOf(this, error, callback);
	}
	close(callback) {
		if (callback) {
			if (this.closed) {
				core.tick(callback);
				return;
			}
			this.on('close', callback);
		}
		if (!this.autoClose) this.on('finish', this.destroy);
		this.end();
	}
	destroySoon(...values) {
		return this.end(...values);
	}
}
Object.assign(exports, {
	createReadStream: (file, options) => new ReadStream(file, options),
	createWriteStream: (file, options) => new WriteStream(file, options),
	ReadStream, WriteStream, FileReadStream: ReadStream, FileWriteStream: WriteStream, Stats, Dirent, constants,
	F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, promises,
});
