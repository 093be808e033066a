#!/bin/bash
# Every container has a first process of the host's own, which passes signals on and gathers who is left over.
set -eu
cat >/var/tmp/first.c <<'FIRST'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words) {
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	pid_t child = fork();
	if (child == 0) {
		sigprocmask(SIG_UNBLOCK, &all, NULL);
		execvp(words[1], words + 1);
		perror(words[1]);
		_exit(127);
	}
	if (child < 0) return 126;
	for (;;) {
		int number = sigwaitinfo(&all, NULL), status;
		if (number != SIGCHLD) {
			if (number > 0) kill(child, number);
			continue;
		}
		for (pid_t gone; (gone = waitpid(-1, &status, WNOHANG)) > 0;)
			if (gone == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
}
FIRST
gcc -static -O1 -o /var/tmp/first /var/tmp/first.c
cat >/var/tmp/changes.sh <<'CHANGES'
cp /var/tmp/first "$lib/first"
sed -i 's/^\( *\)"args": args,/\1"args": ["\/dev\/.first", *args],/; s/^\( *\)users = \[{"containerID.*/\1mounts.append(mount("\/dev\/.first", "bind", "\/usr\/lib\/host\/first", "bind", "ro", "nosuid", "nodev"))\n&/' "$lib/container.py"
grep -c '/dev/.first' "$lib/container.py" | grep -qx 2
CHANGES
LOCAL_CHANGES=/var/tmp/changes.sh exec bash /solution/solve.sh
