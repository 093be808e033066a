/* Process 1: modules, the disk as root, the network's address; then systemd, or the agent alone.
 *
 * It comes from the initramfs, which the host gives to each boot: nothing that was done to the disk
 * can change it. */
#include "agent.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/route.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define AGENT "/run/benchflow/agent"
#define UNITS "/run/systemd/system"
#define UNIT UNITS "/benchflow-agent.service"

static char command_line[8192];

static const char *option(const char *name) {
    static char value[512];
    char wanted[64];
    snprintf(wanted, sizeof wanted, "benchflow.%s=", name);
    const char *at = strstr(command_line, wanted);
    if (at == NULL) return "";
    at += strlen(wanted);
    size_t length = strcspn(at, " \n");
    if (length >= sizeof value) length = sizeof value - 1;
    memcpy(value, at, length);
    value[length] = 0;
    return value;
}

static void fail(const char *what) {
    say("%s: %s", what, strerror(errno));
    sleep(1);
    reboot(RB_POWER_OFF);
    _exit(1);
}

static void load_modules(void) {
    struct dirent **names;
    int count = scandir("/modules", &names, NULL, alphasort);
    for (int n = 0; n < count; n++) {
        char path[512];
        snprintf(path, sizeof path, "/modules/%s", names[n]->d_name);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (names[n]->d_name[0] != '.' && syscall(SYS_finit_module, file, "", 0) && errno != EEXIST)
            say("%s: %s", path, strerror(errno));
        close(file);
        unlink(path);
    }
}

static void read_command_line(void) {
    int file = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = read(file, command_line, sizeof command_line - 1);
    command_line[length < 0 ? 0 : length] = 0;
    close(file);
}

static void copy_agent(void) {
    char buffer[65536];
    ssize_t count;
    int from = open("/init", O_RDONLY | O_CLOEXEC);
    int to = open("/new" AGENT, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    while ((count = read(from, buffer, sizeof buffer)) > 0)
        if (write(to, buffer, count) != count) fail("copying the agent");
    close(from);
    close(to);
}

static void mount_root(int files_only) {
    mkdir("/new", 0755);
    for (int tries = 0; access("/dev/vda", F_OK) && tries < 200; tries++) usleep(50000);
    /* Read for its files alone, it is replayed as after a power cut, and written no more. */
    if (mount("/dev/vda", "/new", "ext4", files_only ? MS_RDONLY : 0, "")) fail("mounting the disk");
    const char *kernels[] = {"proc", "sys", "dev", "run"};
    for (int n = 0; n < 4; n++) {
        char place[64];
        snprintf(place, sizeof place, "/new/%s", kernels[n]);
        mkdir(place, 0755);
    }
    /* The image may have put anything there. */
    if (mount("dev", "/new/dev", "devtmpfs", MS_NOSUID, "mode=0755")) fail("/dev");
    if (mount("proc", "/new/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "")) fail("/proc");
    if (mount("sys", "/new/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "")) fail("/sys");
    if (mount("run", "/new/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755")) fail("/run");
    mkdir("/new/run/benchflow", 0700);
    copy_agent();
    umount2("/proc", MNT_DETACH);
    umount2("/sys", MNT_DETACH);
    umount2("/dev", MNT_DETACH);
    unlink("/init");
    if (chdir("/new") || mount(".", "/", "", MS_MOVE, "") || chroot(".") || chdir("/"))
        fail("changing the root");
}

/* What the machine is called, once: later boots keep what was made of it. */
static void name_machine(void) {
    char text[2048], host[512];
    unsigned char random[16];
    snprintf(host, sizeof host, "%s", option("host"));
    sethostname(host, strlen(host));
    if (!access("/etc/machine-id", F_OK)) return;
    unlink("/etc/hostname");
    unlink("/etc/hosts");
    unlink("/etc/resolv.conf");
    snprintf(text, sizeof text, "%s\n", host);
    write_file("/etc/hostname", text);
    snprintf(text, sizeof text,
             "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 %s\n", host);
    write_file("/etc/hosts", text);
    snprintf(text, sizeof text, *option("dns") ? "nameserver %s\n" : "", option("dns"));
    write_file("/etc/resolv.conf", text);
    if (getrandom(random, sizeof random, 0) != sizeof random) fail("random numbers");
    for (int n = 0; n < 16; n++) sprintf(text + 2 * n, "%02x", random[n]);
    strcat(text, "\n");
    write_file("/etc/machine-id", text);
}

static void address(struct sockaddr *place, const char *text) {
    struct sockaddr_in *to = (struct sockaddr_in *)place;
    memset(to, 0, sizeof *to);
    to->sin_family = AF_INET;
    inet_pton(AF_INET, text, &to->sin_addr);
}

static void set_up_network(void) {
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq device = {.ifr_name = "lo"};
    ioctl(control, SIOCGIFFLAGS, &device);
    device.ifr_flags |= IFF_UP;
    ioctl(control, SIOCSIFFLAGS, &device);
    if (*option("address")) {
        struct ifreq card = {.ifr_name = "eth0"};
        struct rtentry route = {.rt_flags = RTF_UP | RTF_GATEWAY};
        address(&card.ifr_addr, option("address"));
        if (ioctl(control, SIOCSIFADDR, &card)) say("eth0: %s", strerror(errno));
        address(&card.ifr_netmask, "255.255.255.0");
        ioctl(control, SIOCSIFNETMASK, &card);
        ioctl(control, SIOCGIFFLAGS, &card);
        card.ifr_flags |= IFF_UP | IFF_RUNNING;
        ioctl(control, SIOCSIFFLAGS, &card);
        address(&route.rt_dst, "0.0.0.0");
        address(&route.rt_genmask, "0.0.0.0");
        address(&route.rt_gateway, option("router"));
        if (ioctl(control, SIOCADDRT, &route)) say("route: %s", strerror(errno));
    }
    close(control);
}

/* `benchflow.show=vdb:/opt/x,vdc:/opt/y`: disks that are shown read-only. */
static void show_disks(void) {
    char list[512], device[64];
    snprintf(list, sizeof list, "%s", option("show"));
    for (char *left, *item = strtok_r(list, ",", &left); item; item = strtok_r(NULL, ",", &left)) {
        char *place = strchr(item, ':');
        if (place == NULL) continue;
        *place++ = 0;
        snprintf(device, sizeof device, "/dev/%s", item);
        for (char *slash = strchr(place + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
            *slash = 0;
            mkdir(place, 0755);
            *slash = '/';
        }
        mkdir(place, 0755);
        if (mount(device, place, "ext4", MS_RDONLY, "")) say("%s: %s", place, strerror(errno));
    }
}

static void write_unit(const char *key, const char *limit) {
    /* A line in fstab that is wrong must not lock out who could mend it. */
    const char *targets[] = {"basic", "emergency", "rescue"};
    char text[2048];
    mkdir("/run/systemd", 0755);
    mkdir(UNITS, 0755);
    snprintf(text, sizeof text,
             "[Unit]\nDescription=benchflow's agent\nDefaultDependencies=no\n"
             "After=sysinit.target systemd-tmpfiles-setup.service\nStartLimitIntervalSec=0\n"
             "IgnoreOnIsolate=yes\nRefuseManualStop=yes\n"
             "[Service]\nExecStart=" AGENT " %s %s\nRestart=always\nRestartSec=100ms\n"
             "KillMode=process\nDelegate=yes\nTasksMax=infinity\nOOMScoreAdjust=-1000\n"
             "OOMPolicy=continue\nLimitNOFILE=1024:524288\nIgnoreSIGPIPE=no\n",
             key, limit);
    write_file(UNIT, text);
    for (int n = 0; n < 3; n++) {
        snprintf(text, sizeof text, UNITS "/%s.target.wants", targets[n]);
        mkdir(text, 0755);
        strcat(text, "/benchflow-agent.service");
        if (symlink(UNIT, text)) say("%s: %s", text, strerror(errno));
    }
}

/* No systemd in the image, or only its files are asked for: the agent, and again when it is killed. */
static void keep_agent(const char *key, const char *limit) {
    mount("cgroup2", "/sys/fs/cgroup", "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, "");
    mkdir("/dev/pts", 0755);
    mkdir("/dev/shm", 01777);
    mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "ptmxmode=0666,mode=620,gid=5");
    mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
    pid_t agent = 0;
    for (;;) {
        if (agent == 0 && (agent = fork()) == 0) {
            setsid();
            write_file("/proc/self/oom_score_adj", "-1000");
            execl(AGENT, AGENT, key, limit, (char *)NULL);
            _exit(127);
        }
        pid_t ended = wait(NULL);
        if (ended == agent) agent = 0;
        if (ended < 0 || agent == 0) usleep(100000);
    }
}

int bring_up(void) {
    char key[64], limit[32];
    umask(022);
    mkdir("/proc", 0755);
    mkdir("/sys", 0755);
    mkdir("/dev", 0755);
    mount("proc", "/proc", "proc", 0, "");
    mount("sys", "/sys", "sysfs", 0, "");
    mount("dev", "/dev", "devtmpfs", 0, "");
    read_command_line();
    if (!strcmp(option("probe"), "1")) {
        reboot(RB_POWER_OFF);
        _exit(1);
    }
    load_modules();
    int files_only = !strcmp(option("files"), "1");
    mount_root(files_only);
    snprintf(key, sizeof key, "%s", option("key"));
    snprintf(limit, sizeof limit, "%s", option("pids"));
    if (!files_only) {
        name_machine();
        set_up_network();
        show_disks();
        if (!access("/lib/systemd/systemd", X_OK)) {
            write_unit(key, limit);
            int console = open("/dev/console", O_RDWR);
            for (int fd = 0; fd < 3; fd++) dup2(console, fd);
            execl("/lib/systemd/systemd", "/sbin/init", (char *)NULL);
            say("systemd: %s", strerror(errno));
        }
    }
    keep_agent(key, limit);
    return 1;
}
