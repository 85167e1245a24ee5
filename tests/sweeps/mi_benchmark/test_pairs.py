"""The three domains as the sweeps build them, on the embedded defaults."""

import math

import pytest
import torch

from sweeps.mi_benchmark._pairs import full_pool, labels, pairs, pool_of
from sweeps.mi_benchmark.settings import DOMAINS
from sweeps.streams import stream


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_truth_is_what_was_asked_for(domain, monkeypatch):
    pool = pool_of(domain, "auto", "auto")
    source = pairs(domain, pool, 2.0, sources=10, size=16)
    assert source.mutual_information == pytest.approx(2 * math.log(2), rel=1e-12)
    assert labels(domain, 2.0, 10).mutual_information == pytest.approx(
        source.mutual_information, rel=1e-12
    )
    x, y = source.sample(8, torch.Generator().manual_seed(0))
    assert x.shape == (8, source.dim_x)
    assert y.shape == (8, source.dim_y)


def test_without_real_data_the_embedded_defaults_are_taken(monkeypatch):
    assert [pool_of(domain, "auto", "auto") for domain in DOMAINS] == [
        "gaussian",
        "digits",
        "generated-sentences",
    ]
    assert full_pool("generated-sentences").synthetic


def test_real_data_are_used_if_there_are_any(monkeypatch, tmp_path):
    monkeypatch.setenv("INFOSCOPE_DATA", str(tmp_path))
    assert [pool_of(domain, "auto", "auto") for domain in DOMAINS] == [
        "gaussian",
        "mnist",
        "imdb-bert",
    ]
    with pytest.raises(FileNotFoundError):
        pairs("images", "mnist", 2.0, 10)


def test_streams_differ_by_seed_and_purpose_and_repeat():
    draws = [
        torch.rand(4, generator=stream(*key)).tolist()
        for key in [(0, "pairs"), (0, "critic"), (1, "pairs"), (0, "pairs")]
    ]
    assert draws[0] == draws[3]
    assert draws[0] != draws[1]
    assert draws[0] != draws[2]
