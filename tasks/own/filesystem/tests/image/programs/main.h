/* The end of main(): every part that is named runs in a process of its own, below DIR. */
	uint8_t salt[32] = {0};
	uint64_t seed = 1;
	if (argc < 3 || chdir(argv[1])) {
		printf("@no the folder %s is not there\n", argc > 1 ? argv[1] : "?");
		return 1;
	}
	umask(022);
	for (int i = 2; i < argc; i++) {
		const struct part *p = parts;
		if (!strncmp(argv[i], "seed=", 5))
			seed = strtoull(argv[i] + 5, 0, 10);
		if (!strncmp(argv[i], "salt=", 5))
			for (int n = 0; n < 32; n++)
				sscanf(argv[i] + 5 + 2 * n, "%2hhx", &salt[n]);
		while (p->name && strcmp(p->name, argv[i]))
			p++;
		if (!p->name)
			continue;
		fflush(stdout);
		pid_t child = fork();
		if (!child) {
			draw_state = seed;
			p->run();
			_exit(0);
		}
		int status = ended(child);
		if (status == 99 << 8)
			return 1;
		if (status) {
			printf("@no %s ended with wait status %#x\n", p->name, status);
			return 1;
		}
		/* Other words in each verification: FNV-1a of salt and name. */
		uint64_t word = 0xcbf29ce484222325;
		for (int n = 0; n < 32; n++)
			word = (word ^ salt[n]) * 0x100000001b3;
		for (const char *c = p->name; *c; c++)
			word = (word ^ (uint8_t)*c) * 0x100000001b3;
		word ^= word >> 29;
		printf("@%s ok %016llx\n", p->name, (unsigned long long)(word * 0x9e3779b97f4a7c15));
	}
	return 0;
