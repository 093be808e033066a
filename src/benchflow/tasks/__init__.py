"""What a task is: read, checked, found, staged to a self-contained Harbor folder."""

from benchflow.tasks.catalogue import catalogue, find, names, root, select
from benchflow.tasks.load import load
from benchflow.tasks.model import Deliverable, Exploit, Step, Task, Variant
from benchflow.tasks.stage import export, stage

__all__ = [
    "Deliverable",
    "Exploit",
    "Step",
    "Task",
    "Variant",
    "catalogue",
    "export",
    "find",
    "load",
    "names",
    "root",
    "select",
    "stage",
]
