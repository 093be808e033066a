"""The root file system of a kickstart file: packages, accounts, settings, scripts."""

# Paths are texts here: those of a tree that is not the machine's own are made by joining.
# ruff: noqa: PTH103, PTH108, PTH112, PTH113, PTH114, PTH123, PTH208, PTH211

import logging
import os
import shutil
import subprocess

import dnf
import dnf.callback
import dnf.exceptions
import rpm
from kickstart import Refused

KEY = "/etc/pki/rpm-gpg/RPM-GPG-KEY-almar"
ENV = {"PATH": "/usr/sbin:/usr/bin", "HOME": "/root", "LANG": "C.UTF-8"}


class Believe(dnf.callback.KeyImport):
    """The one key that the repository's metadata may be signed with is in our own file."""

    def _confirm(self, *arguments):
        return True


def install(ks, root, scratch):
    # The first line on standard error is ours.
    logging.disable(logging.CRITICAL)
    os.makedirs(f"{scratch}/log")
    # Whoever calls us may have a rpm of Debian's, which keeps its database at home.
    os.makedirs(f"{scratch}/home")
    with open(f"{scratch}/home/.rpmmacros", "w") as file:
        file.write("%_dbpath /var/lib/rpm\n")
    os.environ["HOME"] = f"{scratch}/home"
    rpm.reloadConfig()
    url = ks.single["url"]
    wanted, without = [], []
    for where, line in ks.packages.lines:
        name = line.split("#")[0].strip()
        if name.startswith("-"):
            without.append((where, name[1:].strip()))
        elif name:
            wanted.append((where, name))
    with dnf.Base() as base:
        conf = base.conf
        conf.installroot = root
        conf.cachedir = f"{scratch}/cache"
        conf.logdir = f"{scratch}/log"
        conf.persistdir = f"{root}/var/lib/dnf"
        conf.reposdir = []
        conf.releasever = "1"
        conf.assumeyes = True
        conf.gpgcheck = True
        conf.install_weak_deps = "excludeWeakdeps" not in ks.packages.options
        conf.excludepkgs = [name for _, name in without]
        conf.tsflags = []
        repo = dnf.repo.Repo("almar", conf)
        repo.baseurl = [url["url"]]
        repo.gpgcheck = True
        repo.repo_gpgcheck = True
        repo.gpgkey = [f"file://{KEY}"]
        repo.skip_if_unavailable = False
        repo._key_import = Believe()
        base.repos.add(repo)
        try:
            base.fill_sack(load_system_repo=True)
        except (dnf.exceptions.Error, OSError) as error:
            raise Refused(url["where"], error) from None
        for where, name in wanted:
            try:
                base.install(name, strict=True)
            except dnf.exceptions.Error as error:
                raise Refused(where, error) from None
        resolve(base, wanted, ks.packages.where)
        fetch(base, url["where"])
        try:
            base.do_transaction()
        except dnf.exceptions.Error as error:
            raise Refused(ks.packages.where, error) from None
    for name in os.listdir(f"{root}/var/lib/dnf"):
        if name.endswith((".log", ".lock")):
            os.unlink(f"{root}/var/lib/dnf/{name}")


def resolve(base, wanted, section):
    """Raises Refused with the line of the first package that by itself cannot be had."""
    try:
        base.resolve()
        return
    except dnf.exceptions.DepsolveError as error:
        said = error
    for where, name in wanted:
        base.reset(goal=True)
        base.install(name, strict=True)
        try:
            base.resolve()
        except dnf.exceptions.DepsolveError as error:
            raise Refused(where, error) from None
    raise Refused(section, said)


def fetch(base, where):
    packages = list(base.transaction.install_set)
    try:
        base.download_packages(packages)
        for package in packages:
            result, said = base.package_signature_check(package)
            if result == 1:
                base.package_import_key(package, fullaskcb=lambda *a, **k: True)
                result, said = base.package_signature_check(package)
            if result != 0:
                raise Refused(where, said)
    except (dnf.exceptions.Error, OSError, ValueError) as error:
        raise Refused(where, error) from None


def inside(root, words, **how):
    return subprocess.run(
        ["chroot", root, *words], env=ENV, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        **how,
    )  # fmt: skip


def must(done, where):
    if done.returncode:
        raise Refused(where, (done.stderr.strip() or done.stdout.strip() or "it fails")[-400:])


def configure(ks, root):
    single = ks.single
    write = lambda path, text: open(f"{root}{path}", "w").write(text)  # noqa: E731, SIM115
    write("/etc/machine-id", "")
    hostname = single.get("network", {}).get("hostname", "almar")
    write("/etc/hostname", f"{hostname}\n")
    lang = single["lang"]["words"][0] if "lang" in single else "C.UTF-8"
    write("/etc/locale.conf", f"LANG={lang}\n")
    zone, where = "UTC", ks.packages.where
    if "timezone" in single:
        zone, where = single["timezone"]["words"][0], single["timezone"]["where"]
    place = os.path.normpath(f"/usr/share/zoneinfo/{zone}")
    if not place.startswith("/usr/share/zoneinfo/") or not os.path.isfile(root + place):
        raise Refused(where, f"there is no zone {zone}")
    if os.path.lexists(f"{root}/etc/localtime"):
        os.unlink(f"{root}/etc/localtime")
    os.symlink(f"..{place}", f"{root}/etc/localtime")
    for group in ks.groups:
        number = ["-g", group["gid"]] if "gid" in group else []
        must(inside(root, ["groupadd", *number, group["name"]]), group["where"])
    for user in ks.users:
        words = ["useradd", "-m", "-p", user.get("password", "!")]
        for option, letter in (("uid", "-u"), ("groups", "-G"), ("homedir", "-d"), ("gecos", "-c")):
            if option in user:
                words += [letter, user[option]]
        shell = user.get("shell", "/bin/bash")
        if not os.path.isfile(root + os.path.realpath(root + shell).removeprefix(root)):
            raise Refused(user["where"], f"there is no {shell}")
        must(inside(root, [*words, "-s", shell, user["name"]]), user["where"])
    hashed = (single["rootpw"]["words"] or ["!"])[0]
    must(inside(root, ["usermod", "-p", hashed, "root"]), single["rootpw"]["where"])
    services = single.get("services", {})
    subprocess.run(
        ["systemctl", f"--root={root}", "--quiet", "preset-all"], check=True, capture_output=True
    )
    for option, verb in (("enabled", "enable"), ("disabled", "disable")):
        for unit in services.get(option, "").split(","):
            if unit:
                words = ["systemctl", f"--root={root}", "--quiet", verb, unit]
                must(subprocess.run(words, capture_output=True, text=True), services["where"])


def scripts(ks, root):
    for post in ks.posts:
        text = "".join(f"{line}\n" for _, line in post.lines)
        path = f"{root}/tmp/ks-post"
        with open(path, "w") as file:
            file.write(text)
        done = inside(root, [post.options.get("interpreter", "/bin/sh"), "/tmp/ks-post"])
        os.unlink(path)
        if done.returncode and "erroronfail" in post.options:
            raise Refused(post.where, f"%post ends with {done.returncode}")


def make(ks, root, scratch):
    for place in ("dev", "proc", "sys", "run"):
        os.makedirs(f"{root}/{place}")
    subprocess.run(["mount", "--rbind", "/dev", f"{root}/dev"], check=True)
    subprocess.run(["mount", "--rbind", "/proc", f"{root}/proc"], check=True)
    try:
        install(ks, root, scratch)
        configure(ks, root)
        scripts(ks, root)
    finally:
        for place in ("proc", "dev"):
            subprocess.run(["umount", "-l", f"{root}/{place}"], check=False)
    for place in ("tmp", "run", "var/tmp", "var/cache/dnf"):
        if os.path.isdir(f"{root}/{place}"):
            for name in os.listdir(f"{root}/{place}"):
                path = f"{root}/{place}/{name}"
                if os.path.isdir(path) and not os.path.islink(path):
                    shutil.rmtree(path)
                else:
                    os.unlink(path)
