/* Sleeping on a word of memory. Words of shared mappings are known by their place in the file. */
#include "task.h"

#define BUCKETS 64
static struct link buckets[BUCKETS];
static bool ready;

static struct link *bucket(const u64 key[2])
{
	if (!ready) {
		for (int i = 0; i < BUCKETS; i++)
			link_init(&buckets[i]);
		ready = true;
	}
	return &buckets[((key[0] >> 5) ^ (key[1] >> 2) ^ (key[1] >> 12)) % BUCKETS];
}

static int make_key(u64 address, u64 key[2])
{
	struct mm *mm = current()->mm;
	if (address & 3)
		return -EINVAL;
	struct vma *v = address < USER_TOP ? vma_find(mm, address) : NULL;
	if (!v)
		return -EFAULT;
	bool shared = v->flags & MAP_SHARED && v->inode;
	key[0] = shared ? (u64)v->inode : (u64)mm;
	key[1] = shared ? v->offset + address - v->start : address;
	return 0;
}

static u32 wake_key(const u64 key[2], u32 count, u32 bits)
{
	struct task *t;
	u32 n = 0;
	EACH(t, bucket(key), futex.link) {
		if (n >= count)
			break;
		if (t->futex_key[0] != key[0] || t->futex_key[1] != key[1] || !(t->futex_bits & bits))
			continue;
		link_remove(&t->futex.link);
		t->futex_woken = true;
		task_wake(t, true);
		n++;
	}
	return n;
}

i64 futex_wake(u64 address, u32 count, u32 bits)
{
	u64 key[2];
	int error = make_key(address, key);
	return error ? error : wake_key(key, count, bits);
}

static i64 futex_wait(u64 address, u32 value, u64 until, u32 bits)
{
	struct task *t = current();
	u32 now;
	if (!bits)
		return -EINVAL;
	if (address & 3)
		return -EINVAL;
	if (copy_in(&now, address, 4))
		return -EFAULT;
	int error = make_key(address, t->futex_key);
	if (error)
		return error;
	t->futex_bits = bits;
	t->futex_woken = false;
	link_append(bucket(t->futex_key), &t->futex.link);
	if (copy_in(&now, address, 4))
		error = -EFAULT;
	else if (now != value)
		error = -EAGAIN;
	while (!error && !t->futex_woken)
		error = sleep_interruptible(until);
	link_remove(&t->futex.link);
	return t->futex_woken ? 0 : error;
}

static i64 requeue(u64 from, u64 to, u32 wake, u32 move, bool compare, u32 value)
{
	u64 key[2], other[2];
	u32 now, n = 0;
	int error = make_key(from, key);
	if (!error)
		error = make_key(to, other);
	if (error)
		return error;
	if (compare) {
		if (copy_in(&now, from, 4))
			return -EFAULT;
		if (now != value)
			return -EAGAIN;
	}
	n = wake_key(key, wake, ~0u);
	struct task *t;
	u32 moved = 0;
	EACH(t, bucket(key), futex.link) {
		if (moved >= move)
			break;
		if (t->futex_key[0] != key[0] || t->futex_key[1] != key[1])
			continue;
		if (key[0] == other[0] && key[1] == other[1]) {	/* it waits there already */
			moved++;
			continue;
		}
		link_remove(&t->futex.link);
		t->futex_key[0] = other[0];
		t->futex_key[1] = other[1];
		link_append(bucket(other), &t->futex.link);
		moved++;
	}
	return n + moved;
}

static i64 wake_op(u64 a, u64 b, u32 count, u32 count_b, u32 code)
{
	i32 argument = (i32)(code << 8) >> 20, compare = (i32)(code << 20) >> 20;
	u32 op = code >> 28 & 7, test = code >> 24 & 15;
	if (code >> 31)
		argument = 1 << (argument & 31);
	u32 *word = mm_reach(current()->mm, b, true);
	if (!word || b & 3)
		return -EFAULT;
	i32 old = *word, new;
	do {
		switch (op) {
		case 0: new = argument; break;
		case 1: new = old + argument; break;
		case 2: new = old | argument; break;
		case 3: new = old & ~argument; break;
		case 4: new = old ^ argument; break;
		default: return -ENOSYS;
		}
	} while (!__atomic_compare_exchange_n(word, (u32 *)&old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	i64 n = futex_wake(a, count, ~0u);
	bool hit = test == 0 ? old == compare : test == 1 ? old != compare : test == 2 ? old < compare
		: test == 3 ? old <= compare : test == 4 ? old > compare : old >= compare;
	if (n >= 0 && hit) {
		i64 m = futex_wake(b, count_b, ~0u);
		n = m < 0 ? m : n + m;
	}
	return n;
}

i64 sys_futex(u64 address, u32 op, u32 value, u64 timeout, u64 address2, u32 value3)
{
	u32 command = op & 0x7f;
	bool real = op & 256;
	u64 until = 0;
	if (timeout && (command == 0 || command == 9)) {
		struct timespec ts;
		if (copy_in(&ts, timeout, sizeof ts))
			return -EFAULT;
		if (ts.sec < 0 || ts.nsec < 0 || ts.nsec >= 1000000000)
			return -EINVAL;
		until = (u64)ts.sec * 1000000000 + ts.nsec;
		if (command == 0)
			until += now_ns();
		else if (real)
			until = until > real_ns() - now_ns() ? until - (real_ns() - now_ns()) : 1;
		until = MAX(until, 1UL);
	}
	switch (command) {
	case 0: return futex_wait(address, value, until, ~0u);
	case 1: return futex_wake(address, value, ~0u);
	case 3: return requeue(address, address2, value, timeout, false, 0);
	case 4: return requeue(address, address2, value, timeout, true, value3);
	case 5: return wake_op(address, address2, value, timeout, value3);
	case 9: return futex_wait(address, value, until, value3);
	case 10: return value3 ? futex_wake(address, value, value3) : -EINVAL;
	default: return -ENOSYS;
	}
}

/* A thread ended with locks held: marks them so and wakes one that waits. */
static void robust_entry(struct task *t, u64 entry, i64 offset)
{
	u32 *word = mm_reach(t->mm, entry + offset, true), old;
	if (!word || (entry + offset) & 3)
		return;
	old = *word;
	if ((old & 0x3fffffff) != (u32)t->tid)
		return;
	__atomic_store_n(word, (old & 0x80000000) | 0x40000000, __ATOMIC_SEQ_CST);
	if (old & 0x80000000)
		futex_wake(entry + offset, 1, ~0u);
}

void robust_list_end(struct task *t)
{
	u64 head[3], entry;
	if (!t->robust_list || copy_in(head, t->robust_list, sizeof head))
		return;
	entry = head[0];
	for (int i = 0; i < 2048 && entry && (entry & ~1UL) != t->robust_list; i++) {
		u64 next;
		if (copy_in(&next, entry & ~1UL, 8))
			next = 0;
		if (entry != head[2])
			robust_entry(t, entry & ~1UL, head[1]);
		entry = next;
	}
	if (head[2])
		robust_entry(t, head[2] & ~1UL, head[1]);
}
