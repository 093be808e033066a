/* Turns a new process into a command. Errors are said on its own stderr, as a shell does. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ITEMS_MAX 65536

static void refuse(const char *what, int error) {
    dprintf(2, "benchflow: %s: %s\n", what, strerror(error));
    _exit(error == ENOENT ? 127 : 126);
}

static char **list_of(struct strings *from, size_t room) {
    char *number = next_string(from);
    size_t count = number ? strtoul(number, NULL, 10) : 0;
    if (count > ITEMS_MAX) _exit(126);
    char **items = calloc(count + room + 1, sizeof *items);
    if (items == NULL) _exit(126);
    for (size_t n = 0; n < count; n++)
        if ((items[n] = next_string(from)) == NULL) _exit(126);
    return items;
}

static char **with_home(char **environment, const char *home) {
    size_t count = 0;
    for (; environment[count]; count++)
        if (!strncmp(environment[count], "HOME=", 5)) return environment;
    char *own = malloc(strlen(home) + 6);
    sprintf(own, "HOME=%s", home);
    environment[count] = own;
    return environment;
}

void join_group(const char *group) {
    char path[512];
    if (!*group) return;
    mkdir(group, 0755);
    snprintf(path, sizeof path, "%s/cgroup.procs", group);
    write_file(path, "0");
}

void become(struct strings request, const char *group) {
    static const int back[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE, SIGXFSZ, SIGCHLD};
    struct account who;
    sigset_t none;
    char *user = next_string(&request), *place = next_string(&request);
    char **argv = list_of(&request, 0);
    char **environment = list_of(&request, 1);
    if (user == NULL || place == NULL || argv[0] == NULL) _exit(126);
    join_group(group);
    write_file("/proc/self/oom_score_adj", "0");
    setsid();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (size_t n = 0; n < sizeof back / sizeof *back; n++) signal(back[n], SIG_DFL);
    if (find_account(user, &who)) {
        dprintf(2, "benchflow: no user '%s' in /etc/passwd\n", user);
        _exit(126);
    }
    environ = with_home(environment, who.home);
    if (setgroups(who.n_groups, who.groups) || setresgid(who.gid, who.gid, who.gid) ||
        setresuid(who.uid, who.uid, who.uid))
        refuse(user, errno);
    if (chdir(place)) refuse(place, errno);
    if (!*argv[0]) /* a command line, for a shell */
        argv[0] = access("/bin/bash", F_OK) ? "/bin/sh" : "/bin/bash";
    execvp(argv[0], argv);
    refuse(argv[0], errno);
    _exit(126);
}
