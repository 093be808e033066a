/* What is mounted where, and putting everything on the disks. */
#include "fs.h"
#include "without.h"

struct link all_mounts = LINK_INIT(all_mounts);

int mount_add(struct superblock *sb, struct path *on, const char *source, const char *target, u32 flags)
{
	struct mount *m = kmalloc(sizeof *m);
	if (!m)
		return -ENOMEM;
	m->sb = sb;
	m->root = inode_get(sb->root);
	m->source = kstrdup(source);
	m->target = kstrdup(target);
	m->flags = flags;
	if (on) {
		m->on = *on;
		path_get(&m->on);
		on->inode->mounted = m;
	} else {
		root_path.mount = m;
		root_path.inode = m->root;
	}
	link_append(&all_mounts, &m->link);
	return 0;
}

static u64 device_number(const char *name)
{
	if (!strncmp(name, "/dev/", 5))
		name += 5;
	for (int i = 0; i < disk_count; i++)
		if (!strcmp(disks[i]->name, name))
			return DEV(254, i);
	return 0;
}

int mount_root(const char *device)
{
	int error = -ENODEV;
	u64 dev = device_number(device);
	char unused[8];
	struct superblock *sb = dev ? ext2_mount(dev, boot_option("ro", unused, sizeof unused), &error) : NULL;
	return sb ? mount_add(sb, NULL, device, "/", 0) : error;
}

i64 sys_mount(u64 source_at, u64 target_at, u64 type_at, u64 flags, u64 data)
{
	char *source = NULL, *target = NULL, type[32] = "";
	struct superblock *sb = NULL;
	struct path on;
	if (!capable())
		return -EPERM;
	int error = user_path(target_at, &target);
	if (error)
		return error;
	if (source_at)
		user_path(source_at, &source);
	if (type_at && copy_in_string(type, type_at, sizeof type) < 0)
		error = -EFAULT;
	if (!error)
		error = path_open(AT_FDCWD, target, &on, true);
	if (error)
		goto out;
	if (flags & 32) {		/* remount: read-only or not */
		struct superblock *s = on.mount->sb;
		if (on.inode != on.mount->root)
			error = -EINVAL;
		else {
			sync_all();
			s->read_only = flags & 1;
		}
		path_put(&on);
		goto out;
	}
	if (!IS_DIR(on.inode->mode))
		error = -ENOTDIR;
	else if (!strcmp(type, "proc"))
		sb = procfs();
	else if (!strcmp(type, "tmpfs") || !strcmp(type, "ramfs") || !strcmp(type, "sysfs") || !strcmp(type, "devpts"))
		sb = tmpfs_new(strdup_type(type));
	else if (!strcmp(type, "devtmpfs"))
		sb = devfs();
	else if (!strncmp(type, "ext", 3))
		sb = source && device_number(source) ? ext2_mount(device_number(source), flags & 1, &error) : (error = -ENOTBLK, NULL);
	else
		error = -ENODEV;
	if (!error && !sb)
		error = -ENOMEM;
	if (!error)
		error = mount_add(sb, &on, source ? source : "none", target, flags);
	path_put(&on);
out:
	kfree(source);
	kfree(target);
	return error;
}

const char *strdup_type(const char *type)
{
	return !strcmp(type, "sysfs") ? "sysfs" : !strcmp(type, "devpts") ? "devpts" : !strcmp(type, "ramfs") ? "ramfs" : "tmpfs";
}

i64 sys_umount2(u64 target_at, u64 flags)
{
	char *target;
	struct path p;
	if (!capable())
		return -EPERM;
	int error = user_path(target_at, &target);
	if (error)
		return error;
	error = path_open(AT_FDCWD, target, &p, !(flags & 8));
	kfree(target);
	if (error)
		return error;
	struct mount *m = p.mount;
	struct task *t;
	struct process *proc;
	if (p.inode != m->root)
		error = -EINVAL;
	else if (!m->on.inode)
		error = -EBUSY;
	else if (!(flags & 2))
		EACH(proc, &all_processes, all)
			EACH(t, &proc->threads, thread_link) {
				if (t->fs && (t->fs->cwd.mount == m || t->fs->root.mount == m))
					error = -EBUSY;
				for (int i = 0; t->fds && i < t->fds->room; i++)
					if (t->fds->file[i] && t->fds->file[i]->path.mount == m)
						error = -EBUSY;
			}
	if (!error) {
		if (m->sb->sync)
			m->sb->sync(m->sb);
		m->on.inode->mounted = NULL;
		path_put(&m->on);
		link_remove(&m->link);
		m->gone = true;
	}
	path_put(&p);
	return error;
}

void sync_all(void)
{
	struct mount *m;
	EACH(m, &all_mounts, link)
		if (m->sb->sync && !m->sb->read_only)
			m->sb->sync(m->sb);
}

void ext2_unmount(struct superblock *sb);

void unmount_all(void)
{
	struct mount *m;
	sync_all();
	EACH(m, &all_mounts, link)
		if (!strcmp(m->sb->type, "ext2"))
			ext2_unmount(m->sb);
}

i64 sys_sync(void)
{
#ifdef WITHOUT_POWER_CUTS
	return 0;
#endif
	sync_all();
	return 0;
}

/* Changes reach the disk within some seconds by themselves. */
static void flusher(void *unused)
{
	for (;;) {
		sleep_ns_deep(5000000000UL);
		sync_all();
	}
}

void flusher_init(void) { kernel_task("flush", flusher, NULL); }
