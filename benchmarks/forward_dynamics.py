"""How many forward dynamics a second, beside every peer?

python benchmarks/forward_dynamics.py [--models panda g1] [--batch 1024] [--engines linkax pinocchio]
                                      [--precision 64] [--json FILE]
"""

import engines
import harness


if __name__ == "__main__":
    models, batches = ("panda", "anymal", "g1", "chain100"), (1, 64, 1024, 4096)
    options = harness.arguments(__doc__.splitlines()[0], models, batches, engines.NAMES)
    harness.table("forward_dynamics", __file__, options)
