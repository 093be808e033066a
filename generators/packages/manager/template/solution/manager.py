#!/usr/bin/python3 -IS
"""The manager: packages of this station, changed as a whole or not at all."""
import base64, errno, fcntl, gzip, hashlib, io, json, lzma, os, shutil, signal, socket, stat
import subprocess, sys, tarfile

WORD = "{{axis_word}}"
STATE = "{{axis_state}}/" + WORD
CONF = "{{axis_conf}}"
CONF_SIGN = "{{axis_conf_sign}}"
INDEX_FORM = "{{axis_index_form_name}}"
INDEX_NAME = "{{axis_index_name}}"
CONTAINER = "{{axis_container_name}}"
ENDING = "{{axis_ending}}"
META_NAME = "{{axis_meta_name}}"
META_SIGN = "{{axis_meta_sign}}"
PAYLOAD = "{{axis_payload}}"
VERSIONS = "{{axis_ordering_name}}"
DIGEST = "{{axis_digest_name}}"
SIGNATURE = "{{axis_signature_name}}"
PUT = ".being-put"
NEW, SAVED = "{{axis_new_ending}}", "{{axis_saved_ending}}"
VERBS = {
    "update": "{{axis_verb_update}}", "install": "{{axis_verb_install}}",
    "upgrade": "{{axis_verb_upgrade}}", "remove": "{{axis_verb_remove}}",
    "list": "{{axis_verb_list}}", "files": "{{axis_verb_files}}",
    "hold": "{{axis_verb_hold}}", "release": "{{axis_verb_release}}",
    "sweep": "{{axis_verb_sweep}}", "rollback": "{{axis_verb_rollback}}",
    "owner": "{{axis_verb_owner}}", "verify": "{{axis_verb_verify}}",
}
USAGE, UNREACHABLE, DISTRUSTED = {{status_usage}}, {{status_unreachable}}, {{status_distrusted}}
DAMAGED, IMPOSSIBLE, IN_THE_WAY = {{status_damaged}}, {{status_impossible}}, {{status_in_the_way}}
BUSY, FAILED, NO_ROOM = {{status_busy}}, {{status_failed}}, {{status_no_room}}
NOTHING, DIFFERS = {{status_nothing}}, {{status_differs}}
TOKEN_HEADER, PIECE = "{{axis_token_header}}", {{axis_piece}}
PATIENCE, FIRST_ID = {{axis_patience}}, {{axis_first_id}}
RELATIONS = ("needs", "conflicts", "provides", "replaces")
HAS = set()


class Refused(Exception):
    def __init__(self, status, why):
        super().__init__(why)
        self.status = status


# --- answers -------------------------------------------------------------------------------------
HAS.add("answers")
# @parts repaired answers
# --- trusts --------------------------------------------------------------------------------------
HAS.add("trusts")
# @parts repaired trusts
# --- installs ------------------------------------------------------------------------------------
HAS.add("installs")
# @parts repaired installs
# --- resolves ------------------------------------------------------------------------------------
HAS.add("resolves")
# @parts repaired resolves
# --- refuses -------------------------------------------------------------------------------------
HAS.add("refuses")
# @parts repaired refuses
# --- fetches -------------------------------------------------------------------------------------
HAS.add("fetches")
# @parts repaired fetches
# --- upgrades ------------------------------------------------------------------------------------
HAS.add("upgrades")
# @parts repaired upgrades
# --- removes -------------------------------------------------------------------------------------
HAS.add("removes")
# @parts repaired removes
# --- tells ---------------------------------------------------------------------------------------
HAS.add("tells")
# @parts repaired tells
# --- settles -------------------------------------------------------------------------------------
HAS.add("settles")
# @parts repaired settles
# --- undoes --------------------------------------------------------------------------------------
HAS.add("undoes")
# @parts repaired undoes
# --- survives ------------------------------------------------------------------------------------
HAS.add("survives")
# @parts repaired survives
# --- mixes ---------------------------------------------------------------------------------------
HAS.add("mixes")
# @parts repaired mixes
# --- all of it -----------------------------------------------------------------------------------
if "survives" not in HAS:
    STATE = "/run/" + WORD


# Versions, needs.

def key(version):
    epoch, letter, early = 0, "", (1, 0)
    if VERSIONS == "epoch" and ":" in version:
        head, version = version.split(":")
        epoch = int(head)
    if VERSIONS == "tilde" and "~" in version:
        version, tail = version.split("~")
        early = (0, int(tail))
    if VERSIONS == "letters" and version[-1].isalpha():
        version, letter = version[:-1], version[-1]
    numbers = [int(part) for part in version.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return epoch, numbers, letter, early


def parted(need):
    """NAME, sign, VERSION of one alternative."""
    if "versions" in HAS:
        for sign in (">=", "<", "="):
            if sign in need:
                name, _, version = need.partition(sign)
                return name, sign, version
    return need, "", ""


def alternatives(need):
    return need.split("|") if "alternatives" in HAS else [need]


def named(one, package):
    """Whether the package called so fits, what it provides aside."""
    name, sign, version = parted(one)
    if package["name"] != name:
        return False
    have = key(package["version"])
    if sign == ">=":
        return have >= key(version)
    if sign == "<":
        return have < key(version)
    return sign == "" or have == key(version)


def fits(one, package):
    if named(one, package):
        return True
    return "provides" in HAS and parted(one)[1] == "" and one in package["provides"]


def meets(need, package):
    return any(fits(one, package) for one in alternatives(need))


# Fetching.

def conf():
    found = {"repository": [], "key": "", "token": ""}
    try:
        text = open(CONF).read()
    except OSError:
        raise Refused(UNREACHABLE, "there is no " + CONF)
    for line in text.splitlines():
        if line.startswith("#") or CONF_SIGN not in line:
            continue
        name, _, value = line.partition(CONF_SIGN)
        if name == "repository":
            found["repository"].append(value)
        else:
            found[name] = value
    if "priorities" not in HAS:
        del found["repository"][1:]
    return found


def ask(url, told, start=0, hops=0):
    """Status, body or what came of it, and whether that is all."""
    host, _, path = url.removeprefix("http://").partition("/")
    name, _, port = host.partition(":")
    lines = ["GET /%s HTTP/1.1" % path, "Host: " + host, "Connection: close"]
    if "token" in HAS:
        lines.append("%s: %s" % (TOKEN_HEADER, told["token"]))
    if start:
        lines.append("Range: bytes=%d-" % start)
    data, whole = b"", False
    try:
        with socket.create_connection((name, int(port or 80)), PATIENCE) as line:
            line.settimeout(PATIENCE if "stalls" in HAS else None)
            line.sendall("\r\n".join([*lines, "", ""]).encode())
            file = line.makefile("rb")
            status = int(file.readline().split()[1])
            heads = {}
            while (row := file.readline().strip()):
                head, _, value = row.decode().partition(":")
                heads[head.lower()] = value.strip()
            length = int(heads.get("content-length", 0))
            while len(data) < length and (piece := file.read1(65536)):
                data += piece
            whole = len(data) == length
    except (OSError, ValueError, IndexError) as error:
        if not data:
            raise Refused(UNREACHABLE, "%s: %s" % (url, error))
        status = 206 if start else 200
    if status in (301, 302, 307) and "moved" in HAS:
        if hops > 5:
            raise Refused(UNREACHABLE, url + ": it is moved round in a circle")
        return ask(heads["location"], told, start, hops + 1)
    if status not in (200, 206):
        raise Refused(UNREACHABLE, "%s: status %d" % (url, status))
    if status == 200 and start:
        data = data[start:]
    return data, whole or "fetches" not in HAS


def fetch(url, told, kept=""):
    """A file; what came of it before it ended too early stays in the file `kept`."""
    before = b""
    if kept and "resume" in HAS and os.path.exists(kept):
        before = open(kept, "rb").read()
    data, whole = ask(url, told, len(before))
    data = before + data
    if not whole:
        if kept and "resume" in HAS:
            os.makedirs(os.path.dirname(kept), exist_ok=True)
            open(kept, "wb").write(data)
        raise Refused(UNREACHABLE, url + ": it ended too early")
    if kept and os.path.exists(kept):
        os.unlink(kept)
    return data


def trusted(data, signature, told):
    work = STATE + "/signed"
    os.makedirs(work, exist_ok=True)
    der = bytes.fromhex("302a300506032b6570032100" + told["key"])
    for name, content in (("key", der), ("data", data), ("signature", signature)):
        open(work + "/" + name, "wb").write(content)
    done = subprocess.run(
        ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", work + "/key",
         "-rawin", "-in", work + "/data", "-sigfile", work + "/signature"],
        capture_output=True)
    shutil.rmtree(work)
    return done.returncode == 0


def read_index(data):
    text, packages, serial = data.decode("ascii"), [], 0
    if INDEX_FORM == "json":
        told = json.loads(text)
        serial = told.get("serial", 0)
        packages = [dict(one) for one in told["packages"]]
    elif INDEX_FORM == "lines":
        head, *rows = text.splitlines()
        assert head == "index 1"
        if rows and rows[0].startswith("serial "):
            serial = int(rows.pop(0).split()[1])
        for row in rows:
            name, version, size, digest, *more = row.split(" ")
            one = dict(name=name, version=version, size=int(size), digest=digest)
            for field in more:
                relation, _, values = field.partition("=")
                one[relation] = values.split(",")
            packages.append(one)
    else:
        head, *stanzas = text.rstrip("\n").split("\n\n")
        fields = dict(row.split(": ", 1) for row in head.splitlines())
        assert fields["Index"] == "1"
        serial = int(fields.get("Serial", 0))
        for stanza in stanzas:
            fields = dict(row.split(": ", 1) for row in stanza.splitlines())
            one = {name.lower(): value for name, value in fields.items()}
            one["size"] = int(one["size"])
            for relation in RELATIONS:
                if relation in one:
                    one[relation] = one[relation].split(", ")
            packages.append(one)
    for one in packages:
        for relation in RELATIONS:
            one.setdefault(relation, [])
        one["name"] + one["version"] + one["digest"]
    return {one["name"]: one for one in packages}, serial


def update(state, arguments):
    told = conf()
    taken, serials = {}, {}
    for url in told["repository"]:
        if "trusts" not in HAS:
            raise Refused(UNREACHABLE, "not yet")
        data = fetch(url + "/" + INDEX_NAME + (".gz" if "packed-index" in HAS else ""), told)
        if "packed-index" in HAS:
            try:
                data = gzip.decompress(data)
            except (OSError, EOFError):
                raise Refused(DISTRUSTED, "the index is not packed as it should be")
        try:
            if SIGNATURE == "inline":
                data, _, last = data.rpartition(b"signed ")
                signature = bytes.fromhex(last.decode().strip())
            else:
                signature = fetch(url + "/" + INDEX_NAME + ".sig", told)
                if SIGNATURE == "base64":
                    signature = base64.b64decode(signature.strip(), validate=True)
            good = len(signature) == 64 and trusted(data, signature, told)
            packages, serial = read_index(data) if good else ({}, 0)
        except (ValueError, KeyError, AssertionError, TypeError, IndexError):
            good = False
        if not good:
            raise Refused(DISTRUSTED, url + ": the index is not ours")
        if "serial" in HAS and serial < state["serials"].get(url, 0):
            raise Refused(DISTRUSTED, url + ": the index is older than one that was taken")
        serials[url] = serial
        for name, one in packages.items():
            taken.setdefault(name, {**one, "repository": url})
    state["index"] = taken
    state["serials"].update(serials)
    save(state)


# Packages.

def members(data):
    if CONTAINER == "frames":
        at = 0
        while at < len(data):
            end = data.index(b"\n", at)
            kind, mode, uid, gid, size, path = data[at:end].decode().split(" ")
            content = data[end + 1:end + 1 + int(size)]
            if len(content) != int(size):
                raise ValueError("it ends too early")
            yield kind, int(mode, 8), int(uid), int(gid), path, content
            at = end + 1 + int(size)
        return
    if CONTAINER == "targz":
        data = gzip.decompress(data)
    elif CONTAINER == "tarxz":
        data = lzma.decompress(data)
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for one in tar:
            kind = "d" if one.isdir() else "l" if one.issym() else "f" if one.isfile() else "?"
            content = tar.extractfile(one).read() if kind == "f" else one.linkname.encode()
            yield kind, one.mode, one.uid, one.gid, one.name.rstrip("/"), content


def read_package(data, told):
    found = {"meta": {}, "after": None, "triggered": None, "entries": {}}
    for kind, mode, uid, gid, path, content in members(data):
        if path == META_NAME:
            for line in content.decode().splitlines():
                name, _, value = line.partition(META_SIGN)
                found["meta"].setdefault(name, []).append(value)
        elif path in ("AFTER", "TRIGGERED"):
            found[path.lower()] = content
        else:
            top, _, rest = path.partition("/")
            parts = rest.split("/")
            if top != PAYLOAD or kind not in "dlf" or not {"", ".", ".."}.isdisjoint(parts):
                raise ValueError("%r is no path of a package" % path)
            found["entries"]["/" + rest] = [kind, mode, uid, gid, content]
    meta = found["meta"]
    for name, value in (("name", [told["name"]]), ("version", [told["version"]]),
                        *((each, told[each]) for each in RELATIONS)):
        if meta.get(name, []) != value:
            raise ValueError("its %s is not what the index says" % name)
    return found


def package_url(one):
    if "pool" in HAS:
        return "%s/pool/%s/%s" % (one["repository"], one["digest"][:2], one["digest"])
    return "%s/%s-%s.%s" % (one["repository"], one["name"], one["version"].replace(":", "_"), ENDING)


def package(one, told):
    url, kept = package_url(one), STATE + "/partial/" + one["name"]
    if "pieces" in HAS:
        count = -(-one["size"] // PIECE)
        data = b"".join(fetch("%s.%d" % (url, at), told, "%s.%d" % (kept, at)) for at in range(count))
    else:
        data = fetch(url, told, kept)
    if "refuses" in HAS:
        if len(data) != one["size"] or hashlib.new(DIGEST, data).hexdigest() != one["digest"]:
            raise Refused(DAMAGED, one["name"] + " is not what the index says")
    try:
        return read_package(data, one)
    except (ValueError, KeyError, EOFError, OSError, tarfile.TarError, lzma.LZMAError) as error:
        raise Refused(DAMAGED, "%s: %s" % (one["name"], error))


# State.

def load():
    try:
        with open(STATE + "/state.json") as file:
            return json.load(file)
    except FileNotFoundError:
        return {"number": 0, "installed": {}, "index": {}, "serials": {}, "held": [], "last": None}


def save(state):
    if "power-cut" in HAS:
        os.sync()
    with open(STATE + "/state.new", "w") as file:
        json.dump(state, file)
    os.rename(STATE + "/state.new", STATE + "/state.json")
    if "power-cut" in HAS:
        os.sync()


def lstat(path):
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def remember(touched, folder):
    """What lies at these paths now, in a folder with a list."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    rows = []
    for at, path in enumerate(sorted(touched)):
        info = lstat(path)
        if info is None:
            rows.append([path, "", 0, 0, 0, ""])
            continue
        kind = "d" if stat.S_ISDIR(info.st_mode) else "l" if stat.S_ISLNK(info.st_mode) else "f"
        text = os.readlink(path) if kind == "l" else ""
        if kind == "f":
            shutil.copyfile(path, "%s/%d" % (folder, at))
        rows.append([path, kind, stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid, text])
    with open(folder + "/list.new", "w") as file:
        json.dump(rows, file)
    if "power-cut" in HAS:
        os.sync()
    os.rename(folder + "/list.new", folder + "/list")


def bring_back(folder):
    with open(folder + "/list") as file:
        rows = json.load(file)
    for path, kind, *_ in reversed(rows):
        if lstat(path + PUT) is not None:
            os.unlink(path + PUT)
        info = lstat(path)
        if info is not None and kind != "d" and stat.S_ISDIR(info.st_mode):
            try:
                os.rmdir(path)
            except OSError:
                pass
        elif info is not None and not stat.S_ISDIR(info.st_mode):
            os.unlink(path)
    for at, (path, kind, mode, uid, gid, text) in enumerate(rows):
        if kind == "d" and not os.path.isdir(path):
            os.mkdir(path)
        elif kind == "l":
            os.symlink(text, path)
        elif kind == "f":
            kept = "%s/%d" % (folder, at)
            try:
                shutil.copyfile(kept, path)
            except OSError:
                os.rename(kept, path)
        if kind:
            os.chown(path, uid, gid, follow_symlinks=False)
        if kind in ("d", "f"):
            os.chmod(path, mode)


def recover():
    """What was under way when somebody was stopped is taken back."""
    if "killed" not in HAS and "power-cut" not in HAS:
        return
    state, folder = load(), STATE + "/undo"
    try:
        number = int(open(STATE + "/under-way").read())
    except (FileNotFoundError, ValueError):
        return
    if state["number"] < number and os.path.exists("%s%d/list" % (folder, number)):
        bring_back("%s%d" % (folder, number))
        if "power-cut" in HAS:
            os.sync()
    os.unlink(STATE + "/under-way")


# Planning.

def later(one, state):
    """Whether it is later than what is installed of it, if anything is."""
    there = state["installed"].get(one["name"])
    return there is None or key(one["version"]) > key(there["version"])


def wanted(need, state):
    """The package of the index that is to come for a need that is not met."""
    for one in alternatives(need):
        name = parted(one)[0]
        there = state["index"].get(name)
        if there and named(one, there) and later(there, state):
            return there
        if "provides" in HAS and parted(one)[1] == "":
            for other in sorted(state["index"]):
                there = state["index"][other]
                if one in there["provides"] and later(there, state):
                    return there
    raise Refused(IMPOSSIBLE, "nothing meets the need " + need)


def plan_of(state, names, fresh):
    """name → what is to be installed; `fresh`: named packages, in the index's version."""
    plan = {name: state["index"][name] for name in fresh}
    todo = list(plan.values())
    base = [one for name, one in state["installed"].items()]
    called = [state["index"][name] for name in names if name in state["index"]]
    while todo and "resolves" in HAS:
        one = todo.pop()
        for need in one["needs"]:
            there = [*called, *(b for b in base if b["name"] not in plan)]
            if any(meets(need, other) for other in there):
                continue
            come = wanted(need, state)
            if come["name"] not in plan:
                plan[come["name"]] = come
                todo.append(come)
    return plan


def judge(state, plan, gone):
    after = {name: one for name, one in state["installed"].items() if name not in gone}
    after.update(plan)
    for one in after.values():
        for need in one["needs"]:
            if "resolves" in HAS and not any(meets(need, other) for other in after.values()):
                raise Refused(IMPOSSIBLE, "%s needs %s" % (one["name"], need))
        if "conflicts" in HAS:
            for other in one["conflicts"]:
                if other in after and other != one["name"]:
                    raise Refused(IMPOSSIBLE, "%s excludes %s" % (one["name"], other))
    if "holds" in HAS:
        for name in state["held"]:
            if name in gone or name in plan:
                raise Refused(IMPOSSIBLE, name + " is held")
    return after


def replaced_by(state, plan):
    gone = set()
    if "replaces" in HAS:
        for one in plan.values():
            gone.update(n for n in one["replaces"] if n in state["installed"] and n not in plan)
    return gone


def install(state, names):
    for name in names:
        if name not in state["index"] and name not in state["installed"]:
            raise Refused(IMPOSSIBLE, "there is no package " + name)
    if "installs" not in HAS:
        raise Refused(IMPOSSIBLE, "not yet")
    fresh = [n for n in names if n not in state["installed"]]
    plan = plan_of(state, names, fresh)
    gone = replaced_by(state, plan)
    judge(state, plan, gone)
    change(state, plan, gone, set(names))


def upgrade(state, arguments):
    if "upgrades" not in HAS:
        return
    fresh = [
        name for name, one in state["installed"].items()
        if name in state["index"] and key(state["index"][name]["version"]) > key(one["version"])
        and not ("holds" in HAS and name in state["held"])
    ]
    plan = plan_of(state, fresh, fresh)
    gone = replaced_by(state, plan)
    judge(state, plan, gone)
    change(state, plan, gone, set())


def remove(state, names):
    for name in names:
        if name not in state["installed"]:
            raise Refused(IMPOSSIBLE, name + " is not installed")
    if "removes" not in HAS:
        raise Refused(IMPOSSIBLE, "not yet")
    judge(state, {}, set(names))
    change(state, {}, set(names), set())


def sweep(state, arguments):
    kept = {name for name, one in state["installed"].items() if one["named"]}
    todo = list(kept)
    while todo:
        for need in state["installed"][todo.pop()]["needs"]:
            for name, one in state["installed"].items():
                if name not in kept and meets(need, one):
                    kept.add(name)
                    todo.append(name)
    gone = set(state["installed"]) - kept
    judge(state, {}, gone)
    change(state, {}, gone, set())


# Changing.

def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def is_changed(path, entry):
    """Whether a file is not what its package brought."""
    info = lstat(path)
    return info is None or not stat.S_ISREG(info.st_mode) or digest_of(path) != entry[4]


def put(path, entry, content):
    kind, mode, uid, gid = entry[:4]
    if kind == "d":
        if lstat(path) is None:
            os.mkdir(path)
            os.chown(path, uid, gid)
            os.chmod(path, mode if "settles" in HAS else 0o755)
        return
    fresh = path + PUT
    if kind == "l":
        os.symlink(content.decode(), fresh)
        os.chown(fresh, uid, gid, follow_symlinks=False)
    else:
        with open(fresh, "wb") as file:
            file.write(content)
        os.chown(fresh, uid, gid)
        os.chmod(fresh, mode if "settles" in HAS else 0o755 if mode & 0o100 else 0o644)
    os.rename(fresh, path)


def accounts_of(made):
    """Numbers of accounts by name; what is missing is added."""
    rows = [line.split(":") for line in open("/etc/passwd").read().splitlines()]
    known = {row[0]: int(row[2]) for row in rows}
    groups = [line.split(":") for line in open("/etc/group").read().splitlines()]
    used = {*known.values(), *(int(row[2]) for row in groups)}
    missing = sorted({n for one in made for n in one["meta"].get("account", [])} - set(known))
    for name in missing:
        number = next(n for n in range(FIRST_ID, 60000) if n not in used)
        used.add(number)
        known[name] = number
        for path, text in (("/etc/passwd", "%s:x:%d:%d::/:/bin/false\n" % (name, number, number)),
                           ("/etc/group", "%s:x:%d:\n" % (name, number))):
            content = open(path).read() + text
            with open(path + ".new", "w") as file:
                file.write(content)
            os.rename(path + ".new", path)
    return known


def change(state, plan, gone, names):
    before = {name: dict(one) for name, one in state["installed"].items()}
    for name in names & set(state["installed"]):
        state["installed"][name]["named"] = True
    if not plan and not gone:
        save(state)
        return
    told = conf() if plan else {}
    if "undoes" in HAS:
        read = {name: package(one, told) for name, one in plan.items()}
    else:
        read = {}
        for name in sorted(plan, reverse=True):
            read[name] = package(plan[name], told)
            for path, entry in read[name]["entries"].items():
                put(path, entry, entry[4])
    old = {name: before[name] for name in {*plan, *gone} if name in before}
    stays = {name: one for name, one in state["installed"].items() if name not in plan and name not in gone}
    if "accounts" in HAS:
        known = accounts_of(read.values())
        for one in read.values():
            for row in one["meta"].get("owned", []):
                path, _, account = row.rpartition(" ")
                one["entries"]["/" + path][2:4] = [known[account]] * 2
    records = {}
    for name, one in read.items():
        entries = {
            path: [*entry[:4], hashlib.sha256(entry[4]).hexdigest() if entry[0] == "f" else
                   entry[4].decode()] for path, entry in one["entries"].items()
        }
        marks = [f"/{path}" for path in one["meta"].get("config", [])]
        was = before.get(name, {})
        records[name] = {
            **plan[name], "entries": entries, "config": marks,
            "named": name in names or was.get("named", False),
            "triggers": ["/" + p for p in one["meta"].get("trigger", [])],
            "triggered": (one["triggered"] or b"").decode(),
        }
    keeps = "config-files" in HAS
    ours = {path: name for name, one in old.items() for path in one["entries"]}
    stay = {path for one in stays.values() for path in one["entries"]}
    if "in-the-way" in HAS:
        seen = {}
        for name, one in records.items():
            for path, entry in one["entries"].items():
                if entry[0] == "d":
                    info = lstat(path)
                    if info is not None and not stat.S_ISDIR(info.st_mode) and path not in ours:
                        raise Refused(IN_THE_WAY, path + " is in the way")
                    continue
                nobodys = lstat(path) is not None and path not in ours
                if path in stay or seen.setdefault(path, name) != name:
                    raise Refused(IN_THE_WAY, path + " is another package's")
                if nobodys and not (keeps and path in one["config"]):
                    raise Refused(IN_THE_WAY, path + " is in the way")
    # What is to be done: path → what is put there; paths that go; renames.
    puts, goes, renames = {}, set(), {}
    for name, one in records.items():
        previous = old.get(name)
        for path, entry in one["entries"].items():
            where = path
            if keeps and path in one["config"]:
                was = previous["entries"].get(path) if previous else None
                if was and path in previous["config"]:
                    if is_changed(path, was):
                        if was[4] == entry[4]:
                            continue
                        where = path + NEW
                elif lstat(path) is not None and path not in ours:
                    where = path + NEW
            puts[where] = (entry, read[name]["entries"][path][4])
    new_paths = {path for one in records.values() for path in one["entries"]}
    for name, one in old.items():
        for path, entry in one["entries"].items():
            if path in stay or path in new_paths and ("mixes" in HAS or name in plan and path in
                                                       records[name]["entries"]):
                continue
            if entry[0] != "d" and path in one["config"] and "config-saved" in HAS:
                if lstat(path) is not None and is_changed(path, entry):
                    renames[path] = path + SAVED
                    continue
            goes.add(path)
    touched = {*puts, *goes, *renames, *renames.values()}
    number = state["number"] + 1
    folder = "%s/undo%d" % (STATE, number)
    try:
        remember(touched, folder)
        with open(STATE + "/under-way", "w") as file:
            file.write(str(number))
        if "power-cut" in HAS:
            os.sync()
        apply(puts, goes, renames, old)
        after = {**stays, **records}
        run_scripts(plan, read, before, after, old, records)
        state["installed"] = after
        state["held"] = [name for name in state["held"] if name in after]
        state["last"] = {"folder": folder, "installed": before} if "rollback" in HAS else None
        state["number"] = number
        save(state)
    except (OSError, Refused) as error:
        if "full-disk" in HAS or isinstance(error, Refused):
            if os.path.exists(folder + "/list"):
                bring_back(folder)
        shutil.rmtree(folder, ignore_errors=True)
        for name in ("under-way", "state.new"):
            if os.path.exists(STATE + "/" + name):
                os.unlink(STATE + "/" + name)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Refused(NO_ROOM, "there is no room") from None
        raise
    os.unlink(STATE + "/under-way")
    for name in os.listdir(STATE):
        if name.startswith("undo") and not (state["last"] and STATE + "/" + name == folder):
            shutil.rmtree(STATE + "/" + name)


def apply(puts, goes, renames, old):
    if "mixes" not in HAS:  # what moved from one package to another is then gone
        for path in sorted(puts):
            put(path, *puts[path])
        puts = {}
    for path, target in renames.items():
        os.rename(path, target)
    for path in sorted(goes, reverse=True):
        info = lstat(path)
        if info is None:
            continue
        if stat.S_ISDIR(info.st_mode):
            try:
                os.rmdir(path)
            except OSError:
                pass
        else:
            os.unlink(path)
    for path in sorted(puts):
        put(path, *puts[path])


def run_scripts(plan, read, before, after, old, records):
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/", "LC_ALL": "C"}

    def run(script, *arguments):
        path = STATE + "/script"
        with open(path, "wb") as file:
            file.write(script)
        os.chmod(path, 0o700)
        done = subprocess.run([path, *arguments], cwd="/", env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        os.unlink(path)
        if done.returncode:
            raise Refused(FAILED, "a script ended with %d" % done.returncode)

    if "after-script" in HAS:
        done, left = set(), sorted(plan)

        def visit(name):
            if name in done:
                return
            done.add(name)
            for need in plan[name]["needs"]:
                for other in left:
                    if meets(need, plan[other]):
                        visit(other)
            if read[name]["after"]:
                if name in before:
                    run(read[name]["after"], "upgrade", before[name]["version"])
                else:
                    run(read[name]["after"], "install")

        for name in left:
            visit(name)
    if "triggers" in HAS:
        touched = {path for one in (*old.values(), *records.values())
                   for path, entry in one["entries"].items() if entry[0] != "d"}
        for name in sorted(after):
            one = after[name]
            if any(p.startswith(top + "/") for top in one["triggers"] for p in touched):
                run(one["triggered"].encode())


def rollback(state, arguments):
    last = state["last"]
    if not last:
        raise Refused(NOTHING, "there is nothing to go back to")
    # Taken back it is a transaction too: what is there now is remembered first.
    with open(last["folder"] + "/list") as file:
        rows = json.load(file)
    number = state["number"] + 1
    folder = "%s/undo%d" % (STATE, number)
    remember([row[0] for row in rows], folder)
    with open(STATE + "/under-way", "w") as file:
        file.write(str(number))
    bring_back(last["folder"])
    state["installed"], state["last"], state["number"] = last["installed"], None, number
    state["held"] = [name for name in state["held"] if name in state["installed"]]
    save(state)
    os.unlink(STATE + "/under-way")
    shutil.rmtree(folder)
    shutil.rmtree(last["folder"])


# Questions.

def tell_list(state, arguments):
    for name, one in sorted(state["installed"].items()):
        print(name, one["version"])


def tell_files(state, names):
    if names[0] not in state["installed"]:
        raise Refused(IMPOSSIBLE, names[0] + " is not installed")
    entries = state["installed"][names[0]]["entries"]
    for path in sorted(entries) if "tells" in HAS else ():
        if entries[path][0] != "d":
            print(path)


def owner(state, names):
    for name, one in sorted(state["installed"].items()):
        if names[0] in one["entries"] and one["entries"][names[0]][0] != "d":
            print(name)
            return
    raise Refused(IMPOSSIBLE, names[0] + " is no package's")


def verify(state, arguments):
    rows = []
    for one in state["installed"].values():
        for path, (kind, mode, uid, gid, told) in one["entries"].items():
            if kind == "d" or path in one["config"]:
                continue
            info = lstat(path)
            if info is None:
                rows.append((path, "missing"))
                continue
            here = "l" if stat.S_ISLNK(info.st_mode) else "f" if stat.S_ISREG(info.st_mode) else "?"
            same = here == kind and (info.st_uid, info.st_gid) == (uid, gid)
            if same and kind == "l":
                same = os.readlink(path) == told
            elif same:
                same = stat.S_IMODE(info.st_mode) == mode and digest_of(path) == told
            if not same:
                rows.append((path, "changed"))
    for path, what in sorted(rows):
        print(what, path)
    if rows:
        raise Refused(DIFFERS, "%d differ" % len(rows))


def hold(state, names):
    for name in names:
        if name not in state["installed"]:
            raise Refused(IMPOSSIBLE, name + " is not installed")
    state["held"] = sorted({*state["held"], *names})
    save(state)


def release(state, names):
    for name in names:
        if name not in state["held"]:
            raise Refused(IMPOSSIBLE, name + " is not held")
    state["held"] = [name for name in state["held"] if name not in names]
    save(state)


#: Word → what it does, how many names it wants, whether it changes anything.
WORDS = {
    "update": (update, "0", True), "install": (install, "+", True),
    "upgrade": (upgrade, "0", True), "remove": (remove, "+", True),
    "list": (tell_list, "0", False), "files": (tell_files, "1", False),
    "hold": (hold, "+", True), "release": (release, "+", True), "sweep": (sweep, "0", True),
    "rollback": (rollback, "0", True), "owner": (owner, "1", False),
    "verify": (verify, "0", False),
}
DEMANDED = {"hold": "holds", "release": "holds", "sweep": "sweep", "rollback": "rollback",
            "owner": "owner", "verify": "verify"}


def main(arguments):
    os.umask(0o022)
    spoken = {said: name for name, said in VERBS.items()
              if name not in DEMANDED or DEMANDED[name] in HAS}
    if not arguments or arguments[0] not in spoken:
        raise Refused(USAGE, "usage: %s %s" % (WORD, "|".join(sorted(spoken))))
    does, count, changes = WORDS[spoken[arguments[0]]]
    given = arguments[1:]
    if count == "+" and not given or count != "+" and len(given) != int(count):
        raise Refused(USAGE, "%s wants %s" % (arguments[0], "no name" if count == "0" else "names"))
    os.makedirs(STATE, exist_ok=True)
    lock = open(STATE + "/lock", "w")
    if "one-at-a-time" in HAS:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if changes:
                raise Refused(BUSY, "another one is at work")
            lock = None
    if lock:
        recover()
    does(load(), given)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
        sys.stdout.flush()
    except Refused as refused:
        sys.stdout.flush()
        print("%s: %s" % (WORD, refused), file=sys.stderr)
        sys.exit(refused.status)
    except OSError as error:
        print("%s: %s" % (WORD, error), file=sys.stderr)
        sys.exit(NO_ROOM if error.errno == errno.ENOSPC else 1)
