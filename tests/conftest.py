"""What holds for all tests: they plan with the stated defaults, whatever `swath calibrate` has kept on this machine.

Set before anything is imported and inherited by the programs that tests start, so that plans are the same everywhere,
and no test teaches the user's own profile.
"""

import os

os.environ["SWATH_PROFILE"] = "none"
