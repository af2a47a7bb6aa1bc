"""How many reverse-mode gradients of sum(a^2) a second, beside every peer?

Options: --help; for instance --models panda g1 --batch 1024 --engines linkax pinocchio --precision 64.
"""

import harness


if __name__ == "__main__":
    harness.question("gradient", __file__, __doc__)
