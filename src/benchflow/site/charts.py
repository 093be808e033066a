"""Charts by Vega-Lite, drawn to SVG when the site is built, so that pages need no chart library.

Colours are CSS variables of assets/style.css: one drawing serves light, dark and print. The
wheel `vl-convert-python` brings Vega-Lite and what runs it; no Node, no network.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

_VL_VERSION = "5.21"

_TEXT = {"labelColor": "var(--ink-2)", "titleColor": "var(--ink-2)", "labelFontSize": 12.5}
_CONFIG: dict[str, Any] = {
    "background": None,
    "font": "var(--sans)",
    "view": {"stroke": None},
    "axis": {
        **_TEXT,
        "titleFontSize": 12.5,
        "titleFontWeight": "normal",
        "titlePadding": 12,
        "domain": False,
        "ticks": False,
        "labelPadding": 8,
        "gridColor": "var(--line)",
    },
    "axisY": {"grid": False, "labelLimit": 260},
    "legend": {**_TEXT, "title": None, "orient": "top", "symbolStrokeWidth": 2, "labelLimit": 300},
    "text": {"color": "var(--ink-2)", "fontSize": 12},
}

#: Series colours (defined for light and dark in style.css), safe for colour-blind readers.
SERIES = tuple(f"var(--s{number})" for number in range(1, 9))
DASHES = ([1, 0], [6, 3], [2, 3], [8, 3, 2, 3])


def available() -> bool:
    """Whether charts can be drawn here; without, pages show the numbers as tables alone."""
    return find_spec("vl_convert") is not None


def draw(spec: dict[str, Any], description: str) -> str:
    """SVG of a Vega-Lite spec; empty where the drawing library is not installed."""
    if not available():
        return ""
    import vl_convert

    whole = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "description": description,
        "config": _CONFIG,
        "padding": {"left": 0, "right": 12, "top": 4, "bottom": 0},
        "autosize": {"type": "fit-x", "contains": "padding"},
        "width": 760,
        **spec,
    }
    svg: str = vl_convert.vegalite_to_svg(whole, vl_version=_VL_VERSION)
    # The figure around it is the image with a name; its parts alone would be read out as noise.
    return svg.replace("<svg ", '<svg aria-hidden="true" ', 1)


def intervals(rows: list[dict[str, Any]], axis: str, domain: list[float], description: str) -> str:
    """Dots with a thin outer and a thick inner interval, a row each, in the order given.

    rows: `name`, `value`, `low`, `high`, and `inner_low`, `inner_high` or None; in the axis' unit.
    A vertical line stands at 0 where the domain crosses it.
    """
    y = {"field": "name", "type": "nominal", "sort": None, "axis": {"title": None}}

    def x(field: str) -> dict[str, Any]:
        return {
            "field": field,
            "type": "quantitative",
            "scale": {"domain": domain, "nice": False},
            "axis": {"title": axis, "tickCount": 6},
        }

    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "rule", "strokeWidth": 2, "strokeCap": "round"},
            "encoding": {
                "y": y,
                "x": x("low"),
                "x2": {"field": "high"},
                "color": {"value": "var(--interval)"},
            },
        },
        {
            "transform": [{"filter": "isValid(datum.inner_low)"}],
            "mark": {"type": "rule", "strokeWidth": 7, "strokeCap": "round"},
            "encoding": {
                "y": y,
                "x": x("inner_low"),
                "x2": {"field": "inner_high"},
                "color": {"value": "var(--interval-inner)"},
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 95, "opacity": 1},
            "encoding": {"y": y, "x": x("value"), "color": {"value": "var(--accent)"}},
        },
    ]
    if domain[0] < 0 < domain[1]:
        zero = {"mark": {"type": "rule", "color": "var(--ink-3)"}, "encoding": {"x": {"datum": 0}}}
        layers.insert(0, zero)
    spec = {"data": {"values": rows}, "height": {"step": 38}, "layer": layers}
    return draw(spec, description)


def lines(
    rows: list[dict[str, Any]],
    x: dict[str, Any],
    y: dict[str, Any],
    names: list[str],
    description: str,
    *,
    stepped: bool = False,
) -> str:
    """Lines per `name` over `x`, with a band where rows have `low` and `high`.

    Colour and dash both tell the series, so that neither is needed alone.
    """
    color = {
        "field": "name",
        "type": "nominal",
        "scale": {"domain": names, "range": [SERIES[i % len(SERIES)] for i in range(len(names))]},
        "legend": {"columns": 3, "symbolType": "stroke", "symbolOpacity": 1, "symbolSize": 260}
        if len(names) > 1
        else None,
    }
    dash = {
        "field": "name",
        "type": "nominal",
        "scale": {"domain": names, "range": [DASHES[i % len(DASHES)] for i in range(len(names))]},
        "legend": None,
    }
    mark: dict[str, Any] = {"type": "line", "strokeWidth": 2.2}
    mark |= {"interpolate": "step-after"} if stepped else {"point": {"filled": True, "size": 45}}
    layers: list[dict[str, Any]] = [{"mark": mark, "encoding": {"strokeDash": dash}}]
    if rows and "low" in rows[0] and len(names) <= 3:
        band = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
        area: dict[str, Any] = {"type": "area", "opacity": 0.14}
        area |= {"interpolate": "step-after"} if stepped else {}
        layers.insert(0, {"mark": area, "encoding": band})
    spec = {
        "data": {"values": rows},
        "height": 300,
        "encoding": {"x": x, "y": y, "color": color},
        "layer": layers,
    }
    return draw(spec, description)


def scatter(rows: list[dict[str, Any]], x_title: str, y_title: str, description: str) -> str:
    """Labelled points (`x`, `y`, `name`, `front`) with vertical intervals (`low`, `high`)."""
    base = {
        "x": {
            "field": "x",
            "type": "quantitative",
            "axis": {"title": x_title, "grid": False},
            "scale": {"zero": True, "nice": True},
        }
    }
    y_axis = {"title": y_title, "grid": True, "format": "%", "tickCount": 5}
    y_scale = {"domain": [0, 1]}
    low = {"field": "low", "type": "quantitative", "axis": y_axis, "scale": y_scale}
    value = {"field": "y", "type": "quantitative", "axis": y_axis, "scale": y_scale}
    tone = {
        "condition": {"test": "datum.front", "value": "var(--accent)"},
        "value": "var(--ink-3)",
    }
    spec = {
        "data": {"values": rows},
        "height": 340,
        "encoding": base,
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {
                    "y": low,
                    "y2": {"field": "high"},
                    "color": {"value": "var(--interval)"},
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1},
                "encoding": {"y": value, "color": tone},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 10, "dy": -8},
                "encoding": {"y": value, "text": {"field": "name"}},
            },
        ],
    }
    return draw(spec, description)
