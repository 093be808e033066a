// timers/promises
const { timers, worker } = need('core');
function wait(start, stop, signal, value) {
	if (signal && signal.aborted) return Promise.reject(need('errors').aborted(signal.reason));
	return new Promise((resolve, reject) => {
		let timer;
		const aborted = () => {
			stop(timer);
			reject(need('errors').aborted(signal.reason));
		};
		timer = start(() => {
			if (signal) signal.removeEventListener('abort', aborted);
			resolve(value);
		});
		if (signal) signal.addEventListener('abort', aborted, { once: true });
	});
}
exports.setTimeout = function (after, value, options = {}) {
	return wait((done) => {
		const timer = timers.setTimeout(done, after);
		if (options.ref === false) timer.unref();
		return timer;
	}, timers.clearTimeout, options.signal, value);
};
exports.setImmediate = function (value, options = {}) {
	return wait((done) => {
		const one = timers.setImmediate(done);
		if (options.ref === false) one.unref();
		return one;
	}, timers.clearImmediate, options.signal, value);
};
exports.setInterval = async function* (after, value, options = {}) {
	const { signal } = options;
	if (signal && signal.aborted) throw need('errors').aborted(signal.reason);
	let ready = 0, wake = null;
	const timer = timers.setInterval(() => {
		ready++;
		if (wake) wake();
	}, after);
	if (options.ref === false) timer.unref();
	const aborted = () => {
		if (wake) wake();
	};
	if (signal) signal.addEventListener('abort', aborted, { once: true });
	try {
		for (;;) {
			if (signal && signal.aborted) throw need('errors').aborted(signal.reason);
			if (ready === 0) await new Promise((resolve) => { wake = resolve; });
			wake = null;
			for (; ready > 0; ready--) yield value;
		}
	} finally {
		timers.clearInterval(timer);
		if (signal) signal.removeEventListener('abort', aborted);
	}
};
exports.scheduler = { wait: (after, options) => exports.setTimeout(after, undefined, options), yield: () => exports.setImmediate() };
