"""Text as a matrix (scikit-learn's vectorizers): verses of three English Bibles (pythonbible) by words and pieces of words.

Search, classification and topic models multiply by them. Frequent terms fill long columns, most terms are rare: x is gathered
from anywhere. Values are term frequencies times inverse document frequencies, scaled to unit rows."""
from outside import Matrix

FAMILY = "text"
VERSIONS = ("kjv", "web", "ylt")


def corpus():
    """The text of the three Bibles, as bytes with a verse a line."""
    import importlib
    import re
    import numpy
    verses = []
    for version in VERSIONS:
        bible = importlib.import_module(f"pythonbible_{version}.plain_text_bible").bible
        verses += [" ".join(verse.split()) for verse in re.split(r"\d+\. ", bible.scripture_content) if verse.strip()]
    return {"text": numpy.frombuffer("\n".join(verses).encode(), numpy.uint8)}


def verses_of(inputs):
    return inputs["text"].tobytes().decode().split("\n")


def words(inputs):
    """Words and pairs of words."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True).fit_transform(verses_of(inputs))


def pieces(inputs):
    """Three letters within words, as for spelling and languages."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    return TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True).fit_transform(verses_of(inputs))


def hashed(inputs):
    """Four to six letters, hashed to a million columns: no vocabulary is kept, and columns are in no order at all."""
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
    counts = HashingVectorizer(analyzer="char", ngram_range=(4, 6), n_features=1 << 20, norm=None).fit_transform(
        verses_of(inputs)[::3] + verses_of(inputs)[1::3])
    return TfidfTransformer().fit_transform(counts)


def together(inputs):
    """Says which terms occur in the same verses, weighted: what latent semantic analysis decomposes."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    terms = TfidfVectorizer(min_df=2).fit_transform(verses_of(inputs))
    return terms.T @ terms


MATRICES = [
    Matrix("tfidf_words", "scikit-learn TF-IDF", words, "small", inputs=corpus),
    Matrix("tfidf_letters", "scikit-learn TF-IDF", pieces, "medium", inputs=corpus),
    Matrix("tfidf_hashed", "scikit-learn hashed terms", hashed, "large", inputs=corpus),
    Matrix("terms_together", "scikit-learn term co-occurrence", together, "small", inputs=corpus),
]
