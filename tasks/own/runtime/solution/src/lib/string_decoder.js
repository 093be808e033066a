// string_decoder: text from bytes that come in pieces.
const { _known } = need('buffer');
class StringDecoder {
	constructor(encoding) {
		this.kind = _known(encoding);
		this.encoding = ['utf8', 'latin1', 'utf16le', 'hex', 'base64', 'base64url', 'ascii'][this.kind];
		this.rest = null;
	}
	write(bytes) {
		if (typeof bytes === 'string') return bytes;
		if (this.kind === 1 || this.kind === 3 || this.kind === 6) return sys.decode(bytes, 0, bytes.length, this.kind);
		if (this.rest && this.rest.length) {
			const whole = new Uint8Array(this.rest.length + bytes.length);
			whole.set(this.rest);
			whole.set(bytes, this.rest.length);
			bytes = whole;
		}
		let end = bytes.length;
		if (this.kind === 0) end = sys.whole(bytes);
		else if (this.kind === 2) {
			end -= end % 2;
			if (end >= 2 && (bytes[end - 1] & 0xfc) === 0xd8) end -= 2;
		} else end -= end % 3;
		this.rest = end < bytes.length ? bytes.slice(end) : null;
		return sys.decode(bytes, 0, end, this.kind);
	}
	end(bytes) {
		let text = bytes !== undefined ? this.write(bytes) : '';
		if (this.rest) {
			text += this.kind === 2 ? sys.decode(this.rest, 0, this.rest.length, 2) : sys.decode(this.rest, 0, this.rest.length, this.kind);
			this.rest = null;
		}
		return text;
	}
}
exports.StringDecoder = StringDecoder;
