"""Encoders and classifiers of texts.

encoder           TextEncoder, pretrained_encoder, small_encoder: transformers as embeddings
classifier        SequenceClassifier
training          fine_tune; ClassifierTraining: epoch by epoch, resumable
sentence_encoder  SentenceEncoder, fit_sentence_encoder: a small bag of words
subwords          tokenizers trained on a corpus
"""
