#!/bin/sh
# Put the passwords where the configuration looks for them, and the certificate into the form Java reads; then become
# the server, by https only.
set -eu
umask 077
cd /var/lib/qstorman
ln -sf /run/qstorman-knowledge/passwd.txt passwd.txt
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >/tmp/keystore-password
openssl pkcs12 -export -in /run/qstorman-knowledge/fuseki.pem -inkey /run/qstorman-knowledge/fuseki-key.pem \
  -out /tmp/keystore.p12 -passout file:/tmp/keystore-password
printf '{"keystore": "/tmp/keystore.p12", "passwd": "%s"}\n' "$(cat /tmp/keystore-password)" >/tmp/https.json
exec java -Xmx512m -cp /opt/fuseki/fuseki-server.jar org.apache.jena.fuseki.main.cmds.FusekiMainCmd \
  --ping --port=-1 --https=/tmp/https.json --httpsPort=3030 --config=/opt/fuseki/config/config.ttl "$@"
