/* ext2: directories. */
#include "ext2.h"

struct entry { u32 ino; u16 length; u8 name_length, type; char name[]; } packed;

static u8 type_of(u32 mode)
{
	static const u8 types[16] = { [1] = 5, [2] = 3, [4] = 2, [6] = 4, [8] = 1, [10] = 7, [12] = 6 };
	return types[mode >> 12 & 15];
}

static u32 need(size_t name_length) { return ROUND_UP(8 + name_length, 4); }

static struct buffer *dir_block(struct inode *dir, u64 n)
{
	struct ext2 *fs = ext2_of(dir);
	u32 block;
	if (ext2_map(dir, n, false, &block) || !block)
		return NULL;
	return buffer_get(fs->dev, block, fs->block_size, true);
}

static bool sound(struct ext2 *fs, struct entry *e, u32 offset)
{
	return e->length >= 8 && !(e->length & 3) && offset + e->length <= fs->block_size && need(e->name_length) <= e->length;
}

struct place { struct buffer *buffer; struct entry *entry, *before; u64 block; };

/* Finds the name; the buffer is to be put. */
static int find(struct inode *dir, const char *name, struct place *p)
{
	struct ext2 *fs = ext2_of(dir);
	size_t length = strlen(name);
	for (u64 n = 0; n * fs->block_size < dir->size; n++) {
		struct buffer *b = dir_block(dir, n);
		if (!b)
			continue;
		struct entry *e, *before = NULL;
		for (u32 o = 0; o + 8 <= fs->block_size; o += e->length, before = e) {
			e = (struct entry *)(b->data + o);
			if (!sound(fs, e, o))
				break;
			if (e->ino && e->name_length == length && !memcmp(e->name, name, length)) {
				*p = (struct place){ b, e, before, n };
				return 0;
			}
		}
		buffer_put(b);
	}
	return -ENOENT;
}

static struct inode *lookup(struct inode *dir, const char *name)
{
	struct ext2 *fs = ext2_of(dir);
	struct place p;
	mutex_lock(&fs->lock);
	int error = find(dir, name, &p);
	u32 ino = error ? 0 : p.entry->ino;
	if (!error)
		buffer_put(p.buffer);
	struct inode *i = error ? ERR_PTR(error) : ext2_inode_get(fs, ino);
	mutex_unlock(&fs->lock);
	return i;
}

static int not_indexed(struct inode *dir)
{
	if (!(ext2_inode(dir)->flags & EXT2_INDEXED))
		return 0;
	ext2_inode(dir)->flags &= ~EXT2_INDEXED;
	return ext2_inode_write(dir);
}

static void fill(struct ext2 *fs, struct entry *e, const char *name, u32 ino, u32 mode)
{
	e->ino = ino;
	e->name_length = strlen(name);
	e->type = fs->file_types ? type_of(mode) : 0;
	memcpy(e->name, name, e->name_length);
}

static int put_in_block(struct ext2 *fs, struct buffer *b, const char *name, u32 ino, u32 mode)
{
	u32 want = need(strlen(name));
	struct entry *e;
	for (u32 o = 0; o + 8 <= fs->block_size; o += e->length) {
		e = (struct entry *)(b->data + o);
		if (!sound(fs, e, o))
			return -EIO;
		u32 used = e->ino ? need(e->name_length) : 0;
		if (e->length - used < want)
			continue;
		if (used) {
			struct entry *fresh = (struct entry *)((u8 *)e + used);
			fresh->length = e->length - used;
			e->length = used;
			e = fresh;
		}
		fill(fs, e, name, ino, mode);
		return 0;
	}
	return -ENOSPC;
}

static int add_entry(struct inode *dir, const char *name, u32 ino, u32 mode)
{
	struct ext2 *fs = ext2_of(dir);
	int error = not_indexed(dir);
	if (error)
		return error;
	for (u64 n = 0; n * fs->block_size < dir->size; n++) {
		struct buffer *b = dir_block(dir, n);
		if (!b)
			return -EIO;
		error = put_in_block(fs, b, name, ino, mode);
		if (!error)
			buffer_mark_dirty(b);
		buffer_put(b);
		if (error != -ENOSPC)
			goto done;
	}
	u32 block;
	error = ext2_map(dir, dir->size / fs->block_size, true, &block);
	struct buffer *b = error ? NULL : buffer_get(fs->dev, block, fs->block_size, false);
	if (!b)
		return error ? error : -EIO;
	memset(b->data, 0, fs->block_size);
	struct entry *e = (struct entry *)b->data;
	e->length = fs->block_size;
	fill(fs, e, name, ino, mode);
	buffer_mark_dirty(b);
	buffer_put(b);
	dir->size += fs->block_size;
	error = ext2_inode_write(dir);
done:
	if (!error)
		inode_touch(dir, true, false);
	return error;
}

static int remove_entry(struct inode *dir, struct place *p)
{
	int error = not_indexed(dir);
	if (p->before)
		p->before->length += p->entry->length;
	p->entry->ino = 0;
	buffer_mark_dirty(p->buffer);
	inode_touch(dir, true, false);
	return error;
}

static struct inode *fresh_inode(struct inode *dir, u32 mode, u64 rdev)
{
	struct ext2 *fs = ext2_of(dir);
	u32 ino = ext2_inode_new(fs, dir->ino, IS_DIR(mode));
	if (!ino)
		return ERR_PTR(-ENOSPC);
	struct ext2_inode *own = kmalloc(sizeof *own);
	struct inode *i = own ? inode_new(fs->sb, ino, mode) : NULL;
	if (!i) {
		kfree(own);
		ext2_inode_free(fs, ino, IS_DIR(mode));
		return ERR_PTR(-ENOMEM);
	}
	own->generation = random_u64();
	own->inode = i;
	link_init(&own->orphan);
	i->data = own;
	i->uid = self()->cred.fsuid;
	i->gid = dir->mode & S_ISGID ? dir->gid : self()->cred.fsgid;
	if (dir->mode & S_ISGID && IS_DIR(mode))
		i->mode |= S_ISGID;
	i->rdev = rdev;
	if (IS_CHR(mode) || IS_BLK(mode)) {
		u32 major = rdev >> 8, minor = rdev & 0xff;
		if (major < 256)
			own->block[0] = major << 8 | minor;
		else
			own->block[1] = minor | major << 8;
	}
	ext2_set_ops(i);
	return i;
}

/* The first block of a directory, with itself and its parent. */
static int fill_directory(struct inode *i, struct inode *parent)
{
	struct ext2 *fs = ext2_of(i);
	u32 block;
	int error = ext2_map(i, 0, true, &block);
	struct buffer *b = error ? NULL : buffer_get(fs->dev, block, fs->block_size, false);
	if (!b)
		return error ? error : -EIO;
	memset(b->data, 0, fs->block_size);
	struct entry *e = (struct entry *)b->data;
	e->length = 12;
	fill(fs, e, ".", i->ino, S_IFDIR);
	e = (struct entry *)(b->data + 12);
	e->length = fs->block_size - 12;
	fill(fs, e, "..", parent->ino, S_IFDIR);
	buffer_mark_dirty(b);
	buffer_put(b);
	i->size = fs->block_size;
	i->nlink = 2;
	return error;
}

static int fill_link(struct inode *i, const char *target)
{
	struct ext2 *fs = ext2_of(i);
	size_t n = strlen(target);
	u32 block;
	if (n >= fs->block_size)
		return -ENAMETOOLONG;
	i->size = n;
	if (n < 60) {
		memcpy(ext2_inode(i)->block, target, n);
		return 0;
	}
	int error = ext2_map(i, 0, true, &block);
	struct buffer *b = error ? NULL : buffer_get(fs->dev, block, fs->block_size, false);
	if (!b)
		return error ? error : -EIO;
	memset(b->data, 0, fs->block_size);
	memcpy(b->data, target, n);
	buffer_mark_dirty(b);
	buffer_put(b);
	return error;
}

static struct inode *try_create(struct inode *dir, const char *name, u32 mode, u64 rdev, const char *target)
{
	struct ext2 *fs = ext2_of(dir);
	struct place p;
	struct inode *i;
	if (fs->sb->read_only)
		return ERR_PTR(-EROFS);
	ext2_begin(fs);
	int error = dir->nlink ? find(dir, name, &p) : -EPERM;
	if (!error) {
		buffer_put(p.buffer);
		i = ERR_PTR(-EEXIST);
		goto out;
	}
	if (error != -ENOENT || (IS_DIR(mode) && dir->nlink >= 32000)) {
		i = ERR_PTR(error == -EPERM ? -ENOENT : -EMLINK);
		goto out;
	}
	i = fresh_inode(dir, mode, rdev);
	if (IS_ERR(i))
		goto out;
	error = IS_DIR(mode) ? fill_directory(i, dir) : IS_LNK(mode) ? fill_link(i, target) : 0;
	if (!error)
		error = add_entry(dir, name, i->ino, mode);
	if (!error)
		error = ext2_inode_write(i);
	if (!error && IS_DIR(mode)) {
		dir->nlink++;
		error = ext2_inode_write(dir);
	}
	if (error) {
		i->nlink = 0;
		inode_put(i);
		i = ERR_PTR(error);
	}
out:
	ext2_end(fs);
	return i;
}

static struct inode *create(struct inode *dir, const char *name, u32 mode, u64 rdev, const char *target)
{
	struct inode *i = try_create(dir, name, mode, rdev, target);
	if (i == ERR_PTR(-ENOSPC) && ext2_of(dir)->held_any && !ext2_sync(dir->sb))
		i = try_create(dir, name, mode, rdev, target);
	return i;
}

static int link(struct inode *dir, const char *name, struct inode *target)
{
	struct ext2 *fs = ext2_of(dir);
	struct place p;
	if (fs->sb->read_only)
		return -EROFS;
	ext2_begin(fs);
	int error = find(dir, name, &p);
	if (!error) {
		buffer_put(p.buffer);
		error = -EEXIST;
	} else if (target->nlink >= 32000)
		error = -EMLINK;
	else if (!target->nlink)
		error = -ENOENT;
	else {
		target->nlink++;
		target->ctime = real_ns();
		error = ext2_inode_write(target);
		if (!error)
			error = add_entry(dir, name, target->ino, target->mode);
		if (error) {
			target->nlink--;
			ext2_inode_write(target);
		}
	}
	ext2_end(fs);
	return error;
}

static bool empty(struct inode *dir)
{
	struct ext2 *fs = ext2_of(dir);
	for (u64 n = 0; n * fs->block_size < dir->size; n++) {
		struct buffer *b = dir_block(dir, n);
		struct entry *e;
		if (!b)
			continue;
		for (u32 o = 0; o + 8 <= fs->block_size; o += e->length) {
			e = (struct entry *)(b->data + o);
			if (!sound(fs, e, o))
				break;
			if (e->ino && !(e->name_length == 1 && e->name[0] == '.') && !(e->name_length == 2 && !memcmp(e->name, "..", 2))) {
				buffer_put(b);
				return false;
			}
		}
		buffer_put(b);
	}
	return true;
}

/* One name less. After the last one the inode is an orphan till it is closed. */
static void dropped(struct inode *i, bool directory)
{
	struct ext2 *fs = ext2_of(i);
	i->nlink = directory ? 0 : i->nlink - 1;
	i->ctime = real_ns();
	if (!i->nlink) {
		link_append(&fs->orphans, &ext2_inode(i)->orphan);
		fs->orphans_changed = true;
	}
	ext2_inode_write(i);
}

static int unlink(struct inode *dir, const char *name, bool directory)
{
	struct ext2 *fs = ext2_of(dir);
	struct place p;
	if (fs->sb->read_only)
		return -EROFS;
	ext2_begin(fs);
	int error = find(dir, name, &p);
	if (error) {
		ext2_end(fs);
		return error;
	}
	struct inode *i = ext2_inode_get(fs, p.entry->ino);
	if (IS_ERR(i))
		error = PTR_ERR(i);
	else {
		if (directory != !!IS_DIR(i->mode))
			error = directory ? -ENOTDIR : -EISDIR;
		else if (directory && i->mounted)
			error = -EBUSY;
		else if (directory && !empty(i))
			error = -ENOTEMPTY;
		if (!error)
			error = remove_entry(dir, &p);
		if (!error)
			dropped(i, directory);
		if (!error && directory) {
			dir->nlink--;
			ext2_inode_write(dir);
		}
	}
	buffer_put(p.buffer);
	ext2_end(fs);
	if (!IS_ERR(i))
		inode_put(i);
	return error;
}

/* Is `dir` inside of `above`? */
static bool inside(struct inode *dir, struct inode *above)
{
	struct inode *at = inode_get(dir);
	while (at != above && at->ino != EXT2_ROOT) {
		struct inode *up = lookup(at, "..");
		inode_put(at);
		if (IS_ERR(up))
			return false;
		at = up;
	}
	bool yes = at == above;
	inode_put(at);
	return yes;
}

static int new_parent(struct inode *i, struct inode *from, struct inode *to)
{
	struct place p;
	int error = find(i, "..", &p);
	if (error)
		return error;
	p.entry->ino = to->ino;
	buffer_mark_dirty(p.buffer);
	buffer_put(p.buffer);
	from->nlink--;
	to->nlink++;
	ext2_inode_write(to);
	ext2_inode_write(from);
	return error;
}

static int rename_over(struct inode *i, struct inode *old, struct place *target, struct inode *to)
{
	struct ext2 *fs = ext2_of(to);
	if (IS_DIR(old->mode) != IS_DIR(i->mode))
		return IS_DIR(old->mode) ? -EISDIR : -ENOTDIR;
	if (IS_DIR(old->mode) && !empty(old))
		return -ENOTEMPTY;
	if (old->mounted)
		return -EBUSY;
	int error = not_indexed(to);
	target->entry->ino = i->ino;
	target->entry->type = fs->file_types ? type_of(i->mode) : 0;
	buffer_mark_dirty(target->buffer);
	return error;
}

static int rename(struct inode *from, const char *name, struct inode *to, const char *new_name, bool replace)
{
	struct ext2 *fs = ext2_of(from);
	struct place source, target = { 0 };
	struct inode *i = NULL, *old = NULL;
	if (fs->sb->read_only)
		return -EROFS;
	ext2_begin(fs);
	int error = find(from, name, &source);
	if (error)
		goto out;
	i = ext2_inode_get(fs, source.entry->ino);
	buffer_put(source.buffer);
	if (IS_ERR(i)) {
		error = PTR_ERR(i);
		i = NULL;
		goto out;
	}
	if (i->mounted)
		error = -EBUSY;
	else if (IS_DIR(i->mode) && inside(to, i))
		error = -EINVAL;
	if (error)
		goto out;
	if (!find(to, new_name, &target)) {
		old = ext2_inode_get(fs, target.entry->ino);
		if (IS_ERR(old)) {
			error = PTR_ERR(old);
			old = NULL;
		} else if (!replace)
			error = -EEXIST;
		else if (old != i)
			error = rename_over(i, old, &target, to);
		buffer_put(target.buffer);
		if (error || old == i)
			goto out;
	} else
		error = add_entry(to, new_name, i->ino, i->mode);
	if (!error)
		error = find(from, name, &source);
	if (!error) {
		error = remove_entry(from, &source);
		buffer_put(source.buffer);
	}
	if (!error && from != to && IS_DIR(i->mode))
		error = new_parent(i, from, to);
	if (!error) {
		i->ctime = real_ns();
		inode_mark_dirty(i);
		inode_touch(to, true, false);
	}
	if (!error && old) {
		if (IS_DIR(old->mode)) {
			to->nlink--;
			ext2_inode_write(to);
		}
		dropped(old, IS_DIR(old->mode));
	}
out:
	ext2_end(fs);
	if (i)
		inode_put(i);
	if (old)
		inode_put(old);
	return error;
}

static int getdents(struct file *f, struct dirent_sink *sink)
{
	struct inode *dir = f->path.inode;
	struct ext2 *fs = ext2_of(dir);
	static const u8 types[8] = { 0, 8, 4, 2, 6, 1, 12, 10 };
	int stop = 0;
	mutex_lock(&fs->lock);
	while (!stop && f->pos < dir->size) {
		u64 n = f->pos / fs->block_size;
		struct buffer *b = dir_block(dir, n);
		struct entry *e;
		u64 next = (n + 1) * fs->block_size;
		for (u32 o = 0; b && !stop && o + 8 <= fs->block_size; o += e->length) {
			e = (struct entry *)(b->data + o);
			if (!sound(fs, e, o))
				break;
			if (n * fs->block_size + o < f->pos)
				continue;
			if (e->ino)
				stop = sink->put(sink, e->name, e->name_length, e->ino, fs->file_types ? types[e->type & 7] : 0, n * fs->block_size + o + e->length);
			if (!stop)
				f->pos = n * fs->block_size + o + e->length;
		}
		if (b)
			buffer_put(b);
		if (!stop)
			f->pos = next;
	}
	mutex_unlock(&fs->lock);
	return stop < 0 ? stop : 0;
}

static int readlink(struct inode *i, char *to, size_t room)
{
	struct ext2 *fs = ext2_of(i);
	size_t n = MIN(i->size, room);
	if (i->size < 60 && i->blocks <= (ext2_inode(i)->acl ? fs->block_size / 512 : 0)) {
		memcpy(to, ext2_inode(i)->block, n);
		return n;
	}
	struct buffer *b = buffer_get(fs->dev, ext2_inode(i)->block[0], fs->block_size, true);
	if (!b)
		return -EIO;
	memcpy(to, b->data, MIN(n, fs->block_size));
	buffer_put(b);
	return n;
}

static int sync(struct inode *i)
{
	int error = IS_REG(i->mode) ? cache_write_inode(i) : 0;
	int e = i->nlink ? ext2_inode_write(i) : 0;
	return error ? error : e;
}

static void evict(struct inode *i)
{
	struct ext2 *fs = ext2_of(i);
	if (!i->nlink && !fs->sb->read_only) {
		ext2_begin(fs);
		i->dirty = true;	/* so that it is not put on the list of changed ones any more */
		bool inline_link = IS_LNK(i->mode) && i->size < 60 && !i->blocks;
		if (inline_link || IS_CHR(i->mode) || IS_BLK(i->mode))
			memset(ext2_inode(i)->block, 0, sizeof ext2_inode(i)->block);
		else
			ext2_truncate(i, 0);
		link_remove(&ext2_inode(i)->orphan);
		fs->orphans_changed = true;
		ext2_inode(i)->dtime = real_ns() / 1000000000;
		ext2_inode_write(i);
		ext2_inode_free(fs, i->ino, IS_DIR(i->mode));
		ext2_end(fs);
	}
	kfree(i->data);
}

static void begin(struct inode *i) { ext2_begin(ext2_of(i)); }
static void end(struct inode *i) { ext2_end(ext2_of(i)); }
static void changed(struct inode *i) { inode_mark_dirty(i); }

const struct inode_ops ext2_dir_ops = { .lookup = lookup, .create = create, .link = link, .unlink = unlink,
	.rename = rename, .changed = changed, .sync = sync, .evict = evict };
const struct inode_ops ext2_file_ops = { .truncate = ext2_truncate, .changed = changed, .read_page = ext2_read_page,
	.write_page = ext2_write_page, .reserve = ext2_reserve, .begin = begin, .end = end, .sync = sync, .evict = evict };
const struct inode_ops ext2_link_ops = { .readlink = readlink, .changed = changed, .sync = sync, .evict = evict };
const struct file_ops ext2_dir_file_ops = { .getdents = getdents };
