"""How many steps of a batch of rollouts a second, beside every peer?

python benchmarks/rollouts.py [--models panda g1] [--batch 1024] [--engines linkax plain]
    [--precision 64] [--json FILE]
"""

import engines
import harness


if __name__ == "__main__":
    models, batches = ("panda", "anymal", "g1"), (1, 1024)
    options = harness.arguments(__doc__.splitlines()[0], models, batches, engines.NAMES)
    harness.table("rollout", __file__, options, engines.STEPS)
