"""`python -m tiltmeter` is the command line."""

from tiltmeter.cli import command

if __name__ == "__main__":
    command()
