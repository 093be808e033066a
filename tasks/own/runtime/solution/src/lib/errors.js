// Its states, formulas and conditions follow Node.js 18's own, as they are known; see ../LICENSE-node.
// Errors as Node makes them: with codes.
const table = {
	1: ['EPERM', 'operation not permitted'], 2: ['ENOENT', 'no such file or directory'], 3: ['ESRCH', 'no such process'],
	4: ['EINTR', 'interrupted system call'], 5: ['EIO', 'i/o error'], 6: ['ENXIO', 'no such device or address'],
	7: ['E2BIG', 'argument list too long'], 8: ['ENOEXEC', 'exec format error'], 9: ['EBADF', 'bad file descriptor'],
	10: ['ECHILD', 'no child processes'], 11: ['EAGAIN', 'resource temporarily unavailable'],
	12: ['ENOMEM', 'not enough memory'], 13: ['EACCES', 'permission denied'], 14: ['EFAULT', 'bad address in system call argument'],
	16: ['EBUSY', 'resource busy or locked'], 17: ['EEXIST', 'file already exists'],
	18: ['EXDEV', 'cross-device link not permitted'], 19: ['ENODEV', 'no such device'], 20: ['ENOTDIR', 'not a directory'],
	21: ['EISDIR', 'illegal operation on a directory'], 22: ['EINVAL', 'invalid argument'], 23: ['ENFILE', 'file table overflow'],
	24: ['EMFILE', 'too many open files'], 25: ['ENOTTY', 'inappropriate ioctl for device'], 26: ['ETXTBSY', 'text file is busy'],
	27: ['EFBIG', 'file too large'], 28: ['ENOSPC', 'no space left on device'], 29: ['ESPIPE', 'invalid seek'],
	30: ['EROFS', 'read-only file system'], 31: ['EMLINK', 'too many links'], 32: ['EPIPE', 'broken pipe'],
	36: ['ENAMETOOLONG', 'name too long'], 38: ['ENOSYS', 'function not implemented'], 39: ['ENOTEMPTY', 'directory not empty'],
	40: ['ELOOP', 'too many symbolic links encountered'], 75: ['EOVERFLOW', 'value too large for defined data type'],
	88: ['ENOTSOCK', 'socket operation on non-socket'], 95: ['ENOTSUP', 'operation not supported on socket'],
	97: ['EAFNOSUPPORT', 'address family not supported'], 98: ['EADDRINUSE', 'address already in use'],
	99: ['EADDRNOTAVAIL', 'address not available'], 100: ['ENETDOWN', 'network is down'], 101: ['ENETUNREACH', 'network is unreachable'],
	103: ['ECONNABORTED', 'software caused connection abort'], 104: ['ECONNRESET', 'connection reset by peer'],
	106: ['EISCONN', 'socket is already connected'], 107: ['ENOTCONN', 'socket is not connected'],
	110: ['ETIMEDOUT', 'connection timed out'], 111: ['ECONNREFUSED', 'connection refused'],
	113: ['EHOSTUNREACH', 'host is unreachable'], 114: ['EALREADY', 'connection already in progress'],
};

// The text of the first line that V8 has, before the lines that the engine gives.
function headed(error, code) {
	const stack = typeof error.stack === 'string' ? error.stack : '';
	Object.defineProperty(error, 'stack', {
		value: `${error.name}${code ? ` [${code}]` : ''}: ${error.message}\n${stack.trimEnd()}`,
		writable: true, configurable: true, enumerable: false,
	});
	return error;
}

exports.coded = (Type, code, message) => {
	const error = headed(new Type(message), code);
	error.code = code;
	return error;
};

exports.system = (number, syscall, path, dest, later) => {
	const [code, text] = table[-number] || [`Unknown system error ${number}`, 'unknown error'];
	let message = `${code}: ${text}, ${syscall}`;
	if (path !== undefined) message += ` '${path}'`;
	if (dest !== undefined) message += ` -> '${dest}'`;
	const error = headed(new Error(message));
	error.errno = number;
	if (later) error.code = code;
	error.syscall = syscall;
	error.code = code;
	if (path !== undefined) error.path = path;
	if (dest !== undefined) error.dest = dest;
	return error;
};

exports.network = (number, syscall, address, port) => {
	const [code] = table[-number] || [`Unknown system error ${number}`];
	const where = address === undefined ? '' : port === undefined ? ` ${address}` : ` ${address}:${port}`;
	const error = headed(new Error(`${syscall} ${code}${where}`));
	error.errno = number;
	error.code = code;
	error.syscall = syscall;
	if (address !== undefined) error.address = address;
	if (port !== undefined) error.port = port;
	return error;
};
exports.codeOf = (number) => (table[-number] || [''])[0];

function shown(value) {
	if (value == null) return ` Received ${value}`;
	if (typeof value === 'function') return ` Received function ${value.name}`;
	if (typeof value === 'object')
		return value.constructor && value.constructor.name ? ` Received an instance of ${value.constructor.name}` : ' Received an object';
	return ` Received type ${typeof value} (${String(value).slice(0, 25)})`;
}
exports.invalidType = (name, expected, value) =>
	exports.coded(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${name}" argument must be of type ${expected}.${shown(value)}`);
exports.invalidValue = (name, value, reason = 'is invalid') =>
	exports.coded(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument '${name}' ${reason}.${shown(value)}`);
exports.outOfRange = (name, range, value) =>
	exports.coded(RangeError, 'ERR_OUT_OF_RANGE', `The value of "${name}" is out of range. It must be ${range}. Received ${String(value)}`);
exports.aborted = (cause) => {
	const error = new Error('The operation was aborted');
	error.name = 'AbortError';
	headed(error);
	Object.defineProperty(error, 'name', { value: 'AbortError', writable: true, configurable: true, enumerable: false });
	error.code = 'ABORT_ERR';
	if (cause !== undefined) Object.defineProperty(error, 'cause', { value: cause, writable: true, configurable: true });
	return error;
};
exports.text = (number) => (table[-number] || ['', 'unknown error'])[1];
