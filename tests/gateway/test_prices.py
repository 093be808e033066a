"""Dollars are what LiteLLM's own calculator says, for what the four protocols count."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from benchflow.gateway.models.prices import facts, price_of
from benchflow.model_apis.usage import Usage

MODELS = [
    ("openai", "gpt-5"),
    ("openai", "gpt-4.1-mini"),
    ("anthropic", "claude-sonnet-4-5"),
    ("gemini", "gemini-2.5-pro"),
    ("gemini", "gemini-2.5-flash"),
    ("deepseek", "deepseek-chat"),
]
USAGES = [
    Usage(input=1000, output=100),
    Usage(input=1000, cache_read=5000, output=100),
    Usage(input=250_000, cache_read=10_000, output=100),
]
_THEIRS = """
import json, sys
import litellm
from litellm.types.utils import PromptTokensDetailsWrapper, Usage
found = []
for provider, model, uncached, cached, output in json.load(sys.stdin):
    usage = Usage(prompt_tokens=uncached + cached, completion_tokens=output,
        total_tokens=uncached + cached + output,
        prompt_tokens_details=PromptTokensDetailsWrapper(cached_tokens=cached))
    found.append(sum(litellm.cost_per_token(model=model, custom_llm_provider=provider,
        usage_object=usage)))
print(json.dumps(found))
"""


@pytest.mark.needs("time")
def test_prices_are_litellms() -> None:
    cases = [(p, m, u.input, u.cache_read, u.output) for p, m in MODELS for u in USAGES]
    done = subprocess.run(
        [sys.executable, "-c", _THEIRS],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    )
    theirs = json.loads(done.stdout.splitlines()[-1])
    for (provider, model, uncached, cached, output), expected in zip(cases, theirs, strict=True):
        price = price_of(facts(provider, model) or {})
        assert price is not None, model
        ours = price.of(Usage(input=uncached, cache_read=cached, output=output))
        assert float(ours) == pytest.approx(expected, abs=1e-9), (model, uncached, cached)


def test_written_to_a_cache_for_an_hour_costs_more() -> None:
    price = price_of(facts("anthropic", "claude-sonnet-4-5") or {})
    assert price is not None
    short = price.of(Usage(cache_write=1_000_000))
    long = price.of(Usage(cache_write=1_000_000, cache_write_1h=1_000_000))
    assert (float(short), float(long)) == (3.75, 6.0)


def test_an_unknown_model_has_no_price() -> None:
    assert facts("openai", "no-such-model") is None
    # A name of another provider's is not this one's.
    assert facts("deepseek", "gpt-5") is None
