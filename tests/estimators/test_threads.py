"""One thread for small steps of linear algebra."""

import pytest
import torch

from infoscope.estimators import threads


def test_small_work_takes_one_thread_and_leaves_no_trace():
    """Over small products threads only wait for one another; large ones keep all of
    them, also after an error.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with threads.threads_for(threads.MINIMUM - 1):
            assert torch.get_num_threads() == 1
            with threads.threads_for(10):
                assert torch.get_num_threads() == 1
        with threads.threads_for(threads.MINIMUM):
            assert torch.get_num_threads() == 2
        with pytest.raises(ZeroDivisionError), threads.threads_for(1):
            raise ZeroDivisionError
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
