"""The gate `leaks`: an answer that is given away is found; what is to be repaired is no answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.run.plain import shared, write

from benchflow.authoring import static_gates
from benchflow.authoring.gate import Status
from benchflow.tasks import load

HEAD = (
    "FROM debian:bookworm-slim\n"
    "RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates \\\n"
    "    > /dev/null && rm -rf /var/lib/apt/lists/*\n"
    "ENV DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8\n"
    "RUN mkdir -p /app/out /logs/verifier && chmod 0755 /app/out\n"
)
BUG = """import sys

def read_numbers(stream):
    values = []
    for line in stream:
        values.append(float(line))
    return values

def mean_of_values(values):
    return sum(values) / (len(values) + 1)

if __name__ == "__main__":
    print(mean_of_values(read_numbers(sys.stdin)))
"""
FIXED = BUG.replace(" + 1)", ")")
GUARDED = BUG.replace("    return sum", "    if not values:\n        return 0.0\n    return sum")
PATCH = """--- a/mean.py
+++ b/mean.py
@@ -8,5 +8,5 @@
     return values

 def mean_of_values(values):
-    return sum(values) / (len(values) + 1)
+    return sum(values) / len(values)

 if __name__ == "__main__":
     print(mean_of_values(read_numbers(sys.stdin)))
"""


def rewriting(text: str, path: str = "/app/mean.py") -> str:
    return f"#!/bin/bash\ncat > {path} <<'EOF'\n{text}EOF\n"


#: What else there is in the task, by path; whether the answer is given away.
CASES = {
    "two Dockerfiles that begin alike": (
        {"environment/Dockerfile": HEAD + "WORKDIR /app\n",
         "tests/Dockerfile": HEAD + "COPY . /tests/\n"}, False,
    ),
    "the very same Dockerfile": (
        {"environment/Dockerfile": HEAD, "tests/Dockerfile": HEAD}, False,
    ),
    "an answer that both Dockerfiles write": (
        {"environment/Dockerfile": HEAD + "RUN echo 'the sum of all is 4711 sharp' > /answer\n",
         "tests/Dockerfile": HEAD + "RUN echo 'the sum of all is 4711 sharp' > /answer\n"}, True,
    ),
    "an answer that a Dockerfile writes": (
        {"environment/Dockerfile": "FROM debian:bookworm\nRUN mkdir /x && \\\n"
         "  echo 'the sum of all is 4711 sharp'  > /app/answer.txt\n",
         "solution/solve.sh":
         "#!/bin/bash\necho 'the sum of all is 4711 sharp' > /app/answer.txt\n"},
        True,
    ),
    "an answer in a here-document of a Dockerfile": (
        {"environment/Dockerfile": f"FROM debian:bookworm\nCOPY <<EOF /srv/ref.py\n{FIXED}EOF\n",
         "solution/solve.sh": rewriting(FIXED)}, True,
    ),
    "a value that says nothing": (
        {"environment/Dockerfile": "FROM debian:bookworm\nRUN echo 1 > /app/x\n",
         "solution/solve.sh": "#!/bin/bash\necho 1 > /app/x\n"}, False,
    ),
    "what is to be repaired, written again": (
        {"environment/mean.py": BUG, "solution/solve.sh": rewriting(FIXED)}, False,
    ),
    "what is to be completed, written again": (
        {"environment/mean.py": BUG, "solution/solve.sh": rewriting(GUARDED)}, False,
    ),
    "what is to be repaired, beside the solution": (
        {"environment/mean.py": BUG, "solution/mean.py": FIXED,
         "solution/solve.sh": "#!/bin/bash\ncp /solution/mean.py /app/mean.py\n"}, False,
    ),
    "what is to be repaired, patched": (
        {"environment/mean.py": BUG, "solution/fix.patch": PATCH}, False,
    ),
    "the repaired file": (
        {"environment/mean.py": FIXED, "solution/solve.sh": rewriting(FIXED)}, True,
    ),
    "the repaired file under another name": (
        {"environment/mean.py": BUG, "environment/old.py": FIXED,
         "solution/solve.sh": rewriting(FIXED)}, True,
    ),
    "the repaired file with a comment": (
        {"environment/notes.txt": f"so it works:\n{FIXED}", "solution/solve.sh": rewriting(FIXED)},
        True,
    ),
    "what a patch adds": (
        {"environment/notes.txt": "def total_of_values(values):\n    total = sum(values)\n"
         "    return total / len(values)\n",
         "solution/fix.patch": "--- a/m.py\n+++ b/m.py\n@@ -1,1 +1,3 @@\n"
         "+def total_of_values(values):\n+    total = sum(values)\n"
         "+    return total / len(values)\n"},
        True,
    ),
    "the checks": (
        {"environment/check.py": FIXED, "tests/check.py": FIXED}, True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", [*CASES])
def test_only_an_answer_is_a_leak(case: str, tmp_path: Path) -> None:
    files, is_leak = CASES[case]
    task = shared(tmp_path / "task")
    for path, text in files.items():
        write(task / path, text)
    (task / "environment" / "link").symlink_to("Dockerfile")
    result = static_gates.leaks(load(task))
    assert result.status is (Status.FAILED if is_leak else Status.PASSED), result.findings
