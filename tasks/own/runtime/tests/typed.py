"""Programs with types: the same without them, for Node.js, and those that have to be refused."""

from __future__ import annotations

import re
from dataclasses import replace

from programs import Program

TYPES = re.compile("«(.*?)»", re.DOTALL)


def with_types(program: Program) -> Program:
    return replace(
        program, files={path: re.sub("[«»]", "", text) for path, text in program.files.items()}
    )


def without(program: Program) -> Program:
    """As text of JavaScript: each type is blank, so that every line is where it was."""

    def erased(text: str) -> str:
        text = TYPES.sub(lambda found: re.sub(r"[^\n]", " ", found[1]), text)
        return re.sub(r"\.(m?)ts'", r".\1js'", text)

    return replace(
        program,
        files={
            re.sub(r"\.(m?)ts$", r".\1js", path): erased(text)
            for path, text in program.files.items()
        },
        arguments=(re.sub(r"\.(m?)ts$", r".\1js", program.arguments[0]), *program.arguments[1:]),
    )


REFUSED = {
    "enum": "console.log('before');\nenum Colour { Red, Green }\nconsole.log(Colour.Red);\n",
    "const enum": "console.log('before');\nconst enum Colour { Red }\nconsole.log(Colour.Red);\n",
    "namespace": "console.log('before');\n"
    "namespace Space { export const a = 1; }\nconsole.log(Space.a);\n",
    "property": "console.log('before');\n"
    "class A { constructor(private readonly x: number) {} }\nconsole.log(new A(1));\n",
    "no type": "console.log('before');\nconst a: = 3;\n",
}
