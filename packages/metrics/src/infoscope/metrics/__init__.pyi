from infoscope.metrics.accuracy import Errors as Errors
from infoscope.metrics.accuracy import batch_means_error as batch_means_error
from infoscope.metrics.accuracy import correlation as correlation
from infoscope.metrics.accuracy import errors as errors
from infoscope.metrics.accuracy import replicated as replicated
from infoscope.metrics.decodable import Decoding as Decoding
from infoscope.metrics.decodable import decodable_information as decodable_information
from infoscope.metrics.decodable import (
    decodable_information_of_items as decodable_information_of_items,
)
from infoscope.metrics.factor_information import attacks as attacks
from infoscope.metrics.factor_information import exact as exact
from infoscope.metrics.factor_information import posterior as posterior
from infoscope.metrics.factor_information import toy as toy
from infoscope.metrics.metamorphic import Check as Check
from infoscope.metrics.metamorphic import audit as audit
from infoscope.metrics.partition import PartitionReport as PartitionReport
from infoscope.metrics.screening import Screen as Screen
from infoscope.metrics.screening import SeriesScreen as SeriesScreen
from infoscope.metrics.screening import information_scores as information_scores
from infoscope.metrics.screening import screen as screen
from infoscope.metrics.screening import screen_series as screen_series
from infoscope.metrics.v_information import VInformation as VInformation
from infoscope.metrics.v_information import difficulty as difficulty
from infoscope.metrics.v_information import labels as labels
from infoscope.metrics.v_information import pvi as pvi
from infoscope.metrics.v_information import structure as structure
from infoscope.metrics.v_information.leakage import usable_leakage as usable_leakage
from infoscope.metrics.v_information.pvi import threshold_window as threshold_window
from infoscope.metrics.v_information.structure import (
    maximum_arborescence as maximum_arborescence,
)
from infoscope.metrics.v_information.structure import weights_by as weights_by
