/* Threads, processes, waiting, signals. */
#pragma once
#include "base.h"
#include "abi.h"
#include "hw.h"
#include "mm.h"

struct inode;
struct file;
struct mount;
struct tty;

enum task_state { READY, RUNNING, SLEEPING, SLEEPING_DEEP, STOPPED, DEAD };

struct waitqueue { struct link waiters; };
#define WAITQUEUE(name) struct waitqueue name = { LINK_INIT(name.waiters) }
struct waiter {
	struct link link;
	struct task *task;
	void (*wake)(struct waiter *w);	/* instead of waking the task */
	void *owner;
};

struct timer {
	struct link link;
	u64 at;
	void (*fire)(struct timer *t);
};

struct pending { u64 set; struct link queue; };

struct fds {
	u32 refs;
	int room;
	struct file **file;
	u8 *cloexec;
};

struct path { struct mount *mount; struct inode *inode; };

struct fs_state {
	u32 refs;
	u32 umask;
	struct path cwd, root;
};

struct credentials {
	u32 uid, euid, suid, fsuid, gid, egid, sgid, fsgid;
	u32 group_count;
	u32 groups[32];
};

struct interval { struct timer timer; struct process *process; u64 period; };
struct posix_timer { bool used; struct timer timer; struct process *process; u64 period; int signo, clock, notify, tid; u64 value; u32 overrun; };

struct process {
	int pid, pgid, sid;
	struct process *parent;
	struct link siblings, children, all;
	struct link threads;
	int thread_count;
	struct waitqueue child_wait, signal_wait;
	struct sigaction actions[SIG_COUNT + 1];
	struct pending pending;
	struct credentials cred;
	struct tty *tty;
	char name[16];
	char *exe;
	struct interval real;
	struct posix_timer *timers;
	u64 rlimit[RLIMIT_COUNT][2];
	int exit_status;
	int exit_signal;
	bool exiting, zombie, execed, is_init;
	bool stopped, stop_unreported, continued_unreported;
	int stop_signal;
	bool oom_victim;
	u64 user_ns, system_ns, child_user_ns, child_system_ns, started_ns;
	u64 max_rss, child_max_rss, minor_faults;
	int nice;
	struct task *exec_by;
	u64 personality;
};

struct task {
	int tid;
	enum task_state state;
	struct process *process;
	struct link thread_link, run_link, hash_link;
	u64 saved_rsp;
	char *stack;
	struct cpu *cpu;
	struct mm *mm;
	struct fds *fds;
	struct fs_state *fs;
	u64 fs_base, gs_base;
	u64 blocked, saved_mask, awaited;	/* the last: what sigtimedwait waits for */
	bool have_saved_mask;
	bool killed;
	struct pending pending;
	struct sigstack altstack;
	u64 clear_tid, robust_list;
	u64 vruntime, last_start, user_since;
	u64 affinity;
	u64 user_ns, system_ns;
	u64 restart_deadline, restart_arg[2];
	int restart_kind;
	struct waitqueue *vfork_done;
	struct waiter futex;
	u64 futex_key[2];
	u32 futex_bits;
	bool futex_woken;
	bool timed_out;
	u32 in_file_system;		/* may not wait for pages to be written */
	char name[16];
	u8 fpu[512] __attribute__((aligned(16)));
};

static inline struct task *current(void)
{
	struct task *t;
	asm volatile("mov %%gs:24, %0" : "=r"(t));
	return t;
}
#define self() (current()->process)

/* sched.c */
extern u64 context_switches, forks_total;
void sched_init(void);
void schedule(void);
void task_ready(struct task *t);
bool task_wake(struct task *t, bool deep);
void task_new_stack(struct task *t, void (*start)(void *), void *arg);
struct task *kernel_task(const char *name, void (*start)(void *), void *arg);
void sched_tick(void);
void idle_loop(void);
u32 runnable_count(void);

/* wait.c */
void waitqueue_init(struct waitqueue *q);
void wait_join(struct waitqueue *q, struct waiter *w);
void wait_leave(struct waiter *w);
void wake_all(struct waitqueue *q);
void wake_one(struct waitqueue *q);
/* Sleeps till woken; `until` (absolute ns, 0: for ever). 0, -ERESTARTSYS for a signal, -ETIMEDOUT. */
int sleep_interruptible(u64 until);
void sleep_deep(void);
void sleep_ns_deep(u64 ns);
bool signal_waiting(struct task *t);

/* Sleeps on q until cond holds: 0, -ERESTARTSYS or -ETIMEDOUT. */
#define WAIT_UNTIL(q, cond, until) ({ \
	int result_ = 0; \
	struct waiter waiter_ = { .task = current() }; \
	wait_join((q), &waiter_); \
	while (!(cond) && !result_) \
		result_ = sleep_interruptible(until); \
	wait_leave(&waiter_); \
	if (result_ && (cond)) \
		result_ = 0; \
	result_; })
#define WAIT_DEEP(q, cond) do { \
	struct waiter waiter_ = { .task = current() }; \
	wait_join((q), &waiter_); \
	while (!(cond)) \
		sleep_deep(); \
	wait_leave(&waiter_); \
} while (0)

struct mutex { struct task *owner; u32 depth; struct waitqueue wait; };
void mutex_init(struct mutex *m);
void mutex_lock(struct mutex *m);	/* the owner may take it again */
void mutex_unlock(struct mutex *m);

/* timer.c */
void timer_set(struct timer *t, u64 at);
void timer_cancel(struct timer *t);
void timers_run(void);
void timer_rearm(void);

/* process.c, exit.c, exec.c */
extern struct link all_processes;
extern struct process *init_process;
struct task *task_by_tid(int tid);
struct process *process_by_pid(int pid);
int pid_new(struct task *t);
void tid_drop(struct task *t);
void tid_take(struct task *t, int tid);
struct task *task_alloc(struct process *p);
void task_free(struct task *t);
i64 do_clone(struct regs *r, u64 flags, u64 stack, u64 ptid, u64 ctid, u64 tls, int exit_signal);
noreturn void task_exit(void);
noreturn void exit_group(int status);
void kill_other_threads(struct process *p, int status);
/* Arguments, then environment, each string with its end. */
struct arguments { char *text; size_t used, room; int argc, envc; };
int arguments_add(struct arguments *a, const char *s);
int do_execve(struct regs *r, char *path, struct arguments *a);
void reap(struct process *p);
void process_end_by_oom(struct process *p);
struct process *oom_choose(void);
bool in_group(u32 gid);
bool capable(void);

/* files of a process: fds.c */
struct fds *fds_new(void);
struct fds *fds_copy(struct fds *from);
void fds_put(struct fds *f);
void fds_close_on_exec(struct fds *f);
struct file *fd_file(int fd);		/* no reference taken; NULL if there is none */
struct file *fd_get(int fd);		/* with a reference */
int fd_install(struct file *f, int lowest, bool cloexec);
struct fs_state *fs_state_copy(struct fs_state *from);
void fs_state_put(struct fs_state *f);

/* signal.c */
#define SIGBIT(n) (1UL << ((n) - 1))
void pending_init(struct pending *p);
void pending_clear(struct pending *p);
int signal_process(struct process *p, int sig, const struct siginfo *info);
int signal_task(struct task *t, int sig, const struct siginfo *info);
int signal_group(int pgid, int sig, const struct siginfo *info);
void signal_fault(int sig, int code, u64 address);
bool group_is_orphaned(int pgid, struct process *without);
bool signal_again(struct pending *p, int sig, int timer, u32 times);
int signal_take_from(struct pending *p, int sig, struct siginfo *info);
int signal_take(struct task *t, u64 blocked, struct siginfo *info);
void signals_deliver(struct regs *r);
void signal_info_user(struct siginfo *info, int sig, int code);
bool signal_ignored(struct process *p, int sig);
void notify_parent(struct process *p, int code, int status);

/* futex.c */
i64 futex_wake(u64 address, u32 count, u32 bits);
void robust_list_end(struct task *t);

/* into user mode */
void return_to_user(struct regs *r);
void task_to_user(struct regs *r);
