/* The end of main(): every part that is named runs in a process of its own, below DIR. */
	struct sha256 state;
	uint8_t salt[32] = {0};
	uint64_t seed = 1;
	char said[20] = "ok ";
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
		sha_begin(&state);
		sha_add(&state, salt, 32);
		sha_add(&state, (const uint8_t *)p->name, strlen(p->name));
		sha_end(&state, said + 3);
		printf("@%s %s\n", p->name, said);
	}
	return 0;
