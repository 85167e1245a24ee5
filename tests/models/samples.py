"""Small data that the tests of several models share: texts of two classes, images of
two labels.
"""

import io
import random

import torch

from infoscope.models import small_encoder
from tests.data.common import generator

KINDS = (("bert", "pooler"), ("distilbert", "mean"), ("roberta", "cls"))
SMALL_TEXT = {
    "vocabulary": 300,
    "hidden": 32,
    "layers": 1,
    "heads": 2,
    "max_length": 32,
}
SMALL_VAE = {"image_shape": (1, 16, 16), "channels": (4, 8), "hidden": 16}
ADJECTIVES = (
    ("dull", "weak", "awful", "boring", "poor"),
    ("bright", "strong", "lovely", "moving", "fine"),
)


def corpus(n, seed):
    """Sentences in which one word determines the class."""
    draw = random.Random(seed)
    texts = []
    for position in range(n):
        noun = draw.choice(("film", "play", "book", "song"))
        adjective = draw.choice(ADJECTIVES[position % 2])
        words = (
            f"The {noun} was {adjective} and "
            f"{draw.choice(('old', 'new', 'long', 'short'))}"
        )
        texts.append(words + draw.choice((".", " today.", ", as they said in town.")))
    return texts, torch.arange(n) % 2


TEXTS, LABELS = corpus(160, 0)


def small(kind="bert", pooling="mean", seed=0):
    return small_encoder(TEXTS, kind, generator(seed), pooling=pooling, **SMALL_TEXT)


def halves(n, generator):
    """Noisy grey images [n, 32 * 32] whose left and right halves are bright or dark,
    and the two labels.
    """
    labels = torch.rand(n, 2, generator=generator) < 0.5
    brightness = labels.float().repeat_interleave(16, 1)[:, None, None, :]
    return (brightness + 0.3 * torch.randn(n, 1, 32, 32, generator=generator)).flatten(
        1
    ), labels


def reread(state):
    """The state of a training, written to a file and read without pickled code."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


class Stored:
    """Images by index, as a data set gives them."""

    def __init__(self, array):
        self.images, self.count = array.__getitem__, len(array)

    def __len__(self):
        return self.count
