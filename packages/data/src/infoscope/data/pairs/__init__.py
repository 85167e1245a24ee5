"""Sources of pairs (x, y) whose mutual information is known: KnownPairSource,
LabelledSource (protocols), GaussianPairs, ChannelPairs, ImagePairs, TextPairs,
MixedPairs, EncodedPairs.
"""
