/* Files: inodes, open files, mounts, and what file systems and devices provide. */
#pragma once
#include "base.h"
#include "abi.h"
#include "mm.h"
#include "task.h"

struct superblock;
struct dirent_sink;

struct inode_ops {
	struct inode *(*lookup)(struct inode *dir, const char *name);	/* with a reference, or an error */
	struct inode *(*create)(struct inode *dir, const char *name, u32 mode, u64 rdev, const char *target);
	int (*link)(struct inode *dir, const char *name, struct inode *target);
	int (*unlink)(struct inode *dir, const char *name, bool directory);
	int (*rename)(struct inode *from, const char *name, struct inode *to, const char *new_name, bool replace);
	int (*readlink)(struct inode *i, char *to, size_t room);
	struct inode *(*follow)(struct inode *i, struct mount **mount);	/* links that are more than a text */
	int (*truncate)(struct inode *i, u64 size);
	void (*changed)(struct inode *i);	/* attributes were */
	int (*read_page)(struct inode *i, struct page *p);
	int (*write_page)(struct inode *i, struct page *p);
	int (*reserve)(struct inode *i, u64 from, u64 to);	/* room for these bytes */
	void (*begin)(struct inode *i);		/* around a change of size and contents */
	void (*end)(struct inode *i);
	int (*sync)(struct inode *i);
	void (*evict)(struct inode *i);		/* no reference and no link is left, or memory is needed */
};

struct poll_table { void (*add)(struct poll_table *t, struct waitqueue *q); };
static inline void poll_wait(struct poll_table *t, struct waitqueue *q) { if (t) t->add(t, q); }

struct file_ops {
	ssize_t (*read)(struct file *f, struct uio *u, u64 *pos);
	ssize_t (*write)(struct file *f, struct uio *u, u64 *pos);
	int (*getdents)(struct file *f, struct dirent_sink *sink);
	u32 (*poll)(struct file *f, struct poll_table *t);
	i64 (*ioctl)(struct file *f, u32 command, u64 arg);
	int (*open)(struct file *f);
	void (*release)(struct file *f);
	bool no_seek;
};

struct inode {
	u32 refs;
	u32 mode, uid, gid, nlink;
	u64 ino, size, rdev, blocks;
	u64 atime, mtime, ctime;	/* ns */
	struct superblock *sb;
	const struct inode_ops *ops;
	const struct file_ops *fops;
	struct link hash, lru;
	struct link dirty_pages, dirty_link;
	bool dirty, gone;
	struct mutex lock;
	struct mount *mounted;
	u64 cached;
	u32 mappings;
	u32 writers;
	struct link locks;
	struct waitqueue lock_wait;
	void *data;			/* the file system's own */
	void *data_pipe;		/* a named pipe's contents */
	void *data_socket;		/* who listens at a socket's name */
};

struct superblock {
	u64 dev;
	u32 block_size;
	const char *type;
	bool read_only;
	bool transient;		/* its inodes are made anew each time */
	struct inode *root;
	int (*statfs)(struct superblock *sb, u64 out[8]);	/* type, bsize, blocks, bfree, bavail, files, ffree, namelen */
	int (*sync)(struct superblock *sb);
	void *data;
};

struct mount {
	struct link link;
	struct superblock *sb;
	struct inode *root;
	struct path on;
	char *source, *target;
	u32 flags;
	bool gone;
};
extern struct link all_mounts;

struct file {
	u32 refs;
	u32 flags;
	u64 pos;
	struct path path, folder;	/* folder and last: where a plain file was found */
	char *last;
	const struct file_ops *ops;
	void *data;
	struct link epolls;		/* watches of epolls on this file */
	u64 dir_cursor;
	char *name;			/* what /proc/PID/fd shows for what has no path */
};

struct dirent_sink {
	int (*put)(struct dirent_sink *s, const char *name, size_t length, u64 ino, u8 type, u64 next);
};

/* inode.c */
void inode_init_cache(void);
struct inode *inode_find(struct superblock *sb, u64 ino);
struct inode *inode_new(struct superblock *sb, u64 ino, u32 mode);	/* in the table of inodes if ino */
static inline struct inode *inode_get(struct inode *i) { i->refs++; return i; }
void inode_put(struct inode *i);
void inode_mark_dirty(struct inode *i);
void inode_touch(struct inode *i, bool modified, bool accessed);
u64 inodes_shrink(u64 want);
u64 inodes_unused_bytes(void);
int inodes_sync(struct superblock *sb);
extern u64 dirty_page_count;

/* pagecache.c */
struct page *cache_get(struct inode *i, u64 index, bool fill);	/* uptodate and with a reference, or an error */
void cache_dirty(struct page *p);
int cache_write_inode(struct inode *i);
void cache_truncate(struct inode *i, u64 size);
ssize_t inode_read(struct inode *i, void *to, size_t n, u64 pos);
ssize_t file_read(struct file *f, struct uio *u, u64 *pos);
ssize_t file_write(struct file *f, struct uio *u, u64 *pos);
extern const struct file_ops regular_ops;

/* path.c */
struct lookup { struct path path, parent; char last[256]; bool want_dir; };
#define WALK_FOLLOW 1
#define WALK_PARENT 2		/* the last name need not exist: path.inode may be NULL */
#define WALK_ANY 4		/* a file with a slash behind its name is left to the caller */
int path_walk(int dirfd, const char *name, int flags, struct lookup *l);
int path_open(int dirfd, const char *name, struct path *out, bool follow);
void lookup_end(struct lookup *l);
void path_get(struct path *p);
void path_put(struct path *p);
int path_text(struct path *p, char *to, size_t room);
int permission(struct inode *i, int want);	/* 4 read, 2 write, 1 execute */
int user_path(u64 address, char **out);		/* to be freed with kfree */
extern struct path root_path;

/* file.c */
struct file *file_new(struct path *p, const struct file_ops *ops, u32 flags);
struct file *file_anonymous(const struct file_ops *ops, void *data, u32 flags, const char *name);
static inline struct file *file_get(struct file *f) { f->refs++; return f; }
void file_put(struct file *f);
struct file *file_open(int dirfd, const char *name, u32 flags, u32 mode);
int file_text(struct file *f, char *to, size_t room);
ssize_t file_read_at(struct file *f, struct uio *u, u64 *pos);
ssize_t file_write_at(struct file *f, struct uio *u, u64 *pos);
void locks_drop(struct inode *i, struct process *p);
i64 lock_control(struct file *f, int command, u64 arg);
i64 flock_control(struct file *f, int how);
void flock_drop(struct file *f);

/* mount.c */
int mount_root(const char *device);
int mount_add(struct superblock *sb, struct path *on, const char *source, const char *target, u32 flags);
void sync_all(void);
void unmount_all(void);

/* file systems */
struct superblock *ext2_mount(u64 dev, bool read_only, int *error);
struct superblock *tmpfs_new(const char *type);
const char *strdup_type(const char *type);
struct superblock *devfs(void);
struct superblock *procfs(void);
struct inode *shm_inode(u64 size);

/* devices.c */
const struct file_ops *device_ops(u32 mode, u64 rdev);
#define DEV(major, minor) ((u64)(major) << 8 | (minor))

/* block.c */
struct disk { u64 sectors; char name[16]; bool read_only; int (*transfer)(struct disk *d, u64 sector, void *data, u32 n, bool write); int (*flush)(struct disk *d); void *data; };
extern struct disk *disks[4];
extern int disk_count;
struct disk *disk_of(u64 rdev);

struct buffer {
	struct link hash, lru;
	u64 dev, block;
	u32 size, refs;
	bool valid, dirty, busy;
	struct link dirty_link;
	u8 *data;
};
extern struct link dirty_buffers;
struct buffer *buffer_get(u64 dev, u64 block, u32 size, bool read);	/* or NULL for an I/O error */
void buffer_put(struct buffer *b);
int buffer_write(struct buffer *b);		/* now */
void buffer_forget(u64 dev, u64 block);
void buffers_drop(u64 dev);		/* all clean, unused ones */
void buffer_mark_dirty(struct buffer *b);
u32 buffers_dirty(u64 dev);		/* how many */
u64 buffers_shrink(u64 want);
extern u64 buffer_bytes;

/* poll.c */
void epoll_forget(struct file *f);

/* pipe.c */
int fifo_open(struct file *f);
