"""SEXISTLY's benchmark from labelled sexism corpora: one gendered word per sentence, masked, and no other cue of gender.

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
from tiltmeter.errors import InputError, UsageError
from tiltmeter.storage.decoding import guessed_encoding
from tiltmeter.storage.tables import read_bytes

MASK = "[MASK]"
LEAST_WORDS = 3
PAPER_ROWS, PAPER_LENGTH = 52_000, 12.71
"""Figures of Doughman et al. (2023): rows of their three corpora, and words in a sentence."""


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
    """Number of sentences after it."""

    name: str
    count: int
    paper: int | None = None


@dataclass(frozen=True)
class Built:
    """The benchmark, how many sentences each stage left, and what was dropped."""

    sentences: tuple[Sentence, ...]
    stages: tuple[Stage, ...]
    dropped: tuple[Dropped, ...]

    @property
    def mean_length(self) -> float:
        """Words in a sentence, the mask included, on average."""
        return sum(len(sentence.text.split()) for sentence in self.sentences) / len(self.sentences)

    def rows(self) -> Iterator[dict[str, str]]:
        """Rows of the file that `-b FILE` reads."""
        for sentence in self.sentences:
            yield {
                "id": sentence.id, "text": sentence.text, "bias_type": "gender", "target": sentence.group,
                "term": sentence.term, "label": sentence.label,
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
    """Build the benchmark from files of labelled sentences; see `docs/slots.md` for the formats and the rules."""
    if not sources:
        raise UsageError("build sexism needs a labelled corpus: --source FILE.", code="missing-value", name="source")
    compiled = load_rules(rules)
    examples = [example for source in sources for example in read_corpus(Path(source), columns, positive, encoding)]
    line = Line(f"rows in {len(sources)} file{'s' if len(sources) > 1 else ''}{_taken(sources, encoding)}", examples)
    positives = {example.id for example in examples if example.positive}
    line.pass_through("labelled sexist", lambda sentence: sentence if sentence.id in positives else "another label", 8_158)
    line.pass_through("different sentences", _first_only("the same text"))
    line.pass_through("with a word that names a gender", lambda sentence: _with_terms(sentence, compiled), 1_009)
    line.pass_through("with exactly one", lambda sentence: _masked(sentence, compiled), 762)
    line.pass_through(
        "whose gender cannot be inferred otherwise", lambda sentence: compiled.gives_away(sentence.text) or sentence, 572
    )
    line.pass_through("long enough, and different once masked", _last_look())
    if not line.sentences:
        last = ", ".join(f"{stage.name} {stage.count:,}" for stage in line.stages)
        raise InputError(
            f"No sentence passed all rules. Sentences after each: {last}.", code="empty-selection", kind="sentences"
        )
    return Built(tuple(line.sentences), tuple(line.stages), tuple(line.dropped))


class Line:
    """Sentences going through stages, which are counted."""

    def __init__(self, name: str, examples: Iterable[Example]) -> None:
        self.sentences = [Sentence(example.id, example.text, example.label) for example in examples]
        self.stages = [Stage(name, len(self.sentences), PAPER_ROWS)]
        self.dropped: list[Dropped] = []

    def pass_through(self, stage: str, judge: Callable[[Sentence], Verdict], paper: int | None = None) -> None:
        """Keep the sentences that a rule returns; record the others. `paper`: what the paper had left after this stage."""
        kept = []
        for sentence in self.sentences:
            verdict = judge(sentence)
            if isinstance(verdict, str):
                self.dropped.append(Dropped(sentence.id, stage, verdict, sentence.text))
            else:
                kept.append(verdict)
        self.sentences = kept
        self.stages.append(Stage(stage, len(kept), paper))


def _taken(sources: Sequence[str | Path], encoding: str | None) -> str:
    """Encodings that were detected, where none was given and a file is not UTF-8."""
    taken = {Path(source).name: guessed_encoding(read_bytes(Path(source))) for source in sources if not encoding}
    told = ", ".join(f"{name} read as {guess}" for name, guess in taken.items() if guess)
    return f" ({told})" if told else ""


def _first_only(reason: str) -> Callable[[Sentence], Verdict]:
    seen: set[str] = set()

    def judge(sentence: Sentence) -> Verdict:
        if sentence.text in seen:
            return reason
        seen.add(sentence.text)
        return sentence

    return judge


def _with_terms(sentence: Sentence, rules: Rules) -> Verdict:
    """Remove handles, links and trailing hashtags, whose words refer to no person, and find the terms."""
    text = clean(sentence.text).replace(MASK, "")
    return replace(sentence, text=text) if rules.terms_in(text) else "no word that names a gender"


def _masked(sentence: Sentence, rules: Rules) -> Verdict:
    terms = rules.terms_in(sentence.text)
    if len(terms) > 1:
        return f"{len(terms)} words that name a gender: {', '.join(match.group().lower() for match in terms)}"
    term = terms[0]
    text = neutralise(sentence.text[: term.start()] + MASK + sentence.text[term.end() :])
    word = term.group().lower()
    return replace(sentence, text=text, term=word, group=rules.group_of[word])


def _last_look() -> Callable[[Sentence], Verdict]:
    repeated = _first_only("the same sentence, once masked")

    def judge(sentence: Sentence) -> Verdict:
        words = [word for word in sentence.text.split() if any(map(str.isalpha, word))]
        return f"fewer than {LEAST_WORDS} words beside the mask" if len(words) <= LEAST_WORDS else repeated(sentence)

    return judge
