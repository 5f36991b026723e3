"""The trainer that runs inside a page: plain JavaScript modules, read from top to bottom in the order of `MODULES`.

The page loads them as one script in a worker, a notebook's widget likewise; the tests run that very script.
"""

import re
from importlib.resources import files

MODULES = ("random.js", "documents.js", "model.js", "optimizer.js", "theory.js", "trainer.js")


def source() -> str:
    """All modules as one script without imports and exports, for a place that takes no modules."""
    text = "\n".join(files(__name__).joinpath(name).read_text(encoding="utf-8") for name in MODULES)
    return re.sub(r"^import .*\n|^export ", "", text, flags=re.M)
