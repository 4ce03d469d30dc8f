#!/bin/sh
# Put the passwords where the configuration looks for them, then become the server.
set -eu
cd /var/lib/qstorman
ln -sf /run/qstorman-secrets/passwd.txt passwd.txt
exec java -Xmx512m -cp /opt/fuseki/fuseki-server.jar org.apache.jena.fuseki.main.cmds.FusekiMainCmd \
  --ping --config=/opt/fuseki/config/config.ttl "$@"
