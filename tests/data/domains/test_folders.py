"""Image files by domain and class: a small tree."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from infoscope.data import image_folder
from tests.refusals import refused

RNG = np.random.default_rng(0)
FILES = ["photo/cat/1.png", "photo/dog/2.png", "sketch/cat/3.png", "sketch/dog/10.png", "sketch/dog/9.png"]
PIXELS = RNG.integers(0, 256, (5, 4, 6, 3), dtype=np.uint8)


@pytest.fixture
def tree(tmp_path) -> Path:
    for path, pixels in zip(FILES, PIXELS):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(tmp_path / path)
    (tmp_path / "photo" / "cat" / "notes.txt").write_text("no image")
    return tmp_path


def test_folders_are_domains_and_classes(tree):
    data = image_folder(tree)
    assert data.domain_names == ("photo", "sketch") and data.class_names == ("cat", "dog")
    assert data.d.tolist() == [0, 0, 1, 1, 1] and data.y.tolist() == [0, 1, 0, 1, 1]
    assert data.groups.tolist() == [0, 1, 2, 3, 4]
    assert data.image_shape == (3, 4, 6) and data.name == tree.name
    expected = torch.from_numpy(PIXELS).permute(0, 3, 1, 2) / 255.0
    assert torch.equal(data.images([4, 0]), expected[[4, 0]])


def test_files_are_read_when_they_are_asked_for_and_kept_in_memory_on_request(tree):
    data = image_folder(tree)
    kept = data.in_memory()
    (tree / FILES[0]).unlink()
    with pytest.raises(FileNotFoundError, match=FILES[0]):
        data.images([0])
    assert kept.images([0]).shape == (1, 3, 4, 6)


def test_grey_images_of_another_size(tree):
    data = image_folder(tree, size=(2, 3), channels=1)
    grey = Image.fromarray(PIXELS[1]).convert("L").resize((3, 2), Image.Resampling.BICUBIC)
    assert torch.equal((data.images([1])[0, 0] * 255).round().byte(), torch.from_numpy(np.array(grey)))


def test_files_of_several_sizes_need_a_size(tree):
    Image.fromarray(PIXELS[0, :3]).save(tree / FILES[2])
    with refused(code="shape"):
        image_folder(tree).images([2])
    assert image_folder(tree, size=5).images([0, 2]).shape == (2, 3, 5, 5)


def test_what_is_not_there_is_named(tree, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        image_folder(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="photo"):  # a folder of classes, without domains
        image_folder(tree / "photo")


def test_other_arguments_and_damaged_images_are_refused(tree):
    with refused("channels", "shape"):
        image_folder(tree, channels=4)
    (tree / FILES[0]).write_text("none")
    with refused(str(tree / FILES[0]), "file"):
        image_folder(tree)
