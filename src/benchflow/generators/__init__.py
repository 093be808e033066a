"""Tasks drawn from seeds: the same generator, version, level and seed give the same bytes."""

from benchflow.generators.generator import Generator, generators, is_generator
from benchflow.generators.instances import Instance, instances, is_reference

__all__ = ["Generator", "Instance", "generators", "instances", "is_generator", "is_reference"]
