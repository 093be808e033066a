"""The images of a task, and who and what is in them, as far as that is known without building."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchflow.errors import BenchflowError, TaskError
from benchflow.run.fitness import reading
from benchflow.run.fitness.findings import CONFIG, Finding, doubtful, fatal
from benchflow.sandbox.image import compose, dockerfile
from benchflow.sandbox.image.accounts import accounts
from benchflow.sandbox.image.compose import Service
from benchflow.sandbox.image.debian_base import debian_suite
from benchflow.sandbox.image.images import built

if TYPE_CHECKING:
    from harbor.models.task.config import TaskConfig

#: Accounts of a Debian that nobody has added anything to (base-passwd, apt).
_DEBIANS = frozenset({
    "root", "daemon", "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp", "proxy",
    "www-data", "backup", "list", "irc", "_apt", "nobody",
})  # fmt: skip
#: Registries that anybody may ask without a name.
_PUBLIC = frozenset({
    "docker.io", "index.docker.io", "registry-1.docker.io", "ghcr.io", "quay.io", "gcr.io",
    "registry.k8s.io", "public.ecr.aws", "mcr.microsoft.com", "nvcr.io", "registry.gitlab.com",
    "registry.fedoraproject.org", "registry.access.redhat.com", "lscr.io", "mirror.gcr.io",
})  # fmt: skip
#: Instructions that may make an account or a folder of any name.
_BRINGS_MUCH = re.compile(
    r"^\s*(COPY|ADD)\s|apt-get|apt |apk |dnf |yum |pip |adduser|useradd|\.sh\b", re.M
)


def check(folder: Path, config: TaskConfig) -> list[Finding]:
    """What is wrong with the environments of agent and verifiers."""
    found: list[Finding] = []
    service = _service(folder, folder / "environment", config.environment.docker_image, found)
    for where, image in _verifiers(folder, config):
        _service(folder, where, image, found)
    if service is None:
        return found
    found += _workdir(config, service)
    return found + list(_users(config, service))


def _verifiers(folder: Path, config: TaskConfig) -> list[tuple[Path, str | None]]:
    from harbor.models.task.paths import TaskPaths
    from harbor.models.task.verifier_mode import resolve_verifier_environment_definition

    found = {}
    for step in reading.steps(config):
        try:
            paths = TaskPaths(folder)
            definition = resolve_verifier_environment_definition(config, paths, step)
        except ValueError:  # told by `files`
            continue
        if definition is not None and definition.bundled_tests:
            found[definition.directory] = definition.config.docker_image
    return list(found.items())


def _service(task: Path, folder: Path, image: str | None, found: list[Finding]) -> Service | None:
    """What an environment is made of; None where nobody can make it, which is then in `found`."""
    at = folder.relative_to(task).as_posix()
    file = folder / compose.NAME
    if file.is_file():
        try:
            service = compose.read(file)
        except TaskError as error:
            found.append(fatal(f"{at}/{compose.NAME}", "", _said(error, file), error.hint))
            return None
    elif image:
        service = Service(folder, image=image)
    else:
        service = Service(folder)
    if service.image:
        found += _registry(at, service.image)
        return service
    recipe = service.context / service.dockerfile
    where = f"{at}/{service.dockerfile}"
    other = next((n for n in compose.OTHER_NAMES if (folder / n).is_file()), "")
    if other and recipe.is_file():
        message = f"it is not read: {compose.NAME} alone is"
        fix = f"rename it to {compose.NAME}, or take it out"
        found.append(doubtful(f"{at}/{other}", "", message, fix))
    if not recipe.is_file():
        fix = "write it, or name an image: [environment] docker_image"
        if other:
            fix = f"rename {other} to {compose.NAME}, which alone is read"
        found.append(fatal(where, "", "the file is missing: nothing to build", fix))
        return None
    try:
        references = dockerfile.base_references(recipe.read_text(), where)
    except TaskError as error:
        found.append(doubtful(where, "", _said(error, Path(where)), error.hint))
        return None
    except (UnicodeDecodeError, OSError) as error:
        found.append(fatal(where, "", str(error), "write it as UTF-8, readable by you"))
        return None
    for reference in references:
        found += _registry(where, reference)
    return service


def _said(error: TaskError, file: Path) -> str:
    return error.message.removeprefix(f"{file}").lstrip(":0123456789").strip()


def _registry(where: str, reference: str) -> Iterator[Finding]:
    """An image of a registry that asks who one is: nothing here has a name there."""
    host, slash, _ = reference.partition("/")
    is_host = slash and ("." in host or ":" in host or host == "localhost")
    if debian_suite(reference) or not is_host or host in _PUBLIC:
        return
    yield doubtful(
        where,
        "",
        f"{reference} comes from {host}: images are fetched without a name and password",
        "start from a public image or from debian:SUITE; benchflow run says whether it is given",
    )


def _users(config: TaskConfig, service: Service) -> Iterator[Finding]:
    asked = {"agent.user": config.agent.user, "verifier.user": config.verifier.user}
    if config.verifier.environment is not None or config.verifier.environment_mode is not None:
        asked.pop("verifier.user")  # of another image
    for n, step in enumerate(config.steps or []):
        asked[f"steps.{n}.agent.user"] = step.agent.user
    known: frozenset[str] | None = None
    for key, user in asked.items():
        name = str(user).partition(":")[0] if user is not None else ""
        if not name or name.isdigit():
            continue
        known = _accounts(service) if known is None else known
        if name in known or (not known and _may_have(service, name)):
            continue
        message = f"the image has no user {name!r}"
        yield doubtful(CONFIG, key, message, f"write RUN useradd -m {name} into the Dockerfile")


def _accounts(service: Service) -> frozenset[str]:
    """Who is in the image: by its layers where it is made, else none."""
    if service.image:
        return frozenset()
    try:
        image = built(service.context, service.dockerfile)
    except (BenchflowError, OSError):
        return frozenset()
    return frozenset() if image is None else accounts(image)


def _may_have(service: Service, name: str) -> bool:
    """Whether an image that nobody has made may have a user or a folder of that name."""
    if service.image:
        return True
    text = (service.context / service.dockerfile).read_text()
    if name in _DEBIANS or name in text or _BRINGS_MUCH.search(text):
        return True
    references = dockerfile.base_references(text)
    return not all(debian_suite(reference) for reference in references)


def _workdir(config: TaskConfig, service: Service) -> Iterator[Finding]:
    workdir = config.environment.workdir
    if workdir is None:
        return
    if not workdir.startswith("/"):
        yield doubtful(
            CONFIG, "environment.workdir", f"{workdir!r} is not absolute", "begin it with /"
        )
    elif not _may_have(service, workdir.rstrip("/") or "/"):
        message = f"the image has no folder {workdir}: it will be made, and be empty"
        fix = f"write WORKDIR {workdir} into the Dockerfile"
        yield doubtful(CONFIG, "environment.workdir", message, fix)
