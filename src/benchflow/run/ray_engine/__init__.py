"""Trials on the machines of a Ray cluster. The only place that imports Ray.

The driver is Harbor's job as on one machine: it plans, keeps the books and the gateway, and writes
the job's folder. Each trial is one Ray task. On its node a program of ours (`runner`) runs it as a
job of one trial; the trial's folder comes back in pieces, is unpacked as what a stranger sent, and
takes its name in one step.
"""
