"""What the toolchain is given to compile: sources of which each has a secret of this run in it."""

from __future__ import annotations

MASK = (1 << 64) - 1


def mix(seed: str, word: str) -> str:
    """What the programs make of their secret and of a word that they are given when they run."""
    value = 0xCBF29CE484222325
    for byte in (seed + word).encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK
        value ^= value >> 29
    return f"{value:016x}"


_MIX = r"""
#include <stdint.h>
#include <stdio.h>
static const char seed[] = "@SEED@";
static inline uint64_t mix(const char *word)
{
    uint64_t value = 0xcbf29ce484222325u;
    for (int pass = 0; pass < 2; pass++)
        for (const char *at = pass ? word : seed; *at; at++) {
            value = (value ^ (unsigned char)*at) * 0x100000001b3u;
            value ^= value >> 29;
        }
    return value;
}
static inline void say(const char *name, const char *word)
{
    printf("%s %016llx\n", name, (unsigned long long)mix(word));
}
"""

_PLAIN = r"""
#include <linux/version.h>
int main(int argc, char **argv)
{
    long double part = (long double)mix(argv[1]) / 3;
    say("plain", argv[1]);
    printf("%d %d %.0Lf\n", LINUX_VERSION_CODE, (int)sizeof part, part - part + 41 + argc - 1);
    printf("%p\n", (void *)main);
}
"""

_SMASH = r"""
#include <string.h>
__attribute__((noinline)) static int spill(const char *word)
{
    char small[16];
    volatile int sum = 0;
    strcpy(small, word);
    for (char *at = small; *at && at < small + sizeof small; at++)
        sum += *at;
    return sum;
}
int main(int argc, char **argv)
{
    say(spill(argv[2]) ? "smash" : "none", argv[1]);
}
"""

# Programs written for a C library with larger stacks: each thread keeps 900 KiB on its own.
_THREADS = r"""
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
static _Atomic uint8_t bytes;
static _Atomic uint16_t halves;
static _Atomic uint32_t words;
static _Atomic uint64_t longs;
static _Thread_local uint64_t own = 7;
static void *work(void *given)
{
    volatile unsigned char deep[900 << 10];
    memset((void *)deep, (int)(intptr_t)given, sizeof deep);
    for (int round = 0; round < 1000; round++) {
        atomic_fetch_add(&bytes, 1);
        atomic_fetch_add(&halves, 3);
        atomic_fetch_sub(&words, 1);
        atomic_fetch_xor(&longs, (uint64_t)round << 32);
        own += deep[round];
    }
    return (void *)(uintptr_t)own;
}
int main(int argc, char **argv)
{
    pthread_t threads[4];
    uint64_t sum = 0;
    for (intptr_t n = 0; n < 4; n++)
        if (pthread_create(&threads[n], NULL, work, (void *)(n + 1)))
            return 9;
    for (int n = 0; n < 4; n++) {
        void *result;
        pthread_join(threads[n], &result);
        sum += (uintptr_t)result;
    }
    say("threads", argv[1]);
    printf("%u %u %u %llu %llu %llu\n", bytes, halves, words, (unsigned long long)longs,
           (unsigned long long)sum, (unsigned long long)own);
}
"""
THREADS = f"{4000 % 256} {12000 % 65536} {2**32 - 4000} 0 {4 * 7 + 1000 * 10} 7"

_ATOMICS = r"""
#include <stdatomic.h>
#include <stdbool.h>
static _Atomic bool flag;
static _Atomic uint8_t small = 250;
static _Atomic uint16_t middle = 5;
int main(int argc, char **argv)
{
    bool before = atomic_exchange(&flag, true);
    uint8_t wanted = 4;
    atomic_fetch_add(&small, (uint8_t)(argc + 8));
    bool swapped = atomic_compare_exchange_strong(&small, &wanted, (uint8_t)99);
    atomic_fetch_or(&middle, 0x8000);
    say("atomics", argv[1]);
    printf("%d %d %u %u\n", before, swapped, small, middle);
}
"""
ATOMICS = "0 1 99 32773"

_HOST = r"""
#include <stdio.h>
#include <dlfcn.h>
const char *called_back(void) { return "called back"; }
int main(int argc, char **argv)
{
    for (int n = 2; n < argc; n++) {
        void *library = dlopen(argv[n], RTLD_NOW);
        if (!library)
            return printf("%s\n", dlerror()), 9;
        int (*run)(const char *) = (int (*)(const char *))dlsym(library, "run");
        if (!run || run(argv[1]))
            return 8;
    }
}
"""

_PLUGIN = r"""
const char *called_back(void);
static _Thread_local int times = 3;
static _Atomic uint8_t runs;
int run(const char *word)
{
    say("plugin", word);
    printf("%s %d\n", called_back(), times++);
    return runs++ + 4 - times;
}
"""

_CXX_PLUGIN = r"""
#include <stdexcept>
#include <string>
struct note : std::runtime_error { using std::runtime_error::runtime_error; };
static thread_local std::string kept = "kept";
static void deep(int n) { if (n) deep(n - 1); else throw note("thrown in a plugin"); }
extern "C" int run(const char *word)
{
    try {
        deep(5);
    } catch (const std::exception &caught) {
        say("cxxplugin", word);
        printf("%s %s\n", caught.what(), kept.c_str());
        return 0;
    }
    return 1;
}
"""

FAULT_HEADER = r"""
#include <stdexcept>
struct base { virtual ~base() = default; virtual int level() const { return 1; } };
struct derived : base { int level() const override; };
struct fault : std::runtime_error {
    int number;
    fault(const char *text, int number) : std::runtime_error(text), number(number) {}
};
base *make();
void fail(int number);
"""

_FAULT = r"""
#include "fault.h"
int derived::level() const { return 2; }
base *make() { return new derived; }
void fail(int number) { throw fault("@SEED@", number); }
"""

_MAIN = r"""
#include <atomic>
#include <exception>
#include <string>
#include <thread>
#include <vector>
#include "fault.h"
struct tracked { ~tracked() { ++gone; } static std::atomic<uint8_t> gone; int uses = 0; };
std::atomic<uint8_t> tracked::gone;
thread_local tracked mine;
int main(int argc, char **argv)
{
    std::vector<std::exception_ptr> caught(3);
    std::vector<std::thread> threads;
    for (int n = 0; n < 3; n++)
        threads.emplace_back([&caught, n] {
            mine.uses++;
            try { fail(n); } catch (...) { caught[n] = std::current_exception(); }
        });
    for (auto &one : threads)
        one.join();
    int sum = 0;
    std::string text;
    for (auto &one : caught)
        try { std::rethrow_exception(one); }
        catch (const fault &found) { sum += 1 << found.number; text = found.what(); }
    base *made = make();
    say("main", argv[1]);
    printf("%s %d %d %d\n", text.c_str(), sum, int(tracked::gone.load()),
           dynamic_cast<derived *>(made) ? made->level() : 0);
    delete made;
}
"""

_LINE = r"""
int answer(int n) {
    return n * 6; /* line of the answer */
}
int main(int argc, char **argv) { say("line", argv[1]); return answer(argc) != 12; }
"""

_PART = r"""
void part_@N@(const char *word) { say("part@N@", word); }
"""
_WHOLE = "void part_1(const char *); void part_2(const char *);\n" \
    "int main(int argc, char **argv) { part_2(argv[1]); part_1(argv[1]); }\n"  # fmt: skip

WRONG = "int main(void) { return x@SEED@_is_nowhere; }\n"
UNRESOLVED = "int x@SEED@(void); int main(void) { return x@SEED@(); }\n"


def sources(seed: str) -> dict[str, str]:
    """File name → text."""
    texts = {
        "plain.c": _MIX + _PLAIN, "smash.c": _MIX + _SMASH, "threads.c": _MIX + _THREADS,
        "atomics.c": _MIX + _ATOMICS, "host.c": _HOST,
        "plugin.c": _MIX + _PLUGIN, "cxxplugin.cc": _MIX + _CXX_PLUGIN, "fault.h": FAULT_HEADER,
        "fault.cc": _FAULT, "main.cc": _MIX + _MAIN, "line.c": _MIX + _LINE,
        "part1.c": _MIX + _PART.replace("@N@", "1"), "part2.c": _MIX + _PART.replace("@N@", "2"),
        "whole.c": _WHOLE, "wrong.c": WRONG, "unresolved.c": UNRESOLVED,
    }  # fmt: skip
    return {name: text.replace("@SEED@", seed) for name, text in texts.items()}
