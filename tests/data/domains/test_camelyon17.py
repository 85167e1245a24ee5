"""Camelyon17 in the folders of WILDS, of which a small tree is made: hospitals, slides,
official splits.
"""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from infoscope.data import camelyon17
from tests.refusals import refused

HEADER = ",patient,node,x_coord,y_coord,tumor,slide,center,split"
# patient, node, x, y, tumour, slide, hospital, split of the table (0 training, 1
# in-domain validation)
ROWS = [
    ("004", 4, 3328, 21792, 1, 0, 0, 0),
    ("004", 4, 3200, 22272, 0, 0, 0, 1),
    ("010", 1, 96, 192, 1, 5, 1, 0),
    ("010", 1, 192, 192, 0, 5, 1, 1),
    ("042", 3, 640, 960, 0, 23, 2, 0),
    ("051", 2, 640, 960, 1, 30, 2, 1),
    ("061", 0, 512, 512, 0, 35, 3, 0),
    ("061", 1, 512, 608, 1, 36, 3, 0),
    ("072", 3, 96, 192, 1, 40, 4, 0),
    ("072", 3, 96, 288, 0, 40, 4, 1),
]
PIXELS = np.random.default_rng(0).integers(
    0, 256, (len(ROWS), 96, 96, 3), dtype=np.uint8
)


def column(name):
    names = ("patient", "node", "x", "y", "tumour", "slide", "hospital", "split")
    place = names.index(name)
    return [row[place] for row in ROWS]


def written(root: Path, header: str = HEADER, rows: list[tuple] = ROWS) -> Path:
    folder = root / "camelyon17_v1.0"
    alpha = np.full((96, 96, 1), 255, np.uint8)  # the published patches are RGBA
    for (patient, node, x, y, *_), pixels in zip(ROWS, PIXELS):
        patches = folder / "patches" / f"patient_{patient}_node_{node}"
        patches.mkdir(parents=True, exist_ok=True)
        path = patches / f"patch_patient_{patient}_node_{node}_x_{x}_y_{y}.png"
        channels = np.concatenate((pixels, alpha), 2)
        patch = Image.fromarray(channels)
        patch.save(path, compress_level=1)
    lines = [header]
    for number, row in enumerate(rows):
        fields = map(str, (number, *row))
        lines.append(",".join(fields))
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n")
    return root


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    return written(tmp_path_factory.mktemp("wilds"))


def test_labels_hospitals_slides_and_patches(root):
    data = camelyon17(root, split=None)
    assert data.y.tolist() == column("tumour")
    assert data.d.tolist() == column("hospital")
    assert data.class_names == ("normal", "tumor")
    assert data.domain_names[2] == "hospital 2"
    slides = data.extra_names["slide"]
    assert [int(slides[code]) for code in data.groups] == column("slide")
    patients = data.extra_names["patient"]
    codes = data.extra["patient"]
    assert [patients[code] for code in codes] == column("patient")
    by_patient = camelyon17(root, None, group="patient")
    same_patient = np.equal.outer(by_patient.groups, by_patient.groups)
    expected = np.equal.outer(codes, codes)
    np.testing.assert_array_equal(same_patient, expected)
    assert data.image_shape == (3, 96, 96)
    pixels = np.moveaxis(PIXELS[[8, 1]], 3, 1)
    images = data.images([8, 1])
    np.testing.assert_allclose(images, pixels / 255.0)


# Training and in-domain validation as the table says; hospitals 1 and 2 are out of
# domain, whatever it says.
SPLITS = {"train": [0, 6, 7, 8], "id_val": [1, 9], "val": [2, 3], "test": [4, 5]}


@pytest.mark.parametrize("split", SPLITS)
def test_the_official_splits(root, split):
    rows = SPLITS[split]
    whole = camelyon17(root, None)
    data = camelyon17(root, split)
    expected = whole.subset(rows)
    assert data.y.tolist() == expected.y.tolist()
    assert data.d.tolist() == expected.d.tolist()
    expected = whole.images(rows[:1])
    assert torch.equal(data.images([0]), expected)
    names = whole.extra_names["split"]
    for code in whole.extra["split"][rows]:
        assert names[code] == split


@pytest.mark.parametrize(
    ("header", "row", "code"),
    [
        (HEADER.replace("slide", "glass"), ROWS[0], "file"),
        (HEADER, (*ROWS[0][:6], 5, 0), "range"),
        (HEADER, (*ROWS[0][:4], 2, 0, 0, 0), "range"),
        (HEADER, (*ROWS[0][:7], "train"), "type"),
    ],
)
def test_damaged_tables_are_refused(tmp_path, header, row, code):
    root = written(tmp_path, header, [row])
    with refused(str(root / "camelyon17_v1.0" / "metadata.csv"), code):
        camelyon17(root)


def test_other_splits_and_groups_are_refused(root):
    with refused("split", "name"):
        camelyon17(root, "va")
    with refused("group", "name"):
        camelyon17(root, group="node")


def test_missing_and_damaged_patches_and_those_of_another_size_are_named(tmp_path):
    data = camelyon17(written(tmp_path), None)
    patches = tmp_path / "camelyon17_v1.0" / "patches" / "patient_061_node_0"
    (path,) = patches.iterdir()
    Image.fromarray(PIXELS[0, :3]).save(path)
    with refused(str(path), "shape"):
        data.images([6])
    path.write_text("none")
    with refused(str(path), "file"):
        data.images([6])
    path.unlink()
    with pytest.raises(FileNotFoundError, match=path.name):
        data.images([5, 6])
