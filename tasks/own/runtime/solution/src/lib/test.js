// node:test. Each file's tests run one after the other; `skarn test` is told about each as it ends.
const core = need('core');
const { coded } = need('errors');
const told = core.process.env.SKARN_TEST_REPORT;

// Reports to the runner by a descriptor, else as TAP.
let number = 0, failures = 0;
const sums = { pass: 0, fail: 0, skip: 0, todo: 0 };
function report(entry) {
	if (told !== undefined) {
		core.writeAll(+told, JSON.stringify(entry) + '\n');
		return;
	}
	if (number === 0) core.writeAll(1, 'TAP version 13\n');
	number++;
	sums[entry.skip ? 'skip' : entry.todo ? 'todo' : entry.ok ? 'pass' : 'fail']++;
	if (!entry.ok && !entry.todo && !entry.skip) failures++;
	core.writeAll(1, `${entry.ok ? 'ok' : 'not ok'} ${number} - ${entry.path.join(' > ')}${entry.skip ? ' # SKIP' : entry.todo ? ' # TODO' : ''}\n`);
}

class Node {
	constructor(name, options, body, parent, suite) {
		this.name = name;
		this.options = options;
		this.body = body;
		this.parent = parent;
		this.suite = suite;
		this.hooks = { before: [], after: [], beforeEach: [], afterEach: [] };
		this.children = [];
		this.failed = null;
		this.skip = !!options.skip || !!(parent && parent.skip && parent.suite);
		this.todo = !!options.todo || !!(parent && parent.todo && parent.suite);
		this.begun = false;
		this.done = new Promise((resolve) => {
			this.settle = resolve;
		});
	}
	path() {
		return this.parent ? [...this.parent.path(), this.name] : [];
	}
}
const root = new Node('', {}, null, null, true);
let current = root;

function normal(name, options, body) {
	if (typeof name === 'function') [body, options, name] = [name, {}, undefined];
	else if (name !== null && typeof name === 'object') [body, options, name] = [options, name, undefined];
	else if (typeof options === 'function') [body, options] = [options, {}];
	if (typeof body !== 'function') body = () => {};
	name = name === undefined || name === '' ? body.name || '<anonymous>' : `${name}`;
	return [name, options || {}, body];
}

let scheduled = false;
function add(parent, suite, name, options, body) {
	[name, options, body] = normal(name, options, body);
	const node = new Node(name, options, body, parent, suite);
	parent.children.push(node);
	if (suite && !node.skip) collect(node);
	if (parent === root && !scheduled) {
		scheduled = true;
		core.keep(1);
		core.timers.setImmediate(() => run());
	}
	return node;
}
// A suite's body says what is in it.
function collect(node) {
	const before = current;
	current = node;
	try {
		const result = node.body({ name: node.name });
		if (result && typeof result.then === 'function') node.collected = result.then(() => {}, (error) => {
			node.failed = node.failed || error || new Error('failed');
		});
	} catch (error) {
		node.failed = error || new Error('failed');
	} finally {
		current = before;
	}
}

async function run() {
	for (const hook of []) await hook();
	let begun = false;
	for (let i = 0; i < root.children.length; i++) {
		if (!begun) {
			begun = true;
			await hooks(root, 'before', root);
		}
		await execute(root.children[i]);
	}
	await hooks(root, 'after', root);
	scheduled = false;
	core.keep(-1);
	if (root.failed) report({ ok: false, path: [], file: true });
	root.children.length = 0;
}
core.process.on('exit', () => {
	if (scheduled) {
		for (const node of root.children) unfinished(node);
		core.process.exitCode = core.process.exitCode || 1;
	}
	if (told !== undefined) return;
	if (number === 0) return;
	core.writeAll(1, `1..${number}\n# pass ${sums.pass}\n# fail ${sums.fail}\n# skip ${sums.skip}\n# todo ${sums.todo}\n`);
	if (failures && !core.process.exitCode) core.process.exitCode = 1;
});
function unfinished(node) {
	if (node.ended) return;
	for (const child of node.children) unfinished(child);
	node.ended = true;
	if (!node.suite) report({ ok: false, path: node.path(), skip: false, todo: node.todo });
}

async function hooks(node, kind, owner, context) {
	for (const { body, options } of node.hooks[kind]) {
		try {
			await limited(() => call(body, context || {}), options.timeout);
		} catch (error) {
			owner.failed = owner.failed || error || new Error('failed');
		}
	}
}
// With a second parameter it is told by a callback.
function call(body, context) {
	if (body.length < 2) return body(context);
	return new Promise((resolve, reject) => {
		const result = body(context, (error) => (error ? reject(error) : resolve()));
		if (result && typeof result.then === 'function') reject(coded(Error, 'ERR_TEST_FAILURE', 'passed a callback but also returned a Promise'));
	});
}
async function limited(work, timeout, signal) {
	if (!(timeout > 0 && timeout !== Infinity)) return work();
	let timer;
	try {
		return await Promise.race([
			work(),
			new Promise((resolve, reject) => {
				timer = core.timers.setTimeout(() => reject(coded(Error, 'ERR_TEST_FAILURE', `test timed out after ${timeout}ms`)), timeout);
			}),
		]);
	} finally {
		core.timers.clearTimeout(timer);
	}
}

function ancestors(node) {
	const list = [];
	for (let one = node.parent; one; one = one.parent) list.unshift(one);
	return list;
}

async function execute(node) {
	if (node.begun) return node.done;
	node.begun = true;
	if (node.suite) {
		if (!node.skip) {
			if (node.collected) await node.collected;
			if (node.children.length) await hooks(node, 'before', node);
			for (let i = 0; i < node.children.length; i++) {
				const child = node.children[i];
				if (node.failed && node.failed !== child) child.failed = child.failed || node.failed;
				await execute(child);
			}
			await hooks(node, 'after', node);
		}
		node.ended = true;
		if (node.failed && !node.skip && !node.children.some((child) => child.failed)) report({ ok: false, path: node.path(), skip: false, todo: node.todo });
		node.settle();
		return;
	}
	if (!node.skip && !node.failed) {
		const controller = new (need('abort').AbortController)();
		const context = contextOf(node, controller);
		for (const one of ancestors(node)) await hooks(one, 'beforeEach', node, context);
		if (!node.failed) {
			try {
				await limited(() => call(node.body, context), node.options.timeout, controller);
				for (const child of node.children) await child.done;
			} catch (error) {
				node.failed = node.failed || error || new Error('failed');
			}
		}
		for (const one of ancestors(node).reverse()) await hooks(one, 'afterEach', node, context);
		await hooks(node, 'after', node, context);
		controller.abort();
		for (const child of node.children)
			if (!child.ended) {
				child.failed = child.failed || new Error('the outer test has ended');
				child.ended = true;
				report({ ok: false, path: child.path(), skip: false, todo: child.todo });
				child.settle();
			}
		const bad = node.children.find((child) => child.failed && !child.todo && !child.skip);
		if (bad && !node.failed) node.failed = coded(Error, 'ERR_TEST_FAILURE', '1 subtest failed');
	}
	if (node.ended) return;
	node.ended = true;
	if (node.failed && told === undefined && !node.skip) core.writeAll(2, `${need('util').inspect(node.failed)}\n`);
	report({ ok: node.skip || !node.failed, path: node.path(), skip: node.skip, todo: node.todo && !node.skip });
	node.settle();
}

function contextOf(node, controller) {
	let tail = Promise.resolve();
	const subtest = (options) => (name, given, body) => {
		const [label, all, run] = normal(name, given, body);
		const child = new Node(label, { ...all, ...options }, run, node, false);
		node.children.push(child);
		tail = tail.then(() => (child.ended ? undefined : execute(child)));
		return child.done;
	};
	const hook = (kind) => (body, options = {}) => {
		node.hooks[kind].push({ body, options });
	};
	const context = {
		name: node.name, signal: controller.signal,
		test: Object.assign(subtest({}), { skip: subtest({ skip: true }), todo: subtest({ todo: true }) }),
		skip() {
			node.skip = true;
		},
		todo() {
			node.todo = true;
		},
		diagnostic() {},
		runOnly() {},
		before: (body, options) => {
			body && call(body, context);
		},
		after: hook('after'), beforeEach: hook('beforeEach'), afterEach: hook('afterEach'),
		mock: {},
	};
	context.it = context.test;
	return context;
}

function maker(suite, extra) {
	return (name, options, body) => {
		const [label, all, run] = normal(name, options, body);
		const node = add(current, suite, label, { ...all, ...extra }, run);
		return suite ? undefined : node.done.then(() => undefined);
	};
}
function withKinds(suite) {
	const one = maker(suite, {});
	one.skip = maker(suite, { skip: true });
	one.todo = maker(suite, { todo: true });
	one.only = maker(suite, {});
	return one;
}
const test = withKinds(false);
test.test = test;
test.it = withKinds(false);
test.describe = withKinds(true);
test.suite = test.describe;
for (const kind of ['before', 'after', 'beforeEach', 'afterEach'])
	test[kind] = (body, options = {}) => {
		current.hooks[kind].push({ body, options });
		// Hooks of the file's own want a run, too.
	};
test.mock = {};
// What is thrown when nobody waits for it is the running test's.
module.exports = test;
