/* Names to inodes: directories, mounts, symbolic links, permissions; and back to names. */
#include "fs.h"

#define TEXT 8192

struct path root_path;

void path_get(struct path *p)
{
	if (p->inode)
		inode_get(p->inode);
}

void path_put(struct path *p)
{
	struct inode *i = p->inode;
	p->inode = NULL;
	if (i)
		inode_put(i);
}

void lookup_end(struct lookup *l)
{
	path_put(&l->path);
	path_put(&l->parent);
}

int permission(struct inode *i, int want)
{
	struct credentials *c = &self()->cred;
	if (want & 2 && i->sb && i->sb->read_only && (IS_REG(i->mode) || IS_DIR(i->mode)))
		return -EROFS;
	if (!c->fsuid)
		return want & 1 && IS_REG(i->mode) && !(i->mode & 0111) ? -EACCES : 0;
	u32 bits = i->uid == c->fsuid ? i->mode >> 6 : in_group(i->gid) ? i->mode >> 3 : i->mode;
	return (bits & want & 7) == (want & 7) ? 0 : -EACCES;
}

static void enter_mounts(struct path *p)
{
	while (p->inode->mounted) {
		struct mount *m = p->inode->mounted;
		inode_get(m->root);
		inode_put(p->inode);
		p->mount = m;
		p->inode = m->root;
	}
}

static struct path here(void)
{
	struct fs_state *fs = current()->fs;
	struct path p = fs ? fs->cwd : root_path;
	path_get(&p);
	return p;
}

static struct path top(void)
{
	struct fs_state *fs = current()->fs;
	return fs ? fs->root : root_path;
}

/* One step: p becomes what `name` is in it. */
static int step(struct path *p, const char *name)
{
	struct path root = top();
	if (!strcmp(name, "."))
		return 0;
	if (!strcmp(name, "..")) {
		if (p->inode == root.inode)
			return 0;
		while (p->inode == p->mount->root && p->mount->on.inode) {
			struct path on = p->mount->on;
			path_get(&on);
			path_put(p);
			*p = on;
		}
	}
	struct inode *i = p->inode->ops->lookup ? p->inode->ops->lookup(p->inode, name) : ERR_PTR(-ENOTDIR);
	if (IS_ERR(i))
		return PTR_ERR(i);
	inode_put(p->inode);
	p->inode = i;
	enter_mounts(p);
	return 0;
}

struct walk { struct path at, parent; char *rest; char name[256]; int links; bool last, want_dir; };

/* Splits the next name off; false at the end. */
static int next_name(struct walk *w)
{
	char *s = w->rest;
	while (*s == '/')
		s++;
	if (!*s)
		return 0;
	size_t n = 0;
	while (s[n] && s[n] != '/')
		n++;
	if (n > 255)
		return -ENAMETOOLONG;
	memcpy(w->name, s, n);
	w->name[n] = 0;
	w->rest = s + n;
	s += n;
	w->want_dir = *s == '/';
	while (*s == '/')
		s++;
	w->last = !*s;
	return 1;
}

static int follow(struct walk *w, char *text)
{
	struct inode *link = w->at.inode;
	if (++w->links > 40)
		return -ELOOP;
	if (link->ops->follow) {
		struct mount *m = w->parent.mount;
		struct inode *target = link->ops->follow(link, &m);
		if (target) {
			if (IS_ERR(target))
				return PTR_ERR(target);
			inode_put(link);
			w->at.inode = target;
			w->at.mount = m;
			return 0;
		}
	}
	char *target = kmalloc(TEXT);
	if (!target)
		return -ENOMEM;
	int n = link->ops->readlink ? link->ops->readlink(link, target, 4096) : -EINVAL;
	if (n >= 0 && n + strlen(w->rest) + 2 > TEXT)
		n = -ENAMETOOLONG;
	if (n == 0)
		n = -ENOENT;
	if (n < 0) {
		kfree(target);
		return n;
	}
	target[n] = 0;
	if (w->want_dir && !w->rest[0])
		w->rest = "/";
	copy_string(target + n, w->rest, TEXT - n);
	memcpy(text, target, TEXT);
	kfree(target);
	w->rest = text;
	path_put(&w->at);
	w->at = *text == '/' ? top() : w->parent;
	path_get(&w->at);
	return 1;
}

static int walk_start(int dirfd, const char *name, struct path *p)
{
	if (*name == '/') {
		*p = top();
		path_get(p);
	} else if (dirfd == AT_FDCWD)
		*p = here();
	else {
		struct file *f = fd_file(dirfd);
		if (!f)
			return -EBADF;
		*p = f->path;
		path_get(p);
		if (!p->inode || !IS_DIR(p->inode->mode)) {
			path_put(p);
			return -ENOTDIR;
		}
	}
	return 0;
}

static int walk_on(struct walk *w, int flags, char *text, struct lookup *l)
{
	for (;;) {
		int n = next_name(w);
		if (n < 0)
			return n;
		if (!n)
			return 0;
		if (!IS_DIR(w->at.inode->mode))
			return -ENOTDIR;
		int error = permission(w->at.inode, 1);
		if (error)
			return error;
		path_put(&w->parent);
		w->parent = w->at;
		path_get(&w->parent);
		error = step(&w->at, w->name);
		if (error == -ENOENT && w->last && flags & WALK_PARENT) {
			path_put(&w->at);
			copy_string(l->last, w->name, sizeof l->last);
			return 0;
		}
		if (error)
			return error;
		if (w->last)
			copy_string(l->last, w->name, sizeof l->last);
		if (IS_LNK(w->at.inode->mode) && (!w->last || flags & WALK_FOLLOW || w->want_dir)) {
			error = follow(w, text);
			if (error < 0)
				return error;
			if (error)
				continue;
		}
		if (w->last) {
			if (w->want_dir && !(flags & WALK_ANY) && !IS_DIR(w->at.inode->mode))
				return -ENOTDIR;
			return 0;
		}
	}
}

int path_walk(int dirfd, const char *name, int flags, struct lookup *l)
{
	struct walk w = { 0 };
	memset(l, 0, sizeof *l);
	if (!*name)
		return -ENOENT;
	int error = walk_start(dirfd, name, &w.at);
	if (error)
		return error;
	char *text = kmalloc(TEXT);
	if (!text) {
		path_put(&w.at);
		return -ENOMEM;
	}
	copy_string(text, name, TEXT);
	w.rest = text;
	error = walk_on(&w, flags, text, l);
	kfree(text);
	l->want_dir = w.want_dir;
	l->path = w.at;
	l->parent = w.parent;
	if (error)
		lookup_end(l);
	return error;
}

int path_open(int dirfd, const char *name, struct path *out, bool follow_last)
{
	struct lookup l;
	int error = path_walk(dirfd, name, follow_last ? WALK_FOLLOW : 0, &l);
	if (error)
		return error;
	*out = l.path;
	path_get(out);
	lookup_end(&l);
	return 0;
}

int user_path(u64 address, char **out)
{
	char *text = kmalloc(4096);
	if (!text)
		return -ENOMEM;
	int n = copy_in_string(text, address, 4096);
	if (n < 0) {
		kfree(text);
		return n;
	}
	*out = text;
	return 0;
}

struct name_search { struct dirent_sink sink; u64 ino; char *to; size_t length; bool found; };

static int match(struct dirent_sink *s, const char *name, size_t length, u64 ino, u8 type, u64 next)
{
	struct name_search *search = HOLDER(s, struct name_search, sink);
	if (ino != search->ino || (length <= 2 && name[0] == '.' && (length == 1 || name[1] == '.')) || length > 255)
		return 0;
	memcpy(search->to, name, length);
	search->length = length;
	search->found = true;
	return 1;
}

/* The absolute name; its length, -ENOENT if it has none any more. */
int path_text(struct path *p, char *to, size_t room)
{
	struct path at = *p, root = top();
	char name[256];
	size_t end = room - 1;
	if (!p->inode || (!at.inode->nlink && IS_DIR(at.inode->mode)))
		return -ENOENT;
	if (!IS_DIR(at.inode->mode))
		return -ENOENT;
	path_get(&at);
	to[end] = 0;
	while (at.inode != root.inode) {
		struct inode *child = at.inode;
		u64 ino = child->ino;
		if (child == at.mount->root && at.mount->on.inode) {
			struct path on = at.mount->on;
			path_get(&on);
			path_put(&at);
			at = on;
			continue;
		}
		if (child == at.mount->root)
			break;
		struct inode *parent = child->ops->lookup(child, "..");
		if (IS_ERR(parent)) {
			path_put(&at);
			return -ENOENT;
		}
		struct name_search s = { .sink.put = match, .ino = ino, .to = name };
		struct file dir = { .path = { at.mount, parent } };
		parent->fops->getdents(&dir, &s.sink);
		path_put(&at);
		at.inode = parent;
		if (!s.found || s.length + 1 > end) {
			path_put(&at);
			return s.found ? -ERANGE : -ENOENT;
		}
		end -= s.length;
		memcpy(to + end, name, s.length);
		to[--end] = '/';
	}
	path_put(&at);
	if (end == room - 1)
		to[--end] = '/';
	memmove(to, to + end, room - end);
	return room - end - 1;
}
