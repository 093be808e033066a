// Names, as /etc/hosts has them.
const core = need('core');
const isFour = (text) => /^\d{1,3}(\.\d{1,3}){3}$/.test(text);

function find(name) {
	if (name[0] === '[' && name.endsWith(']')) name = name.slice(1, -1);
	if (isFour(name)) return [name, 4];
	if (name.includes(':')) return [name, 6];
	const wanted = name.toLowerCase().replace(/\.$/, '');
	const bytes = sys.readText('/etc/hosts');
	let six = null;
	if (typeof bytes !== 'number')
		for (const line of sys.decode(bytes, 0, bytes.byteLength, 1).split('\n')) {
			const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
			if (!names.some((one) => one.toLowerCase() === wanted)) continue;
			if (isFour(address)) return [address, 4];
			if (address.includes(':') && !six) six = [address, 6];
		}
	if (six) return six;
	if (wanted === 'localhost' || wanted.endsWith('.localhost')) return ['127.0.0.1', 4];
	return null;
}
// _find(name, callback, now)
exports._find = (name, callback, now) => {
	const found = find(`${name}`);
	const tell = () => {
		if (found) callback(null, found[0], found[1]);
		else {
			const error = new Error(`getaddrinfo ENOTFOUND ${name}`);
			Object.assign(error, { errno: -3008, code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: name });
			callback(error);
		}
	};
	if (now) tell();
	else core.later(tell);
};
exports.lookup = (name, options, callback) => exports._find(name, typeof options === 'function' ? options : callback);
