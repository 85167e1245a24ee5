"""Modules of model classes that have moved: from the name in logged models to the
present one.
"""

MOVED = {
    "infoscope.estimators.critics": "infoscope.estimators.neural.critics",
    "infoscope.models.domain_adversarial": "infoscope.models.domain.adversarial",
    "infoscope.models.domain_models": "infoscope.models.domain.base",
    "infoscope.models.domain_variational": "infoscope.models.domain.variational",
    "infoscope.models.flows": "infoscope.models.invertible.flows",
    "infoscope.models.irevnet": "infoscope.models.invertible.irevnet",
    "infoscope.models.sentence_encoder": "infoscope.models.text.sentence_encoder",
    "infoscope.models.sequence_classifier": "infoscope.models.text.classifier",
    "infoscope.models.text_encoder": "infoscope.models.text.encoder",
    "infoscope.models.vae": "infoscope.models.vae.networks",
}
