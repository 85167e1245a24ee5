"""What tables are made from runs: a module each, by its name, which is that of its sweep where it has one.

A new table is a module with `ANALYSIS = Analysis(...)` and a line here.
"""

TABLES = {
    "entanglement-attacks": "analysis.disentanglement.entanglement_attacks",
    "toy-model": "analysis.disentanglement.toy_model",
    "tune-vae": "analysis.disentanglement.tune_vae",
    "vae-zoo": "analysis.disentanglement.vae_zoo",
    "critic-architecture": "analysis.mi_benchmark.critic_architecture",
    "critic-capacity": "analysis.mi_benchmark.critic_capacity",
    "embedding-networks": "analysis.mi_benchmark.embedding_networks",
    "estimator-choice": "analysis.mi_benchmark.estimator_choice",
    "information-sources": "analysis.mi_benchmark.information_sources",
    "layer-dependency": "analysis.mi_benchmark.layer_dependency",
    "nuisance": "analysis.mi_benchmark.nuisance",
    "precision": "analysis.mi_benchmark.precision",
    "representation-dimension": "analysis.mi_benchmark.representation_dimension",
    "tune-critic": "analysis.mi_benchmark.tune_critic",
    "domain-partition": "analysis.partition.domain_partition",
    "partition": "analysis.partition.partition",
    "tune-domain": "analysis.partition.tune_domain",
    "independence": "analysis.sample_estimators.independence",
    "known-laws": "analysis.sample_estimators.known_laws",
    "reading": "analysis.sample_estimators.reading",
    "screening": "analysis.sample_estimators.screening",
    "simulations": "analysis.sample_estimators.simulations",
    "dataset-difficulty": "analysis.usable_information.dataset_difficulty",
    "structure-learning": "analysis.usable_information.structure_learning",
    "usable-leakage": "analysis.usable_information.usable_leakage",
}
