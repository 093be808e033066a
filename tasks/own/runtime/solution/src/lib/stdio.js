// process.stdin, stdout and stderr.
const core = need('core');
const { Readable, Writable } = need('stream');
const { Buffer } = need('buffer');

function output(fd) {
	const stream = new Writable({
		decodeStrings: false,
		write(chunk, encoding, callback) {
			const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
			const status = core.writeAll(fd, bytes);
			callback(status < 0 ? need('errors').system(status, 'write') : null);
		},
		autoDestroy: false, emitClose: false,
	});
	stream.fd = fd;
	stream._type = 'fs';
	stream._isStdio = true;
	stream.destroySoon = stream.destroy;
	stream._destroy = (error, callback) => callback(error);
	if (sys.isatty_(fd) === 1) {
		stream.isTTY = true;
		stream.columns = 80;
		stream.rows = 24;
	}
	stream.on('error', (error) => {
		if (stream.listenerCount('error') === 1 && error.code !== 'EPIPE') throw error;
	});
	return stream;
}
exports.stdout = output;
exports.stderr = output;

exports.stdin = () => {
	const info = sys.stat_(0, 0);
	const file = typeof info === 'number' || (info[1] & 61440) === 32768 || (info[1] & 61440) === 16384;
	if (file) {
		const { ReadStream } = need('fs');
		if (typeof info === 'number') {
			const empty = new Readable({ read() { this.push(null); } });
			empty.fd = 0;
			return empty;
		}
		const stream = new ReadStream(undefined, { fd: 0, autoClose: false });
		return stream;
	}
	const handle = { one: null };
	const room = new Uint8Array(65536);
	const stream = new Readable({
		highWaterMark: 65536,
		read() {
			if (handle.one === null) {
				handle.one = new core.Handle(0, core.IN, onReady);
				if (handle.one.events === 0 || !sys.epoll) handle.one = null;
			} else handle.one.set(core.IN);
			if (handle.one && !kept) handle.one.unref();
		},
		destroy(error, callback) {
			if (handle.one) handle.one.remove();
			callback(error);
		},
	});
	let kept = true;
	function onReady() {
		const count = sys.read_(0, room, 0, room.length, -1);
		if (count > 0) {
			if (!stream.push(Buffer.from(room.subarray(0, count)))) handle.one.set(0);
		} else if (count === 0) {
			handle.one.remove();
			stream.push(null);
		} else if (count !== -11) {
			handle.one.remove();
			stream.destroy(need('errors').system(count, 'read'));
		}
	}
	stream.fd = 0;
	stream.isTTY = sys.isatty_(0) === 1 ? true : undefined;
	stream.ref = () => {
		kept = true;
		if (handle.one) handle.one.ref();
		return stream;
	};
	stream.unref = () => {
		kept = false;
		if (handle.one) handle.one.unref();
		return stream;
	};
	stream.on('pause', () => {
		if (handle.one) handle.one.set(0);
	});
	return stream;
};
