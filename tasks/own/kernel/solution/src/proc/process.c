/* Processes and threads: numbers, making new ones, who may do what. */
#include "task.h"
#include "fs.h"
#include "without.h"

#define PID_MAX 32768
#define HASH 256
#define STACK_ORDER 2

struct link all_processes = LINK_INIT(all_processes);
struct process *init_process;
static struct link by_tid[HASH];
static bool hash_ready;
static int last_tid;
static u32 task_count;

static struct link *bucket(int tid)
{
	if (!hash_ready) {
		for (int i = 0; i < HASH; i++)
			link_init(&by_tid[i]);
		hash_ready = true;
	}
	return &by_tid[(u32)tid % HASH];
}

struct task *task_by_tid(int tid)
{
	struct task *t;
	EACH(t, bucket(tid), hash_link)
		if (t->tid == tid)
			return t;
	return NULL;
}

struct process *process_by_pid(int pid)
{
	struct process *p;
	EACH(p, &all_processes, all)
		if (p->pid == pid)
			return p;
	return NULL;
}

/* A number that is no thread's, process's, group's or session's. */
int pid_new(struct task *t)
{
	struct process *p;
	bool taken;
	do {
		last_tid = last_tid >= PID_MAX - 1 ? 300 : last_tid + 1;
		taken = task_by_tid(last_tid);
		EACH(p, &all_processes, all)
			taken |= p->pid == last_tid || p->pgid == last_tid || p->sid == last_tid;
	} while (taken);
	tid_take(t, last_tid);
	return last_tid;
}

void tid_take(struct task *t, int tid)
{
	t->tid = tid;
	link_append(bucket(tid), &t->hash_link);
}

void tid_drop(struct task *t) { link_remove(&t->hash_link); }

struct task *task_alloc(struct process *p)
{
	struct task *t = kmalloc(sizeof *t);
	if (!t)
		return NULL;
	struct page *stack = page_alloc(STACK_ORDER);
	if (!stack) {
		kfree(t);
		return NULL;
	}
	t->stack = page_address(stack);
	t->process = p;
	t->affinity = ~0UL;
	link_init(&t->thread_link);
	link_init(&t->run_link);
	link_init(&t->hash_link);
	link_init(&t->futex.link);
	pending_init(&t->pending);
	t->altstack.flags = SS_DISABLE;
	*(u16 *)t->fpu = 0x37f;
	*(u32 *)(t->fpu + 24) = 0x1f80;
	task_count++;
	return t;
}

void task_free(struct task *t)
{
	task_count--;
	tid_drop(t);
	pending_clear(&t->pending);
	page_free(phys_page(virt_phys(t->stack)), STACK_ORDER);
	kfree(t);
}

/* A thread of the kernel's own, in a process of its own that programs see as a child of nobody. */
struct task *kernel_task(const char *name, void (*start)(void *), void *arg)
{
	struct process *p = kmalloc(sizeof *p);
	struct task *t = task_alloc(p);
	ASSERT(p && t);
	pid_new(t);
	p->pid = p->pgid = p->sid = t->tid;
	link_init(&p->siblings);
	link_init(&p->children);
	link_init(&p->threads);
	pending_init(&p->pending);
	waitqueue_init(&p->child_wait);
	waitqueue_init(&p->signal_wait);
	link_append(&p->threads, &t->thread_link);
	link_append(&all_processes, &p->all);
	p->thread_count = 1;
	p->exit_signal = SIGCHLD;
	p->started_ns = now_ns();
	for (int i = 0; i < RLIMIT_COUNT; i++)
		p->rlimit[i][0] = p->rlimit[i][1] = RLIM_INFINITY;
	p->rlimit[RLIMIT_STACK][0] = 8 << 20;
	p->rlimit[RLIMIT_NOFILE][0] = 1024;
	p->rlimit[RLIMIT_NOFILE][1] = 4096;
	p->rlimit[RLIMIT_CORE][0] = 0;
	copy_string(p->name, name, sizeof p->name);
	copy_string(t->name, name, sizeof t->name);
	task_new_stack(t, start, arg);
	task_ready(t);
	return t;
}

static struct process *process_copy(struct process *from, struct task *t, u64 flags)
{
	struct process *p = kmalloc(sizeof *p);
	if (!p)
		return NULL;
	p->pid = t->tid;
	p->pgid = from->pgid;
	p->sid = from->sid;
	p->tty = from->tty;
	p->cred = from->cred;
	p->nice = from->nice;
	p->personality = from->personality;
	memcpy(p->actions, from->actions, sizeof p->actions);
	memcpy(p->rlimit, from->rlimit, sizeof p->rlimit);
	memcpy(p->name, from->name, sizeof p->name);
	p->exe = from->exe ? kstrdup(from->exe) : NULL;
	p->started_ns = now_ns();
	link_init(&p->children);
	link_init(&p->threads);
	pending_init(&p->pending);
	waitqueue_init(&p->child_wait);
	waitqueue_init(&p->signal_wait);
	p->parent = flags & CLONE_PARENT ? from->parent : from;
	link_append(&p->parent->children, &p->siblings);
	link_append(&all_processes, &p->all);
	return p;
}

static void share(struct task *t, struct task *from, u64 flags)
{
	if (flags & CLONE_FILES)
		(t->fds = from->fds)->refs++;
	else
		t->fds = fds_copy(from->fds);
	if (flags & CLONE_FS)
		(t->fs = from->fs)->refs++;
	else
		t->fs = fs_state_copy(from->fs);
	if (flags & CLONE_VM)
		(t->mm = from->mm)->refs++;
	else
		t->mm = mm_copy(from->mm);
}

i64 do_clone(struct regs *r, u64 flags, u64 stack, u64 ptid, u64 ctid, u64 tls, int exit_signal)
{
	struct task *me = current();
	struct process *p = me->process;
	if ((flags & CLONE_THREAD && !(flags & CLONE_SIGHAND)) || (flags & CLONE_SIGHAND && !(flags & CLONE_VM)))
		return -EINVAL;
#ifdef WITHOUT_THREADS
	if (flags & CLONE_THREAD)
		return -EAGAIN;
#endif
	/* Programs may not fill the machine with threads so that the kernel has no memory for itself. */
	if (task_count > total_pages / 32 || (free_pages < 256 && !cache_shrink(256)))
		return -EAGAIN;
	u64 limit = p->rlimit[RLIMIT_NPROC][0];
	if (p->cred.uid && limit != RLIM_INFINITY) {
		struct process *other;
		u64 n = 0;
		EACH(other, &all_processes, all)
			n += other->cred.uid == p->cred.uid;
		if (n >= limit)
			return -EAGAIN;
	}
	struct task *t = task_alloc(p);
	if (!t)
		return -ENOMEM;
	share(t, me, flags);
	if (!t->fds || !t->fs || !t->mm) {
		if (t->fds)
			fds_put(t->fds);
		if (t->fs)
			fs_state_put(t->fs);
		if (t->mm)
			mm_put(t->mm);
		task_free(t);
		return -ENOMEM;
	}
	pid_new(t);
	if (flags & CLONE_THREAD) {
		link_append(&p->threads, &t->thread_link);
		p->thread_count++;
	} else {
		struct process *child = process_copy(p, t, flags);
		if (!child) {
			fds_put(t->fds);
			fs_state_put(t->fs);
			mm_put(t->mm);
			task_free(t);
			return -ENOMEM;
		}
		t->process = child;
		child->exit_signal = exit_signal;
		link_append(&child->threads, &t->thread_link);
		child->thread_count = 1;
		forks_total++;
	}
	memcpy(t->name, me->name, sizeof t->name);
	t->blocked = me->blocked;
	if (!(flags & CLONE_VM) || flags & CLONE_VFORK)
		t->altstack = me->altstack;
	t->fs_base = flags & CLONE_SETTLS ? tls : me->fs_base;
	t->gs_base = me->gs_base;
	t->affinity = me->affinity;
	t->vruntime = me->vruntime;
	asm volatile("fxsave %0" : "=m"(t->fpu));
	task_new_stack(t, NULL, NULL);
	struct regs *child_regs = (struct regs *)(t->stack + (PAGE_SIZE << STACK_ORDER)) - 1;
	*child_regs = *r;
	child_regs->rax = 0;
	if (stack)
		child_regs->rsp = stack;
	if (flags & CLONE_PARENT_SETTID)
		copy_out(ptid, &t->tid, 4);
	if (flags & CLONE_CHILD_SETTID) {
		u32 *at = mm_reach(t->mm, ctid, true);
		if (at)
			*at = t->tid;
	}
	if (flags & CLONE_CHILD_CLEARTID)
		t->clear_tid = ctid;
	int tid = t->tid;
	struct waitqueue done;
	waitqueue_init(&done);
	if (flags & CLONE_VFORK)
		t->vfork_done = &done;
	t->user_since = now_ns();
	task_ready(t);
	if (flags & CLONE_VFORK) {
		struct waiter w = { .task = me };
		wait_join(&done, &w);
		while ((t = task_by_tid(tid)) && t->vfork_done == &done)
			sleep_deep();
		wait_leave(&w);
	}
	return tid;
}

bool capable(void) { return self()->cred.euid == 0; }

bool in_group(u32 gid)
{
	struct credentials *c = &self()->cred;
	if (c->fsgid == gid)
		return true;
	for (u32 i = 0; i < c->group_count; i++)
		if (c->groups[i] == gid)
			return true;
	return false;
}

static struct mm *process_mm(struct process *p)
{
	struct task *t;
	EACH(t, &p->threads, thread_link)
		if (t->mm)
			return t->mm;
	return NULL;
}

/* The one with the most pages; never init unless it is alone. */
struct process *oom_choose(void)
{
#ifdef WITHOUT_MEMORY_PRESSURE
	panic("no memory is left");
#endif
	struct process *p, *worst = NULL;
	u64 most = 0;
	EACH(p, &all_processes, all) {
		struct mm *mm = process_mm(p);
		if (!mm)
			continue;
		if (p->oom_victim)
			return NULL;	/* one is on its way out */
		if (p != init_process && mm->rss > most) {
			most = mm->rss;
			worst = p;
		}
	}
	return worst ? worst : init_process;
}

void process_end_by_oom(struct process *p)
{
	printk("out of memory: process %d (%s) is ended\n", p->pid, p->name);
	p->oom_victim = true;
	p->exit_status = SIGKILL;
	kill_other_threads(p, SIGKILL);
	struct task *t;
	EACH(t, &p->threads, thread_link)
		t->killed = true;
}
