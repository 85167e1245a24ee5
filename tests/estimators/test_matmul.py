"""Products by oneDNN against torch's own and against float64; the rule that chooses between them."""

from __future__ import annotations

import math

import pytest
import torch
from torch.testing import assert_close

from infoscope.estimators import matmul
from tests.refusals import refused

needs_onednn = pytest.mark.skipif(not matmul.has_onednn(), reason="this build of torch has no oneDNN products")
LARGE = (64, 256, 128)  # n, k, m with n k m = 2 MINIMUM


@pytest.fixture
def choose(monkeypatch):
    """Sets the environment's choice for one test."""

    def choose(name: str) -> None:
        monkeypatch.setenv("INFOSCOPE_CPU_PRODUCTS", name)
        matmul.library.cache_clear()

    yield choose
    matmul.library.cache_clear()


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@needs_onednn
@pytest.mark.parametrize("n, k, m", [(1024, 256, 256), (256, 1024, 256), (64, 4096, 256), (33, 17, 5)])
def test_it_is_true_float32(n, k, m):
    """Error against float64 within 4 times that of torch's own product (measured: 1.4 to 2.1 times; bfloat16 or TF32
    would be over 1000 times), in all four layouts."""
    a, b = drawn(n, k), drawn(k, m, seed=1)
    exact = a.double() @ b.double()
    rms = lambda got: (got - exact).square().mean().sqrt().item()  # noqa: E731
    for left in (a, a.T.contiguous().T):
        for right in (b, b.T.contiguous().T):
            assert rms(matmul.onednn(left, right)) <= 4 * rms(a @ b)


@needs_onednn
def test_what_is_not_finite_stays_visible(choose):
    choose("onednn")
    n, k, m = LARGE
    h = drawn(n, k)
    h[1, 2], h[3, 4] = math.nan, math.inf
    out = matmul.rectified(h, drawn(m, k, seed=1), drawn(m, seed=2))
    assert out[1].isnan().all()
    assert out[3].isinf().any() and out[[0, 2]].isfinite().all()


@pytest.mark.parametrize("name", ["mkl", pytest.param("onednn", marks=needs_onednn)])
def test_every_product_by_either_library(choose, name):
    """The same to float32 rounding: 256 products of size 1 sum to within 1e-4."""
    choose(name)
    n, k, m = LARGE
    a, b, bias, total = drawn(n, k), drawn(k, m, seed=1), drawn(m, seed=2), drawn(n, m, seed=3)
    exact = (a.double() @ b.double()).float()
    close = {"rtol": 1e-5, "atol": 1e-4}
    assert matmul.by_onednn(a, m) == (name == "onednn")
    assert not matmul.by_onednn(a.double(), m) and not matmul.by_onednn(a, 1)  # torch's own
    assert_close(matmul.product(a, b), exact, **close)
    assert_close(matmul.rectified(a, b.T, bias), (exact + bias).relu(), **close)
    expected = exact + total
    assert matmul.add_product_(total, a, b) is total
    assert_close(total, expected, **close)


@needs_onednn
@pytest.mark.parametrize("biased", [False, True])
def test_gradients_of_the_linear_map(choose, biased):
    choose("onednn")
    n, k, m = LARGE
    h, weight = drawn(n, k).requires_grad_(), drawn(m, k, seed=1).requires_grad_()
    bias = drawn(m, seed=2).requires_grad_() if biased else None
    variables = [h, weight, *([bias] if biased else [])]
    direction = drawn(n, m, seed=3)
    out = matmul.linear(h, weight, bias)
    assert "OneDnn" in type(out.grad_fn).__name__
    plain = torch.nn.functional.linear(h.double(), weight.double(), None if bias is None else bias.double())
    assert_close(out.double(), plain, rtol=1e-5, atol=1e-4)
    for got, expected in zip(
        torch.autograd.grad((out * direction).sum(), variables),
        torch.autograd.grad((plain * direction).sum(), variables),
    ):
        assert_close(got, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    "processor, expected",
    [
        ({"cpu_name": "AMD EPYC 9755", "avx512_f": True}, True),
        ({"cpu_name": "AMD EPYC 7763", "avx512_f": False}, False),
        ({"cpu_name": "Intel(R) Xeon(R) Platinum 8480C", "avx512_f": True}, False),
        ({"cpu_name": "Neoverse-V2"}, False),
        ({}, False),
    ],
)
def test_which_processors_mkl_leaves_unused(processor, expected):
    assert matmul.prefers_onednn(processor) is expected


def test_the_environment_decides_and_a_wrong_name_is_refused(choose):
    choose("mkl")
    assert matmul.library() == "mkl"
    choose("blas")
    with refused("INFOSCOPE_CPU_PRODUCTS", "name"):
        matmul.library()
