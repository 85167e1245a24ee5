"""The benchmark of estimators of mutual information: distributions of known truth by
collection.

    collection     role       what
    beyond-normal  published  the forty of Czyż et al. 2023
    everyday       tuned      twelve like everyday data
    unseen         held out   easy for nearest neighbours in its first half, hard in its second
    difficult      held out   kinds on which the first reading was wrong or wide

beyond-normal influenced one choice in the reading: its figure of joint kurtosis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from infoscope.data.tasks import beyond_normal, resampled
from infoscope.data.tasks.cases import Case
from infoscope.data.tasks.difficult import DIFFICULT
from infoscope.data.tasks.everyday import EVERYDAY, POOLS
from infoscope.data.tasks.unseen import UNSEEN
from infoscope.errors import UnknownName

COLLECTIONS: Mapping[str, tuple[str, ...]] = {
    "beyond-normal": beyond_normal.NAMES,
    "everyday": tuple(EVERYDAY),
    "unseen": tuple(UNSEEN),
    "difficult": tuple(DIFFICULT),
}
LISTED: Mapping[str, Case] = {**EVERYDAY, **UNSEEN, **DIFFICULT}


def case(name: str) -> Case:
    """The distribution of a name in any collection. ValueError for an unknown one."""
    if name in LISTED:
        return LISTED[name]
    if name in beyond_normal.NAMES:
        return beyond_normal.case(name)
    raise UnknownName(
        f"distribution must be in one of the collections {', '.join(COLLECTIONS)}, "
        f"got {name!r}."
    )


def pool_of(name: str) -> str:
    """The pool whose items a distribution pairs, read from INFOSCOPE_DATA; "" for
    generated ones.
    """
    return POOLS.get(name, "")


def most_rows(name: str) -> float:
    """The largest sample; infinite where generated. FileNotFoundError: items that are
    not there.
    """
    pool = pool_of(name)
    return resampled.most_rows(pool) if pool else math.inf
