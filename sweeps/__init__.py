"""The sweeps, one module each, by the names under which they run.

A new sweep is a module with `SWEEP = Sweep(...)` and a line here. The last ones load
models that others log.
"""

SWEEPS = {
    "toy-model": "sweeps.disentanglement.toy_model",
    "tune-vae": "sweeps.disentanglement.tune_vae",
    "vae-zoo": "sweeps.disentanglement.vae_zoo",
    "critic-architecture": "sweeps.mi_benchmark.critic_architecture",
    "critic-capacity": "sweeps.mi_benchmark.critic_capacity",
    "embedding-networks": "sweeps.mi_benchmark.embedding_networks",
    "estimator-choice": "sweeps.mi_benchmark.estimator_choice",
    "information-sources": "sweeps.mi_benchmark.information_sources",
    "layer-dependency": "sweeps.mi_benchmark.layer_dependency",
    "nuisance": "sweeps.mi_benchmark.nuisance",
    "precision": "sweeps.mi_benchmark.precision",
    "representation-dimension": "sweeps.mi_benchmark.representation_dimension",
    "tune-critic": "sweeps.mi_benchmark.tune_critic",
    "domain-partition": "sweeps.partition.domain_partition",
    "tune-domain": "sweeps.partition.tune_domain",
    "independence": "sweeps.sample_estimators.independence",
    "known-laws": "sweeps.sample_estimators.known_laws",
    "reading": "sweeps.sample_estimators.reading",
    "screening": "sweeps.sample_estimators.screening",
    "simulations": "sweeps.sample_estimators.simulations",
    "dataset-difficulty": "sweeps.usable_information.dataset_difficulty",
    "structure-learning": "sweeps.usable_information.structure_learning",
    "entanglement-attacks": "sweeps.disentanglement.entanglement_attacks",
    "usable-leakage": "sweeps.usable_information.usable_leakage",
}
