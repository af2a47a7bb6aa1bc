"""How many mass matrices a second, beside every peer?

python benchmarks/mass_matrix.py [--models panda g1] [--batch 1024] [--engines linkax plain]
    [--precision 64] [--json FILE]
"""

import engines
import harness


if __name__ == "__main__":
    models, batches = ("panda", "anymal", "g1", "chain100"), (1, 64, 1024)
    options = harness.arguments(__doc__.splitlines()[0], models, batches, engines.NAMES)
    harness.table("mass_matrix", __file__, options)
