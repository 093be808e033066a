/* Who a user is, by the machine's own tables, which hostile programs may have replaced by anything. */
#include "agent.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TABLE_MAX (4 * 1024 * 1024)

static char *read_table(const char *path) {
    struct stat info;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return NULL;
    char *text = NULL;
    if (!fstat(file, &info) && S_ISREG(info.st_mode) && (text = malloc(TABLE_MAX + 1))) {
        ssize_t length = 0, count;
        while (length < TABLE_MAX && (count = read(file, text + length, TABLE_MAX - length)) > 0)
            length += count;
        text[length] = 0;
    }
    close(file);
    return text;
}

static int is_number(const char *text) {
    if (!*text) return 0;
    for (; *text; text++)
        if (!isdigit((unsigned char)*text)) return 0;
    return 1;
}

/* The next line of a table that has `width` fields, the third a number; 0 at its end. */
static int next_row(char **left, char **fields, int width) {
    char *line;
    while ((line = strsep(left, "\n")) != NULL) {
        int count = 0;
        char *field;
        while ((field = strsep(&line, ":")) != NULL) {
            if (count < width) fields[count] = field;
            count++;
        }
        if (count == width && is_number(fields[2])) return 1;
    }
    return 0;
}

static int is_member(char *list, const char *name) {
    char *item;
    while ((item = strsep(&list, ",")) != NULL)
        if (!strcmp(item, name)) return 1;
    return 0;
}

static void find_groups(const char *name, int known, const char *group, struct account *found) {
    char *table = read_table("/etc/group"), *left = table, *fields[4];
    found->groups[found->n_groups++] = found->gid;
    while (left != NULL && next_row(&left, fields, 4)) {
        gid_t gid = (gid_t)strtoul(fields[2], NULL, 10);
        if (*group && (!strcmp(fields[0], group) || !strcmp(fields[2], group))) found->gid = gid;
        if (known && is_member(fields[3], name) && found->n_groups < 254)
            found->groups[found->n_groups++] = gid;
    }
    free(table);
    if (is_number(group)) found->gid = (gid_t)strtoul(group, NULL, 10);
    found->groups[found->n_groups++] = found->gid;
}

int find_account(const char *user, struct account *found) {
    char name[256];
    const char *colon = strchr(user, ':'), *group = colon ? colon + 1 : "";
    snprintf(name, sizeof name, "%.*s", (int)(colon ? colon - user : (long)strlen(user)), user);
    memset(found, 0, sizeof *found);
    strcpy(found->home, "/root");
    char *table = read_table("/etc/passwd"), *left = table, *fields[7];
    int known = 0;
    while (left != NULL && next_row(&left, fields, 7)) {
        if (strcmp(fields[0], name) && !(is_number(name) && !strcmp(fields[2], name))) continue;
        found->uid = (uid_t)strtoul(fields[2], NULL, 10);
        found->gid = (gid_t)strtoul(fields[3], NULL, 10);
        snprintf(found->home, sizeof found->home, "%s", *fields[5] ? fields[5] : "/");
        snprintf(name, sizeof name, "%s", fields[0]);
        known = 1;
        break;
    }
    free(table);
    if (!known && *name && strcmp(name, "root")) {
        if (!is_number(name)) return -1;
        found->uid = (uid_t)strtoul(name, NULL, 10);
        strcpy(found->home, "/");
    }
    find_groups(name, known, group, found);
    return 0;
}
