"""What is wrong with a tree of packages and its lock, if anything."""

from __future__ import annotations

import hashlib
import json

from registry import Registry, Universe, sri


def tree_faults(
    state: dict[str, str], universe: Universe, manifest: dict, versions: dict[tuple[str, str], str]
) -> str:
    """What is wrong in `node_modules` [R20]; nothing where it is as it has to be."""
    places: dict[str, tuple[str, str]] = {}  # folder -> name and version, by its files
    for path in state:
        folder, _, last = path.rpartition("/")
        if last != "package.json" or not state[path].startswith("f"):
            continue
        _, _, name = folder.rpartition("node_modules/")
        if (
            not folder.startswith("node_modules/")
            or name.count("/") != name.startswith("@")
            or "/." in f"/{name}"
        ):
            continue
        for text, version in universe.packages.get(name, {}).items():
            data = version.files["package.json"][0]
            if state[path].split()[1] == hashlib.sha256(data).hexdigest():
                places[folder] = (name, text)
        if folder not in places:
            return f"{folder} is no version of {name}"
    # Walk from the root, as programs find packages.
    seen: dict[str, str] = {}
    todo = [("", manifest.get("dependencies", {}), manifest.get("optionalDependencies", {}))]
    wanted: dict[str, set[str]] = {}
    while todo:
        where, needs, may = todo.pop()
        for name, range_ in [*needs.items(), *may.items()]:
            optional = name in may
            version = versions.get((name, range_))
            if version is None:
                if not optional:
                    return f"nothing fits {name} {range_}: the draw is wrong"
                continue
            wanted.setdefault(name, set()).add(version)
            found = find(places, where, name)
            if found is None:
                return f"{where or 'the site'} asks for {name} {range_} and finds none"
            if places[found][1] != version:
                return (
                    f"{where or 'the site'} asks for {name} {range_} and finds"
                    f" {places[found][1]} ({found}), not {version}"
                )
            if found not in seen:
                seen[found] = version
                package = universe.packages[name][version]
                todo.append((found, package.dependencies, package.optional))
    more = sorted(set(places) - set(seen))
    if more:
        return f"nobody needs {more[0]}"
    for name, all_ in wanted.items():
        held = [place for place in places if places[place][0] == name]
        if len(all_) == 1 and held != [f"node_modules/{name}"]:
            return f"one version of {name} is needed, and it lies at {held}"
    return files_faults(state, universe, places)


def find(places: dict[str, tuple[str, str]], where: str, name: str) -> str | None:
    """The folder that a program in `where` finds."""
    here = where
    while True:
        candidate = f"{here}/node_modules/{name}" if here else f"node_modules/{name}"
        if candidate in places:
            return candidate
        if not here:
            return None
        here = here.rpartition("/node_modules/")[0] if "/node_modules/" in here else ""


def files_faults(
    state: dict[str, str], universe: Universe, places: dict[str, tuple[str, str]]
) -> str:
    ours: dict[str, str] = {}
    bins: dict[str, str] = {}
    for folder, (name, version) in places.items():
        package = universe.packages[name][version]
        top = folder == f"node_modules/{name}"
        commands = {target.removeprefix("./") for target in package.bin.values()}
        if top:
            bins |= {
                command: f"{folder}/{target.removeprefix('./')}"
                for command, target in package.bin.items()
            }
        for path, (data, executable) in package.files.items():
            at, digest = f"{folder}/{path}", f"f {hashlib.sha256(data).hexdigest()}"
            ours[at] = digest + (" x" if executable or (top and path in commands) else "")
            got = state.get(at, "nothing")
            if got != ours[at] and not (
                path in commands and not top and got.removesuffix(" x") == digest
            ):
                return f"{at} is {got}, not {ours[at]}"
    for path, what in state.items():
        if not path.startswith("node_modules/") or what == "d" or path in ours:
            continue
        if path.startswith("node_modules/.bin/"):
            command = path.rpartition("/")[2]
            target = bins.get(command)
            if (
                not what.startswith("l ")
                or target is None
                or resolved("node_modules/.bin", what[2:]) != target
            ):
                return f"{path} is {what}"
        elif not path.startswith("node_modules/."):
            nested = path.split("/node_modules/.")
            if len(nested) < 2:
                return f"{path} belongs to no package"
    for command in bins:
        if f"node_modules/.bin/{command}" not in state:
            return f"node_modules/.bin/{command} is not there"
    return ""


def resolved(folder: str, target: str) -> str:
    parts = folder.split("/")
    for part in target.split("/"):
        if part == "..":
            if not parts:
                return "outside"
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def lock_faults(
    text: bytes, state: dict[str, str], universe: Universe, registry: Registry, manifest: dict
) -> str:
    """What is wrong in `skarn-lock.json` [R21]."""
    try:
        lock = json.loads(text)
    except ValueError:
        return f"it is no JSON: {text[:100]!r}"
    if (
        not isinstance(lock, dict)
        or lock.get("lockVersion") != 1
        or not isinstance(lock.get("packages"), dict)
    ):
        return f"it is no lock: {text[:200]!r}"
    asks = manifest.get("dependencies", {}) | manifest.get("optionalDependencies", {})
    if lock.get("asks") != asks or list(lock["asks"]) != sorted(asks):
        return f"it says {str(lock.get('asks'))[:200]} of what package.json asks for"
    packages = lock["packages"]
    folders = {
        path.rpartition("/")[0]
        for path, what in state.items()
        if path.endswith("/package.json")
        and what.startswith("f")
        and _is_place(path.rpartition("/")[0])
    }
    if set(packages) != folders:
        return f"its paths are not those of node_modules: {sorted(set(packages) ^ folders)[:3]}"
    if list(packages) != sorted(packages):
        return "its paths are not sorted"
    for path, entry in packages.items():
        name = path.rpartition("node_modules/")[2]
        version = (
            universe.packages[name].get(entry.get("version", ""))
            if isinstance(entry, dict)
            else None
        )
        if version is None:
            return f"{path}: {str(entry)[:200]}"
        wanted = {
            "version": version.version,
            "resolved": registry.url + registry.place(name, version.version),
            "integrity": sri(version.archive),
        }
        if entry != wanted:
            return f"{path} is {str(entry)[:300]}, not {wanted}"
        at = f"{path}/package.json"
        if state[at].split()[1] != hashlib.sha256(version.files["package.json"][0]).hexdigest():
            return f"{path} is {entry['version']} there, and another in node_modules"
    return ""


def _is_place(folder: str) -> bool:
    name = folder.rpartition("node_modules/")[2]
    return (
        folder.startswith("node_modules/")
        and name.count("/") == name.startswith("@")
        and "/." not in f"/{name}"
    )
