"""Settings of every test: one thread, because threads of several processes wait for one another on two cores; files
that mostly wait for other processes come first, so that two at a time end together.
"""

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


WAITING = ("scheduling/test_driver.py", "infra/test_drill.py", "infra/test_two_nodes.py", "sending/test_claims.py",
           "mi_benchmark/test_critic_capacity.py", "pages/test_pages.py", "store/test_postgres.py")  # fmt: skip


def pytest_collection_modifyitems(items):
    places = {name: place for place, name in enumerate(WAITING)}
    items.sort(key=lambda item: places.get("/".join(item.path.parts[-2:]), len(WAITING)))
