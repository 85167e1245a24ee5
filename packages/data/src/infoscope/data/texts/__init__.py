"""Labelled texts and what can be done to them.

dataset            LabelledTexts; imdb, generated_reviews
files              JSON lines, tables, or a download by `datasets`
cola, sst2, nli    CoLA; SST-2; SNLI and MultiNLI
generated_nli      a grammar of inference (synthetic), of which the information is known
generated_reviews  a grammar of film reviews (synthetic)
transformations    what keeps one attribute of a text only
"""

from infoscope.data.texts.cola import cola
from infoscope.data.texts.dataset import LabelledTexts, generated_reviews, imdb
from infoscope.data.texts.generated_reviews import sentences
from infoscope.data.texts.nli import generated_nli, hypothesis_information, nli
from infoscope.data.texts.sst2 import sst2

__all__ = [
    "LabelledTexts", "cola", "generated_nli", "generated_reviews", "hypothesis_information", "imdb", "nli", "sentences",
    "sst2",
]  # fmt: skip
