"""What every source of pairs promises: shapes, types, determinism, one generator and no other."""

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
    channel_information,
    textures,
)
from tests.data.common import generator, on_gpu
from tests.refusals import refused

LABELS = torch.tensor([0, 1, 0, 1, 1])
IMAGES = ImagePool(torch.arange(5 * 4 * 3, dtype=torch.uint8).view(5, 4, 3), LABELS, "tiny")
VECTORS = EmbeddingPool(torch.arange(10.0).view(5, 2), LABELS, "tiny")
SCENES = textures(20, 8, generator=torch.Generator().manual_seed(0))
TEXT = TextPairs(VECTORS, 6, crossover=0.1)
LABELLED = {
    "images": (ImagePairs(IMAGES, grid=(2, 1, 3), size=7, crossover=0.1), 98),
    "images over backgrounds": (ImagePairs(IMAGES, (1, 2, 3), (7, 5), 0.1, 0.5, SCENES, channels=3), 105),
    "text": (TEXT, 12),
    "mixed": (MixedPairs(IMAGES, VECTORS, grid=(1, 2, 3), crossover=0.1), 12),
}
SOURCES = {
    "gaussian": (GaussianPairs(6, mutual_information=1.0), 6),
    "channel": (ChannelPairs(6, 0.1), 6),
    **LABELLED,
    "encoded": (EncodedPairs(TEXT, lambda values: values[:, 1:4].square()), 3),
}


@pytest.mark.parametrize(("source", "dim"), SOURCES.values(), ids=SOURCES)
class TestEverySource:
    def test_shapes_and_types(self, source, dim):
        assert isinstance(source, KnownPairSource)
        assert (source.dim_x, source.dim_y) == (dim, dim)
        for variable in source.sample(7, generator()):
            assert variable.shape == (7, dim)
            assert variable.dtype == torch.float32
            assert variable.is_contiguous()

    def test_same_seed_same_pairs(self, source, dim):
        first, again, other = (source.sample(20, generator(seed)) for seed in (3, 3, 4))
        assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
        assert not any(torch.equal(a, b) for a, b in zip(first, other, strict=True))

    def test_a_generator_goes_on_and_the_global_one_is_left_alone(self, source, dim):
        shared, before = generator(), torch.get_rng_state()
        assert not torch.equal(source.sample(20, shared)[0], source.sample(20, shared)[0])
        assert torch.equal(before, torch.get_rng_state())

    def test_a_bad_number_of_pairs_is_refused(self, source, dim):
        with refused("n", "range"):
            source.sample(0, generator())

    @on_gpu
    def test_a_cpu_generator_gives_the_same_pairs_on_a_gpu(self, source, dim):
        here, there = source.sample(64, generator()), source.sample(64, generator(), device="cuda")
        for a, b in zip(here, there, strict=True):
            assert b.device.type == "cuda"
            step = (a - b.cpu()).abs()
            assert step.max() <= 1 / 255 + 1e-6
            assert (step > 1e-5).float().mean() < 1e-3

    @on_gpu
    def test_a_gpu_generator_draws_on_the_gpu(self, source, dim):
        x, y = source.sample(64, torch.Generator("cuda").manual_seed(0), device="cuda")
        assert x.device.type == y.device.type == "cuda"
        assert torch.isfinite(x).all()


@pytest.mark.parametrize("source", [source for source, _ in LABELLED.values()], ids=LABELLED)
class TestEveryLabelledSource:
    def test_labels_come_with_the_same_pairs(self, source):
        assert isinstance(source, LabelledSource)
        labelled, plain = generator(), generator()
        for _ in range(2):
            x, y, *labels = source.sample_labelled(9, labelled)
            assert all(torch.equal(a, b) for a, b in zip((x, y), source.sample(9, plain), strict=True))
            assert all(variable.shape == (9, 6) and variable.dtype == torch.bool for variable in labels)

    def test_labels_and_information_are_those_of_the_bare_channel(self, source):
        assert source.mutual_information == channel_information(0.1, 6)
        bits = ChannelPairs(6, 0.1).sample(50, generator())
        for variable, expected in zip(source.sample_labelled(50, generator())[2:], bits, strict=True):
            assert torch.equal(variable.float(), expected)


def test_labels_are_those_of_the_items():
    """Every patch and every vector is of one value, its own label's."""
    images = ImagePool(255 * LABELS.byte().view(-1, 1, 1).expand(-1, 2, 2), LABELS, "plain")
    vectors = EmbeddingPool(LABELS.float().view(-1, 1), LABELS, "plain")
    for source in (
        ImagePairs(images, (1, 2, 3), (4, 6), 0.2),
        MixedPairs(images, vectors, (1, 2, 3), 0.2, size=(4, 6)),
        TextPairs(vectors, 6, 0.2),
    ):
        variables = source.sample_labelled(50, generator())
        for values, labels in zip(variables[:2], variables[2:], strict=True):
            read = values if values.shape[1] == 6 else values.view(-1, 4, 6)[:, ::2, ::2].reshape(-1, 6)
            assert torch.equal(read, labels.float())
