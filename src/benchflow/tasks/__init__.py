"""What a task is: read, checked, found, staged to a self-contained Harbor folder."""

from benchflow.tasks.catalogue import catalogue, find, locate, names, root, select
from benchflow.tasks.load import Problem, load
from benchflow.tasks.model import Deliverable, Exploit, Resources, Staged, Step, Task, Variant
from benchflow.tasks.stage import export, stage

__all__ = [
    "Deliverable",
    "Exploit",
    "Problem",
    "Resources",
    "Staged",
    "Step",
    "Task",
    "Variant",
    "catalogue",
    "export",
    "find",
    "load",
    "locate",
    "names",
    "root",
    "select",
    "stage",
]
