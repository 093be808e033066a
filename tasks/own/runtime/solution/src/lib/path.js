// Its states, formulas and conditions follow Node.js 18's own, as they are known; see ../LICENSE-node.
// path, as of POSIX.
function text(value, name) {
	if (typeof value !== 'string') throw need('errors').invalidType(name, 'string', value);
}

// Takes `.` and `..` out of a path that has no slash at its beginning.
function reduce(path, climb) {
	const out = [];
	for (const part of path.split('/')) {
		if (part === '' || part === '.') continue;
		if (part !== '..') out.push(part);
		else if (out.length && out[out.length - 1] !== '..') out.pop();
		else if (climb) out.push('..');
	}
	return out.join('/');
}

const path = {
	sep: '/', delimiter: ':',
	resolve(...parts) {
		let whole = '';
		for (let i = parts.length - 1; i >= -1 && !whole.startsWith('/'); i--) {
			const part = i >= 0 ? parts[i] : need('core').process.cwd();
			text(part, 'path');
			if (part.length) whole = whole ? `${part}/${whole}` : part;
		}
		const absolute = whole.startsWith('/'), reduced = reduce(whole, !absolute);
		return absolute ? `/${reduced}` : reduced || '.';
	},
	normalize(value) {
		text(value, 'path');
		if (!value.length) return '.';
		const absolute = value[0] === '/', slash = value.endsWith('/');
		let reduced = reduce(value, !absolute);
		if (!reduced) return absolute ? '/' : slash ? './' : '.';
		if (slash) reduced += '/';
		return absolute ? `/${reduced}` : reduced;
	},
	isAbsolute(value) {
		text(value, 'path');
		return value[0] === '/';
	},
	join(...parts) {
		for (const part of parts) text(part, 'path');
		const whole = parts.filter((part) => part.length).join('/');
		return whole ? path.normalize(whole) : '.';
	},
	relative(from, to) {
		text(from, 'from');
		text(to, 'to');
		if (from === to) return '';
		from = path.resolve(from);
		to = path.resolve(to);
		if (from === to) return '';
		const a = from.split('/').filter(Boolean), b = to.split('/').filter(Boolean);
		let same = 0;
		while (same < a.length && same < b.length && a[same] === b[same]) same++;
		return [...a.slice(same).map(() => '..'), ...b.slice(same)].join('/');
	},
	toNamespacedPath: (value) => value,
	dirname(value) {
		text(value, 'path');
		if (!value.length) return '.';
		const root = value[0] === '/';
		let end = -1, trailing = true;
		for (let i = value.length - 1; i >= 1; i--)
			if (value[i] !== '/') trailing = false;
			else if (!trailing) {
				end = i;
				break;
			}
		if (end === -1) return root ? '/' : '.';
		return root && end === 1 ? '//' : value.slice(0, end);
	},
	basename(value, suffix) {
		if (suffix !== undefined) text(suffix, 'ext');
		text(value, 'path');
		let end = value.length;
		while (end > 0 && value[end - 1] === '/') end--;
		let name = value.slice(value.lastIndexOf('/', end - 1) + 1, end);
		if (end === 0) name = '';
		if (suffix !== undefined && suffix.length && suffix.length <= value.length) {
			if (suffix === value) return '';
			// Of slashes alone Node leaves all if a suffix is asked for.
			if (end === 0) return value;
			if (name.endsWith(suffix) && name !== suffix) name = name.slice(0, -suffix.length);
		}
		return name;
	},
	extname(value) {
		text(value, 'path');
		const name = path.basename(value), at = name.lastIndexOf('.');
		if (at <= 0 || name === '..') return '';
		return name.slice(at);
	},
	format(parts) {
		if (parts === null || typeof parts !== 'object') throw need('errors').invalidType('pathObject', 'Object', parts);
		const folder = parts.dir || parts.root, name = parts.base || `${parts.name || ''}${parts.ext || ''}`;
		if (!folder) return name;
		return folder === parts.root ? `${folder}${name}` : `${folder}/${name}`;
	},
	parse(value) {
		text(value, 'path');
		const parts = { root: value[0] === '/' ? '/' : '', dir: '', base: '', ext: '', name: '' };
		parts.base = path.basename(value);
		parts.ext = path.extname(parts.base);
		parts.name = parts.ext ? parts.base.slice(0, -parts.ext.length) : parts.base;
		let end = value.length;
		while (end > 1 && value[end - 1] === '/') end--;
		const at = value.lastIndexOf('/', end - 1);
		if (at > 0) parts.dir = value.slice(0, at);
		else if (at === 0) parts.dir = '/';
		return parts;
	},
};
path.posix = path;
path.win32 = {};
module.exports = path;
