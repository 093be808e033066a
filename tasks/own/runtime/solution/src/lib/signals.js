// Signals: names, and those that the program watches.
const numbers = {
	SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGTRAP: 5, SIGABRT: 6, SIGIOT: 6, SIGBUS: 7, SIGFPE: 8, SIGKILL: 9, SIGUSR1: 10,
	SIGSEGV: 11, SIGUSR2: 12, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15, SIGCHLD: 17, SIGSTKFLT: 16, SIGCONT: 18, SIGSTOP: 19,
	SIGTSTP: 20, SIGTTIN: 21, SIGTTOU: 22, SIGURG: 23, SIGXCPU: 24, SIGXFSZ: 25, SIGVTALRM: 26, SIGPROF: 27, SIGWINCH: 28,
	SIGIO: 29, SIGPOLL: 29, SIGPWR: 30, SIGSYS: 31,
};
const names = {};
for (const [name, number] of Object.entries(numbers)) if (!(number in names)) names[number] = name;
exports.numbers = numbers;
exports.nameOf = (number) => names[number] || null;

const core = need('core');
let handle = null, children = null;
const watched = new Set();
const buffer = new Uint8Array(256);

function open() {
	if (handle) return;
	handle = new core.Handle(sys.signalPipe(), core.IN, () => {
		const count = sys.read_(handle.fd, buffer, 0, 256, -1);
		for (let i = 0; i < count; i++) {
			const number = buffer[i];
			if (number === 17 && children) children();
			const name = names[number];
			if (watched.has(name)) core.run(() => core.process.emit(name, name, number));
		}
	});
	handle.unref();
}
// onChild(f): what is called when a child has ended.
exports.onChild = (callback) => {
	open();
	children = callback;
	sys.watch(17, 1);
};
exports.watch = (name) => {
	const number = numbers[name];
	if (number === undefined || watched.has(name)) return;
	if (number === 9 || number === 19) {
		const error = need('errors').network(-22, 'uv_signal_start');
		throw error;
	}
	open();
	watched.add(name);
	sys.watch(number, 1);
};
exports.leave = (name) => {
	if (!watched.delete(name)) return;
	const number = numbers[name];
	if (number === 17 && children) return;
	sys.watch(number, number === 13 ? 2 : 0);
};
