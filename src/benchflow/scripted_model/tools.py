"""Which tool of an agent runs a shell command, and how it is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Unit = Literal["s", "ms"]


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool that an agent offers. `kind` is the protocol's type of it: "function", or the name of
    a tool that the provider itself defines ("local_shell", "bash_20250124")."""

    name: str
    schema: dict[str, Any]
    kind: str = "function"


@dataclass(frozen=True, slots=True)
class Shell:
    """How a command goes into a tool: under which key, as a string or as arguments for bash, and
    where and in which unit the tool takes a time limit ("" where it takes none)."""

    command: str
    as_list: bool = False
    timeout: str = ""
    unit: Unit = "ms"


#: Tool name -> how it takes a command; the first one that an agent offers is used. The agents are
#: named as of the versions pinned in docs/agents.md; a name can serve several.
SHELLS: dict[str, Shell] = {
    "Bash": Shell("command", timeout="timeout"),  # Claude Code
    "exec_command": Shell("cmd", timeout="yield_time_ms"),  # Codex, unified exec
    "shell_command": Shell("command", timeout="timeout_ms"),  # Codex
    "shell": Shell("command", as_list=True, timeout="timeout_ms"),  # Codex
    "local_shell": Shell("command", as_list=True, timeout="timeout_ms"),  # Codex, OpenAI's own
    "run_shell_command": Shell("command"),  # Gemini CLI, Qwen Code
    "bash": Shell("command", timeout="timeout"),  # OpenCode, mini-swe-agent, SWE-agent, Anthropic
    "execute_bash": Shell("command", timeout="timeout", unit="s"),  # OpenHands
    "terminal": Shell("command", timeout="timeout", unit="s"),  # OpenHands SDK
    "developer__shell": Shell("command"),  # Goose
    "execute_command": Shell("command"),  # Cline, Roo
    "run_command": Shell("command"),
    "run_terminal_cmd": Shell("command"),
    "execute": Shell("command"),
}
_BUILT_IN = {"local_shell": "local_shell"}


@dataclass(frozen=True, slots=True)
class Use:
    """A tool call that runs a command."""

    tool: Offered
    arguments: dict[str, Any]


def shell_use(tools: list[Offered], command: str, timeout: int | None) -> Use | None:
    """The call that runs `command`; None when none of `tools` runs shell commands.

    Required arguments that say nothing about the command are filled from the tool's own schema.
    """
    by_name = {_BUILT_IN.get(tool.kind, tool.name): tool for tool in tools}
    for name, shell in SHELLS.items():
        tool = by_name.get(name)
        if tool is None:
            continue
        properties = tool.schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        wants_list = shell.as_list
        if shell.command in known and isinstance(known[shell.command], dict):
            wants_list = _type(known[shell.command]) == "array"
        arguments = required(tool.schema)
        arguments[shell.command] = ["bash", "-lc", command] if wants_list else command
        if timeout is not None and shell.timeout and (not known or shell.timeout in known):
            arguments[shell.timeout] = timeout * (1000 if shell.unit == "ms" else 1)
        return Use(tool, arguments)
    return None


def required(schema: dict[str, Any]) -> dict[str, Any]:
    """The smallest object that satisfies the required properties of a JSON schema."""
    properties = schema.get("properties")
    names = schema.get("required")
    if not isinstance(properties, dict) or not isinstance(names, list):
        return {}
    return {str(name): example(properties.get(name)) for name in names}


def example(schema: Any, depth: int = 0) -> Any:
    """A small value for a JSON schema: its default, its first choice, or an empty one."""
    if not isinstance(schema, dict) or depth > 20:
        return ""
    if "default" in schema:
        return schema["default"]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(key), list) and schema[key]:
            return example(schema[key][0], depth + 1)
    kind = _type(schema)
    if kind == "object":
        properties = schema.get("properties")
        names = schema.get("required")
        known = properties if isinstance(properties, dict) else {}
        wanted = names if isinstance(names, list) else list(known)
        return {str(name): example(known.get(name), depth + 1) for name in wanted}
    plain: dict[str, Any] = {"array": [], "boolean": False, "integer": 0, "number": 0, "null": None}
    if kind in ("integer", "number") and isinstance(schema.get("minimum"), int | float):
        return schema["minimum"]
    return plain.get(kind, "scripted")


def _type(schema: dict[str, Any]) -> str:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "null")
    return str(kind).lower()  # Gemini's protocol writes types in capitals
