"""topiclens: how a one-layer transformer learns topic structure.

Rooms, in the order in which they may import each other: documents, model, deeper, theory, training, grid, measures,
interventions, figures, claims, exercises; widgets and playground are what is live; cache, text, encoder and
text_figures are for real text. Each module's docstring says what it is and what it does not know.
"""

from .deeper import DeeperTransformer
from .documents import Dirichlet, Masking, NextWord, PartnerTopics, TauOfT, TopicModel
from .model import TopicTransformer
from .training import History, train

__all__ = [
    "DeeperTransformer",
    "Dirichlet",
    "History",
    "Masking",
    "NextWord",
    "PartnerTopics",
    "TauOfT",
    "TopicModel",
    "TopicTransformer",
    "train",
]
