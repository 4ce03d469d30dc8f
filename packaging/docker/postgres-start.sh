#!/bin/sh
# Make the database cluster at the first start, then become the server.
set -eu
data=/var/lib/qstorman/data
sockets=/run/qstorman-database
if [ ! -s "$data/PG_VERSION" ]; then
  initdb --pgdata="$data" --username=qstorman --auth-local=peer --encoding=UTF8 --locale=C.UTF-8
  postgres --single -D "$data" postgres <<SQL
CREATE DATABASE qstorman_portal
SQL
fi
exec postgres -D "$data" -c listen_addresses= -c unix_socket_directories="$sockets"
