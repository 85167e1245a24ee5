"""Camelyon17 in the folders of WILDS, of which a small tree is made: hospitals, slides, official splits."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from infoscope.data import camelyon17
from tests.refusals import refused

HEADER = ",patient,node,x_coord,y_coord,tumor,slide,center,split"
#  patient, node, x, y, tumour, slide, hospital, split of the table (0 training, 1 in-domain validation)
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
PIXELS = np.random.default_rng(0).integers(0, 256, (len(ROWS), 96, 96, 3), dtype=np.uint8)


def written(root: Path, header: str = HEADER, rows: list[tuple] = ROWS) -> Path:
    folder = root / "camelyon17_v1.0"
    for (patient, node, x, y, *_), pixels in zip(ROWS, PIXELS):
        patches = folder / "patches" / f"patient_{patient}_node_{node}"
        patches.mkdir(parents=True, exist_ok=True)
        alpha = np.full((96, 96, 1), 255, np.uint8)  # the published patches are RGBA
        path = patches / f"patch_patient_{patient}_node_{node}_x_{x}_y_{y}.png"
        Image.fromarray(np.concatenate((pixels, alpha), 2)).save(path, compress_level=1)
    lines = [header, *(",".join(map(str, (number, *row))) for number, row in enumerate(rows))]
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n")
    return root


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    return written(tmp_path_factory.mktemp("wilds"))


def test_labels_hospitals_slides_and_patches(root):
    data = camelyon17(root, split=None)
    assert data.y.tolist() == [row[4] for row in ROWS] and data.class_names == ("normal", "tumor")
    assert data.d.tolist() == [row[6] for row in ROWS] and data.domain_names[2] == "hospital 2"
    slides = [row[5] for row in ROWS]
    assert [int(data.extra_names["slide"][code]) for code in data.groups] == slides
    assert [data.extra_names["patient"][code] for code in data.extra["patient"]] == [row[0] for row in ROWS]
    assert data.image_shape == (3, 96, 96)
    expected = torch.from_numpy(PIXELS).permute(0, 3, 1, 2) / 255.0
    assert torch.equal(data.images([8, 1]), expected[[8, 1]])


@pytest.mark.parametrize(
    ("split", "rows"), [("train", [0, 6, 7, 8]), ("id_val", [1, 9]), ("val", [2, 3]), ("test", [4, 5])]
)
def test_the_official_splits(root, split, rows):
    """Training and in-domain validation as the table says; hospitals 1 and 2 are out of domain, whatever it says."""
    data = camelyon17(root, split)
    assert data.y.tolist() == [ROWS[row][4] for row in rows] and data.d.tolist() == [ROWS[row][6] for row in rows]
    assert data.name == f"camelyon17 {split}"
    assert torch.equal(data.images([0])[0], torch.from_numpy(PIXELS[rows[0]]).permute(2, 0, 1) / 255.0)


def test_splits_share_codes_and_tell_which_they_are(root):
    whole = camelyon17(root, None)
    assert [whole.extra_names["split"][code] for code in whole.extra["split"]] == [
        *("train", "id_val", "val", "val", "test", "test", "train", "train", "train", "id_val")
    ]
    patients = camelyon17(root, None, group="patient")
    assert patients.groups[6] == patients.groups[7] and patients.groups[4] != patients.groups[5]
    assert whole.groups[6] != whole.groups[7]


def test_a_patch_that_is_not_there_is_named(tmp_path):
    data = camelyon17(written(tmp_path), None)
    (first, *_) = sorted((tmp_path / "camelyon17_v1.0" / "patches" / "patient_061_node_0").iterdir())
    first.unlink()
    with pytest.raises(FileNotFoundError, match=first.name):
        data.images([5, 6])


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


def test_images_of_another_size_and_damaged_ones_are_refused(tmp_path):
    data = camelyon17(written(tmp_path), None)
    path = next((tmp_path / "camelyon17_v1.0" / "patches" / "patient_061_node_0").iterdir())
    Image.fromarray(PIXELS[0, :3]).save(path)
    with refused(str(path), "shape"):
        data.images([6])
    path.write_text("none")
    with refused(str(path), "file"):
        data.images([6])
