"""How many steps of a batch of rollouts a second, beside every peer?

Options: --help; for instance --models panda g1 --batch 1024 --engines linkax pinocchio --precision 64.
"""

import harness


if __name__ == "__main__":
    harness.question("rollout", __file__, __doc__, harness.WITHOUT_CHAIN, (1, 1024))
