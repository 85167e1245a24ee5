"""What every source of pairs promises: shapes, types, determinism, one generator and no
other.
"""

import pytest
import torch

from infoscope.data import (
    ChannelPairs,
    EmbeddingPool,
    EncodedPairs,
    GaussianPairs,
    ImagePairs,
    ImagePool,
    KnownPairSource,
    LabelledSource,
    MixedPairs,
    TextPairs,
    textures,
)
from tests.data.common import generator, on_gpu
from tests.refusals import refused

LABELS = torch.tensor([0, 1, 0, 1, 1])
IMAGES = ImagePool(
    torch.arange(5 * 4 * 3, dtype=torch.uint8).view(5, 4, 3), LABELS, "tiny"
)
VECTORS = EmbeddingPool(torch.arange(10.0).view(5, 2), LABELS, "tiny")
SCENES = textures(20, 8, generator=torch.Generator().manual_seed(0))
TEXT = TextPairs(VECTORS, 6, crossover=0.1)
LABELLED = {
    "images": (ImagePairs(IMAGES, grid=(2, 1, 3), size=7, crossover=0.1), 98),
    "images over backgrounds": (
        ImagePairs(IMAGES, (1, 2, 3), (7, 5), 0.1, 0.5, SCENES, channels=3),
        105,
    ),
    "text": (TEXT, 12),
    "mixed": (MixedPairs(IMAGES, VECTORS, grid=(1, 2, 3), crossover=0.1), 12),
}
SOURCES = {
    "gaussian": (GaussianPairs(6, mutual_information=1.0), 6),
    "channel": (ChannelPairs(6, 0.1), 6),
    **LABELLED,
    "encoded": (EncodedPairs(TEXT, lambda values: values[:, 1:4].square()), 3),
}


every_source = pytest.mark.parametrize(("source", "dim"), SOURCES.values(), ids=SOURCES)
every_labelled_source = pytest.mark.parametrize(
    "source", [source for source, _ in LABELLED.values()], ids=LABELLED
)


@every_source
def test_shapes_and_types(source, dim):
    assert isinstance(source, KnownPairSource)
    assert source.dim_x == dim
    assert source.dim_y == dim
    for variable in source.sample(7, generator()):
        assert variable.shape == (7, dim)
        assert variable.dtype == torch.float32
        assert variable.is_contiguous()
    with refused("n", "range"):
        source.sample(0, generator())


@every_source
def test_same_seed_same_pairs_and_others_after_them(source, dim):
    global_state = torch.get_rng_state()
    shared = generator(3)
    first = torch.stack(source.sample(20, shared))
    later = torch.stack(source.sample(20, shared))
    again = torch.stack(source.sample(20, generator(3)))
    assert torch.equal(first, again)
    for x, other_x in zip(first, later):
        assert not torch.equal(x, other_x)
    assert torch.equal(torch.get_rng_state(), global_state)


@on_gpu
@every_source
def test_a_cpu_generator_gives_the_same_pairs_on_a_gpu(source, dim):
    of_cpu = source.sample(64, generator())
    of_gpu = source.sample(64, generator(), device="cuda")
    for variable, same in zip(of_cpu, of_gpu, strict=True):
        assert same.device.type == "cuda"
        difference = (variable - same.cpu()).abs()
        assert difference.max() <= 1 / 255 + 1e-6
        assert (difference > 1e-5).float().mean() < 1e-3


@on_gpu
@every_source
def test_a_gpu_generator_draws_on_the_gpu(source, dim):
    x, y = source.sample(64, torch.Generator("cuda").manual_seed(0), device="cuda")
    assert x.device.type == y.device.type == "cuda"
    assert torch.isfinite(x).all()


@every_labelled_source
def test_labels_come_with_the_same_pairs(source):
    assert isinstance(source, LabelledSource)
    labelled = generator()
    plain = generator()
    for _ in range(2):
        x, y, *labels = source.sample_labelled(9, labelled)
        expected_x, expected_y = source.sample(9, plain)
        assert torch.equal(x, expected_x)
        assert torch.equal(y, expected_y)
        for variable in labels:
            assert variable.shape == (9, 6)
            assert variable.dtype == torch.bool


@every_labelled_source
def test_labels_and_information_are_those_of_the_bare_channel(source):
    bare = ChannelPairs(6, 0.1)
    assert source.mutual_information == bare.mutual_information
    _, _, label_x, label_y = source.sample_labelled(50, generator())
    x, y = bare.sample(50, generator())
    assert torch.equal(label_x.float(), x)
    assert torch.equal(label_y.float(), y)


PLAIN = ImagePool(255 * LABELS.byte().view(-1, 1, 1).expand(-1, 2, 2), LABELS, "plain")
BITS = EmbeddingPool(LABELS.float().view(-1, 1), LABELS, "plain")
OF_ONE_VALUE = [
    ImagePairs(PLAIN, (1, 2, 3), (4, 6), 0.2),
    MixedPairs(PLAIN, BITS, (1, 2, 3), 0.2, size=(4, 6)),
    TextPairs(BITS, 6, 0.2),
]


@pytest.mark.parametrize("source", OF_ONE_VALUE)
def test_labels_are_those_of_the_items(source):
    """Every patch and every vector is of one value, its own label's."""
    x, y, *labels = source.sample_labelled(50, generator())
    for values, expected in zip((x, y), labels, strict=True):
        if values.shape[1] == 24:  # pixels of patches of 2 x 2
            values = values.view(50, 4, 6)[:, ::2, ::2].flatten(1)
        assert torch.equal(values, expected.float())
