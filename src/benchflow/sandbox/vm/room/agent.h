/* What runs in the guest: `init` brings the machine up, `agent` serves the host. docs/sandbox.md. */
#ifndef AGENT_H
#define AGENT_H
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define COMMANDS_GROUP "commands"
#define KEY_BYTES 16
#define FRAME_MAX (64 * 1024)
#define WINDOW (1024 * 1024) /* bytes of one stream on their way that nobody has taken yet */

enum kind {
    NOTHING = 0,
    EXEC = 1, GIVE = 2, TAKE = 3, DATA = 4, END = 5, KILL = 6, TAKEN = 7, LISTEN = 8, SYNC = 9,
    OUT = 16, ERR = 17, STATUS = 18, OPEN = 19, SYNCED = 20,
};

struct frame {
    uint32_t length, kind, stream;
} __attribute__((packed));

/* A request's strings, one after the other, each behind its length. */
struct strings {
    const unsigned char *at, *end;
};
char *next_string(struct strings *from); /* malloc'ed; NULL when there is no more */

struct account {
    uid_t uid;
    gid_t gid, groups[256];
    int n_groups;
    char home[4096];
};
int find_account(const char *user, struct account *found); /* 0, or -1: there is no such user */

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
int write_file(const char *path, const char *text);
void join_group(const char *group); /* made where it is missing */

void become(struct strings request, const char *group) __attribute__((noreturn));
void give_files(int channel, const char *path) __attribute__((noreturn));
void take_files(int channel, const char *path) __attribute__((noreturn));

int bring_up(void);                    /* process 1 */
int serve(const unsigned char *key, int limit); /* the agent */
#endif
