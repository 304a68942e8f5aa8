"""BibTeX for everything that a run used: measures, scorers and benchmarks, and the program itself.

What is cited is read off the CITATION of each. Who is in the bibliography beside this file is found by surname and year;
anything else becomes an entry with the citation as its note, so that nothing is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files as resources

from tiltmeter import __version__, catalog
from tiltmeter.runs import Run

OWN = (
    f"@software{{tiltmeter, author = {{{{The tiltmeter authors}}}}, title = {{tiltmeter: how far a language model leans}}, "
    f"version = {{{__version__}}}}}"
)
AUTHORS = re.compile(r"((?:[A-Z][\w’'-]+(?:, | and )?)+)(?: et al\.)? \((\d{4})\)")
ENTRY = re.compile(r"^@\w+\{(\w+),")
TO_TEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "{": r"\{", "}": r"\}", "–": "--"}


def named(citation: str) -> list[str]:
    """The works that a citation names, as surname and year."""
    return list(dict.fromkeys(re.split(r", | and ", names)[0].lower() + year for names, year in AUTHORS.findall(citation)))


def cited(citation: str) -> list[str]:
    """The keys of the works that a citation names and the bibliography has.

    >>> cited("Nadeem, Bethke and Reddy (2021), StereoSet, ACL; as Eq. 2 of Kaneko and Bollegala (2022), AAAI.")
    ['nadeem2021', 'kaneko2022']
    >>> cited("After Kurita et al. (2019); the causal analogue is tiltmeter's.")
    ['kurita2019']
    """
    return [key for key in named(citation) if key in bibliography()]


@cache
def bibliography() -> dict[str, str]:
    """Key → entry."""
    text = (resources("tiltmeter.exports") / "data" / "bibliography.bib").read_text(encoding="utf-8")
    return {found[1]: line for line in text.splitlines() if (found := ENTRY.match(line))}


def used(run: Run) -> Iterator[tuple[str, str]]:
    """The name and the citation of everything that a run used; the BIBTEX of its module where it has one."""
    for kind, column in (("measures", "measure"), ("scorers", "scorer")):
        for name in dict.fromkeys(map(str, run.estimates[column])) if len(run.estimates) else ():
            if name in catalog.names(kind):
                entry = catalog.find(kind, name)
                yield name, str(getattr(entry.module, "BIBTEX", "")).strip() or entry.citation
    for evaluation in run.manifest.get("evaluations", ()):
        benchmark = evaluation.get("benchmark", {})
        name = str(benchmark.get("name", ""))
        known = name.replace("-", "_") in catalog.names("benchmarks")
        own = str(getattr(catalog.find("benchmarks", name).module, "BIBTEX", "")).strip() if known else ""
        yield name, own or str(benchmark.get("citation") or "")


def cite(run: Run) -> str:
    """The bibliography of a run, with a comment that says what each work is cited for."""
    works: dict[str, list[str]] = {}
    for name, citation in dict.fromkeys(used(run)):
        if citation.startswith("@"):
            works.setdefault(citation, []).append(name)
            continue
        keys = cited(citation)
        entries = [bibliography()[key] for key in keys]
        if citation and (not keys or len(keys) < len(named(citation))):  # whoever is not in the bibliography stays named
            entries.append(_note(name, citation))
        for entry in entries:
            works.setdefault(entry, []).append(name)
    lines = [f"% {', '.join(names)}\n{_spread(entry) if chr(10) not in entry else entry}" for entry, names in works.items()]
    return "\n\n".join([f"% the numbers\n{_spread(OWN)}", *lines]) + "\n"


def _note(name: str, citation: str) -> str:
    key = re.sub(r"\W", "", name)
    return f"@misc{{{key}, title = {{{{{_tex(name)}}}}}, note = {{{_tex(citation)}}}}}"


def _tex(text: str) -> str:
    return "".join(TO_TEX.get(sign, sign) for sign in " ".join(text.split()))


def _spread(entry: str) -> str:
    """An entry with one field per line.

    >>> print(_spread("@misc{a, title = {B, c}, year = {2020}}"))
    @misc{a,
      title = {B, c},
      year = {2020},
    }
    """
    head, _, fields = entry.removesuffix("}").partition(", ")
    return f"{head},\n" + "".join(f"  {field},\n" for field in re.split(r", (?=\w+ = \{)", fields)) + "}"
