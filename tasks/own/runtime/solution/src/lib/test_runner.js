// `skarn test FILE…`: each file in a process of its own, and a report in TAP.
const core = need('core');
const { Buffer } = need('buffer');

exports.command = async (files) => {
	const { spawn } = need('child_process');
	let number = 0, bad = false;
	const sums = { pass: 0, fail: 0, skip: 0, todo: 0 };
	const say = (text) => core.writeAll(1, text);
	say('TAP version 13\n');
	const tell = (entry, file) => {
		number++;
		sums[entry.skip ? 'skip' : entry.todo ? 'todo' : entry.ok ? 'pass' : 'fail']++;
		if (!entry.ok && !entry.todo && !entry.skip) bad = true;
		say(`${entry.ok ? 'ok' : 'not ok'} ${number} - ${[file, ...entry.path].join(' > ')}${entry.skip ? ' # SKIP' : entry.todo ? ' # TODO' : ''}\n`);
	};
	for (const file of files) {
		let rest = '', failedInside = false, failedFile = false;
		const status = await new Promise((resolve) => {
			const child = spawn(core.process.execPath, [file], {
				stdio: ['ignore', 'ignore', 'inherit', 'pipe'], env: { ...core.process.env, SKARN_TEST_REPORT: '3' },
			});
			child.on('error', () => resolve(1));
			const pipe = child.stdio[3];
			pipe.setEncoding('utf8');
			pipe.on('data', (text) => {
				const lines = (rest + text).split('\n');
				rest = lines.pop();
				for (const line of lines) {
					let entry;
					try {
						entry = JSON.parse(line);
					} catch {
						continue;
					}
					if (entry.file) {
						failedFile = true;
						continue;
					}
					if (!entry.ok) failedInside = true;
					tell(entry, file);
				}
			});
			child.on('close', (code) => resolve(code));
		});
		if (failedFile || status !== 0) tell({ ok: false, path: [] }, file);
	}
	say(`1..${number}\n# pass ${sums.pass}\n# fail ${sums.fail}\n# skip ${sums.skip}\n# todo ${sums.todo}\n`);
	core.process.exitCode = bad ? 1 : 0;
};
