/* Files in memory without a name. */
#include "fs.h"

i64 sys_memfd_create(u64 name, u32 flags)
{
	struct inode *i = shm_inode(0);
	if (!i)
		return -ENOMEM;
	struct path p = { NULL, i };
	struct file *f = file_new(&p, &regular_ops, O_RDWR);
	inode_put(i);
	if (!f)
		return -ENOMEM;
	i->writers++;
	f->name = kstrdup("/memfd");
	return fd_install(f, 0, flags & 1);
}
