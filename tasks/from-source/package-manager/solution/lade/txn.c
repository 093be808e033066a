/* One change of everything, or none. What is there is kept in `old` before anything is touched, and
 * a journal says what has to come back; until the journal is renamed to `last`, it will. */
#include "lade.h"

#define STAGE STATE "/stage"
#define TXN STATE "/txn"
#define LAST STATE "/last"

int active;
static struct op *ops;
static int ops_n;

int real_parent(const char *path)
{
    char *up = strdup(path), *slash;
    struct stat st;
    int fine = 1;
    while (fine && (slash = strrchr(up, '/'))) {
        *slash = 0;
        fine = !lstat(up, &st) && S_ISDIR(st.st_mode);
    }
    free(up);
    return fine;
}

static char kind(const char *path, struct stat *st)
{
    if (!real_parent(path) || lstat(path, st))
        return '-';
    return S_ISDIR(st->st_mode) ? 'd' : S_ISLNK(st->st_mode) ? 'l' : 'f';
}

struct op *plan(char what, const char *path)
{
    struct op *op;
    struct stat st;
    char link[PATH_MAX] = "";
    ops = grow(ops, ops_n, sizeof *ops);
    op = &ops[ops_n];
    op->n = ops_n++;
    op->what = what;
    op->path = strdup(path);
    op->link = op->old_link = "";
    strcpy(op->sha, "-");
    op->before = kind(path, &st);
    if (op->before != '-')
        op->old_mode = st.st_mode & 07777, op->old_uid = st.st_uid, op->old_gid = st.st_gid;
    if (op->before == 'l' && readlink(path, link, sizeof link - 1) > 0)
        op->old_link = strdup(link);
    /* A folder that goes before this is made is not what this replaces. */
    if (op->before == 'd' && what != '-')
        op->before = '-';
    if (what == 'd')
        op->before = '-';
    return op;
}

char *check_path(int n)
{
    return text("%s/check.%d", active ? TXN : STAGE, n);
}

void stage(void)
{
    FILE *out;
    wipe(STAGE);
    if (mkdir(STAGE, 0700) || mkdir(STAGE "/new", 0700) || mkdir(STAGE "/old", 0700) ||
        !(out = fopen(STAGE "/journal", "we")))
        die(NO_ROOM, "no room");
    for (int i = 0; i < ops_n; i++) {
        struct op *op = &ops[i];
        char *new = text(STAGE "/new/%d", i);
        if (op->what == 'f') {
            if (spit(new, op->data, op->size, 0600) || lchown(new, op->uid, op->gid) ||
                chmod(new, op->mode))
                die(NO_ROOM, "no room for %s", op->path);
            if (*op->sha == '-')
                digest(op->data, op->size, op->sha);
        }
        if (op->before == 'f' && link(op->path, text(STAGE "/old/%d", i)))
            die(NO_ROOM, "%s cannot be kept", op->path);
        fprintf(out, "%c\t%c\t%d\t%d\t%o\t%u\t%u\t%o\t%u\t%u\t%s\t%s\t%s\t%s\n", op->what,
                op->before, op->config, op->late, op->mode, op->uid, op->gid, op->old_mode,
                op->old_uid, op->old_gid, op->sha, op->path, op->link, op->old_link);
    }
    if (fflush(out) | ferror(out) | fclose(out))
        die(NO_ROOM, "no room");
    settle();
    if (rename(STAGE, TXN))
        die(NO_ROOM, "no room");
    settle();
    active = 1;
}

static void load_journal(const char *from)
{
    char *data = slurp(text("%s/journal", from), NULL), *line, *field[14];
    ops_n = 0;
    while (data && (line = strsep(&data, "\n"))) {
        struct op *op;
        if (cut(line, '\t', field, 14) != 14)
            continue;
        ops = grow(ops, ops_n, sizeof *ops);
        op = &ops[ops_n];
        op->n = ops_n++;
        op->what = *field[0], op->before = *field[1];
        op->config = atoi(field[2]), op->late = atoi(field[3]);
        op->mode = strtoul(field[4], NULL, 8);
        op->old_mode = strtoul(field[7], NULL, 8);
        op->old_uid = strtoul(field[8], NULL, 10), op->old_gid = strtoul(field[9], NULL, 10);
        strncpy(op->sha, field[10], 64);
        op->path = field[11], op->link = field[12], op->old_link = field[13];
    }
}

static int put_link(const char *target, const char *path, unsigned uid, unsigned gid)
{
    unlink(TXN "/tmp");
    return symlink(target, TXN "/tmp") || lchown(TXN "/tmp", uid, gid) || rename(TXN "/tmp", path);
}

void apply(int late)
{
    for (int i = 0; i < ops_n; i++) {
        struct op *op = &ops[i];
        int bad = 0;
        if (op->late != late)
            continue;
        if (op->what == '-' && op->before == 'd')
            rmdir(op->path);
        else if (op->what == '-')
            bad = unlink(op->path) && errno != ENOENT;
        else if (op->what == 'd')
            bad = mkdir(op->path, 0700) || lchown(op->path, op->uid, op->gid) ||
                  chmod(op->path, op->mode);
        else if (op->what == 'f')
            bad = rename(text(TXN "/new/%d", i), op->path);
        else
            bad = put_link(op->link, op->path, op->uid, op->gid);
        if (bad)
            die(errno == ENOSPC ? NO_ROOM : IN_THE_WAY, "%s: %s", op->path, strerror(errno));
    }
    settle();
}

static void restore(struct op *op)
{
    struct stat st;
    char now = kind(op->path, &st);
    if (op->before == '-') {
        if (op->what == 'd' && now == 'd')
            rmdir(op->path);
        else if (op->what != 'd' && op->what != '-' && now != 'd' && now != '-')
            unlink(op->path);
    } else if (op->before == 'd') {
        if (now == '-')
            mkdir(op->path, 0700);
        if (lchown(op->path, op->old_uid, op->old_gid) || chmod(op->path, op->old_mode))
            return;
    } else if (op->before == 'l') {
        put_link(op->old_link, op->path, op->old_uid, op->old_gid);
    } else {
        unlink(TXN "/tmp");
        if (!link(text(TXN "/old/%d", op->n), TXN "/tmp"))
            rename(TXN "/tmp", op->path);
        unlink(TXN "/tmp");
    }
}

static void tidy(void)
{
    struct stat st;
    wipe(STATE "/dead");
    wipe(STAGE);
    wipe(STATE "/fetch");
    if (!lstat(STATE "/trash", &st)) {
        if (lstat(LAST, &st))
            rename(STATE "/trash", LAST);
        else
            wipe(STATE "/trash");
    }
}

void undo(void)
{
    char *kept = slurp(TXN "/keep", NULL);
    active = 0;
    for (int i = ops_n - 1; i >= 0; i--)
        if (!kept || kept[i] != 'k')
            restore(&ops[i]);
    settle();
    wipe(STATE "/dead");
    rename(TXN, STATE "/dead");
    tidy();
    settle();
}

void commit(void)
{
    apply(1);
    wipe(STATE "/trash");
    rename(LAST, STATE "/trash");
    rename(TXN, LAST);
    active = 0;
    settle();
    wipe(LAST "/new");
    tidy();
}

void recover(void)
{
    struct stat st;
    if (!lstat(TXN, &st)) {
        load_journal(TXN);
        undo();
    }
    tidy();
    ops = NULL, ops_n = 0;
}

void roll_back(void)
{
    struct stat st;
    char *keep, sum[65];
    if (lstat(LAST, &st))
        die(NOTHING, "there is nothing to go back to");
    load_journal(LAST);
    keep = malloc(ops_n + 1);
    for (int i = 0; i < ops_n; i++) {
        struct op *op = &ops[i];
        char now = kind(op->path, &st);
        int as_left = now == op->what && (now != 'f' || (!digest_file(op->path, sum) && !strcmp(sum, op->sha)));
        keep[i] = op->config && !as_left ? 'k' : '.';
    }
    if (spit(LAST "/keep", keep, ops_n, 0600))
        die(NO_ROOM, "no room");
    settle();
    if (rename(LAST, TXN))
        die(NO_ROOM, "no room");
    settle();
    undo();
}
