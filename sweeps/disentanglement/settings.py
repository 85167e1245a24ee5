"""Names shared by the sweeps of disentanglement and their analyses."""

from infoscope.models.vae.objectives import OBJECTIVES

DATA_FIELDS = ("data", "resolution", "every_orientation", "every_position")  # of a cell
EFFORT = ("draws", "votes", "items", "protocols")  # fields of an evaluation
# in the order of the tables; vae is beta-vae of weight 1
MODELS = tuple(name for name in OBJECTIVES if name != "vae")
WEIGHTS = {
    name: OBJECTIVES[name].spelt["weight"]
    for name in MODELS
    if "weight" in OBJECTIVES[name].spelt
}
# their information is estimated
WITHOUT_DENSITY = tuple(name for name in MODELS if not OBJECTIVES[name].has_density)
# fields of a training besides its weight
TRAINING = ("steps", *dict.fromkeys(
    field for name in MODELS for field in OBJECTIVES[name].settings() if field not in ("weight", "share")
))  # fmt: skip
CRITERION = "criterion"  # the metric of a search
