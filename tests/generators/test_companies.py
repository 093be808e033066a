"""Parts that are tried together: what is in a company with what."""

from __future__ import annotations

import itertools

import pytest

from benchflow.generators import Generator, generators
from benchflow.generators.companies import handed_out, repaired
from benchflow.tasks.catalogue import root

NAMES = sorted(generators(root()))


@pytest.fixture(params=NAMES)
def generator(request: pytest.FixtureRequest) -> Generator:
    return generators(root())[request.param]


def test_what_is_handed_out_together_breaks_different_milestones(generator: Generator) -> None:
    for company in handed_out(generator):
        parts = [generator.parts[name] for name in company]
        for one, other in itertools.combinations(parts, 2):
            assert not one.seen_at & other.seen_at
            assert other.name not in one.conflicts
            assert not generator.blocks(one) and not generator.blocks(other)


def test_each_part_is_handed_out_alone_or_with_others_each_time(generator: Generator) -> None:
    for name in generator.parts:
        beside = [{*one} - {name} for one in handed_out(generator) if name in one]
        assert beside == [set()] or set() in beside or not beside[0] & beside[1]
        assert len(beside) <= 2


def test_the_oracle_repairs_each_part_in_two_companies(generator: Generator) -> None:
    most = max(level.parts for level in generator.levels.values())
    companies = repaired(generator)
    assert len(companies) == len({*companies})
    for company in companies:
        assert len(company) <= most
        for one, other in itertools.combinations(company, 2):
            assert other not in generator.parts[one].conflicts
    for name in generator.parts:
        beside = [one for one in companies if name in one]
        assert len(beside) == 2 or beside == [(name,)]


def test_that_is_at_most_half_of_the_trials_of_each_part_alone(generator: Generator) -> None:
    assert len(handed_out(generator)) + len(repaired(generator)) <= len(generator.parts)
