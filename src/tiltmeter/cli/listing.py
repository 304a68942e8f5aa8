"""What `tiltmeter list` shows: one row for each thing there is."""

from __future__ import annotations

from tiltmeter import catalog


def listing(what: str) -> list[dict[str, str]]:
    """Rows of scorers, measures, benchmarks, studies, embedded models or views."""
    if what == "models":
        from tiltmeter.models import EMBEDDED, MEANINGLESS

        note = {True: "random weights, for trying things out", False: ""}
        return [{"name": name, "what": note[name in MEANINGLESS]} for name in EMBEDDED]
    if what == "views":
        from tiltmeter.probes import VIEWS

        return [
            {"name": view.name, "model": view.kind, "what": (view.ask.__doc__ or "").split("\n")[0]}
            for view in VIEWS.values()
        ]
    return [_entry_row(what, entry) for entry in catalog.entries(what)]


def _entry_row(what: str, entry: catalog.Entry) -> dict[str, str]:
    if what in ("benchmarks", "studies"):
        return {"name": catalog.public_name(entry.name), "what": entry.summary}
    if what == "measures":
        neutral = entry.constant("NEUTRAL")
        return {
            "name": entry.name,
            "neutral": "–" if neutral is None else f"{neutral:.0f}",
            "what": entry.summary,
        }
    from tiltmeter.probes import VIEWS

    view = VIEWS[entry.constant("VIEW")]
    return {"name": entry.name, "model": view.kind, "view": view.name, "what": entry.summary}
