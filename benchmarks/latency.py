"""How long does one forward dynamics of one sample take, called from Python?

Options: --help; for instance --models panda g1 --batch 1024 --engines linkax pinocchio --precision 64.
"""

import harness


if __name__ == "__main__":
    harness.question("latency", __file__, __doc__, harness.WITHOUT_CHAIN, (1,))
