"""How many steps a second with the gradient through the whole rollout, beside every peer?

python benchmarks/rollout_gradients.py [--models panda g1] [--batch 1024] [--engines linkax plain]
    [--precision 64] [--json FILE]
"""

import engines
import harness


if __name__ == "__main__":
    models, batches = ("panda", "anymal", "g1"), (64,)
    options = harness.arguments(__doc__.splitlines()[0], models, batches, engines.NAMES)
    harness.table("rollout_gradient", __file__, options, engines.STEPS)
