"""How much faster a training step and its data are than a straightforward implementation, in one run on one thread.

The baseline is built here: a plain perceptron on all tiled and concatenated pairs with torch's default Adam, images
composed patch by patch with Pillow from files, embeddings read from one file each. Batches, weights and mathematics are
the same (the first estimates are compared). Blocks of both are interleaved; the verdict is the median of their ratios
of processor time, which is the wall time of one undisturbed thread.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from infoscope.data import EmbeddingPool, GaussianPairs, ImagePairs, ImagePool, TextPairs
from infoscope.estimators import BOUNDS, JointCritic, Training, make_critic, share_training
from infoscope.estimators.matmul import library

pytestmark = pytest.mark.bench

BATCH, SOURCES, CROSSOVER, SIDE, VECTOR = 64, 10, 0.243, 64, 768
BLOCKS, OURS_PER_BLOCK = 7, 5
STEPS = 1 + BLOCKS * OURS_PER_BLOCK
BOUND = BOUNDS["smile-inf"]
ESTIMATORS = ("nwj", "js", "infonce", "dv", "mine", "smile-1", "smile-5", "smile-inf")
DOMAINS = ("gaussian", "images", "text")
BASELINE_PER_BLOCK = {"gaussian": 5, "images": 1, "text": 1}
# Ratios to be reached, by domain in the order above and by the library of our large products, which the machine decides
# (the baseline's are always torch's own). oneDNN's: a tenth to a fifth under the least of three runs.
REACHED = {
    "onednn": {
        "step": (1.6,),
        "data + step": (1.6, 17, 28),
        "8 estimators, objectives shared": (2.6, 30, 46),
    },
    "mkl": {
        "step": (0.8,),
        "data + step": (0.8, 9, 9),
        "8 estimators, objectives shared": (1.3, 14, 16),
    },
}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    print(f"\n\n{'domain':10}{'what':34}{'ratio':>8}{'min - max':>16}{'blocks':>8}")
    yield
    torch.set_num_threads(before)


class FixedPairs:
    """The same batch at every step, so that only the step is measured."""

    mutual_information = 0.0

    def __init__(self, x: Tensor, y: Tensor) -> None:
        self.pairs = x, y
        self.dim_x, self.dim_y = x.shape[1], y.shape[1]

    def sample(self, n: int, generator: torch.Generator, device: torch.device | str = "cpu") -> tuple[Tensor, Tensor]:
        return self.pairs


class TiledStep:
    """A training step as one would write it first: every x beside every y, through one perceptron."""

    def __init__(self, critic: JointCritic) -> None:
        maps = [(torch.cat([critic.first_x.weight[0], critic.first_y.weight[0]], 1), critic.first_y.bias[0])]
        maps += [(layer.weight[0], layer.bias[0]) for layer in (*critic.hidden, critic.last)]
        modules: list[nn.Module] = []
        for weight, bias in maps:
            linear = nn.Linear(weight.shape[1], weight.shape[0])
            linear.load_state_dict({"weight": weight.detach(), "bias": bias.detach()})
            modules += [linear, nn.ReLU()]
        self.critic = nn.Sequential(*modules[:-1])
        self.optimiser = torch.optim.Adam(self.critic.parameters(), lr=5e-4)

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        n = len(x)
        pairs = torch.cat([x.unsqueeze(1).repeat(1, n, 1), y.unsqueeze(0).repeat(n, 1, 1)], dim=-1)
        scores = self.critic(pairs.view(n * n, -1)).view(n, n)
        value, _ = BOUND.objective(scores, BOUND.objective.start(scores))
        self.optimiser.zero_grad()
        (-value).backward()
        self.optimiser.step()
        return BOUND.estimate(scores.detach())


def measured(
    domain: str, what: str, baseline: Callable[[], object], ours: Callable[[int], object], passes: int = 1
) -> float:
    """Median over interleaved blocks of the time of `passes` baseline steps over one of ours; prints the row."""
    ratios = []
    for _ in range(BLOCKS):
        start = time.process_time()
        for _ in range(BASELINE_PER_BLOCK[domain]):
            baseline()
        between = time.process_time()
        ours(OURS_PER_BLOCK)
        one, own = (between - start) / BASELINE_PER_BLOCK[domain], (time.process_time() - between) / OURS_PER_BLOCK
        ratios.append(passes * one / own)
    ratio = float(np.median(ratios))
    print(f"{domain:10}{what:34}{ratio:7.1f}x{min(ratios):7.1f} - {max(ratios):.1f}{BLOCKS:>10}")
    return ratio


def enough(domain: str, what: str, ratio: float) -> None:
    """Fails when the ratio is under the one that was reached, with some room, on a machine of this kind."""
    assert ratio >= REACHED[library()][what][DOMAINS.index(domain)]


def data_and_step_ratios(domain: str, source, load: Callable[[], tuple[Tensor, Tensor]]) -> None:
    """Of one estimator, and of eight: a baseline step for each against one pass over the trainings they share."""
    critic = make_critic("joint", source.dim_x, source.dim_y)
    tiled, training = TiledStep(critic), Training(source, critic, BOUND, STEPS)
    tiled(*load())
    training.advance(1)
    enough(domain, "data + step", measured(domain, "data + step", lambda: tiled(*load()), training.advance))

    groups = share_training(ESTIMATORS)  # five trainings on one stream of batches
    shared = Training(source, make_critic("joint", source.dim_x, source.dim_y, members=len(groups)), groups, STEPS)
    shared.advance(1)
    what = "8 estimators, objectives shared"
    enough(domain, what, measured(domain, what, lambda: tiled(*load()), shared.advance, passes=len(ESTIMATORS)))


def labelled_files(choose: random.Random, files: list[list[Path]]) -> tuple[list[Path], list[Path]]:
    """The files of one pair: source by source a class, perhaps flipped, and two different files of the classes."""
    left, right = [], []
    for _ in range(SOURCES):
        label = choose.randrange(2)
        left.append(choose.choice(files[label]))
        right.append(left[-1])
        while right[-1] == left[-1]:
            right[-1] = choose.choice(files[label ^ (choose.random() < CROSSOVER)])
    return left, right


def both_sides(choose: random.Random, files: list[list[Path]], load: Callable[[list[Path]], np.ndarray]):
    pairs = [labelled_files(choose, files) for _ in range(BATCH)]
    return tuple(torch.from_numpy(np.stack([load(pair[side]) for pair in pairs])) for side in (0, 1))


def composed(patches: list[Path]) -> np.ndarray:
    """One image: ten patches in two rows of five on a canvas, resized once."""
    from PIL import Image

    canvas = Image.new("L", (5 * 28, 2 * 28))
    for k, path in enumerate(patches):
        with Image.open(path) as patch:
            canvas.paste(patch, (k % 5 * 28, k // 5 * 28))
    resized = canvas.resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    return (np.asarray(resized, dtype=np.float32) / 255).reshape(-1)


@pytest.fixture(scope="module")
def images() -> ImagePool:
    """Random patches of MNIST's size: what a step costs does not depend on what they show."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (200, 28, 28), dtype=torch.uint8, generator=generator)
    return ImagePool(pixels, torch.arange(200) % 2, "random patches", synthetic=True)


@pytest.fixture(scope="module")
def embeddings() -> EmbeddingPool:
    vectors = torch.rand(200, VECTOR, generator=torch.Generator().manual_seed(0)) * 2 - 1
    return EmbeddingPool(vectors, torch.arange(200) % 2, "random vectors", synthetic=True)


def test_step_on_gaussian_pairs():
    """Also that both compute the same."""
    x, y = GaussianPairs(SOURCES, mutual_information=1.4).sample(BATCH, torch.Generator().manual_seed(1))
    critic = make_critic("joint", x.shape[1], y.shape[1])
    tiled, training = TiledStep(critic), Training(FixedPairs(x, y), critic, BOUND, STEPS)
    first = tiled(x, y).item()
    training.advance(1)
    assert training.trace.values[0, 0] == pytest.approx(first, abs=1e-4)
    enough("gaussian", "step", measured("gaussian", "step", lambda: tiled(x, y), training.advance))


def test_data_and_step_on_gaussian_pairs():
    source = GaussianPairs(SOURCES, mutual_information=1.4)

    def load() -> tuple[Tensor, Tensor]:
        x, noise = torch.randn(BATCH, SOURCES), torch.randn(BATCH, SOURCES)
        return x, source.correlation * x + (1 - source.correlation**2) ** 0.5 * noise

    data_and_step_ratios("gaussian", source, load)


def test_data_and_step_on_images(images, tmp_path):
    from PIL import Image

    files: list[list[Path]] = [[], []]
    for k, (pixels, label) in enumerate(zip(images.images.numpy(), images.labels.tolist())):
        files[label].append(tmp_path / f"{k}.png")
        Image.fromarray(pixels).save(files[label][-1])
    choose = random.Random(1)
    source = ImagePairs(images, size=SIDE, crossover=CROSSOVER)
    data_and_step_ratios("images", source, lambda: both_sides(choose, files, composed))


def test_data_and_step_on_text(embeddings, tmp_path):
    files: list[list[Path]] = [[], []]
    for k, (vector, label) in enumerate(zip(embeddings.vectors.numpy(), embeddings.labels.tolist())):
        files[label].append(tmp_path / f"{k}.npy")
        np.save(files[label][-1], vector)
    choose = random.Random(1)
    load = lambda paths: np.concatenate([np.load(path) for path in paths])  # noqa: E731
    source = TextPairs(embeddings, SOURCES, CROSSOVER)
    data_and_step_ratios("text", source, lambda: both_sides(choose, files, load))
