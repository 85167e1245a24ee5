"""What makes representations: encoders.

Every model has `.config`, a dict of plain JSON values from which its class rebuilds it: `Model(**model.config)`, then
`load_state_dict`.

    SentenceEncoder         a small bag-of-words encoder of sentences
    fit_sentence_encoder    trains one to tell the classes of a labelled corpus apart
"""

from .sentence_encoder import SentenceEncoder, fit_sentence_encoder

__all__ = ["SentenceEncoder", "fit_sentence_encoder"]
