"""MEASURE and SCORER: what is misspelt, of a wrong type or contradictory is an error when the file is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, fields
from types import ModuleType
from typing import Any

import pytest

from support.raising import raises
from tiltmeter import TiltmeterError, catalog
from tiltmeter.catalog.declarations import EARLIER, MEASURE_TYPES, SCORER_TYPES
from tiltmeter.cli.list import folded, listing
from tiltmeter.measures import Measure
from tiltmeter.scorers import Scorer

PLAIN: dict[str, Any] = {"reads": ("stereo", "anti"), "role": "bias", "neutral": 50.0, "cites": "nobody"}
TWO_SIDED: dict[str, Any] = PLAIN | {"direction": "two-sided"}


def test_every_field_has_a_type_that_is_checked() -> None:
    assert list(MEASURE_TYPES) == [one.name for one in fields(Measure)]
    assert list(SCORER_TYPES) == [one.name for one in fields(Scorer)]


@pytest.mark.parametrize("field", MEASURE_TYPES)
def test_a_wrong_type_is_refused(field: str) -> None:
    with pytest.raises(TiltmeterError, match=f"^{field} must be"):
        Measure(**TWO_SIDED | {field: 3.5j})


@pytest.mark.parametrize(
    "given",
    [
        {"role": "bais"}, {"neutral": True}, {"neutral": float("nan")}, {"neutral": "50"}, {"reads": "stereo"},
        {"reads": ()},
        {"cites": " "}, {"range": (0.0,)}, {"test": "sign"}, {"direction": "upwards"}, {"leans": 1}, {"among": "nice"},
        {"contrasts": {"direction": ("advantaged",)}}, {"spread_of": "fpr"}, {"variant_of": ""},
    ],
    ids=str,
)  # fmt: skip
def test_a_wrong_value_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(TiltmeterError, match=f"^{next(iter(given))} must be"):
        Measure(**TWO_SIDED | given)


@pytest.mark.parametrize(
    "given",
    [
        {"range": (60.0, 100.0)}, {"range": (100.0, 0.0)}, {"ideal": 120.0, "range": (0.0, 100.0)},
        {"direction": None}, {"direction": "one-sided"}, {"range": (50.0, 100.0)},
        {"range": (50.0, 100.0), "direction": "one-sided", "leans": True},
        {"neutral": None}, {"neutral": None, "direction": None, "test": "binomial"},
        {"neutral": None, "direction": None, "leans": True}, {"neutral": None, "direction": None, "role": "cost"},
        {"per_seed": True},
    ],
    ids=str,
)  # fmt: skip
def test_fields_that_contradict_each_other_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(TiltmeterError):
        Measure(**TWO_SIDED | given)


def test_a_misspelt_field_is_refused_and_nothing_changes_later() -> None:
    with pytest.raises(TypeError, match="neutrl"):
        Measure(**TWO_SIDED | {"neutrl": 50.0})
    with pytest.raises(TypeError, match="veiw"):
        Scorer(**{"veiw": "each", "cites": "nobody"})
    with pytest.raises(FrozenInstanceError):
        Measure(**TWO_SIDED).neutral = 40.0  # type: ignore[misc]


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Adds a module to the catalog, as another package does."""

    def added(kind: str, **members: Any) -> None:
        module = ModuleType("theirs")
        vars(module).update(members)

        class Point:
            name, value, module, dist = "theirs", "theirs", "theirs", None

            def load(self) -> ModuleType:
                return module_of

        module_of = module
        monkeypatch.setattr(catalog, "entry_points", lambda group: [Point()] if group == f"tiltmeter.{kind}" else [])
        catalog.forget()

    yield added
    monkeypatch.undo()
    catalog.forget()


def theirs(stereo: Any, anti: Any, power: int = 1) -> Any:
    return (stereo > anti).mean(axis=-1) * 100.0


@pytest.mark.parametrize(
    ("members", "fragment"),
    [
        ({"NEUTRAL": 0.0, "BOUNDED": True}, 'BOUNDED → direction="one-sided"'),
        ({}, "has no MEASURE"),
        ({"MEASURE": "a measure"}, "has no MEASURE"),
        ({"MEASURE": Measure(**TWO_SIDED), "NEUTRAL": 0.0}, "NEUTRAL beside MEASURE"),
        ({"MEASURE": Measure(**TWO_SIDED | {"reads": ("stereo",)})}, "its function takes"),
        ({"MEASURE": Measure(**TWO_SIDED | {"test": "binomial"})}, "no function sides"),
        ({"MEASURE": Measure(**TWO_SIDED), "sides": theirs}, "no test='binomial'"),
        ({"MEASURE": Measure(**TWO_SIDED), "moments": theirs}, "moments and of_moments"),
        ({"MEASURE": Measure(**TWO_SIDED | {"variant_of": "jsss"})}, "Did you mean 'jss'"),
        ({"MEASURE": Measure(**TWO_SIDED | {"spread_of": ("nothing",)})}, "'nothing' in spread_of"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(add: Callable[..., None], members: dict[str, Any], fragment: str) -> None:
    add("measures", theirs=theirs, **members)
    with raises("broken-package", kind="measure", name="theirs", package="theirs") as refused:
        catalog.find("measures", "theirs")
    assert fragment in str(refused.value)
    assert "theirs" not in [entry.name for entry in catalog.entries("measures")]
    assert list(catalog.complaints) == [str(refused.value)]


@pytest.mark.parametrize(
    ("members", "fragment"),
    [
        ({"VIEW": "each", "CITATION": "nobody"}, "has no SCORER"),
        ({"SCORER": Scorer(view="each", cites="nobody"), "VERSION": 2}, "VERSION beside SCORER"),
        ({"SCORER": Scorer(view="each", cites="nobody", variant_of="nothing")}, "'nothing' in variant_of"),
    ],
)
def test_a_scorer_that_contradicts_itself_is_refused(
    add: Callable[..., None], members: dict[str, Any], fragment: str
) -> None:
    add("scorers", theirs=theirs, **members)
    with raises("broken-package", kind="scorer", name="theirs", package="theirs") as refused:
        catalog.find("scorers", "theirs")
    assert fragment in str(refused.value)


def test_a_sound_measure_of_others_is_found(add: Callable[..., None]) -> None:
    add("measures", theirs=theirs, MEASURE=Measure(**TWO_SIDED | {"unit": "%"}))
    entry = catalog.find("measures", "theirs")
    assert (entry.spec.unit, entry.spec.target, entry.citation, entry.variant_of) == ("%", 50.0, "nobody", None)
    with pytest.raises(TypeError):
        _ = entry.scorer


def test_no_constant_of_an_earlier_version_is_left() -> None:
    for entry in catalog.entries("measures"):
        assert not [name for name in EARLIER if hasattr(entry.module, name)], entry.name


def test_variants_vary_what_reads_the_same() -> None:
    """And no variant varies a variant."""
    for entry in catalog.entries("measures"):
        if entry.variant_of is not None:
            base = catalog.find("measures", entry.variant_of)
            assert entry.spec.role == "part" and base.variant_of is None and set(base.spec.reads) == set(entry.spec.reads)
    varied = {entry.name: entry.variant_of for entry in catalog.entries("scorers") if entry.variant_of}
    assert {"cps_nyu": "cps", "sss_kaneko": "sss"}.items() <= varied.items() and not set(varied) & set(varied.values())


def test_the_list_is_by_family_and_role_with_variants_folded() -> None:
    rows = listing("measures")
    assert len(rows) == len(catalog.names("measures"))
    order = [(row["family"], ("bias", "cost", "quality", "part").index(row["role"])) for row in rows]
    assert order == sorted(order) and all(family for family, _ in order)
    shown = {row["name"]: row for row in folded(rows)}
    assert "jss_liu" not in shown and shown["jss"]["variants"] == "jss_liu" and shown["kls"]["variants"] == ""
    assert {row["name"] for row in folded(listing("scorers"))} == set(catalog.names("scorers")) - {
        entry.name for entry in catalog.entries("scorers") if entry.variant_of
    }
    assert folded([{"name": "one"}]) == [{"name": "one"}]
