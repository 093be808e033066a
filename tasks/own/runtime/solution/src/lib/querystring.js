// querystring
const escape = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (char) => char);
exports.escape = escape;
exports.unescape = (text) => {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
};
exports.stringify = (object, separator = '&', equals = '=') => Object.keys(object || {}).map((key) => {
	const value = object[key];
	const one = (part) => `${escape(key)}${equals}${escape(part === null || typeof part === 'object' || part === undefined ? '' : `${part}`)}`;
	return Array.isArray(value) ? value.map(one).join(separator) : one(value);
}).join(separator);
exports.parse = (text, separator = '&', equals = '=') => {
	const result = Object.create(null);
	for (const part of `${text}`.split(separator)) {
		if (!part) continue;
		const at = part.indexOf(equals);
		const [key, value] = (at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + equals.length)]).map((one) => exports.unescape(one.replaceAll('+', ' ')));
		if (key in result) result[key] = [].concat(result[key], value);
		else result[key] = value;
	}
	return result;
};
exports.encode = exports.stringify;
exports.decode = exports.parse;
