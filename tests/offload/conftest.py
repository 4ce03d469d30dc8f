from postgresql_server import postgresql
from sshd import sshd

__all__ = ["postgresql", "sshd"]
