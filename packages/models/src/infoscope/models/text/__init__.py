"""Encoders and classifiers of texts: TextEncoder, pretrained_encoder, small_encoder;
SequenceClassifier, fine_tune, ClassifierTraining; SentenceEncoder,
fit_sentence_encoder; subwords (tokenizers).
"""
