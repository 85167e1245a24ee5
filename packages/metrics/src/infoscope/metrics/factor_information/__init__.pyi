from infoscope.metrics.factor_information.arrays import from_arrays as from_arrays
from infoscope.metrics.factor_information.exact import (
    factor_information as factor_information,
)
from infoscope.metrics.factor_information.result import (
    FactorInformation as FactorInformation,
)
