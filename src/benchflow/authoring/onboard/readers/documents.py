"""Documents and the licence: what people are told to type, and whether it may be passed on."""

from __future__ import annotations

import re

from benchflow.authoring.onboard.facts import Fact, Findings, Lines
from benchflow.authoring.onboard.readers import shell_lines

_DOCUMENTS = (
    r"README[^/]*",
    r"INSTALL[^/]*",
    r"(?:\.github/|docs?/)?(?:CONTRIBUTING|HACKING|DEVELOPMENT|BUILDING)[^/]*",
    r"docs?/(?:.*/)?(?:install|getting[-_]started|quick-?start|develop|deploy|run|setup|config)[^/]*"
    r"\.(?:md|rst|txt|adoc)",
)
_LICENCES = (
    # Each by a sentence that only this one has; the more special before the more general.
    ("AGPL-3.0", "GNU AFFERO GENERAL PUBLIC LICENSE Version 3"),
    ("LGPL-3.0", "GNU LESSER GENERAL PUBLIC LICENSE Version 3"),
    ("LGPL-2.1", "GNU LESSER GENERAL PUBLIC LICENSE Version 2.1"),
    ("GPL-3.0", "GNU GENERAL PUBLIC LICENSE Version 3"),
    ("GPL-2.0", "GNU GENERAL PUBLIC LICENSE Version 2"),
    ("Apache-2.0", "Apache License Version 2.0"),
    ("Apache-2.0", "Licensed under the Apache License, Version 2.0"),
    ("MPL-2.0", "Mozilla Public License Version 2.0"),
    ("EPL-2.0", "Eclipse Public License - v 2.0"),
    ("BSD-3-Clause", "may be used to endorse or promote products derived"),
    ("BSD-2-Clause", "Redistributions in binary form must reproduce"),
    ("MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"),
    ("ISC", "Permission to use, copy, modify, and/or distribute this software"),
    ("ISC", "Permission to use, copy, modify, and distribute this software"),
    ("Zlib", "This software is provided 'as-is', without any express or implied warranty"),
    ("Unlicense", "This is free and unencumbered software released into the public domain"),
    ("CC0-1.0", "CC0 1.0 Universal"),
    ("PSF-2.0", "PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2"),
)
_PORT = re.compile(r"https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0):(\d{2,5})(/[\w./-]*)?")
_UP = re.compile(r"curl\s+(?:-\S+\s+)*[\"']?(https?://(?:localhost|127\.0\.0\.1)[^\s\"'`]*)")


def read(findings: Findings) -> None:
    """Documents near the top, and each file that is called a licence."""
    for name in list(findings.tree.named(*_DOCUMENTS))[:60]:
        text = findings.tree.text(name)
        lines = Lines(name, text)
        rank = 4 if "/" not in name else 5
        for number, line in shell_lines.blocks(text):
            shell_lines.take(findings, line, f"{lines.name}:{number}", rank)
        for found in _PORT.finditer(text):
            findings.ports.append(Fact(found[1], lines.at(found.start()), 4))
        for found in _UP.finditer(text):
            findings.works.append(Fact(f"{found[1]} answers", lines.at(found.start())))
        if findings.about is None and name.startswith("README"):
            _first_sentence(findings, text, lines)
    named = r"(?:LICEN[CS]E|COPYING|UNLICENSE|COPYRIGHT)[^/]*"
    for name in findings.tree.named(named, named.lower(), r"LICENSES/[^/]+"):
        _licence(findings, name)


def _first_sentence(findings: Findings, text: str, lines: Lines) -> None:
    position = 0
    for line in text.split("\n"):
        bare = line.strip()
        if len(bare) > 30 and bare[0].isalpha() and not bare.startswith(("http", "image")):
            findings.about = Fact(bare[:200], lines.at(position))
            return
        position += len(line) + 1


def _licence(findings: Findings, name: str) -> None:
    text = findings.tree.text(name)
    flat = re.sub(r"\s+", " ", text[:20_000])
    for identifier, sentence in _LICENCES:
        if sentence.lower() in flat.lower():
            where = Lines(name, text).of(sentence.split(" Version")[0])
            findings.licences.append(Fact(identifier, where, 0))
            return
    if text.strip():
        findings.licences.append(Fact(f"unknown: see {name}", f"{Lines(name, '').name}:1", 8))
