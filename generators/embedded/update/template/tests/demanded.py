"""Demands."""


def hold(bench):
    bench.do("hold")
    bench.install(bench.version(), "while the unit is held")
    bench.restart()
    bench.install(bench.version(), "while the unit is held")
    bench.do("free")
    assert bench.install(bench.version()) == 0
