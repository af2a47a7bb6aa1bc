"""How many inverse dynamics a second, beside every peer?

Options: --help; for instance --models panda g1 --batch 1024 --engines linkax pinocchio --precision 64.
"""

import harness


if __name__ == "__main__":
    harness.question("inverse_dynamics", __file__, __doc__, batches=(1, 64, 1024, 4096))
