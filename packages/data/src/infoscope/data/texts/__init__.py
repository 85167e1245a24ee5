"""Labelled texts: LabelledTexts, imdb, cola, sst2, nli; generated reviews and inference; transformations."""

from infoscope.data.texts.cola import cola
from infoscope.data.texts.dataset import LabelledTexts, generated_reviews, imdb
from infoscope.data.texts.generated_reviews import sentences
from infoscope.data.texts.nli import generated_nli, hypothesis_information, nli
from infoscope.data.texts.sst2 import sst2

__all__ = [
    "LabelledTexts", "cola", "generated_nli", "generated_reviews", "hypothesis_information", "imdb", "nli", "sentences",
    "sst2",
]  # fmt: skip
