"""Puts together what the readers found: services, ports, what "works" means, what is not known."""

from __future__ import annotations

import re
from collections import Counter

from benchflow.authoring.onboard.facts import Fact, Findings, Question
from benchflow.authoring.onboard.readers import (
    compiled,
    continuous_integration,
    debian_source,
    documents,
    node_project,
    python_project,
    settings,
)
from benchflow.authoring.onboard.tree import TEXT_MAX, Note, Tree, is_foreign, shown

_READERS = (
    python_project,
    node_project,
    compiled,
    debian_source,
    settings,
    continuous_integration,
    documents,
)
_LANGUAGES = {
    "py": "Python",
    "js": "JavaScript",
    "mjs": "JavaScript",
    "cjs": "JavaScript",
    "jsx": "JavaScript",
    "ts": "TypeScript",
    "tsx": "TypeScript",
    "go": "Go",
    "rs": "Rust",
    "c": "C",
    "h": "C",
    "cc": "C++",
    "cpp": "C++",
    "hpp": "C++",
    "cxx": "C++",
    "java": "Java",
    "rb": "Ruby",
    "php": "PHP",
    "pl": "Perl",
    "pm": "Perl",
    "sh": "Shell",
    "hs": "Haskell",
    "ml": "OCaml",
    "lua": "Lua",
    "ex": "Elixir",
    "erl": "Erlang",
    "cs": "C#",
    "kt": "Kotlin",
    "swift": "Swift",
    "scala": "Scala",
    "zig": "Zig",
    "vala": "Vala",
    "el": "Emacs Lisp",
    "pyx": "Cython",
    "tcl": "Tcl",
}
#: Libraries that exist to talk to a service, by ecosystem-independent names.
_LIBRARIES = {
    "postgresql": r"psycopg(?:2|2-binary|-binary|-pool)?|asyncpg|pg8000|aiopg|pg"
    r"|pg-promise|postgres"
    r"|tokio-postgres|github\.com/lib/pq|github\.com/jackc/pgx(?:/v\d)?|python3-psycopg2?|libpq-dev"
    r"|libpq|PostgreSQL",
    "redis": r"redis|aioredis|kinto-redis|django-redis|flask-redis|ioredis|hiredis|libhiredis-dev"
    r"|python3-redis|github\.com/(?:redis|go-redis)/(?:go-)?redis(?:/v\d+)?"
    r"|github\.com/gomodule/redigo|connect-redis",
    "mysql": r"mysqlclient|pymysql|mysql2?|aiomysql|mysql-connector-python"
    r"|github\.com/go-sql-driver/mysql"
    r"|libmariadb-dev(?:-compat)?|default-libmysqlclient-dev",
    "mongodb": r"pymongo|motor|mongoose|mongodb|go\.mongodb\.org/mongo-driver",
    "s3": r"boto3?|aiobotocore|minio|aws-sdk|@aws-sdk/client-s3|s3fs|django-storages"
    r"|github\.com/minio/minio-go(?:/v\d)?|github\.com/aws/aws-sdk-go(?:-v2/service/s3)?",
    "smtp": r"aiosmtplib|nodemailer|pyramid-mailer|flask-mail|django-anymail|lettre|yagmail"
    r"|gopkg\.in/gomail\.v2|emails",
    "oidc": r"authlib|mozilla-django-oidc|oic|pyoidc|openid-client"
    r"|passport-openidconnect|social-auth-core"
    r"|github\.com/coreos/go-oidc(?:/v\d)?|golang\.org/x/oauth2|openidconnect"
    r"|libapache2-mod-auth-openidc"
    r"|oauth2-proxy|passport-oauth2|requests-oauthlib",
    "rabbitmq": r"pika|aio-pika|amqp|amqplib|kombu|github\.com/rabbitmq/amqp091-go|lapin",
    "kafka": r"kafka-python|confluent-kafka|aiokafka|kafkajs|rdkafka|librdkafka-dev",
    "elasticsearch": r"elasticsearch(?:-dsl)?|opensearch-py|@elastic/elasticsearch",
    "memcached": r"python-memcached|pymemcache|pylibmc|memcached|memjs|libmemcached-dev",
    "ldap": r"python-ldap|ldap3|ldapjs|libldap(?:2)?-dev|github\.com/go-ldap/ldap(?:/v\d)?",
    "payment": r"stripe|braintree|paypalrestsdk|@stripe/stripe-js"
    r"|github\.com/stripe/stripe-go(?:/v\d+)?",
    "llm": r"openai|anthropic|litellm|cohere|google-genai",
    "git-forge": r"pygithub|python-gitlab|@octokit/rest|github\.com/google/go-github(?:/v\d+)?",
}  # fmt: skip
_BY_LIBRARY = {kind: re.compile(text, re.IGNORECASE) for kind, text in _LIBRARIES.items()}
_BY_VARIABLE = {
    "postgresql": r"POSTGRES\w*|PG(?:HOST|USER|DATABASE|PASSWORD|PORT)|\w*POSTGRES(?:QL)?_\w+",
    "redis": r"(?:\w+_)?REDIS(?:_\w+)?",
    "mysql": r"MYSQL_\w+|MARIADB_\w+",
    "smtp": r"(?:\w+_)?SMTP(?:_\w+)?|(?:EMAIL|MAIL)_(?:HOST|SERVER|PORT|URL)\w*",
    "s3": r"(?:\w+_)?S3_\w+|AWS_(?:ACCESS_KEY_ID|SECRET_ACCESS_KEY|STORAGE_\w+)|MINIO_\w+",
    "oidc": r"(?:\w+_)?(?:OIDC|OAUTH2?|OPENID)_\w+",
    "payment": r"STRIPE_\w+|PAYPAL_\w+",
    "llm": r"OPENAI_\w+|ANTHROPIC_\w+|LLM_\w+",
    "ldap": r"LDAP_\w+",
    "git-forge": r"(?:GITHUB|GITLAB|GITEA)_(?:TOKEN|URL|CLIENT_\w+|APP_\w+)",
}
_VARIABLES = {kind: re.compile(text) for kind, text in _BY_VARIABLE.items()}
#: What a verifier without internet cannot be in place of: a named company's own service.
_HOSTED = re.compile(
    r"(?:TWILIO|SENDGRID|MAILGUN|MAILCHIMP|ALGOLIA|PUSHER|FIREBASE|GOOGLE_MAPS|MAPBOX|AZURE|GCP"
    r"|GOOGLE_APPLICATION|CLOUDFLARE|CLOUDINARY|DATADOG|NEWRELIC|SEGMENT|INTERCOM|SHOPIFY|SLACK"
    r"|DISCORD|TELEGRAM|HUGGINGFACE|HF|PLAID)_\w*(?:KEY|TOKEN|SECRET|SID|CREDENTIALS)\w*"
)


def infer(tree: Tree) -> Findings:
    """All that can be said of a repository by reading it."""
    findings = Findings(tree)
    _look(findings)
    for reader in _READERS:
        try:
            reader.read(findings)
        except (ValueError, RecursionError) as error:
            part = reader.__name__.rpartition(".")[2].replace("_", " ")
            why = str(error).split("\n")[0][:160] or type(error).__name__
            findings.notes.append(Note(f"could not be read as what it is called ({part}): {why}"))
    _prefer_own_name(findings)
    _services(findings)
    _offline(findings)
    return findings


def _prefer_own_name(findings: Findings) -> None:
    """Of several programs the one that is called as the project is comes first."""
    called = findings.name.value if findings.name else ""
    findings.commands["run"].sort(key=lambda one: one.value != called)


def _look(findings: Findings) -> None:
    tree = findings.tree
    for name, size in tree.sizes.items():
        language = _LANGUAGES.get(name.rpartition(".")[2].lower())
        if language and not is_foreign(name):
            findings.languages[language] += 1
        if size > TEXT_MAX:
            findings.notes.append(Note(f"{size >> 20} MiB: too large to be read", shown(name)))
    findings.notes += tree.refused
    for name in tree.submodules:
        findings.online.append(Fact("a submodule whose content is elsewhere", shown(name)))
    if ".gitmodules" in tree.sizes and not tree.submodules:
        text = tree.text(".gitmodules")
        for number, line in enumerate(text.split("\n"), 1):
            if found := re.match(r"\s*url\s*=\s*(\S+)", line):
                findings.online.append(
                    Fact(f"the submodule {found[1][:120]}", f".gitmodules:{number}")
                )
    attributes = tree.text(".gitattributes") if ".gitattributes" in tree.sizes else ""
    if "filter=lfs" in attributes:
        pointers = [name for name, size in tree.sizes.items() if size < 1024 and tree.is_lfs(name)]
        for name in pointers[:20]:
            findings.online.append(Fact("a file that Git LFS keeps elsewhere", shown(name)))


def _services(findings: Findings) -> None:
    for one in findings.dependencies:
        if one.scope in ("test", "build") and one.ecosystem != "debian":
            continue
        for kind, wanted in _BY_LIBRARY.items():
            if wanted.fullmatch(one.name):
                how = "optional dependency" if one.scope == "optional" else "dependency"
                findings.service(kind, f"{how}: {one.name}", one.where)
    for variable in findings.variables.values():
        for kind, wanted in _VARIABLES.items():
            if wanted.fullmatch(variable.name):
                findings.service(kind, f"variable: {variable.name}", variable.where)
        scheme = variable.example.partition("://")[0].partition("+")[0].lower()
        schemes = {"postgres": "postgresql", "postgresql": "postgresql", "redis": "redis",
                   "rediss": "redis", "mysql": "mysql", "amqp": "rabbitmq", "mongodb": "mongodb",
                   "smtp": "smtp"}  # fmt: skip
        if "://" in variable.example and scheme in schemes:
            findings.service(schemes[scheme], f"variable: {variable.name}", variable.where)


def _offline(findings: Findings) -> None:
    for variable in findings.variables.values():
        if _HOSTED.fullmatch(variable.name):
            what = f"a key of a company's service that a verifier cannot play: {variable.name}"
            findings.online.append(Fact(what, variable.where))


def is_needed(signs: list[Fact]) -> bool:
    """Whether the signs of a service say that the project does not work without it."""
    return any(one.value.startswith(("dependency", "compose", "CI")) for one in signs)


def port(findings: Findings) -> Fact | None:
    """The port that most of the best places name; None where two are even."""
    if not findings.ports:
        return None
    best = min(one.rank for one in findings.ports)
    counts = Counter(one.value for one in findings.ports if one.rank == best)
    ranked = counts.most_common(2)
    if len(ranked) == 2 and ranked[0][1] == ranked[1][1]:
        return None
    return next(one for one in findings.ports if one.value == ranked[0][0] and one.rank == best)


def licence(findings: Findings) -> Fact | None:
    """The licence by the most trustworthy place."""
    return min(findings.licences, key=lambda one: one.rank, default=None)


def _several(findings: Findings) -> str:
    """Programs of which none is more believable than another, nor called as the project is."""
    best = findings.best("run")
    alike = [one.value for one in best if one.rank == best[0].rank]
    called = findings.name.value if findings.name else ""
    if len(alike) < 2 or best[0].rank < 3 or called in alike:
        return ""
    return ", ".join(alike[:6])


def questions(findings: Findings) -> list[Question]:
    """What the author has to say, because reading could not."""
    asked = []
    reasons = {
        "install": "no build file, CI file or document that is known says how",
        "build": "",
        "run": "no entry point, Procfile, container, unit or document says what is started",
        "test": "no test suite, CI file or build file says how tests are run",
    }
    for purpose, why in reasons.items():
        if why and not findings.commands[purpose]:
            asked.append(Question(purpose, why))
    if findings.commands["run"] and port(findings) is None:
        many = sorted({one.value for one in findings.ports}, key=int)
        why = f"several places differ: {', '.join(many[:6])}" if many else "no place names a port"
        asked.append(Question("port", f"{why}; it may also be a program that serves nothing"))
    for kind, signs in findings.services.items():
        if not is_needed(signs):
            asked.append(
                Question(f"service {kind}", f"only {signs[0].value} ({signs[0].where}) hints at it")
            )
    if not findings.works:
        asked.append(
            Question("works", "no document shows a request with the answer that a user would see")
        )
    secrets = [one.name for one in findings.variables.values() if one.secret and not one.example]
    if secrets:
        asked.append(
            Question("keys", f"no example says what these look like: {', '.join(secrets[:8])}")
        )
    several = _several(findings)
    if several:
        asked.append(Question("run", f"several programs, and nothing says which: {several}"))
    if findings.commands["test"] and not findings.suites:
        asked.append(Question("tests", "a command is stated, but no test file lies here"))
    if findings.suites:
        asked.append(
            Question("tests", "which of them pass upstream can only be known by running them")
        )
    asked.append(
        Question(
            "change", "a change request with hidden tests has to come from somebody who knows it"
        )
    )
    return asked
