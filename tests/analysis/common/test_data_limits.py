"""What SECURITY.md promises of DATA=, of models and of the words behind make: the size
of a file is known before it is read, and nothing in it is executed.
"""

import os
import pickle
import resource
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.common.own_data import read, read_representation
from infoscope.errors import InfoscopeError
from infoscope.estimators import make_critic
from infoscope.files import read_arrays, read_parquet
from infoscope.tracking import load_model
from infoscope.tracking.weights import write_model
from tests.refusals import Touch, refused

REPOSITORY = Path(__file__).parents[3]
MIB = 2**20
FRAME = pd.DataFrame({"x": np.arange(30.0), "y": np.arange(30.0) % 7})


def array(shape, descr="<f8", content=b""):
    """An .npy file whose header may announce more than its content."""
    header = (
        str({"descr": descr, "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    )
    return (
        b"\x93NUMPY\x01\x00"
        + len(header).to_bytes(2, "little")
        + header.encode()
        + content
    )


def archive(path, how=zipfile.ZIP_DEFLATED, **members):
    with zipfile.ZipFile(path, "w", how) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)


def parquet(path, **columns):
    """A file without the schema that pyarrow would leave in it."""
    pq.write_table(pa.table(columns), path, store_schema=False)


def in_every_row(text, rows):
    return pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(rows, np.int32)), pa.array([text])
    )


Y = array((2,), content=bytes(16))
TOO_LARGE = {
    "zeros.npz": lambda path: archive(
        path, x=array((9 * MIB,), content=bytes(72 * MIB)), y=Y
    ),
    "zeros.parquet": lambda path: parquet(
        path, **{name: np.zeros(5 * MIB) for name in "xy"}
    ),
    "bytes.parquet": lambda path: parquet(
        path, x=in_every_row(b"x" * 100_000, 2_000), y=np.zeros(2_000)
    ),
    "short-rows.csv": lambda path: path.write_text("," * 999 + "\n1" * 10_000),
    "second-row.csv": lambda path: path.write_text("a\n\n \n" + "," * 20_000 + "\n1"),
    "header.csv": lambda path: path.write_text("," * 20_000 + "\n"),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_file_that_becomes_too_large_is_refused_before_that(tmp_path, name):
    path = tmp_path / name
    TOO_LARGE[name](path)
    assert path.stat().st_size < 300_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for reader in (read, read_representation):
        with refused("DATA", "range"):
            reader(path, ["x"], ["y"])
    # MiB
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 60


def smaller_in_the_directory(path):
    """The directory gives x a size of 96 bytes."""
    content = array((MIB,), content=bytes(8 * MIB))
    archive(path, x=content, y=Y)
    path.write_bytes(
        path.read_bytes().replace(
            len(content).to_bytes(4, "little"), (96).to_bytes(4, "little")
        )
    )


def larger_in_the_directory(path):
    """The directory gives x a size of 32 MiB and more, and so does its header."""
    content = array((4 * MIB,), content=bytes(800))
    archive(path, x=content, y=Y)
    size = len(content) - 800 + 32 * MIB
    path.write_bytes(
        path.read_bytes().replace(
            len(content).to_bytes(4, "little"), size.to_bytes(4, "little")
        )
    )


LIES = {
    "shape": lambda path: archive(path, x=array((2**60,)), y=Y),
    "negative": lambda path: archive(path, x=array((-3,)), y=Y),
    "no bytes a value": lambda path: archive(path, x=array((2**40,), "<U0"), y=Y),
    "one value too many": lambda path: archive(
        path, x=array((3,), content=bytes(16)), y=Y
    ),
    "fields of objects": lambda path: archive(
        path, x=array((1,), [("a", "|O")], pickle.dumps([1])), y=Y
    ),
    "no array": lambda path: archive(path, x=b"x,y\n1,2\n", y=Y),
    "noise": lambda path: path.write_bytes(bytes(range(256))),
    "bzip2": lambda path: archive(path, zipfile.ZIP_BZIP2, x=Y, y=Y),
    "smaller in the directory": smaller_in_the_directory,
    "larger in the directory": larger_in_the_directory,
}


@pytest.mark.parametrize("lie", LIES)
def test_an_array_that_is_not_what_its_header_says_is_refused_by_both_readers(
    tmp_path, lie
):
    path = tmp_path / "own.npz"
    LIES[lie](path)
    with refused("DATA", "file"):
        read(path)
    with refused(str(path), "file"):
        read_arrays(path, ["x"])


@pytest.mark.parametrize("shape", [(2**40, 0), (0,), (2, 1, 1)])
def test_an_array_without_values_or_of_three_axes_is_no_data(tmp_path, shape):
    archive(tmp_path / "own.npz", x=array(shape, content=bytes(16)), y=Y)
    with refused("X", "name"):
        read(tmp_path / "own.npz", shuffle=True)


DAMAGES = {
    "cut": lambda content: content[:-100],
    "footer": lambda content: content[:-60] + b"\xff" * 40 + content[-20:],
    "pages": lambda content: content[:4] + b"\xff" * 56 + content[60:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_parquet_is_refused(tmp_path, damage):
    path = tmp_path / "own.parquet"
    parquet(path, x=np.arange(1000.0), y=np.arange(1000.0))
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    with refused("DATA", "file"):
        read(path, ["x"], ["y"])


WRITERS = {
    ".npz": lambda path: np.savez(path, **FRAME),
    ".csv": lambda path: FRAME.to_csv(path, index=False),
    ".parquet": FRAME.to_parquet,
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_only_regular_files_and_links_to_them_are_read(tmp_path, suffix):
    whole = tmp_path / f"whole{suffix}"
    path = tmp_path / f"own{suffix}"
    WRITERS[suffix](whole)
    os.mkfifo(path)
    with refused("DATA", "file"):
        read(path, ["x"], ["y"])
    path.unlink()
    for target in ("/dev/zero", tmp_path, "nowhere", path.name):
        path.symlink_to(target)
        with refused("DATA", "file"):
            read(path, ["x"], ["y"])
        path.unlink()
    path.symlink_to(whole)
    assert len(read(path, ["x"], ["y"]).x) == 30


@pytest.mark.parametrize("suffix", WRITERS)
def test_the_limit_is_a_setting(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"own{suffix}"
    WRITERS[suffix](path)
    for limit, argument in (("0.0000001", "DATA"), ("much", "INFOSCOPE_UNPACKED_GB")):
        monkeypatch.setenv("INFOSCOPE_UNPACKED_GB", limit)
        with refused(argument, "range"):
            read(path, ["x"], ["y"])
    monkeypatch.setenv("INFOSCOPE_UNPACKED_GB", "0.001")
    assert len(read(path, ["x"], ["y"]).x) == 30


def test_a_parquet_is_read_as_pandas_reads_it(tmp_path):
    """But for extension types, which nothing here measures."""
    frame = FRAME.assign(
        word=["a", "b", None] * 10, kind=pd.Categorical(["u", "v", "w"] * 10)
    )
    frame = frame.assign(
        day=pd.date_range("2020-01-01", periods=30), vector=[[1.0, 2.0]] * 30
    )
    frame.index = pd.Index(np.arange(30) * 2, name="row")
    path = tmp_path / "own.parquet"
    frame.assign(month=pd.period_range("2020-01", periods=30, freq="M")).to_parquet(
        path
    )
    pd.testing.assert_frame_equal(read_parquet(path).to_pandas(), frame)


def test_no_pickle_is_read(tmp_path):
    made = tmp_path / "made"
    harm = pickle.dumps(Touch(made))
    np.savez(tmp_path / "own.npz", x=np.array([Touch(made)]), y=np.zeros(1))
    with refused("DATA", "file"):
        read(tmp_path / "own.npz")
    kind = {
        "ARROW:extension:name": "arrow.py_extension_type",
        "ARROW:extension:metadata": harm,
    }
    schema = pa.schema(
        [pa.field("x", pa.float64(), metadata=kind), ("y", pa.float64())]
    )
    pq.write_table(
        pa.table([np.arange(30.0), np.arange(30.0)], schema=schema),
        tmp_path / "own.parquet",
    )
    assert len(read(tmp_path / "own.parquet", ["x"], ["y"]).x) == 30
    model = tmp_path / "model"
    write_model(
        make_critic("inner", 2, 2),
        {name: np.ones((2, 2), np.float32) for name in "xy"},
        model,
    )
    (model / "weights.safetensors").write_bytes(harm)
    with pytest.raises(InfoscopeError):
        load_model(str(model))
    assert not made.exists()
    pickle.loads(harm)
    assert made.exists()
