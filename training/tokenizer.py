"""WordPiece (BERT, DistilBERT) and byte-level BPE (RoBERTa, GPT-2) tokenizers, trained on the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from training.encoded import BYTE_LEVEL
from training.recipe import Recipe

Read = Callable[[], Iterable[str]]
CHARACTERS = 300
BERT = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
ROBERTA = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>"}
GPT2 = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>")


def train_tokenizer(read: Read, recipe: Recipe) -> Any:
    """A fast tokenizer for this recipe, wrapped as transformers expects it; `read` gives the lines at each call."""
    from transformers import PreTrainedTokenizerFast

    make = byte_level if recipe.architecture in BYTE_LEVEL else word_piece
    core, special = make(read, recipe)
    return PreTrainedTokenizerFast(
        tokenizer_object=core, model_max_length=recipe.length, clean_up_tokenization_spaces=False, **special
    )


def word_piece(read: Read, recipe: Recipe) -> tuple[Any, dict[str, Any]]:
    """As BERT: [CLS] … [SEP], `##` for pieces inside a word."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    normalizer = normalizers.BertNormalizer(lowercase=not recipe.cased)
    splitter = pre_tokenizers.BertPreTokenizer()
    core = Tokenizer(models.WordPiece(_vocabulary(read, recipe, normalizer, splitter), unk_token="[UNK]"))
    core.normalizer, core.pre_tokenizer, core.decoder = normalizer, splitter, decoders.WordPiece()
    core.add_special_tokens(list(BERT.values()))
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=_ids(core, "[CLS]", "[SEP]")
    )
    return core, dict(BERT)


def _vocabulary(read: Read, recipe: Recipe, normalizer: Any, splitter: Any) -> dict[str, int]:
    """The same each time. Left alone, the trainer numbers the `##` characters in an order of chance and settles ties by it.

    So they are given to it beforehand, as special tokens of a tokenizer of which only the vocabulary is kept.
    """
    from tokenizers import Tokenizer, models, trainers

    alphabet = _alphabet(read(), normalizer)
    inside = [
        f"##{one}" for one in sorted(alphabet) if len(splitter.pre_tokenize_str(normalizer.normalize_str(f"a{one}"))) == 1
    ]
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.normalizer, core.pre_tokenizer = normalizer, splitter
    trainer = trainers.WordPieceTrainer(
        vocab_size=recipe.vocabulary,
        special_tokens=[*BERT.values(), *inside],
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    core.train_from_iterator(read(), trainer)
    vocabulary: dict[str, int] = core.get_vocab()
    return vocabulary


def _alphabet(lines: Iterable[str], normalizer: Any) -> list[str]:
    """The most frequent characters; of equally frequent ones, those that sort first."""
    raw: Counter[str] = Counter()
    for line in lines:
        raw.update(line)
    counts: Counter[str] = Counter()
    for one, count in raw.items():
        counts.update({plain: count for plain in normalizer.normalize_str(one) if not plain.isspace()})
    return sorted(counts, key=lambda one: (-counts[one], one))[:CHARACTERS]


def byte_level(read: Read, recipe: Recipe) -> tuple[Any, dict[str, Any]]:
    """As RoBERTa (<s> … </s>) or as GPT-2 (<|endoftext|> alone, added by nobody)."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    special = ROBERTA if recipe.architecture == "roberta" else GPT2
    core = Tokenizer(models.BPE())
    if not recipe.cased:
        core.normalizer = normalizers.Lowercase()
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=recipe.vocabulary,
        special_tokens=list(dict.fromkeys(special.values())),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(read(), trainer)
    return core, special | _finish(core, recipe)


def _finish(core: Any, recipe: Recipe) -> dict[str, Any]:
    """What is put around a text, and the special tokens that say so."""
    from tokenizers import AddedToken, processors

    if recipe.architecture == "gpt2":
        core.post_processor = processors.ByteLevel(trim_offsets=False)
        return {}
    core.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=_ids(core, "<s>", "</s>")
    )
    mask = AddedToken("<mask>", lstrip=True, special=True)  # it takes the space before it, as a word would
    return {"cls_token": "<s>", "sep_token": "</s>", "mask_token": mask}


def _ids(core: Any, *tokens: str) -> list[tuple[str, int]]:
    return [(token, core.token_to_id(token)) for token in tokens]
