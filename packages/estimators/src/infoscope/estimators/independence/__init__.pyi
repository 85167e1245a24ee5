from infoscope.estimators.independence.arrays import (
    IndependenceTest as IndependenceTest,
)
from infoscope.estimators.independence.arrays import (
    independence_test as independence_test,
)
