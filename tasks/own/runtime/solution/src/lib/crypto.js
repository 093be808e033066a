// crypto: digests and chance.
const { coded, invalidType } = need('errors');
const { Buffer } = need('buffer');
const kinds = { sha1: 1, md5: 5, sha256: 256, sha512: 512 };

class Hash {
	constructor(name) {
		const kind = kinds[`${name}`.toLowerCase().replace('-', '')];
		if (kind === undefined) {
			const error = new Error('Digest method not supported');
			error.code = 'ERR_OSSL_EVP_UNSUPPORTED';
			throw error;
		}
		const hide = (key, value) => Object.defineProperty(this, key, { value, writable: true });
		hide('_kind', kind);
		hide('_parts', []);
		hide('_done', false);
	}
	update(data, encoding) {
		if (this._done) throw coded(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
		if (typeof data === 'string') data = Buffer.from(data, encoding);
		else if (ArrayBuffer.isView(data)) data = Buffer.from(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
		else throw invalidType('data', 'string or an instance of Buffer, TypedArray, or DataView', data);
		this._parts.push(data);
		return this;
	}
	digest(encoding) {
		if (this._done) throw coded(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
		this._done = true;
		const result = Buffer.from(sys.digest(this._kind, this._parts));
		this._parts = [];
		return encoding && encoding !== 'buffer' ? result.toString(encoding) : result;
	}
	copy() {
		const other = new Hash('sha1');
		other._kind = this._kind;
		other._parts = this._parts.slice();
		return other;
	}
}
exports.Hash = Hash;
exports.createHash = (name) => {
	if (typeof name !== 'string') throw invalidType('algorithm', 'string', name);
	return new Hash(name);
};
exports.getHashes = () => Object.keys(kinds);
exports.randomBytes = (size, callback) => {
	if (typeof size !== 'number') throw invalidType('size', 'number', size);
	if (!(size >= 0 && size <= 2147483647)) throw need('errors').outOfRange('size', '>= 0 && <= 2147483647', size);
	const bytes = Buffer.alloc(size);
	sys.random_(bytes);
	if (callback === undefined) return bytes;
	need('core').later(() => callback(null, bytes));
};
exports.randomFillSync = (bytes) => {
	sys.random_(bytes);
	return bytes;
};
exports.randomInt = (low, high) => {
	if (high === undefined) [low, high] = [0, low];
	return low + Number(exports.randomBytes(8).readBigUInt64LE() % BigInt(high - low));
};
exports.randomUUID = () => {
	const bytes = exports.randomBytes(16);
	bytes[6] = (bytes[6] & 15) | 64;
	bytes[8] = (bytes[8] & 63) | 128;
	return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
};
exports.timingSafeEqual = (a, b) => Buffer.compare(a, b) === 0;
exports.webcrypto = { getRandomValues: exports.randomFillSync, randomUUID: exports.randomUUID };
Object.defineProperty(exports, 'webcrypto', { enumerable: false });
