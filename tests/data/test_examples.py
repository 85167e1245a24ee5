"""The example tables: the same every time, and what is said of them is true."""

import pandas as pd
import pytest

from infoscope import examples
from infoscope.estimators import Angle
from infoscope.estimators.independence import independence_test
from tests.refusals import refused

# of the columns that are relevant; after Bonferroni .05 of the others
SIGNIFICANT = 0.01


@pytest.mark.parametrize("name", examples.TABLES)
def test_they_are_the_same_every_time_and_say_what_every_column_is(name):
    table = examples.load(name)
    truth = examples.TRUTH[name]
    pd.testing.assert_frame_equal(table, examples.TABLES[name]())
    assert not table.equals(examples.load(name, seed=1))
    assert not table.isna().any(axis=None)
    assert set(truth.direct) <= set(truth.relevant) <= set(table)
    assert truth.groups in ("", *table)
    described = examples.TABLES[name].__doc__
    for column in (truth.target, truth.groups, table.columns[0], table.columns[-1]):
        assert column in described


@pytest.mark.parametrize("name", examples.TABLES)
def test_relevant_columns_depend_on_the_target_and_others_do_not(name):
    table = examples.load(name)
    truth = examples.TRUTH[name]
    target = table[truth.target]
    if truth.target == "orientation":
        target = Angle(target, 180)
    groups = table.get(truth.groups)
    others = []
    for column in set(table) - {truth.target, truth.groups}:
        if table[column].nunique() == 1:
            continue
        p = independence_test(table[column], target, groups=groups).p_value
        if column in examples.relevant(name):
            assert p <= SIGNIFICANT
        else:
            others.append(p)
    assert min(others) * len(others) > 0.05


def test_a_survey_has_households_and_round_incomes():
    table = examples.survey()
    homes = table.groupby("household")
    assert (homes.size() == 4).all()
    assert (homes[["region", "income"]].nunique() == 1).all(axis=None)
    assert 0.6 < (table["income"] % 5000 == 0).mean() < 0.75
    assert table.filter(regex="^q").isin([1, 2, 3, 4, 5]).all(axis=None)
    assert table["satisfaction"].between(0, 10).all()
    # as it would be without households
    assert homes["satisfaction"].mean().var() > 2 * table["satisfaction"].var() / 4


@pytest.mark.parametrize("load", [examples.load, examples.relevant])
def test_an_unknown_name_is_refused(load):
    with refused("example", "name"):
        load("flowers")
