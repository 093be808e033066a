// Its states, formulas and conditions follow Node.js 18's own, as they are known; see ../LICENSE-node.
// assert
const { coded, invalidType } = need('errors');
const { deep } = need('equal');
const { inspect } = need('util');

class AssertionError extends Error {
	constructor(options) {
		if (typeof options !== 'object' || options === null) throw invalidType('options', 'Object', options);
		const { message, operator, actual, expected } = options;
		super(message != null ? String(message) : text(operator, actual, expected));
		this.generatedMessage = message == null;
		Object.defineProperty(this, 'name', { value: 'AssertionError', enumerable: false, writable: true, configurable: true });
		this.code = 'ERR_ASSERTION';
		this.actual = actual;
		this.expected = expected;
		this.operator = operator;
		if (typeof this.stack === 'string')
			Object.defineProperty(this, 'stack', {
				value: `AssertionError [ERR_ASSERTION]: ${this.message}\n${this.stack.trimEnd()}`, enumerable: false, writable: true, configurable: true,
			});
	}
	toString() {
		return `${this.name} [${this.code}]: ${this.message}`;
	}
}
const phrases = {
	deepStrictEqual: 'Expected values to be strictly deep-equal:', strictEqual: 'Expected values to be strictly equal:',
	deepEqual: 'Expected values to be loosely deep-equal:', notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
	notStrictEqual: 'Expected "actual" to be strictly unequal to:', notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
};
function show(value) {
	return inspect(value, { compact: false, customInspect: false, depth: 1000, maxArrayLength: Infinity, sorted: true, getters: true });
}
function text(operator, actual, expected) {
	if (operator === '==' || operator === '!=') return `${show(actual)} ${operator} ${show(expected)}`;
	if (operator === 'notStrictEqual' || operator === 'notDeepStrictEqual' || operator === 'notDeepEqual')
		return `${phrases[operator]}\n\n${show(expected)}`;
	if (phrases[operator]) return `${phrases[operator]}\n\n${show(actual)} !== ${show(expected)}\n`;
	return `${show(actual)} ${operator} ${show(expected)}`;
}
function fail(options) {
	if (options.message instanceof Error) throw options.message;
	throw new AssertionError(options);
}
function needTwo(count) {
	if (count < 2) throw coded(TypeError, 'ERR_MISSING_ARGS', 'The "actual" and "expected" arguments must be specified');
}

function assert(...values) {
	truth(assert, values);
}
function truth(from, values) {
	const [value, message] = values;
	if (value) return;
	let generated = false, said = message;
	if (values.length === 0) {
		generated = true;
		said = 'No value argument passed to `assert.ok()`';
	} else if (message == null) {
		generated = true;
		said = 'The expression evaluated to a falsy value:\n';
	} else if (message instanceof Error) throw message;
	const error = new AssertionError({ actual: value, expected: true, message: said, operator: '==' });
	error.generatedMessage = generated;
	throw error;
}
const same = (a, b) => a == b || (a !== a && b !== b);
const methods = {
	ok(...values) {
		truth(methods.ok, values);
	},
	equal(actual, expected, message) {
		needTwo(arguments.length);
		if (!same(actual, expected)) fail({ actual, expected, message, operator: '==' });
	},
	notEqual(actual, expected, message) {
		needTwo(arguments.length);
		if (same(actual, expected)) fail({ actual, expected, message, operator: '!=' });
	},
	strictEqual(actual, expected, message) {
		needTwo(arguments.length);
		if (!Object.is(actual, expected)) fail({ actual, expected, message, operator: 'strictEqual' });
	},
	notStrictEqual(actual, expected, message) {
		needTwo(arguments.length);
		if (Object.is(actual, expected)) fail({ actual, expected, message, operator: 'notStrictEqual' });
	},
	deepEqual(actual, expected, message) {
		needTwo(arguments.length);
		if (!deep(actual, expected, false)) fail({ actual, expected, message, operator: 'deepEqual' });
	},
	notDeepEqual(actual, expected, message) {
		needTwo(arguments.length);
		if (deep(actual, expected, false)) fail({ actual, expected, message, operator: 'notDeepEqual' });
	},
	deepStrictEqual(actual, expected, message) {
		needTwo(arguments.length);
		if (!deep(actual, expected, true)) fail({ actual, expected, message, operator: 'deepStrictEqual' });
	},
	notDeepStrictEqual(actual, expected, message) {
		needTwo(arguments.length);
		if (deep(actual, expected, true)) fail({ actual, expected, message, operator: 'notDeepStrictEqual' });
	},
	fail(actual, expected, message, operator) {
		const count = arguments.length;
		let generated = false;
		if (actual == null && count <= 1) generated = 'Failed';
		else if (count === 1) {
			message = actual;
			actual = undefined;
		} else if (count === 2) operator = '!=';
		if (message instanceof Error) throw message;
		const options = { actual, expected, operator: operator === undefined ? 'fail' : operator };
		options.message = generated || (message === undefined && count > 1 ? undefined : message);
		const error = new AssertionError(options);
		if (generated) error.generatedMessage = true;
		throw error;
	},
	throws(callback, ...rest) {
		expectError('throws', got(callback), rest);
	},
	doesNotThrow(callback, ...rest) {
		expectNone('doesNotThrow', got(callback), rest);
	},
	async rejects(promise, ...rest) {
		expectError('rejects', await waited(promise), rest);
	},
	async doesNotReject(promise, ...rest) {
		expectNone('doesNotReject', await waited(promise), rest);
	},
	ifError(value) {
		if (value === null || value === undefined) return;
		const message = `ifError got unwanted exception: ${value instanceof Error ? value.message : inspect(value)}`;
		const error = new AssertionError({ actual: value, expected: null, operator: 'ifError', message });
		error.generatedMessage = true;
		throw error;
	},
	match(value, pattern, message) {
		matches(value, pattern, message, 'match', true);
	},
	doesNotMatch(value, pattern, message) {
		matches(value, pattern, message, 'doesNotMatch', false);
	},
};
function matches(value, pattern, message, operator, wanted) {
	if (!(pattern instanceof RegExp)) throw invalidType('regexp', 'RegExp', pattern);
	if (typeof value === 'string' && (RegExp.prototype.exec.call(pattern, value) !== null) === wanted) return;
	if (message instanceof Error) throw message;
	const generated = !message;
	message = message || (typeof value !== 'string' ? `The "string" argument must be of type string. Received ${inspect(value)}` :
		`The input ${wanted ? 'did not match' : 'was expected to not match'} the regular expression ${inspect(pattern)}. Input:\n\n${inspect(value)}\n`);
	const error = new AssertionError({ actual: value, expected: pattern, message, operator });
	error.generatedMessage = generated;
	throw error;
}
const NOTHING = Symbol('nothing');
function got(callback) {
	if (typeof callback !== 'function') throw invalidType('fn', 'function', callback);
	try {
		callback();
	} catch (error) {
		return error;
	}
	return NOTHING;
}
async function waited(promise) {
	if (typeof promise === 'function') {
		promise = promise();
		if (!promise || typeof promise.then !== 'function')
			throw coded(TypeError, 'ERR_INVALID_RETURN_VALUE', 'Expected instance of Promise to be returned from the "promiseFn" function');
	} else if (!promise || typeof promise.then !== 'function') throw invalidType('promiseFn', 'function or an instance of Promise', promise);
	try {
		await promise;
	} catch (error) {
		return error;
	}
	return NOTHING;
}
function expectError(operator, actual, rest) {
	let [expected, message] = rest;
	if (typeof expected === 'string') {
		if (rest.length === 2) throw invalidType('error', 'function, Object, or RegExp', expected);
		if (typeof actual === 'object' && actual !== null ? actual.message === expected : actual === expected)
			throw coded(TypeError, 'ERR_AMBIGUOUS_ARGUMENT', 'The "error/message" argument is ambiguous.');
		message = expected;
		expected = undefined;
	} else if (expected != null && typeof expected !== 'object' && typeof expected !== 'function')
		throw invalidType('error', 'function, Object, Error, or RegExp', expected);
	if (actual === NOTHING) {
		let details = '';
		if (expected && expected.name) details += ` (${expected.name})`;
		details += message ? `: ${message}` : '.';
		fail({ actual: undefined, expected, operator, message: `Missing expected ${operator === 'rejects' ? 'rejection' : 'exception'}${details}` });
	}
	if (expected === undefined || expected === null) return;
	if (typeof expected === 'function') {
		if (expected.prototype !== undefined && actual instanceof expected) return;
		if (Object.prototype.isPrototypeOf.call(Error, expected)) {
			if (!message) {
				const error = new AssertionError({ actual, expected, operator, message: `The error is expected to be an instance of "${expected.name}".` });
				error.generatedMessage = true;
				throw error;
			}
			fail({ actual, expected, operator, message });
		}
		if (Reflect.apply(expected, {}, [actual]) === true) return;
		if (message) fail({ actual, expected, operator, message });
		const error = new AssertionError({
			actual, expected, operator, message: `The ${expected.name ? `"${expected.name}" ` : ''}validation function is expected to return "true".`,
		});
		error.generatedMessage = true;
		throw error;
	}
	if (expected instanceof RegExp) {
		if (RegExp.prototype.exec.call(expected, String(actual)) !== null) return;
		const error = new AssertionError({
			actual, expected, operator, message: message || `The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(String(actual))}\n`,
		});
		error.generatedMessage = !message;
		if (message instanceof Error) throw message;
		throw error;
	}
	if (typeof actual !== 'object' || actual === null) {
		const error = new AssertionError({ actual, expected, message, operator: 'deepStrictEqual' });
		error.operator = operator;
		throw error;
	}
	const keys = Object.keys(expected);
	if (expected instanceof Error) keys.push('name', 'message');
	else if (keys.length === 0) throw need('errors').invalidValue('error', expected, 'may not be an empty object');
	for (const key of keys) {
		if (typeof actual[key] === 'string' && expected[key] instanceof RegExp && RegExp.prototype.exec.call(expected[key], actual[key]) !== null) continue;
		if (key in actual && deep(actual[key], expected[key], true)) continue;
		if (message instanceof Error) throw message;
		const error = new AssertionError({ actual, expected, message, operator: 'deepStrictEqual' });
		error.operator = operator;
		throw error;
	}
}
function expectNone(operator, actual, rest) {
	if (actual === NOTHING) return;
	let [expected, message] = rest;
	if (typeof expected === 'string') {
		message = expected;
		expected = undefined;
	}
	let unwanted = expected === undefined;
	if (typeof expected === 'function') {
		unwanted = (expected.prototype !== undefined && actual instanceof expected) ||
			(!Object.prototype.isPrototypeOf.call(Error, expected) && Reflect.apply(expected, {}, [actual]) === true);
	} else if (expected instanceof RegExp) unwanted = expected.test(String(actual));
	if (!unwanted) throw actual;
	fail({
		actual, expected, operator,
		message: `Got unwanted ${operator === 'doesNotReject' ? 'rejection' : 'exception'}${message ? `: ${message}` : '.'}\nActual message: "${actual && actual.message}"`,
	});
}

Object.assign(assert, methods);
assert.AssertionError = AssertionError;
const strict = function strict(...values) {
	truth(strict, values);
};
assert.strict = Object.assign(strict, assert, {
	equal: assert.strictEqual, deepEqual: assert.deepStrictEqual, notEqual: assert.notStrictEqual, notDeepEqual: assert.notDeepStrictEqual,
});
strict.strict = strict;
module.exports = assert;
