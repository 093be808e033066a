/* Types, strings, lists and messages that every file uses. */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef unsigned long size_t;
typedef long ssize_t;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)
#define packed __attribute__((packed))
#define noreturn __attribute__((noreturn))
#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))
#define OFFSET(type, member) __builtin_offsetof(type, member)
#define HOLDER(ptr, type, member) ((type *)((char *)(ptr) - OFFSET(type, member)))
#define MIN(a, b) ({ typeof(a) a_ = (a); typeof(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define MAX(a, b) ({ typeof(a) a_ = (a); typeof(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define ROUND_UP(n, to) (((n) + (to) - 1) & ~((u64)(to) - 1))
#define ROUND_DOWN(n, to) ((n) & ~((u64)(to) - 1))

/* A pointer that is really a negative errno. */
#define IS_ERR(p) ((u64)(p) >= (u64)-4095)
#define ERR_PTR(e) ((void *)(i64)(e))
#define PTR_ERR(p) ((i64)(p))

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t max);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);
void copy_string(char *to, const char *from, size_t room);
u64 parse_number(const char *s, const char **end);
int format(char *to, size_t room, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int format_list(char *to, size_t room, const char *fmt, __builtin_va_list args);

void printk(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
noreturn void panic(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
noreturn void halt_all(void);
#define ASSERT(c) do { if (!(c)) panic("%s:%d: %s does not hold", __FILE__, __LINE__, #c); } while (0)

u64 random_u64(void);

/* Circular doubly linked lists with the links inside the items. */
struct link { struct link *next, *prev; };
#define LINK_INIT(name) { &(name), &(name) }
static inline void link_init(struct link *l) { l->next = l->prev = l; }
static inline bool link_empty(const struct link *l) { return l->next == l; }
static inline void link_insert(struct link *before, struct link *l)
{
	l->prev = before->prev;
	l->next = before;
	before->prev->next = l;
	before->prev = l;
}
static inline void link_append(struct link *list, struct link *l) { link_insert(list, l); }
static inline void link_prepend(struct link *list, struct link *l) { link_insert(list->next, l); }
static inline void link_remove(struct link *l)
{
	l->next->prev = l->prev;
	l->prev->next = l->next;
	link_init(l);
}
#define FIRST(list, type, member) HOLDER((list)->next, type, member)
#define EACH(item, list, member) \
	for (typeof(item) next_##item = (item = HOLDER((list)->next, typeof(*item), member), \
		HOLDER(item->member.next, typeof(*item), member)); \
		&item->member != (list); \
		item = next_##item, next_##item = HOLDER(item->member.next, typeof(*item), member))
