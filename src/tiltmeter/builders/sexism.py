"""SEXISTLY's benchmark from labelled sexism corpora: one gendered word per sentence, masked, and nothing else that tells it.

The stages are the paper's (Doughman et al., 2023, section 4): positive labels, an explicit gender term, exactly one, none
that can be inferred from roles, masking, pronouns made neutral. Every stage has a count and what it dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tiltmeter.builders._clean import clean
from tiltmeter.builders._corpora import Example, read_corpus
from tiltmeter.builders._pronouns import neutralise
from tiltmeter.builders._rules import Rules, load_rules
from tiltmeter.errors import TiltmeterError

MASK = "[MASK]"
LEAST_WORDS = 3
PAPER = "Doughman et al. (2023), over three corpora: 8,158 → 1,009 → 762 → 572"


@dataclass(frozen=True)
class Sentence:
    """A sentence on its way: as it came, as it will be, and the word that was masked."""

    id: str
    text: str
    label: str
    term: str = ""
    group: str = ""


@dataclass(frozen=True)
class Dropped:
    """A sentence that a stage left out."""

    id: str
    stage: str
    reason: str
    text: str


@dataclass(frozen=True)
class Stage:
    """How many sentences were left after it."""

    name: str
    count: int


@dataclass(frozen=True)
class Built:
    """The benchmark, how many sentences each stage left, and what was dropped."""

    sentences: tuple[Sentence, ...]
    stages: tuple[Stage, ...]
    dropped: tuple[Dropped, ...]

    def rows(self) -> Iterator[dict[str, str]]:
        """What `-b FILE` reads."""
        for one in self.sentences:
            yield {
                "id": one.id, "text": one.text, "bias_type": "gender", "target": one.group, "term": one.term,
                "label": one.label,
            }  # fmt: skip


Verdict = Sentence | str
"""A sentence, perhaps changed, or the reason to drop it."""


def build_sexism(
    sources: Sequence[str | Path],
    *,
    rules: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    positive: Sequence[str] = (),
    encoding: str | None = None,
) -> Built:
    """Builds the benchmark from files of labelled sentences; see `docs/slots.md` for the formats and the rules."""
    if not sources:
        raise TiltmeterError("build sexism needs a labelled corpus: --source FILE.")
    compiled = load_rules(rules)
    examples = [one for source in sources for one in read_corpus(Path(source), columns, positive, encoding)]
    line = Line(f"rows in {len(sources)} file{'s' if len(sources) > 1 else ''}", [_start(one) for one in examples])
    labels = {one.id for one in examples if one.positive}
    line.pass_through("labelled sexist", lambda one: one if one.id in labels else "another label")
    line.pass_through("different sentences", _first_only("the same text"))
    line.pass_through("with a word that names a gender", lambda one: _with_terms(one, compiled))
    line.pass_through("with exactly one", lambda one: _masked(one, compiled))
    line.pass_through("whose gender cannot be inferred otherwise", lambda one: compiled.gives_away(one.text) or one)
    line.pass_through("long enough, and different once masked", _last_look())
    if not line.sentences:
        last = ", ".join(f"{stage.name} {stage.count:,}" for stage in line.stages)
        raise TiltmeterError(f"No sentence is left: {last}.")
    return Built(tuple(line.sentences), tuple(line.stages), tuple(line.dropped))


class Line:
    """Sentences going through stages, which are counted."""

    def __init__(self, name: str, sentences: Iterable[Sentence]) -> None:
        self.sentences = list(sentences)
        self.stages = [Stage(name, len(self.sentences))]
        self.dropped: list[Dropped] = []

    def pass_through(self, stage: str, judge: Callable[[Sentence], Verdict]) -> None:
        """Keeps what the judge gives back; notes what it refuses."""
        kept = []
        for one in self.sentences:
            verdict = judge(one)
            if isinstance(verdict, str):
                self.dropped.append(Dropped(one.id, stage, verdict, one.text))
            else:
                kept.append(verdict)
        self.sentences = kept
        self.stages.append(Stage(stage, len(kept)))


def _start(one: Example) -> Sentence:
    return Sentence(one.id, one.text, one.label)


def _first_only(reason: str) -> Callable[[Sentence], Verdict]:
    seen: set[str] = set()

    def judge(one: Sentence) -> Verdict:
        if one.text in seen:
            return reason
        seen.add(one.text)
        return one

    return judge


def _with_terms(one: Sentence, rules: Rules) -> Verdict:
    """From here on without handles, links and trailing hashtags: a word in them names nobody."""
    text = clean(one.text).replace(MASK, "")
    return replace(one, text=text) if rules.terms_in(text) else "no word that names a gender"


def _masked(one: Sentence, rules: Rules) -> Verdict:
    found = rules.terms_in(one.text)
    if len(found) > 1:
        return f"{len(found)} words that name a gender: {', '.join(match.group().lower() for match in found)}"
    term = found[0]
    text = neutralise(one.text[: term.start()] + MASK + one.text[term.end() :])
    word = term.group().lower()
    return replace(one, text=text, term=word, group=rules.group_of[word])


def _last_look() -> Callable[[Sentence], Verdict]:
    repeated = _first_only("the same sentence, once masked")

    def judge(one: Sentence) -> Verdict:
        words = [word for word in one.text.split() if any(map(str.isalpha, word))]
        return f"fewer than {LEAST_WORDS} words beside the mask" if len(words) <= LEAST_WORDS else repeated(one)

    return judge
