"""Decides what the scripted model answers. What it needs to know stands in the request itself:
each answer bears a mark, and the last mark of a conversation says where in the policy it is. So an
agent that is killed and resumed carries on, and one that starts again starts at the first turn."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass

from benchflow.model_apis.protocols import Failure, Protocol
from benchflow.scripted_model import dialects, tools
from benchflow.scripted_model.policy import Fault, Policy, Turn
from benchflow.scripted_model.protocols_out.answer import Answer, Call
from benchflow.scripted_model.request import View

_MARK = re.compile(r"bf_s(\d+)_n(\d+)(x?)")
_MOST_WAITS = 2000


@dataclass(frozen=True, slots=True)
class Mark:
    """Where an answer stands: step of the policy, number of the answer, and whether the step has
    still to be played (the answer was spoiled on purpose)."""

    step: int
    number: int
    spoiled: bool = False

    def __str__(self) -> str:
        return f"bf_s{self.step}_n{self.number}{'x' if self.spoiled else ''}"


@dataclass(frozen=True, slots=True)
class Played:
    """What is to be answered: an answer or a failure, `fault` in its way. `step` is -1 for an
    answer on the side."""

    step: int
    answer: Answer | None = None
    failure: Failure | None = None
    fault: Fault | None = None


class Player:
    """Plays one policy for any number of callers; remembers nothing but how often each caller has
    met each fault."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._met: Counter[tuple[str, int]] = Counter()

    def play(self, protocol: Protocol, view: View, caller: str) -> Played:
        """The answer to a request of `caller` (any text that tells callers apart)."""
        chosen = self.policy.dialect
        dialect = dialects.detect(view) if chosen == "auto" else chosen
        if dialect == "aside":
            return Played(-1, self._aside(view))
        step, number, wait = self._position(view, dialect)
        turn = self._turn(step)
        fault = None if wait else self._fault(turn, step, caller)
        spoiled = fault is not None and fault.kind in ("malformed", "refusal")
        mark = Mark(step, number, spoiled)
        if fault is not None and fault.kind == "status":
            message = fault.message or f"scripted fault: status {fault.status}"
            return Played(step, failure=Failure(fault.status, message), fault=fault)
        if fault is not None and fault.kind == "context-overflow":
            return Played(step, failure=_overflow(protocol), fault=fault)
        usage = None if fault and fault.kind == "no-usage" else self.policy.usage_of(step)
        shown = Answer(str(mark), view.model, turn.say, usage, pieces=self.policy.pace.pieces)
        if fault is not None and fault.kind == "refusal":
            text = fault.message or "I cannot help with that."
            return Played(step, _with(shown, text=text, refused=True), fault=fault)
        if dialect == "tools":
            return self._by_tool(protocol, view, turn, shown, fault, step)
        say = f"{turn.say} [{mark}]".strip()
        if dialect == "mini-text":
            text = dialects.mini_text(turn, say, view)
        else:
            text = dialects.terminus(dialect, None if wait else turn, say, number)
        if spoiled:
            text = text[: len(text) // 2]
        return Played(step, _with(shown, text=text), fault=fault)

    def _by_tool(
        self,
        protocol: Protocol,
        view: View,
        turn: Turn,
        shown: Answer,
        fault: Fault | None,
        step: int,
    ) -> Played:
        command = turn.run
        if command is None and dialects.ends_by_command(view):
            command = f"echo {dialects.MINI_END}"
        if command is None:
            return Played(step, _with(shown, text=turn.say or "Done."), fault=fault)
        use = tools.shell_use(view.tools, command, turn.timeout)
        if use is None:
            offered = ", ".join(tool.name for tool in view.tools)
            known = ", ".join(tools.SHELLS)
            message = f"none of the tools offered ({offered}) runs a shell command; known: {known}"
            return Played(step, failure=Failure(400, f"scripted model: {message}"))
        broken = fault is not None and fault.kind == "malformed"
        call = Call(f"call_{shown.id}", use.tool.name, use.arguments, use.tool.kind, broken)
        text = shown.text
        if protocol is Protocol.GEMINI:  # clients of this protocol need not keep a call's id
            text = f"{text} [{shown.id}]".strip()
        return Played(step, _with(shown, text=text, call=call), fault=fault)

    def _turn(self, step: int) -> Turn:
        turns = self.policy.turns
        return turns[step] if step < len(turns) else Turn(say="Done.")

    def _position(self, view: View, dialect: str) -> tuple[int, int, bool]:
        """Step and number of the next answer, and whether it only waits for the last command."""
        marks = [
            Mark(int(found[1]), int(found[2]), bool(found[3]))
            for text in view.said
            for found in _MARK.finditer(text)
        ]
        if not marks:
            return (len(view.said), len(view.said), False)
        last = max(marks, key=lambda mark: mark.number)
        if last.spoiled:
            return (last.step, last.number + 1, False)
        turn = self._turn(last.step)
        asked = len({m.number for m in marks if m.step == last.step and not m.spoiled})
        if dialect.startswith("terminus"):
            waited = sum(mark.number == last.number for mark in marks)
            if dialects.is_waiting(turn, last.number, view) and waited < _MOST_WAITS:
                return (last.step, last.number, True)
        if turn.until and asked < turn.repeat and not re.search(turn.until, view.output):
            return (last.step, last.number + 1, False)
        return (last.step + 1, last.number + 1, False)

    def _fault(self, turn: Turn, step: int, caller: str) -> Fault | None:
        fault = turn.fault
        if fault is None or self._met[caller, step] >= fault.times:
            return None
        self._met[caller, step] += 1
        return fault

    def _aside(self, view: View) -> Answer:
        text = (
            "ok"
            if view.form is None
            else json.dumps(tools.example(view.form or {"type": "object"}))
        )
        return Answer("bf_aside", view.model, text, self.policy.aside.usage(), pieces=1)


def _with(answer: Answer, **changes: object) -> Answer:
    from dataclasses import replace

    return replace(answer, **changes)  # type: ignore[arg-type]


def _overflow(protocol: Protocol) -> Failure:
    """What each provider says when the conversation has outgrown the model."""
    messages = {
        Protocol.MESSAGES: "prompt is too long: 210000 tokens > 200000 maximum",
        Protocol.GEMINI: "The input token count (210000) exceeds the maximum number of tokens "
        "allowed (200000).",
    }
    openai = (
        "This model's maximum context length is 200000 tokens. However, your messages resulted in "
        "210000 tokens. Please reduce the length of the messages."
    )
    return Failure(400, messages.get(protocol, openai), "context_length_exceeded")
