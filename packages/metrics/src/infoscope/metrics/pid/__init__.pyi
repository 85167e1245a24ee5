from infoscope.metrics.pid.normal import gaussian as gaussian
from infoscope.metrics.pid.normal import gaussian_from_arrays as gaussian_from_arrays
from infoscope.metrics.pid.tables import broja as broja
from infoscope.metrics.pid.tables import discrete_information as discrete_information
from infoscope.metrics.pid.tables import (
    discrete_shared_exclusion as discrete_shared_exclusion,
)
from infoscope.metrics.pid.tables import williams_beer as williams_beer
from infoscope.metrics.pid.terms import APART as APART
from infoscope.metrics.pid.terms import BRANCHES as BRANCHES
from infoscope.metrics.pid.terms import ROUNDING as ROUNDING
from infoscope.metrics.pid.terms import TERMS as TERMS
from infoscope.metrics.pid.terms import Bounds as Bounds
from infoscope.metrics.pid.terms import Decomposition as Decomposition
from infoscope.metrics.pid.terms import bounds as bounds
from infoscope.metrics.pid.terms import crossing_note as crossing_note
from infoscope.metrics.pid.terms import either_specific as either_specific
from infoscope.metrics.pid.terms import finite as finite
from infoscope.metrics.pid.terms import is_low as is_low
