"""dSprites: the real files, and what is read from files of their format."""

import sys

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_array_equal

from infoscope.data import dsprites, factor_data
from tests.data.common import is_grid
from tests.refusals import refused

GRID = "dsprites_downsampled.npz"


FULL = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"


SUBSET = "dsprites_subset.npz"


def write(root, name, sizes, side=3, colour=False, **changes) -> np.ndarray:
    """A file of the published layout, with random images side x side; returns them.
    `changes` replace its arrays.
    """
    codes = np.array(list(np.ndindex(sizes)))
    largest = np.maximum(np.array(sizes) - 1, 1)
    values = codes / largest
    values[:, 0] = codes[:, 0] + 1
    if colour:
        codes = np.insert(codes, 0, 0, axis=1)
        values = np.insert(values, 0, 1, axis=1)
    shape = (len(codes), side, side)
    images = default_rng(0).integers(0, 2, shape, dtype=np.uint8)
    # The published files carry their metadata as a pickled object, which must not be
    # touched.
    metadata = np.array({"author": object()}, dtype=object)
    arrays = {
        "imgs": images,
        "latents_classes": codes,
        "latents_values": values,
        "metadata": metadata,
    }
    folder = root / "dsprites"
    folder.mkdir(exist_ok=True)
    np.savez_compressed(folder / name, **arrays | changes)
    return images


def every_image(dataset):
    return dataset.images(np.arange(len(dataset)))[:, 0]


@pytest.mark.parametrize("colour", [False, True])
def test_a_file_of_the_published_layout(tmp_path, colour):
    images = write(tmp_path, GRID, (3, 2, 4, 2, 2), colour=colour)
    dataset = dsprites(tmp_path)
    assert dataset.factor_names == ("shape", "scale", "orientation", "posX", "posY")
    assert dataset.factor_sizes == (3, 2, 4, 2, 2)
    assert is_grid(dataset)
    shapes, _, orientations, *_ = dataset.factor_values
    assert shapes.tolist() == ["square", "ellipse", "heart"]
    assert np.allclose(orientations, [0, 1 / 3, 2 / 3, 1])
    assert_array_equal(every_image(dataset), images)
    assert dataset.name == "dsprites-grid"
    assert not dataset.synthetic


def test_many_pieces_are_put_together(tmp_path, monkeypatch):
    module = sys.modules["infoscope.data.factors.dsprites"]
    monkeypatch.setattr(module, "_BYTES_AT_ONCE", 100)
    images = write(tmp_path, SUBSET, (3, 2, 3, 2, 2), side=5)
    dataset = dsprites(tmp_path, "subset")
    order = default_rng(1).permutation(len(images))
    shuffled = dataset.images(order)[:, 0]
    assert np.array_equal(shuffled, images[order])


def test_the_grid_comes_from_the_full_file_too(tmp_path):
    images = write(tmp_path, FULL, (3, 2, 8, 4, 4), colour=True)
    assert len(dsprites(tmp_path, "full")) == len(images)
    grid = dsprites(tmp_path)
    assert grid.factor_sizes == (3, 2, 2, 2, 2)
    assert is_grid(grid)
    by_factors = images.reshape(3, 2, 8, 4, 4, 3, 3)
    thinned = by_factors[:, :, ::4, ::2, ::2]
    assert_array_equal(every_image(grid), thinned.reshape(-1, 3, 3))


def test_the_default_without_real_data(tmp_path, monkeypatch):
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    assert factor_data().synthetic
    monkeypatch.setenv("INFOSCOPE_DATA", str(tmp_path))
    assert factor_data().synthetic
    write(tmp_path, SUBSET, (3, 2, 2, 2, 2))
    assert factor_data().synthetic  # the subset is no grid
    write(tmp_path, GRID, (3, 2, 2, 2, 2))
    assert factor_data().name == "dsprites-grid"


@pytest.mark.parametrize(
    "changes",
    [
        {"imgs": np.full((48, 3, 3), 2, np.uint8)},
        {"imgs": np.zeros((48, 3, 3), np.float32)},
        {"imgs": np.zeros((48, 3, 3), np.uint8, order="F")},
        {"imgs": np.zeros((47, 3, 3), np.uint8)},
        {"latents_classes": np.array([{}] * 48, dtype=object)},  # pickled
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, changes):
    write(tmp_path, GRID, (3, 2, 2, 2, 2), **changes)
    with refused(str(tmp_path / "dsprites" / GRID), "file"):
        dsprites(tmp_path)


def cut_in_half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def changed(content: bytes) -> bytes:
    """Within the images, which come first."""
    return content[:2000] + bytes(200) + content[2200:]


@pytest.mark.parametrize("damage", [cut_in_half, changed])
def test_a_damaged_file_is_refused(tmp_path, damage):
    write(tmp_path, GRID, (3, 2, 2, 2, 2), side=64)
    path = tmp_path / "dsprites" / GRID
    path.write_bytes(damage(path.read_bytes()))
    with refused(str(path), "file"):
        dsprites(tmp_path)
