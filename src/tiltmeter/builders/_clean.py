"""Tweets as sentences: handles, links, markup and trailing hashtags go; the words stay as they are."""

from __future__ import annotations

import html
import re

GONE = re.compile(
    r"https?:\S*|www\.\S+|pic\.twitter\.com/\S+|\bt\.co/\S+"
    r"|\bRT\b\s*(?=@|MENTION|:)|@\w+:?|\bMENTION\d+:?|<user>|<url>|\[(?:user|url)\]|\bHTTPURL\b|@USER"
)
TAGS_AT_END = re.compile(r"(?:\s*#\w+)+\s*$")
TRUNCATED = re.compile(r"\s*\S*…\s*$")
GAP = "\0"
OPENING = re.compile(r"^[\s:;,.\-–—|*~]+")


def clean(text: str) -> str:
    """One line, without what is not part of the sentence.

    >>> clean("RT @joe: Some  girls can&#39;t park #fact #lol https://t.co/x")
    "Some girls can't park"
    """
    text = GONE.sub(GAP, html.unescape(text))
    text = re.sub(rf"(?<=[\"“(])[\s{GAP}]*{GAP}\s*", "", text).replace(GAP, " ")  # no hole behind an opening quote
    text = TAGS_AT_END.sub("", " ".join(text.split()))
    text = TRUNCATED.sub("", text).replace("#", "")
    return OPENING.sub("", " ".join(text.split())).rstrip(" -–—:")
