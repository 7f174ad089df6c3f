import sys

from pocket.cli import main

sys.exit(main(sys.argv[1:]))
