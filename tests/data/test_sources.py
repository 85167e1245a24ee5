"""What every source of pairs promises: shapes, types, determinism, one generator and no other."""

from __future__ import annotations

import pytest
import torch

from infoscope.data import ChannelPairs, EmbeddingPool, GaussianPairs, ImagePairs, ImagePool, PairSource, TextPairs

LABELS = torch.tensor([0, 1, 0, 1, 1])
IMAGES = ImagePool(torch.arange(5 * 4 * 3, dtype=torch.uint8).view(5, 4, 3), LABELS, "tiny")
VECTORS = EmbeddingPool(torch.arange(10.0).view(5, 2), LABELS, "tiny")
SOURCES = {
    "gaussian": (GaussianPairs(6, mutual_information=1.0), 6),
    "channel": (ChannelPairs(6, 0.1), 6),
    "images": (ImagePairs(IMAGES, grid=(2, 1, 3), size=7, crossover=0.1), 98),
    "text": (TextPairs(VECTORS, 6, crossover=0.1), 12),
}


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(("source", "dim"), SOURCES.values(), ids=SOURCES)
class TestEverySource:
    @pytest.mark.parametrize("n", [1, 7])
    def test_shapes_and_types(self, source, dim, n):
        assert isinstance(source, PairSource)
        assert (source.dim_x, source.dim_y) == (dim, dim)
        for side in source.sample(n, generator()):
            assert side.shape == (n, dim)
            assert side.dtype == torch.float32
            assert side.is_contiguous()

    def test_same_seed_same_pairs(self, source, dim):
        first, again, other = (source.sample(20, generator(seed)) for seed in (3, 3, 4))
        assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
        assert not any(torch.equal(a, b) for a, b in zip(first, other, strict=True))

    def test_a_generator_goes_on(self, source, dim):
        shared = generator()
        assert not torch.equal(source.sample(20, shared)[0], source.sample(20, shared)[0])

    def test_the_global_generator_is_left_alone(self, source, dim):
        before = torch.get_rng_state()
        source.sample(5, generator())
        assert torch.equal(before, torch.get_rng_state())

    @pytest.mark.parametrize("n", [0, -1, 2.0])
    def test_a_bad_number_of_pairs_is_refused(self, source, dim, n):
        with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
            source.sample(n, generator())

    @pytest.mark.gpu
    @pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
    def test_a_cpu_generator_gives_the_same_pairs_on_a_gpu(self, source, dim):
        here, there = source.sample(64, generator()), source.sample(64, generator(), device="cuda")
        for a, b in zip(here, there, strict=True):
            assert b.device.type == "cuda"
            step = (a - b.cpu()).abs()
            assert step.max() <= 1 / 255 + 1e-6
            assert (step > 1e-5).float().mean() < 1e-3

    @pytest.mark.gpu
    @pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
    def test_a_gpu_generator_draws_on_the_gpu(self, source, dim):
        x, y = source.sample(64, torch.Generator("cuda").manual_seed(0), device="cuda")
        assert x.device.type == y.device.type == "cuda"
        assert torch.isfinite(x).all()
