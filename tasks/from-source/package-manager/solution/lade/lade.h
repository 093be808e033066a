/* lade: the package manager of Tarn. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STATE "/var/lib/lade"

enum {
    USAGE = 2, UNREACHABLE = 10, UNSIGNED, DAMAGED, IMPOSSIBLE, IN_THE_WAY, BUSY, FAILED,
    NOTHING, NO_ROOM
};

/* util.c */
struct list { char **at; int n; };
void die(int status, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));
void *grow(void *array, int n, size_t size);
char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void add(struct list *list, char *word);
int has(const struct list *list, const char *word);
int same(const struct list *a, const struct list *b);
int cut(char *line, char by, char **fields, int max);
char *slurp(const char *path, size_t *size);
int spit(const char *path, const void *data, size_t size, mode_t mode);
void wipe(const char *path);
void settle(void);
void digest(const void *data, size_t size, char hex[65]);
int digest_file(const char *path, char hex[65]);
int run(char **argv, int seconds);

/* pack.c: names, packages, recipes */
struct entry { char type; unsigned mode, uid, gid; size_t size; const char *data; char sha[65]; char *path, *link; };
struct pkg {
    char *name, *version;
    struct list needs, conflicts, configs;
    struct entry *entries;
    int n;
    const char *check;
    size_t check_size;
    int seen;
};
int is_name(const char *word);
int is_version(const char *word);
int is_need(const char *word);
int is_path(const char *path);
int compare(const char *a, const char *b);
int meta_line(struct pkg *pkg, char *line);
int unpack(const char *data, size_t size, struct pkg *pkg);
int build(const char *recipe, const char *out);
char *meta_of(const struct pkg *pkg);

/* state.c: what is installed, the index, the configuration */
struct line { char *name, *version, *sha; size_t size; struct list needs, conflicts; };
struct index { long serial; struct line *lines; int n; };
extern struct pkg *installed;
extern int installed_n;
void load_installed(void);
struct pkg *find_installed(const char *name);
char *db_text(const struct pkg *pkg);
int load_index(struct index *index);
struct line *find_line(struct index *index, const char *name);
void update(void);
char *fetch(const struct line *line, size_t *size);

/* txn.c: one change of everything, or none */
struct op {
    char what;                 /* of what is to be there: - none, f file, d folder, l link */
    char before;               /* of what is there */
    int config, late, n;       /* late: after the checks */
    unsigned mode, uid, gid, old_mode, old_uid, old_gid;
    char *path, *link, *old_link, sha[65];
    const char *data;
    size_t size;
};
extern int active;
struct op *plan(char what, const char *path);
int real_parent(const char *path);
void stage(void);
void apply(int late);
void commit(void);
void undo(void);
void recover(void);
void roll_back(void);
char *check_path(int n);

/* plan.c */
void install(char **names, int n, int everything);
void drop(char **names, int n);
