#!/bin/bash
# busybox.sh SOURCES COMMANDS TARGET: a small BusyBox with these commands, linked to musl's library.
set -euo pipefail
sources=$1 commands=$2 target=$3
mkdir -p /tmp/work/src && cd /tmp/work/src
tar xjf "$sources"/busybox_1.35.0.orig.tar.bz2 --strip-components=1
make -s allnoconfig > /dev/null
set_to() { sed -i "s|^# CONFIG_$1 is not set\$|CONFIG_$1=$2|; s|^CONFIG_$1=.*|CONFIG_$1=$2|" .config; }
for command in $(tr a-z A-Z < "$commands"); do
    case $command in
    '[') set_to TEST1 y ;;
    SH) set_to SH_IS_ASH y ;;
    *) set_to "$command" y ;;
    esac
done
for option in LFS LONG_OPTS SHOW_USAGE BUSYBOX FEATURE_FANCY_ECHO ASH_ECHO ASH_PRINTF ASH_TEST ASH_GETOPTS \
    ASH_CMDCMD ASH_BASH_COMPAT FEATURE_SH_MATH FEATURE_SH_MATH_64 ASH_JOB_CONTROL ASH_ALIAS \
    FEATURE_EDITING FEATURE_TAR_CREATE FEATURE_TAR_LONG_OPTIONS FEATURE_TAR_AUTODETECT FEATURE_SEAMLESS_GZ \
    FEATURE_TAR_GNU_EXTENSIONS FEATURE_TAR_NOPRESERVE_TIME FEATURE_GZIP_DECOMPRESS FEATURE_GZIP_LEVELS \
    FEATURE_FIND_TYPE FEATURE_FIND_XDEV FEATURE_FIND_PERM FEATURE_FIND_EXEC FEATURE_FIND_NEWER \
    FEATURE_FIND_SIZE FEATURE_FIND_NOT FEATURE_FIND_PAREN FEATURE_FIND_PRINT0 FEATURE_LS_FILETYPES \
    FEATURE_LS_SORTFILES FEATURE_LS_TIMESTAMPS FEATURE_LS_USERNAME FEATURE_LS_RECURSIVE FEATURE_STAT_FORMAT \
    FEATURE_DATE_ISOFMT FEATURE_SORT_BIG FEATURE_XARGS_SUPPORT_ZERO_TERM FEATURE_XARGS_SUPPORT_REPL_STR \
    FEATURE_MD5_SHA1_SUM_CHECK FEATURE_READLINK_FOLLOW FEATURE_TR_CLASSES FEATURE_HUMAN_READABLE \
    FEATURE_PRESERVE_HARDLINKS FEATURE_DD_IBS_OBS FEATURE_CP_LONG_OPTIONS FEATURE_FANCY_HEAD \
    FEATURE_FANCY_TAIL FEATURE_VI_COLON FEATURE_VI_SEARCH FEATURE_VI_YANKMARK FEATURE_VI_SETOPTS \
    FEATURE_AWK_LIBM FEATURE_DIFF_DIR FEATURE_TOUCH_SUSV3 FEATURE_GREP_CONTEXT FEATURE_PIDOF_SINGLE \
    FEATURE_SEAMLESS_BZ2; do
    set_to "$option" y
done
set_to EXTRA_CFLAGS '"-Os -fno-asynchronous-unwind-tables"'
set_to EXTRA_LDFLAGS '"-Wl,--build-id=none"'
# `yes` closed its pipe when oldconfig had read enough.
(yes '' || :) | KCONFIG_NOTIMESTAMP=1 make -s oldconfig > /dev/null 2>&1
make -s -j2 CC="musl-gcc -idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu" \
    SKIP_STRIP=y busybox > /tmp/work/busybox.log 2>&1 || { tail /tmp/work/busybox.log; exit 1; }
strip -s -R .comment -R .note -o "$target" busybox
