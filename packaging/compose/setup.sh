#!/bin/sh
# Make the tokens and passwords of the compose set-up, once, and renew the certificates, in the volumes the
# parts share. Each file is readable by the one user all images run as.
set -eu
umask 077
cd /run/qstorman-secrets
secret() { head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
if [ ! -s tokens.toml ]; then
  for role in portal admin; do
    ses-service token new --tokens tokens.toml --role "$role" --name "$role" >"$role-token"
  done
fi
if [ ! -s passwd.txt ]; then
  reader=$(secret); writer=$(secret)
  printf 'reader: %s\nwriter: %s\n' "$reader" "$writer" >passwd.txt
  printf 'writer:%s\n' "$writer" >kb-writer
fi
# The authority's key stays in a volume that nobody else has.
made=/run/qstorman-certificates
ses-service tls init "$made" ses-service,localhost,127.0.0.1 smed-monitor,localhost,127.0.0.1 \
  webface,localhost,127.0.0.1 fuseki,localhost,127.0.0.1 >/dev/null
give() { to=$1; shift; for file; do cp "$made/$file" "$to/.$file" && mv "$to/.$file" "$to/$file"; done; }
give /run/qstorman-secrets ca.pem fuseki-key.pem fuseki.pem ses-service-key.pem ses-service.pem webface-key.pem webface.pem
give /run/qstorman-monitor ca.pem smed-monitor-key.pem smed-monitor.pem
give /run/qstorman-authority ca.pem
