"""Tasks of benchflow for verifiers: `vf-eval benchflow-verifiers --env.taskset.dataset FOLDER`."""

from benchflow_verifiers.env import BenchflowEnv
from benchflow_verifiers.taskset import BenchflowConfig, BenchflowTask, BenchflowTaskset

__all__ = ["BenchflowConfig", "BenchflowEnv", "BenchflowTask", "BenchflowTaskset"]
