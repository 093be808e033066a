// What the command line asks for.
exports.begin = (args, start) => {
	const core = need('core');
	const { process } = core;
	let at = 1, text;
	while (at < args.length && args[at].startsWith('-') && args[at] !== '-') {
		const option = args[at];
		if (option === '--memory') at += 2;
		else if (option.startsWith('--memory=')) at++;
		else if (option === '-e' || option === '--eval') {
			text = args[at + 1];
			at += 2;
			break;
		} else if (option === '--') {
			at++;
			break;
		} else if (option === '-v' || option === '--version') {
			core.writeAll(1, process.version + '\n');
			return start(() => {});
		} else {
			core.writeAll(2, `skarn: bad option: ${option}\n`);
			sys.leave(9);
		}
	}
	const rest = args.slice(at);
	if (text !== undefined) {
		if (rest[0] === '--') rest.shift();
		process.argv = [process.execPath, ...rest];
		return start(() => need('modules').runText(text, '[eval]'));
	}
	if (rest.length === 0 || rest[0] === '-') {
		process.argv = [process.execPath, '-', ...rest.slice(1)];
		const parts = [], room = new Uint8Array(65536);
		for (;;) {
			const count = sys.read_(0, room, 0, room.length, -1);
			if (count === -11) sys.poll_([0, 1], -1);
			else if (count <= 0) break;
			else parts.push(room.slice(0, count));
		}
		const source = need('buffer').Buffer.concat(parts).toString();
		return start(() => need('modules').runText(source, '[stdin]'));
	}
	process.argv = [process.execPath, ...rest];
	const tools = { test: 'test_runner', install: 'install', bundle: 'bundle' };
	if (Object.hasOwn(tools, rest[0]) && need('modules').kind(rest[0]) < 0)
		return start(() => {
			need(tools[rest[0]]).command(rest.slice(1)).catch(core.fatal);
		});
	start(() => need('modules').runMain(rest[0]));
};
