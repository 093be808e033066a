# ruff: noqa: PTH103, PTH104, PTH106, PTH108, PTH110, PTH112, PTH120, PTH123, PTH208, SIM105
# pathlib takes long to load under emulation.
"""One container: its tree, its volumes, its limits, its starts and its end."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time

import oci
from relay import Relay, listen

DATA = "/data"
TREES = f"{DATA}/trees"
VOLUMES = f"{DATA}/volumes"
CGROUPS = "/sys/fs/cgroup/ct"
FIRST_USER = 1 << 20
KEPT = 256 << 10
GRACE = 5
STEADY = 30
LONGEST = 30
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MASKED = [
    "/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
    "/proc/timer_list", "/proc/sched_debug", "/proc/scsi", "/proc/kmsg", "/proc/interrupts",
]  # fmt: skip
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]


def put(path, text):
    with open(path, "w") as file:
        file.write(text)


def number_of(text):
    """Of a signal: TERM, SIGTERM, 15, SIGRTMIN+3."""
    name, _, more = text.removeprefix("SIG").partition("+")
    try:
        number = int(name) if name.isdigit() else signal.Signals[f"SIG{name}"] + int(more or "0")
    except (KeyError, ValueError):
        number = 0
    oci.need(0 < number <= signal.SIGRTMAX, f"{text} is no signal")
    return number


def settle(*paths):
    """Have files and folders on the disk, for good."""
    for path in paths:
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.close(file)


class Container:
    """States: running, waiting, exited, failed, refused."""

    def __init__(self, host, name, raw):
        self.host, self.name, self.raw = host, name, raw
        self.state, self.reason, self.detail = "waiting", None, ""
        self.restarts = self.oom_kills = 0
        self.exit = self.digest = None
        self.log = bytearray()
        self._stopping = threading.Event()
        self._asking, self._asked = threading.Lock(), None
        self._started = threading.Event()
        self._namespace = self._pid = self._thread = None
        self._signal = signal.SIGTERM
        self._relays = []
        self._folder = f"{TREES}/{name}"
        self._cgroup = f"{CGROUPS}/{name}"

    def refuse(self, refused):
        self.state, self.reason, self.detail = "refused", refused.reason, refused.detail
        self.host.changed()

    def report(self):
        return {
            "state": self.state,
            "reason": self.reason,
            "detail": self.detail,
            "restarts": self.restarts,
            "oom_kills": self.oom_kills,
            "exit": self.exit,
            "image": self.digest,
        }

    def namespace(self):
        """A descriptor of the running container's network, for the caller to close; or None."""
        with self.host.lock:
            return os.dup(self._namespace) if self._namespace is not None else None

    # -- before the first start ---------------------------------------------------------------

    def prepare(self, entry, image, cache):
        self.entry, self.digest = entry, image.digest
        shutil.rmtree(self._folder, ignore_errors=True)
        os.makedirs(self._folder, 0o755)
        base = self._range()
        root = f"{self._folder}/rootfs"
        image.unpack(root, base, cache)
        self._configure(base, root, image.config)
        os.makedirs(self._cgroup, exist_ok=True)
        put(f"{self._cgroup}/memory.max", str(entry.memory << 20))
        put(f"{self._cgroup}/memory.oom.group", "1")
        put(f"{self._cgroup}/pids.max", str(entry.pids))
        put(f"{self._cgroup}/cpu.max", f"{entry.cpu * 1000} 100000")

    def _range(self):
        """The first of the users that are this container's, as long as it is declared."""
        own = f"{VOLUMES}/{self.name}"
        os.makedirs(own, 0o755, exist_ok=True)
        try:
            with open(f"{own}/base") as file:
                return int(file.read())
        except (OSError, ValueError):
            pass
        used = set()
        for name in os.listdir(VOLUMES):
            try:
                with open(f"{VOLUMES}/{name}/base") as file:
                    used.add(int(file.read()))
            except (OSError, ValueError):
                pass
        base = FIRST_USER
        while base in used:
            base += oci.USERS
        put(f"{own}/base.new", str(base))
        settle(f"{own}/base.new")
        os.rename(f"{own}/base.new", f"{own}/base")
        settle(own, VOLUMES)
        return base

    def _volume(self, name, owner):
        path = f"{VOLUMES}/{self.name}/v/{name}"
        if not os.path.isdir(path):
            os.makedirs(path, 0o755)
            settle(path, os.path.dirname(path), f"{VOLUMES}/{self.name}")
        os.chown(path, *owner)
        return path

    def _configure(self, base, root, config):
        entry = self.entry
        uid, gid = oci.user(root, config.get("User") or "")
        start = config.get("Entrypoint") or []
        args = start + (entry.args if entry.args is not None else config.get("Cmd") or [])
        oci.need(args and all(isinstance(one, str) for one in args), "nothing to start")
        env = {}
        for line in [PATH, *(config.get("Env") or [])]:
            key, _, value = line.partition("=")
            env[key] = value
        env.update(entry.env)
        stop = config.get("StopSignal") or "SIGTERM"
        self._signal = number_of(stop)
        mounts = [
            mount("/proc", "proc", "proc", "nosuid", "noexec", "nodev"),
            mount("/dev", "tmpfs", "tmpfs", "nosuid", "strictatime", "mode=755", "size=64k"),
            mount(
                "/dev/pts", "devpts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666"
            ),
            mount("/dev/shm", "tmpfs", "shm", "nosuid", "noexec", "nodev", "mode=1777", "size=8m"),
            mount("/tmp", "tmpfs", "tmpfs", "nosuid", "nodev", "mode=1777", "size=16m"),
        ]
        for name, path in entry.volumes.items():
            source = self._volume(name, (base + uid, base + gid))
            mounts.append(mount(path, "bind", source, "bind", "rw", "nosuid", "nodev"))
        users = [{"containerID": 0, "hostID": base, "size": oci.USERS}]
        kinds = ("pid", "ipc", "uts", "mount", "network", "user", "cgroup")
        nothing = {k: [] for k in ("bounding", "effective", "inheritable", "permitted", "ambient")}
        whole = {
            "ociVersion": "1.0.2",
            "process": {
                "terminal": False,
                "user": {"uid": uid, "gid": gid},
                "args": args,
                "env": [f"{key}={value}" for key, value in env.items()],
                "cwd": config.get("WorkingDir") or "/",
                "capabilities": nothing,
                "noNewPrivileges": True,
            },
            "root": {"path": root, "readonly": True},
            "hostname": self.name,
            "mounts": mounts,
            "linux": {
                "namespaces": [{"type": kind} for kind in kinds],
                "uidMappings": users,
                "gidMappings": users,
                "cgroupsPath": f"/ct/{self.name}/c",
                "maskedPaths": MASKED,
                "readonlyPaths": READ_ONLY,
            },
        }
        put(f"{self._folder}/config.json", json.dumps(whole))

    # -- life ---------------------------------------------------------------------------------

    def start(self):
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()
        self._started.wait(30)

    def _events(self):
        try:
            with open(f"{self._cgroup}/memory.events") as file:
                found = dict(line.split() for line in file)
        except OSError:
            return 0
        return int(found.get("oom_group_kill", found.get("oom_kill", 0)))

    def _live(self):
        row = 0
        while True:
            began, before = time.monotonic(), self._events()
            code = self._once()
            self.exit = code
            self.oom_kills += min(1, self._events() - before)
            if time.monotonic() - began >= STEADY:
                row = 0
            entry = self.entry
            if self._stopping.is_set() or entry.policy == "never":
                return self._become("exited")
            if entry.policy == "on-failure":
                if code == 0:
                    return self._become("exited")
                if entry.most is not None and row >= entry.most:
                    return self._become("failed")
            self._become("waiting")
            if self._stopping.wait(min(2**row, LONGEST)):
                return self._become("exited")
            row += 1
            self.restarts += 1

    def _become(self, state):
        self.state = state
        self.host.changed()
        self._started.set()

    def _once(self):
        """Run it from its start to its end; its status."""
        pid_file = f"{self._folder}/pid"
        if os.path.exists(pid_file):
            os.unlink(pid_file)
        process = subprocess.Popen(
            ["crun", "--cgroup-manager=cgroupfs", "run", "--bundle", self._folder,
             "--pid-file", pid_file, self.name],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        reader = threading.Thread(target=self._read, args=(process.stdout,), daemon=True)
        reader.start()
        while process.poll() is None:
            try:
                with open(pid_file) as file:
                    self._pid = int(file.read())
                break
            except (OSError, ValueError):
                time.sleep(0.02)
        if self._pid is not None:
            try:
                namespace = os.open(f"/proc/{self._pid}/ns/net", os.O_RDONLY)
                with self.host.lock:
                    self._namespace = namespace
                self._connect()
            except OSError:
                pass
            self._become("running")
            if self._stopping.is_set():
                self._end()
        code = process.wait()
        self._pid = None
        for relay in self._relays:
            relay.close()
        self._relays = []
        with self.host.lock:
            namespace, self._namespace = self._namespace, None
        if namespace is not None:
            os.close(namespace)
        # Nothing of it may be left, whatever it has started.
        try:
            put(f"{self._cgroup}/cgroup.kill", "1")
        except OSError:
            pass
        reader.join(2)
        subprocess.run(["crun", "delete", "-f", self.name], capture_output=True, check=False)
        return code if code >= 0 else 128 - code

    def _connect(self):
        for number, inside in self.entry.ports.items():
            listener = listen(None, "0.0.0.0", int(number))
            self._relays.append(Relay(listener, self.namespace, inside))
        for number, target in self.entry.reach.items():
            name, _, inside = target.partition(":")
            listener = listen(self._namespace, "127.0.0.1", int(number))
            where = lambda name=name: self.host.namespace_of(name)  # noqa: E731
            self._relays.append(Relay(listener, where, int(inside)))

    def _read(self, stream):
        while data := stream.read1(1 << 16):
            self.log += data
            if len(self.log) > 2 * KEPT:
                del self.log[:-KEPT]

    def _end(self):
        # Once: a second signal would find a program that is at its last work.
        with self._asking:
            pid = self._pid
            if pid is None or self._asked is not None:
                return
            self._asked = time.monotonic()
        try:
            os.kill(pid, self._signal)
        except OSError:
            pass

    def ask_to_stop(self):
        self._stopping.set()
        self._end()

    def end(self):
        """Asked to stop, and killed when its time is over."""
        self.ask_to_stop()
        if self._thread is not None:
            asked = time.monotonic() if self._asked is None else self._asked
            self._thread.join(max(0.0, asked + GRACE - time.monotonic()))
            if self._thread.is_alive():
                try:
                    put(f"{self._cgroup}/cgroup.kill", "1")
                except OSError:
                    pass

    def stop(self):
        """Ended, and nothing left but its volumes."""
        self.end()
        if self._thread is not None:
            self._thread.join()
        shutil.rmtree(self._folder, ignore_errors=True)
        for path in (f"{self._cgroup}/c", self._cgroup):
            try:
                os.rmdir(path)
            except OSError:
                pass


def mount(destination, kind, source, *options):
    return {
        "destination": destination, "type": kind, "source": source, "options": list(options),
    }  # fmt: skip
