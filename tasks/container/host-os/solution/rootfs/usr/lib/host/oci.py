# ruff: noqa: PTH101, PTH102, PTH104, PTH108, PTH110, PTH112, PTH113, PTH114, PTH115, PTH120, PTH123, PTH208, PTH211
# pathlib takes long to load under emulation.
"""OCI layouts: read, checked, unpacked with the owners of a container's own range of users."""

import gzip
import hashlib
import json
import os
import re
import shutil
import stat
import tarfile

CHUNK = 1 << 18
DOCUMENT = 1 << 20
LAYER = 256 << 20
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
PLAIN = "application/vnd.oci.image.layer.v1.tar"
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
USERS = 65536


class Refused(Exception):
    """Why a container is not run: a word for programs, a sentence for people."""

    def __init__(self, reason, detail):
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def need(condition, detail):
    if not condition:
        raise Refused("image", detail)


def plain_file(path):
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Refused("image", f"{path}: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise Refused("image", f"{path} is no file")
    return os.fdopen(file, "rb")


def document(data, what):
    try:
        found = json.loads(data)
    except ValueError:
        found = None
    need(isinstance(found, dict), f"{what} is no JSON object")
    return found


class Layout:
    def __init__(self, folder):
        self.folder = folder
        with plain_file(f"{folder}/oci-layout") as file:
            marker = document(file.read(DOCUMENT), "oci-layout")
        need(marker.get("imageLayoutVersion") == "1.0.0", "another version of the layout")

    def blob(self, descriptor):
        """An open file whose content is what the descriptor says."""
        need(isinstance(descriptor, dict), "a descriptor is no object")
        digest, size = descriptor.get("digest"), descriptor.get("size")
        need(isinstance(digest, str) and DIGEST.fullmatch(digest), f"{digest!r} is no digest")
        need(isinstance(size, int), "a descriptor has no size")
        file = plain_file(f"{self.folder}/blobs/sha256/{digest[7:]}")
        state = hashlib.sha256()
        if os.fstat(file.fileno()).st_size == size:
            while data := file.read(CHUNK):
                state.update(data)
        if f"sha256:{state.hexdigest()}" != digest:
            file.close()
            raise Refused("digest", f"{digest} has other content")
        file.seek(0)
        return file

    def read(self, descriptor, what):
        with self.blob(descriptor) as file:
            return document(file.read(DOCUMENT), what)

    def choose(self, ref):
        """The descriptor of the manifest that is meant."""
        with plain_file(f"{self.folder}/index.json") as file:
            found = self._entries(document(file.read(DOCUMENT), "index.json"))
        if ref is not None:
            name = "org.opencontainers.image.ref.name"
            found = [one for one in found if (one.get("annotations") or {}).get(name) == ref]
        for _ in range(4):
            fit = [one for one in found if self._fits(one.get("platform"))]
            need(fit, "no manifest for linux/amd64")
            if fit[0].get("mediaType") != INDEX:
                return fit[0]
            found = self._entries(self.read(fit[0], "an index"))
        raise Refused("image", "too many indexes")

    @staticmethod
    def _entries(index):
        entries = index.get("manifests")
        need(isinstance(entries, list), "an index without manifests")
        need(all(isinstance(one, dict) for one in entries), "an entry of an index is no object")
        return entries

    @staticmethod
    def _fits(platform):
        if not isinstance(platform, dict):
            return platform is None
        return (platform.get("os"), platform.get("architecture")) == ("linux", "amd64")


class Image:
    """What is to be run; `digest` is its manifest's."""

    def __init__(self, folder, ref):
        self.layout = Layout(folder)
        descriptor = self.layout.choose(ref)
        need(descriptor.get("mediaType") == MANIFEST, "a manifest of another type")
        manifest = self.layout.read(descriptor, "the manifest")
        self.digest = descriptor["digest"]
        about = manifest.get("config")
        need(isinstance(about, dict) and about.get("mediaType") == CONFIG, "another configuration")
        whole = self.layout.read(about, "the configuration")
        need((whole.get("os"), whole.get("architecture")) == ("linux", "amd64"), "another platform")
        self.config = whole.get("config") or {}
        rootfs = whole.get("rootfs")
        need(isinstance(rootfs, dict), "a configuration without rootfs")
        self.layers, self.diffs = manifest.get("layers"), rootfs.get("diff_ids")
        need(isinstance(self.layers, list) and isinstance(self.diffs, list), "no layers")
        need(len(self.layers) == len(self.diffs), "layers and diff_ids differ in number")

    def unpack(self, root, base, cache):
        """Make the tree at `root`; the users of the image begin at `base`.

        `cache` is a folder in which layers that were unpacked once lie under their digests.
        """
        os.mkdir(root, 0o755)
        os.chown(root, base, base)
        for descriptor, diff in zip(self.layers, self.diffs, strict=True):
            kind = descriptor.get("mediaType") if isinstance(descriptor, dict) else None
            need(kind in (PLAIN, PLAIN + "+gzip"), f"a layer of type {kind!r}")
            need(isinstance(diff, str) and DIGEST.fullmatch(diff), "a diff_id is no digest")
            try:
                # Even of a layer that is known, this image may have a damaged copy.
                with self.layout.blob(descriptor) as blob:
                    plain = f"{cache}/{descriptor['digest'][7:]}-{kind[-4:]}-{diff[-64:]}"
                    if not os.path.exists(plain):
                        packed = kind.endswith("gzip")
                        source = gzip.GzipFile(fileobj=blob) if packed else blob
                        self._plain(source, f"{cache}/new", diff)
                        os.rename(f"{cache}/new", plain)
                apply(plain, root, base)
            except (tarfile.TarError, EOFError, gzip.BadGzipFile, UnicodeError) as error:
                raise Refused("image", f"a layer cannot be read: {error}") from None

    @staticmethod
    def _plain(source, target, diff):
        state, size = hashlib.sha256(), 0
        with open(target, "wb") as file:
            while data := source.read(CHUNK):
                size += len(data)
                need(size <= LAYER, "a layer is too large")
                state.update(data)
                file.write(data)
        if f"sha256:{state.hexdigest()}" != diff:
            raise Refused("digest", f"a layer is not {diff}")


def resolve(root, name, follow=False):
    """Where `name` lies below `root`, links followed as inside of it, the last one on demand."""
    todo = [part for part in name.split("/") if part not in ("", ".")]
    need(".." not in todo, f"{name} leads out")
    path, links = root, 0
    while todo:
        part = todo.pop(0)
        if part == "..":
            path = root if path == root else os.path.dirname(path)
            continue
        path = f"{path}/{part}"
        if os.path.islink(path) and (todo or follow):
            links += 1
            need(links < 40, f"{name} has too many links")
            target = os.readlink(path)
            path = root if target.startswith("/") else os.path.dirname(path)
            todo = [step for step in target.split("/") if step not in ("", ".")] + todo
    return path


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def folder(root, path, base):
    """Folders that no layer names."""
    if path != root and not os.path.isdir(path):
        folder(root, os.path.dirname(path), base)
        remove(path)
        os.mkdir(path, 0o755)
        os.chown(path, base, base)


def apply(layer, root, base):
    folders = []
    with tarfile.open(layer, "r:", errorlevel=1) as tar:
        entries = tar.getmembers()
        # Whiteouts are about what lies below, wherever in the layer they stand.
        for entry in entries:
            where, _, name = entry.name.rstrip("/").rpartition("/")
            if not name.startswith(".wh."):
                continue
            above = resolve(root, where, follow=True)
            if name == ".wh..wh..opq":
                for child in os.listdir(above) if os.path.isdir(above) else ():
                    remove(f"{above}/{child}")
            else:
                need(name[4:] not in ("", ".", ".."), f"{entry.name} leads out")
                remove(f"{above}/{name[4:]}")
        for entry in entries:
            name = entry.name.rstrip("/").rpartition("/")[2]
            if name.startswith(".wh.") or (entry.isdev() and not entry.isfifo()):
                continue
            path = resolve(root, entry.name)
            folder(root, os.path.dirname(path), base)
            need(0 <= entry.uid < USERS and 0 <= entry.gid < USERS, f"the owner of {name}")
            if entry.isdir():
                if os.path.islink(path) or not os.path.isdir(path):
                    remove(path)
                    os.mkdir(path)
                folders.append((path, entry.mtime))
            else:
                need(path != root, "the root is no folder")
                remove(path)
                if entry.isfile():
                    with open(path, "xb") as target:
                        shutil.copyfileobj(tar.extractfile(entry), target, CHUNK)
                elif entry.issym():
                    os.symlink(entry.linkname, path)
                elif entry.islnk():
                    source = resolve(root, entry.linkname)
                    need(
                        os.path.isfile(source) or os.path.islink(source), f"{name} links to nothing"
                    )
                    os.link(source, path, follow_symlinks=False)
                    continue
                elif entry.isfifo():
                    os.mkfifo(path)
                else:
                    raise Refused("image", f"{name} is of an unknown type")
            os.chown(path, base + entry.uid, base + entry.gid, follow_symlinks=False)
            if not entry.issym():
                os.chmod(path, entry.mode & 0o7777)
                os.utime(path, (entry.mtime, entry.mtime))
        for path, mtime in folders:
            if os.path.isdir(path):
                os.utime(path, (mtime, mtime))


def lookup(root, file, name):
    """The line of `name` in /etc/passwd or /etc/group of the image, as fields."""
    try:
        with plain_file(resolve(root, file, follow=True)) as stream:
            for line in stream.read(DOCUMENT).decode("utf-8", "replace").splitlines():
                fields = line.split(":")
                if fields[0] == name and len(fields) > 3 - (file == "/etc/group"):
                    return fields
    except Refused:
        pass
    return None


def number(text):
    return int(text) if re.fullmatch(r"[0-9]{1,5}", text) and int(text) < USERS else None


def user(root, text):
    """(uid, gid) of the configuration's User."""
    name, _, group = text.partition(":")
    uid, gid = number(name), 0
    if name and uid is None:
        line = lookup(root, "/etc/passwd", name)
        need(line and number(line[2]) is not None, f"no user {name!r} in the image")
        uid, gid = number(line[2]), number(line[3]) or 0
    if name and number(name) is not None and not group:
        with_line = [one for one in passwd(root) if one[2] == name]
        gid = (number(with_line[0][3]) or 0) if with_line else 0
    if group:
        gid = number(group)
        if gid is None:
            line = lookup(root, "/etc/group", group)
            need(line and number(line[2]) is not None, f"no group {group!r} in the image")
            gid = number(line[2])
    return uid or 0, gid


def passwd(root):
    try:
        with plain_file(resolve(root, "/etc/passwd", follow=True)) as stream:
            text = stream.read(DOCUMENT).decode("utf-8", "replace")
    except Refused:
        return []
    return [line.split(":") for line in text.splitlines() if line.count(":") >= 3]
