"""What tables are made from runs: a module each, by its name, which is that of its
sweep where it has one.

In this order reports and the list of results show them: the papers', one after the
other, then our own. A new table is a module with `ANALYSIS = Analysis(...)` and a line
here.
"""

TABLES = {
    "critic-architecture": "analysis.mi_benchmark.critic_architecture",
    "critic-capacity": "analysis.mi_benchmark.critic_capacity",
    "estimator-choice": "analysis.mi_benchmark.estimator_choice",
    "information-sources": "analysis.mi_benchmark.information_sources",
    "representation-dimension": "analysis.mi_benchmark.representation_dimension",
    "nuisance": "analysis.mi_benchmark.nuisance",
    "layer-dependency": "analysis.mi_benchmark.layer_dependency",
    "embedding-networks": "analysis.mi_benchmark.embedding_networks",
    "precision": "analysis.mi_benchmark.precision",
    "tune-critic": "analysis.mi_benchmark.tune_critic",
    "toy-model": "analysis.disentanglement.toy_model",
    "vae-zoo": "analysis.disentanglement.vae_zoo",
    "entanglement-attacks": "analysis.disentanglement.entanglement_attacks",
    "tune-vae": "analysis.disentanglement.tune_vae",
    "domain-partition": "analysis.partition.domain_partition",
    "partition": "analysis.partition.partition",
    "tune-domain": "analysis.partition.tune_domain",
    "dataset-difficulty": "analysis.usable_information.dataset_difficulty",
    "structure-learning": "analysis.usable_information.structure_learning",
    "usable-leakage": "analysis.usable_information.usable_leakage",
    "known-laws": "analysis.sample_estimators.known_laws",
    "simulations": "analysis.sample_estimators.simulations",
    "reading": "analysis.sample_estimators.reading",
    "independence": "analysis.sample_estimators.independence",
    "screening": "analysis.sample_estimators.screening",
}
