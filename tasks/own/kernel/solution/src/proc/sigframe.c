/* The frame a handler runs on, and the way back from it. */
#include "task.h"

struct frame {
	u64 restorer;
	struct ucontext uc;
	struct siginfo info;
};

static bool on_altstack(struct task *t, u64 sp)
{
	return !(t->altstack.flags & SS_DISABLE) && sp > t->altstack.sp && sp <= t->altstack.sp + t->altstack.size;
}

void signal_frame(struct regs *r, int sig, struct siginfo *info, struct sigaction *action)
{
	struct task *t = current();
	struct sigaction a = *action;
	u64 sp = r->rsp - 128;
	if (a.flags & SA_ONSTACK && !(t->altstack.flags & SS_DISABLE) && !on_altstack(t, r->rsp))
		sp = t->altstack.sp + t->altstack.size;
	u64 fpu = ROUND_DOWN(sp - 512, 64);
	u64 at = ROUND_DOWN(fpu - sizeof(struct frame), 16) - 8;
	struct frame f = {
		.restorer = a.restorer,
		.uc = {
			.flags = 6,	/* strict SS */
			.stack = t->altstack,
			.mcontext = {
				r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rdi, r->rsi, r->rbp, r->rbx,
				r->rdx, r->rax, r->rcx, r->rsp, r->rip, r->rflags, USER_CS, 0, 0, USER_SS,
				.err = r->vector < 32 ? r->error : 0, .trapno = r->vector < 32 ? r->vector : 0,
				.oldmask = t->blocked, .cr2 = sig == SIGSEGV ? info->fault.address : 0, .fpstate = fpu,
			},
			.sigmask = t->have_saved_mask ? t->saved_mask : t->blocked,
		},
		.info = *info,
	};
	if (!(t->altstack.flags & SS_DISABLE))
		f.uc.stack.flags = on_altstack(t, r->rsp) ? SS_ONSTACK : 0;
	u8 state[512] __attribute__((aligned(16)));
	asm volatile("fxsave %0" : "=m"(state));
	if (!(a.flags & SA_RESTORER) || copy_out(fpu, state, 512) || copy_out(at, &f, sizeof f)) {
		action->handler = SIG_DFL;
		exit_group(SIGSEGV);
	}
	memset(state, 0, sizeof state);		/* the handler begins with what a program begins with */
	*(u16 *)state = 0x37f;
	*(u32 *)(state + 24) = 0x1f80;
	asm volatile("fxrstor %0" : : "m"(state));
	t->have_saved_mask = false;
	t->blocked |= a.mask | (a.flags & SA_NODEFER ? 0 : SIGBIT(sig));
	t->blocked &= ~(SIGBIT(SIGKILL) | SIGBIT(SIGSTOP));
	if (a.flags & SA_RESETHAND)
		action->handler = SIG_DFL;
	r->rdi = sig;
	r->rsi = at + OFFSET(struct frame, info);
	r->rdx = at + OFFSET(struct frame, uc);
	r->rax = 0;
	r->rsp = at;
	r->rip = MIN(a.handler, USER_TOP - 1);
	r->rflags &= ~0x500UL;
	r->vector = 0;
}

i64 sys_rt_sigreturn(struct regs *r)
{
	struct task *t = current();
	struct ucontext uc;
	u8 state[512] __attribute__((aligned(16)));
	if (copy_in(&uc, r->rsp, sizeof uc)) {
		signal_fault(SIGSEGV, SI_KERNEL, 0);
		return 0;
	}
	struct sigcontext *m = &uc.mcontext;
	if (m->fpstate && !copy_in(state, m->fpstate, 512)) {
		*(u32 *)(state + 24) &= 0xffbf;
		asm volatile("fxrstor %0" : : "m"(state));
	}
	r->r8 = m->r8; r->r9 = m->r9; r->r10 = m->r10; r->r11 = m->r11;
	r->r12 = m->r12; r->r13 = m->r13; r->r14 = m->r14; r->r15 = m->r15;
	r->rdi = m->rdi; r->rsi = m->rsi; r->rbp = m->rbp; r->rbx = m->rbx;
	r->rdx = m->rdx; r->rcx = m->rcx; r->rsp = m->rsp;
	r->rip = MIN(m->rip, USER_TOP - 1);
	r->rflags = (m->eflags & 0x40dd5) | 0x202;
	r->vector = 0;
	t->blocked = uc.sigmask & ~(SIGBIT(SIGKILL) | SIGBIT(SIGSTOP));
	if (!(uc.stack.flags & SS_ONSTACK) && uc.stack.flags != t->altstack.flags)
		t->altstack.flags = uc.stack.flags & SS_DISABLE;
	return m->rax;
}
