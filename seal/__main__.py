"""`python -m seal`, and what the installed command `seal` calls: `seal.cli.main`."""

from seal.cli.main import run

if __name__ == "__main__":
    # Workers then run this file, as they run that of the command `seal`; a package's main module they leave out.
    __spec__ = None
    run()
