"""How many steps a second with the gradient through the whole rollout, beside every peer?

Options: --help; for instance --models panda g1 --batch 1024 --engines linkax pinocchio --precision 64.
"""

import harness


if __name__ == "__main__":
    harness.question("rollout_gradient", __file__, __doc__, harness.WITHOUT_CHAIN, (64,))
