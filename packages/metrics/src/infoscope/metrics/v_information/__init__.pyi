from infoscope.metrics.v_information.measures import VInformation as VInformation
from infoscope.metrics.v_information.measures import estimate as estimate
