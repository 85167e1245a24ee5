"""One thread for the libraries under numpy and scipy: over small products several only wait for one another."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_thread_of_blas():
    with threadpool_limits(1):
        yield
