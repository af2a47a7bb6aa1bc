"""How many reverse-mode gradients of sum(a^2) a second, beside every peer?

python benchmarks/gradients.py [--models panda g1] [--batch 1024] [--engines linkax plain]
    [--precision 64] [--json FILE]
"""

import engines
import harness


if __name__ == "__main__":
    models, batches = ("panda", "anymal", "g1", "chain100"), (64, 1024)
    options = harness.arguments(__doc__.splitlines()[0], models, batches, engines.NAMES)
    harness.table("gradient", __file__, options)
