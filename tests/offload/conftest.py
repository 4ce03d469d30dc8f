from offload_programs import prefix
from postgresql_server import postgresql
from sshd import sshd

__all__ = ["postgresql", "prefix", "sshd"]
