// perf_hooks
const begun = sys.now();
exports.performance = {
	now: () => sys.now() - begun,
	timeOrigin: Date.now(),
	mark() {},
	measure() {},
	toJSON: () => ({}),
};
