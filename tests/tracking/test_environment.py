"""What a run says of its machine: the processor by name, so that a published time can be read."""

import io
import os
import platform

from infoscope.tracking import environment


def test_the_processor_is_named_where_linux_names_it_and_by_its_kind_where_not(monkeypatch):
    told = {"text": "processor\t: 0\nmodel name\t: Some Processor 9000\nmodel name\t: another\n"}
    monkeypatch.setattr("builtins.open", lambda *_, **__: io.StringIO(told["text"]))
    assert environment._device_name("cpu") == f"cpu (Some Processor 9000, {os.cpu_count()} cores)"
    told["text"] = "processor : 0\n"  # as on ARM
    kind = platform.processor() or platform.machine()
    assert environment._device_name("cpu") == f"cpu ({kind}, {os.cpu_count()} cores)"


def test_a_machine_without_such_a_file_is_no_error(monkeypatch):
    def absent(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", absent)
    assert environment._processor()
