#include "lade.h"

struct want { struct line *line; struct pkg pkg; struct pkg *old; int checked; };
struct item { struct entry *e; struct pkg *of; int new; };

static struct index the_index;
static struct want *wants;
static int wants_n;
static struct item *final, *gone;
static int final_n, gone_n;

/* ---- which packages ---- */

static struct want *wanted(const char *name)
{
    for (int i = 0; i < wants_n; i++)
        if (!strcmp(wants[i].line->name, name))
            return &wants[i];
    return NULL;
}

/* A need's name, and its least version or NULL. */
static char *split(const char *need, char **least)
{
    char *name = strdup(need), *sign = strstr(name, ">=");
    *least = NULL;
    if (sign)
        *sign = 0, *least = sign + 2;
    return name;
}

static void want(struct line *line)
{
    struct want *made;
    if (wanted(line->name))
        return;
    wants = grow(wants, wants_n, sizeof *wants);
    made = &wants[wants_n++];
    made->line = line;
    made->old = find_installed(line->name);
    for (int i = 0; i < line->needs.n; i++) {
        char *least, *name = split(line->needs.at[i], &least);
        struct pkg *there = find_installed(name);
        struct line *found = find_line(&the_index, name);
        if (there && (!least || compare(there->version, least) >= 0))
            continue;
        if (!found || (least && compare(found->version, least) < 0))
            die(IMPOSSIBLE, "%s needs %s", line->name, line->needs.at[i]);
        want(found);
    }
}

static const char *final_version(const char *name)
{
    struct want *want = wanted(name);
    struct pkg *pkg = find_installed(name);
    if (want)
        return want->line->version;
    return pkg && !pkg->seen ? pkg->version : NULL;
}

static void fits(const char *name, const struct list *needs, const struct list *conflicts)
{
    for (int i = 0; i < needs->n; i++) {
        char *least, *need = split(needs->at[i], &least);
        const char *version = final_version(need);
        if (!version || (least && compare(version, least) < 0))
            die(IMPOSSIBLE, "%s needs %s", name, needs->at[i]);
    }
    for (int i = 0; i < conflicts->n; i++)
        if (strcmp(conflicts->at[i], name) && final_version(conflicts->at[i]))
            die(IMPOSSIBLE, "%s and %s exclude each other", name, conflicts->at[i]);
}

/* `seen` of a package that goes is 1: see change(). Colours for the walk: 2 under way, 3 done. */
static void circle(const char *name, struct list *way)
{
    static struct list done;
    struct want *want = wanted(name);
    struct pkg *pkg = find_installed(name);
    const struct list *needs = want ? &want->line->needs : pkg ? &pkg->needs : NULL;
    if (!needs || has(&done, name))
        return;
    if (has(way, name))
        die(IMPOSSIBLE, "%s needs itself in the end", name);
    add(way, (char *)name);
    for (int i = 0; i < needs->n; i++) {
        char *least;
        circle(split(needs->at[i], &least), way);
    }
    way->n--;
    add(&done, (char *)name);
}

static void validate(void)
{
    struct list way = {0};
    for (int i = 0; i < wants_n; i++)
        circle(wants[i].line->name, &way);
    for (int i = 0; i < wants_n; i++)
        fits(wants[i].line->name, &wants[i].line->needs, &wants[i].line->conflicts);
    for (int i = 0; i < installed_n; i++)
        if (!installed[i].seen)
            fits(installed[i].name, &installed[i].needs, &installed[i].conflicts);
}

/* ---- which files ---- */

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct item *)a)->e->path, ((const struct item *)b)->e->path);
}

static struct item *find(struct item *items, int n, const char *path)
{
    struct entry probe = {.path = (char *)path};
    struct item key = {.e = &probe}, *hit;
    if (!n || !(hit = bsearch(&key, items, n, sizeof *items, by_path)))
        return NULL;
    while (hit > items && !strcmp(hit[-1].e->path, path))
        hit--;
    return hit;
}

static void collect(struct item **items, int *n, struct pkg *pkg, int new)
{
    for (int i = 0; i < pkg->n; i++) {
        *items = grow(*items, *n, sizeof **items);
        (*items)[(*n)++] = (struct item){&pkg->entries[i], pkg, new};
    }
}

static char on_disk(const char *path, struct stat *st)
{
    if (!real_parent(path) || lstat(path, st))
        return '-';
    return S_ISDIR(st->st_mode) ? 'd' : S_ISLNK(st->st_mode) ? 'l' : 'f';
}

/* Whether what is there of a configuration file is what its package brought. */
static int untouched(const struct entry *e)
{
    char sum[65];
    return !digest_file(e->path, sum) && !strcmp(sum, e->sha);
}

/* Whether all that is in a folder goes. */
static int empties(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *item;
    int fine = dir != NULL;
    while (fine && (item = readdir(dir))) {
        struct stat st;
        struct item *old;
        char *inner = text("%s/%s", path, item->d_name);
        if (!strcmp(item->d_name, ".") || !strcmp(item->d_name, ".."))
            continue;
        old = find(gone, gone_n, inner);
        fine = old && (!has(&old->of->configs, inner) || untouched(old->e));
        if (fine && on_disk(inner, &st) == 'd')
            fine = old->e->type == 'd' && empties(inner);
    }
    if (dir)
        closedir(dir);
    return fine;
}

static struct op *put(const struct entry *e, const char *path, int config)
{
    struct op *op = plan(e->type, path);
    op->mode = e->mode, op->uid = e->uid, op->gid = e->gid;
    op->link = e->link;
    op->data = e->data, op->size = e->size;
    strcpy(op->sha, e->sha);
    op->config = config;
    return op;
}

static void new_file(struct item *item)
{
    struct entry *e = item->e;
    struct stat st;
    struct item *old = find(gone, gone_n, e->path);
    char disk = on_disk(e->path, &st);
    int config = has(&item->of->configs, e->path), was = old && old->e->type != 'd';
    if (disk == 'd' && (!old || old->e->type != 'd' || !empties(e->path)))
        die(IN_THE_WAY, "/%s is a folder", e->path);
    if (config && was && has(&old->of->configs, e->path)) {
        if (untouched(old->e))
            put(e, e->path, 1);
        else
            put(e, text("%s.lade-new", e->path), 1);
    } else if (config && !was && disk != '-' && disk != 'd')
        put(e, text("%s.lade-new", e->path), 1);
    else if (disk == '-' || disk == 'd' || was)
        put(e, e->path, config);
    else
        die(IN_THE_WAY, "/%s is there and belongs to nobody", e->path);
}

static void change(void)
{
    struct stat st;
    for (int i = 0; i < installed_n; i++) {
        if (installed[i].seen)
            collect(&gone, &gone_n, &installed[i], 0);
        else
            collect(&final, &final_n, &installed[i], 0);
    }
    for (int i = 0; i < wants_n; i++)
        collect(&final, &final_n, &wants[i].pkg, 1);
    if (final_n)
        qsort(final, final_n, sizeof *final, by_path);
    if (gone_n)
        qsort(gone, gone_n, sizeof *gone, by_path);
    for (int i = 1; i < final_n; i++) {
        struct entry *a = final[i - 1].e, *b = final[i].e;
        if (!strcmp(a->path, b->path) && (a->type != 'd' || b->type != 'd'))
            die(IN_THE_WAY, "/%s belongs to %s and to %s", a->path, final[i - 1].of->name,
                final[i].of->name);
    }

    /* What was changed is saved, then files go, then folders from the inside; then the new. */
    for (int i = 0; i < gone_n; i++) {
        struct entry *e = gone[i].e;
        size_t size;
        if (e->type == 'f' && has(&gone[i].of->configs, e->path) && !find(final, final_n, e->path) &&
            on_disk(e->path, &st) == 'f' && !untouched(e)) {
            struct op *op = plan('f', text("%s.lade-saved", e->path));
            op->data = slurp(e->path, &size);
            op->size = size;
            op->mode = st.st_mode & 07777, op->uid = st.st_uid, op->gid = st.st_gid;
            op->config = 1;
        }
    }
    for (int i = 0; i < gone_n; i++) {
        struct entry *e = gone[i].e;
        struct item *stays = find(final, final_n, e->path);
        char disk = on_disk(e->path, &st);
        if (e->type != 'd' && disk != 'd' && disk != '-' && (!stays || stays->e->type == 'd'))
            plan('-', e->path)->config = has(&gone[i].of->configs, e->path);
    }
    for (int i = gone_n - 1; i >= 0; i--) {
        struct entry *e = gone[i].e;
        struct item *stays = find(final, final_n, e->path);
        if (e->type == 'd' && (i == 0 || strcmp(gone[i - 1].e->path, e->path)) &&
            on_disk(e->path, &st) == 'd' && (!stays || stays->e->type != 'd'))
            plan('-', e->path);
    }
    for (int i = 0; i < final_n; i++) {
        struct entry *e = final[i].e;
        struct item *old = find(gone, gone_n, e->path);
        char disk = on_disk(e->path, &st);
        if (e->type != 'd' || (i && !strcmp(final[i - 1].e->path, e->path)))
            continue;
        if (disk == 'd' || (disk == '-' && !final[i].new))
            continue;
        if (disk != '-' && (!old || old->e->type == 'd'))
            die(IN_THE_WAY, "/%s is no folder", e->path);
        put(e, e->path, 0);
    }
    for (int i = 0; i < final_n; i++)
        if (final[i].new && final[i].e->type != 'd')
            new_file(&final[i]);
    for (int i = 0; i < wants_n; i++) {
        struct op *op = plan('f', text("var/lib/lade/db/%s", wants[i].line->name));
        op->data = db_text(&wants[i].pkg);
        op->size = strlen(op->data);
        op->mode = 0644;
        op->late = 1;
    }
    for (int i = 0; i < installed_n; i++)
        if (installed[i].seen && !wanted(installed[i].name))
            plan('-', text("var/lib/lade/db/%s", installed[i].name))->late = 1;
    stage();
}

static void check(struct want *want)
{
    char *argv[] = {NULL, NULL};
    int status;
    if (want->checked++)
        return;
    for (int i = 0; i < want->line->needs.n; i++) {
        char *least;
        struct want *first = wanted(split(want->line->needs.at[i], &least));
        if (first)
            check(first);
    }
    if (!want->pkg.check)
        return;
    argv[0] = check_path(want - wants);
    if (spit(argv[0], want->pkg.check, want->pkg.check_size, 0755))
        die(NO_ROOM, "no room for a check");
    status = run(argv, 15);
    if (status)
        die(FAILED, "the check of %s ended with %d", want->line->name, status);
}

/* ---- the words ---- */

void install(char **names, int n, int everything)
{
    struct statvfs room;
    size_t total = 1 << 20;
    if (!load_index(&the_index))
        die(IMPOSSIBLE, "there is no index yet: lade update");
    for (int i = 0; i < (everything ? installed_n : n); i++) {
        const char *name = everything ? installed[i].name : names[i];
        struct line *line = find_line(&the_index, name);
        struct pkg *there = find_installed(name);
        if (!line && everything)
            continue;
        if (!line)
            die(IMPOSSIBLE, "%s is not in the index", name);
        if (!there || compare(there->version, line->version) < 0)
            want(line);
    }
    if (!wants_n)
        return;
    for (int i = 0; i < wants_n; i++)
        if (wants[i].old)
            wants[i].old->seen = 1;
    validate();
    for (int i = 0; i < wants_n; i++)
        total += 2 * wants[i].line->size;
    if (!statvfs("/", &room) && (size_t)room.f_bavail * room.f_frsize < total)
        die(NO_ROOM, "%zu bytes are needed", total);
    for (int i = 0; i < wants_n; i++) {
        struct line *line = wants[i].line;
        struct pkg *pkg = &wants[i].pkg;
        size_t size;
        char *data = fetch(line, &size);
        if (!unpack(data, size, pkg))
            die(DAMAGED, "%s has not the form of a package", line->name);
        if (strcmp(pkg->name, line->name) || strcmp(pkg->version, line->version) ||
            !same(&pkg->needs, &line->needs) || !same(&pkg->conflicts, &line->conflicts))
            die(DAMAGED, "%s is another package than the index says", line->name);
    }
    change();
    apply(0);
    for (int i = 0; i < wants_n; i++)
        check(&wants[i]);
    commit();
}

void drop(char **names, int n)
{
    for (int i = 0; i < n; i++) {
        struct pkg *pkg = find_installed(names[i]);
        if (!pkg)
            die(IMPOSSIBLE, "%s is not installed", names[i]);
        pkg->seen = 1;
    }
    validate();
    change();
    apply(0);
    commit();
}
