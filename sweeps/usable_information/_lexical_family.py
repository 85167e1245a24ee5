"""Logistic regression on which words a pair of texts shares, and which not: a family that reads pairs at little cost.

After the lexicalised classifier of Bowman et al. 2015 (section 3.2). A bag of all words drowns the hypothesis in the
premise; here the premise counts only by what the hypothesis repeats of it, and by what stands in place of the rest.
"""

from __future__ import annotations

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from infoscope.data.texts.transformations import sides, tokens
from infoscope.estimators.families.scikit import Sklearn

MOST_NEW = 8  # words of a hypothesis that its premise lacks, counted apart up to here


def lexical_logistic() -> Sklearn:
    """Logistic regression on TF-IDF weights of `features` in at least three training texts, with |weights|^2 / 2 added
    to the summed loss.
    """
    words = TfidfVectorizer(analyzer=features, min_df=3, sublinear_tf=True)
    steps = [("features", words), ("classifier", LogisticRegression(max_iter=1000))]
    return Sklearn(Pipeline(steps), "lexical-logistic(penalty=1)")


def features(text: str) -> list[str]:
    """Words and neighbours of the hypothesis, its words that the premise lacks, each of these with every word of the
    premise that the hypothesis lacks, and how many they are."""
    premise, hypothesis = ([token.casefold() for token in tokens(side)] for side in sides(text))
    there, claimed = set(premise), set(hypothesis)
    found = [f"word {word}" for word in hypothesis]
    found += [f"neighbours {first} {second}" for first, second in zip(hypothesis, hypothesis[1:])]
    if not premise:
        return found
    new = [word for word in hypothesis if word not in there]
    found += [f"new {word}" for word in new]
    found += [f"cross {word} {other}" for word in sorted(set(new)) for other in sorted(there - claimed)]
    share = round(4 * len(new) / max(1, len(hypothesis)))
    return [*found, f"count {min(len(new), MOST_NEW)}", f"quarters {share}"]
