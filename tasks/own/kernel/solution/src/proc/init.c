/* The first process: mounts the root, opens the console and becomes the program of the command line. */
#include "task.h"
#include "fs.h"
#include "without.h"

void disks_init(void);
void network_init(void);
void flusher_init(void);

static void mount_dev(void)
{
	struct path on;
	if (!path_open(AT_FDCWD, "/dev", &on, true)) {
		mount_add(devfs(), &on, "devtmpfs", "/dev", 0);
		path_put(&on);
	}
}

static void open_console(struct task *t)
{
	t->fds = fds_new();
	ASSERT(t->fds);
	struct file *f = file_open(AT_FDCWD, "/dev/console", O_RDWR, 0);
	if (IS_ERR(f)) {	/* a root without /dev: the device all the same */
		struct inode *root = devfs()->root, *i = root->ops->lookup(root, "console");
		struct path p = { root_path.mount, i };
		f = file_new(&p, device_ops(i->mode, i->rdev), O_RDWR);
		ASSERT(f && !f->ops->open(f));
		path_put(&p);
	}
	for (int i = 0; i < 3; i++)
		fd_install(file_get(f), 0, false);
	file_put(f);
}

static void run(const char *path, char *rest)
{
	static const char *const environment[] = { "HOME=/", "TERM=linux", "PATH=/sbin:/usr/sbin:/bin:/usr/bin" };
	struct arguments a = { 0 };
	struct regs *r = (struct regs *)(current()->stack + (PAGE_SIZE << 2)) - 1;
	char name[4096];
	copy_string(name, path, sizeof name);
	ASSERT(!arguments_add(&a, path));
	a.argc = 1;
	for (char *s = rest; s && *s;) {
		while (*s == ' ')
			s++;
		char *end = s;
		while (*end && *end != ' ')
			end++;
		char saved = *end;
		*end = 0;
		if (*s) {
			ASSERT(!arguments_add(&a, s));
			a.argc++;
		}
		*end = saved;
		s = end;
	}
	for (u32 i = 0; i < LENGTH(environment); i++)
		ASSERT(!arguments_add(&a, environment[i]));
	a.envc = LENGTH(environment);
	int error = do_execve(r, name, &a);
	kfree(a.text);
	if (error)
		panic("init: %s cannot be run, error %d", path, -error);
}

/* What stands behind " -- " on the command line. */
static char *arguments_of_init(char *line)
{
	for (char *s = line; *s; s++)
		if (!strncmp(s, "-- ", 3) && (s == line || s[-1] == ' '))
			return s + 3;
	return "";
}

void user_init(void *unused)
{
	struct task *t = current();
	char root[64], path[512];
	init_process = t->process;
	t->process->is_init = true;
	t->process->pgid = t->process->sid = 0;
	flusher_init();
	disks_init();
	network_init();
#ifdef WITHOUT_ELF
	bool wanted = false;
#else
	bool wanted = boot_option("init", path, sizeof path);
#endif
	if (!wanted) {
		struct waitqueue for_ever;
		waitqueue_init(&for_ever);
		WAIT_DEEP(&for_ever, false);
	}
	if (!boot_option("root", root, sizeof root))
		copy_string(root, "/dev/vda", sizeof root);
	int error = mount_root(root);
	if (error)
		panic("root: %s cannot be mounted, error %d", root, -error);
	struct fs_state *fs = kmalloc(sizeof *fs);
	ASSERT(fs);
	*fs = (struct fs_state){ .refs = 1, .umask = 022, .cwd = root_path, .root = root_path };
	path_get(&fs->cwd);
	path_get(&fs->root);
	t->fs = fs;
	mount_dev();
	open_console(t);
	run(path, arguments_of_init(command_line));
	t->user_since = now_ns();
}
