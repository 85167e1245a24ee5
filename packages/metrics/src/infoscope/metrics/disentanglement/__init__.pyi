from infoscope.metrics.disentanglement.held_out_explicitness import (
    explicitness as explicitness,
)
from infoscope.metrics.disentanglement.information_based import mig as mig
from infoscope.metrics.disentanglement.intervention_based import VoteScore as VoteScore
from infoscope.metrics.disentanglement.intervention_based import (
    beta_vae_score as beta_vae_score,
)
from infoscope.metrics.disentanglement.intervention_based import (
    factor_vae_score as factor_vae_score,
)
from infoscope.metrics.disentanglement.measuring import Inputs as Inputs
from infoscope.metrics.disentanglement.measuring import measure_scores as measure_scores
from infoscope.metrics.disentanglement.predictor_based import Dci as Dci
from infoscope.metrics.disentanglement.predictor_based import Sap as Sap
from infoscope.metrics.disentanglement.predictor_based import dci as dci
from infoscope.metrics.disentanglement.predictor_based import sap as sap
from infoscope.metrics.disentanglement.registry import PROTOCOLS as PROTOCOLS
from infoscope.metrics.disentanglement.registry import SCORES as SCORES
from infoscope.metrics.disentanglement.registry import Protocol as Protocol
from infoscope.metrics.disentanglement.registry import ScoreSpec as ScoreSpec
from infoscope.metrics.disentanglement.registry import Votes as Votes
from infoscope.metrics.disentanglement.reporting import report as report
