// TextEncoder and TextDecoder.
const { coded, invalidType } = need('errors');
const { types } = need('kinds');

class TextEncoder {
	get encoding() {
		return 'utf-8';
	}
	encode(text = '') {
		return new Uint8Array(sys.encode(`${text}`, 0));
	}
	encodeInto(text, target) {
		if (!(target instanceof Uint8Array)) throw invalidType('dest', 'Uint8Array', target);
		let read = 0, written = 0;
		for (const char of `${text}`) {
			const bytes = new Uint8Array(sys.encode(char, 0));
			if (written + bytes.length > target.length) break;
			target.set(bytes, written);
			written += bytes.length;
			read += char.length;
		}
		return { read, written };
	}
}
Object.defineProperty(TextEncoder.prototype, Symbol.toStringTag, { configurable: true, value: 'TextEncoder' });

const labels = new Map();
for (const [name, list] of [
	['utf-8', 'unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8'],
	['utf-16le', 'csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le'],
	['windows-1252', 'ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252'],
]) for (const label of list.split(' ')) labels.set(label, name);
const above = '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178';

class TextDecoder {
	#name;
	#fatal;
	#ignore;
	#rest = null;
	#begun = false;
	constructor(label = 'utf-8', options = {}) {
		const name = labels.get(`${label}`.trim().toLowerCase());
		if (name === undefined) throw coded(RangeError, 'ERR_ENCODING_NOT_SUPPORTED', `The "${label}" encoding is not supported`);
		if (options === null || typeof options !== 'object') throw invalidType('options', 'Object', options);
		this.#name = name;
		this.#fatal = !!options.fatal;
		this.#ignore = !!options.ignoreBOM;
	}
	get encoding() {
		return this.#name;
	}
	get fatal() {
		return this.#fatal;
	}
	get ignoreBOM() {
		return this.#ignore;
	}
	decode(input = new Uint8Array(0), options = {}) {
		let bytes;
		if (types.isAnyArrayBuffer(input)) bytes = new Uint8Array(input);
		else if (ArrayBuffer.isView(input)) bytes = new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
		else throw invalidType('list', 'ArrayBuffer or ArrayBufferView', input);
		const stream = !!(options && options.stream);
		if (this.#rest) {
			const whole = new Uint8Array(this.#rest.length + bytes.length);
			whole.set(this.#rest);
			whole.set(bytes, this.#rest.length);
			bytes = whole;
			this.#rest = null;
		}
		let end = bytes.length, text;
		if (stream) {
			if (this.#name === 'utf-8') end = sys.whole(bytes);
			else if (this.#name === 'utf-16le') {
				end -= end % 2;
				if (end >= 2 && (bytes[end - 1] & 0xfc) === 0xd8) end -= 2;
			}
			if (end < bytes.length) this.#rest = bytes.slice(end);
		}
		const part = bytes.subarray(0, end);
		const failed = () => {
			this.#begun = false;
			this.#rest = null;
			return coded(TypeError, 'ERR_ENCODING_INVALID_ENCODED_DATA', `The encoded data was not valid for encoding ${this.#name}`);
		};
		if (this.#name === 'utf-8') {
			if (this.#fatal && !sys.isUtf8(part)) throw failed();
			text = sys.decode(part, 0, end, 0);
		} else if (this.#name === 'utf-16le') {
			text = sys.decode(part, 0, end, 2);
			if (this.#fatal && (end % 2 || !text.isWellFormed())) throw failed();
			text = text.toWellFormed();
			if (end % 2) text += '\ufffd';
		} else text = sys.decode(part, 0, end, 1).replace(/[\x80-\x9f]/g, (char) => above[char.charCodeAt(0) - 128]);
		if (!this.#ignore && !this.#begun && this.#name !== 'windows-1252' && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
		if (stream) this.#begun = this.#begun || end > 0;
		else this.#begun = false;
		return text;
	}
}
Object.defineProperty(TextDecoder.prototype, Symbol.toStringTag, { configurable: true, value: 'TextDecoder' });
exports.TextEncoder = TextEncoder;
exports.TextDecoder = TextDecoder;
