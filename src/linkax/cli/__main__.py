"""`python -m linkax.cli` is the `linkax` command."""

import sys

from linkax.cli.main import main


sys.exit(main())
