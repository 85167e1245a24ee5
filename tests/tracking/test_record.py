"""The local record of an attempt, on the disk alone."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infoscope.tracking.record import Record, records
from tests.refusals import refused
from tests.tracking.cells import begun

LINES = "record.jsonl"
WRITER = """
import sys, time
from pathlib import Path
from infoscope.tracking.record import Record
record = Record(Path(sys.argv[1]))
record.begin({"name": "alive"}, {"infoscope.key": "alive", "mlflow.infoscope.cell": '{"name": "alive"}'})
print("begun", flush=True)
time.sleep(600)
"""


def test_an_incomplete_last_line_is_read_later(tmp_path):
    record = begun(tmp_path)
    record.metrics({"level": 1.0}, 0)
    with open(record.folder / LINES, "a") as file:
        file.write('{"step": 1, "metr')
    entries = list(record.entries())
    assert ["cell" in entry for entry, _ in entries] == [True, False]
    assert list(record.entries(entries[0][1]))[0][0]["metrics"] == {"level": 1.0}


@pytest.mark.parametrize("torn", [b'{"step": 1, "metr', bytes(5), b'{"step": 1' + bytes(100)])
def test_lines_after_an_incomplete_one_are_readable(tmp_path, torn):
    """Of a process that died, or the zeros that some disks have there after a loss of power."""
    record = begun(tmp_path)
    with open(record.folder / LINES, "ab") as file:
        file.write(torn)
    record.end("failed", "boom")
    assert record.ending()["outcome"] == "failed" and len(list(record.entries())) == 2


def test_attempts_at_a_cell_share_nothing(tmp_path):
    first, second, other = begun(tmp_path), begun(tmp_path), begun(tmp_path, "two")
    first.end("failed", "boom")
    assert second.ending() is None and {first.key, second.key} == {"one"}
    assert records(tmp_path, "one") == [first, second] and records(tmp_path) == [first, second, other]
    (first.folder / LINES).unlink()  # a removal that was cut short takes the entries first
    assert records(tmp_path, "one") == [second]
    (tmp_path / "a' or 1@2").mkdir()
    (tmp_path / "a' or 1@2" / LINES).touch()
    assert records(tmp_path) == [second, other]  # a name that is no key of ours


def test_an_attempt_goes_on_from_what_another_had_packed(tmp_path):
    """With its files and models, and as one that began when the first did."""
    first = begun(tmp_path)
    first.metrics({"level": 1.0}, 0)
    (first.files / "early.txt").write_text("early")
    first.model_folder("critic").mkdir(parents=True)
    (first.model_folder("critic") / "empty").touch()
    first.note_run("of the first")
    packed = first.packed()
    first.metrics({"level": 2.0}, 1)
    time.sleep(0.002)
    second = begun(tmp_path, **{"who": "second"})
    second.continue_from(packed)
    assert second.header()["time"] == first.header()["time"] and second.header()["tags"]["who"] == "second"
    assert [entry["metrics"] for entry, _ in second.entries() if "metrics" in entry] == [{"level": 1.0}]
    assert (second.files / "early.txt").read_text() == "early" and second.run_id == ""
    assert (second.model_folder("critic") / "empty").exists()


def test_a_record_names_no_folder_but_its_own(tmp_path):
    """It may be another machine's."""
    with refused("the name of a model"):
        begun(tmp_path).model_folder("../../secret")


def test_another_process_of_the_same_number_is_not_the_writer(tmp_path):
    record = begun(tmp_path)
    assert record.writer_lives() and record.written_here()
    path = record.folder / LINES
    path.write_text(path.read_text().replace('"began": "', '"began": "9'))
    assert not record.writer_lives() and not record.written_here()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.system
def test_an_ended_process_that_was_not_waited_for_is_dead(tmp_path):
    record = Record.of(tmp_path / "remote", "cell")
    with subprocess.Popen([sys.executable, "-c", WRITER, record.folder], stdout=subprocess.PIPE, text=True) as ended:
        assert ended.stdout.readline() == "begun\n" and record.writer_lives()
        os.kill(ended.pid, signal.SIGKILL)
        assert ended.stdout.read() == ""  # it is gone, and this process, its parent, has not waited for it
        while Path(f"/proc/{ended.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.01)
        assert not record.writer_lives()


def test_a_later_attempt_replaces_earlier_ones_when_the_clock_goes_back(tmp_path, monkeypatch):
    first, now = begun(tmp_path), time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now - 3600 * 10**9)
    second = begun(tmp_path)
    assert records(tmp_path, "one") == [first, second]


@pytest.mark.parametrize("content", [bytes(32), b"\xff\xfe", b"abc"])
def test_a_run_with_an_incomplete_note_is_ignored(tmp_path, content):
    record = begun(tmp_path)
    (record.folder / "run").write_bytes(content)
    assert record.run_id == ""
