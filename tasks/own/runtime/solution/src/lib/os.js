// os
const info = sys.machine();
exports.EOL = '\n';
exports.devNull = '/dev/null';
exports.tmpdir = () => {
	const { env } = need('core').process;
	const path = env.TMPDIR || env.TMP || env.TEMP || '/tmp';
	return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
};
exports.homedir = () => need('core').process.env.HOME || '/root';
exports.hostname = () => info[0];
exports.platform = () => 'linux';
exports.type = () => 'Linux';
exports.release = () => info[1];
exports.version = () => info[2];
exports.arch = () => 'x64';
exports.machine = () => 'x86_64';
exports.endianness = () => 'LE';
exports.totalmem = () => info[3];
exports.freemem = () => sys.machine()[4];
exports.uptime = () => sys.machine()[5];
exports.loadavg = () => [0, 0, 0];
exports.cpus = () => Array.from({ length: sys.numbers()[6] }, () => ({ model: '', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }));
exports.availableParallelism = () => sys.numbers()[6];
exports.networkInterfaces = () => ({});
exports.userInfo = () => ({ uid: sys.numbers()[2], gid: sys.numbers()[4], username: 'root', homedir: '/root', shell: '/bin/sh' });
exports.constants = { signals: need('signals').numbers, errno: {} };
