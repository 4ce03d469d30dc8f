#!/bin/sh
# Make the tokens and passwords of the compose set-up, once, and renew the certificates. All images run as one
# user: what keeps a part from the secrets of another is that each mounts its own volume alone.
set -eu
umask 077
made=/run/qstorman-certificates  # nobody else has it: the authority's key, the administrator's token
service=/run/qstorman-secrets
knowledge=/run/qstorman-knowledge
portal=/run/qstorman-portal
secret() { head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
if [ ! -s "$service/tokens.toml" ]; then
  ses-service token new --tokens "$service/tokens.toml" --role portal --name portal >"$portal/portal-token"
  ses-service token new --tokens "$service/tokens.toml" --role admin --name admin >"$made/admin-token"
fi
if [ ! -s "$knowledge/passwd.txt" ]; then
  reader=$(secret); writer=$(secret)
  printf 'reader: %s\nwriter: %s\n' "$reader" "$writer" >"$knowledge/passwd.txt"
  printf 'writer:%s\n' "$writer" >"$service/kb-writer"
fi
ses-service tls init "$made" ses-service,localhost,127.0.0.1 smed-monitor,localhost,127.0.0.1 \
  webface,localhost,127.0.0.1 fuseki,localhost,127.0.0.1 >/dev/null
give() { to=$1; shift; for file; do cp "$made/$file" "$to/.$file" && mv "$to/.$file" "$to/$file"; done; }
give /run/qstorman-secrets ca.pem ses-service-key.pem ses-service.pem
give /run/qstorman-knowledge ca.pem fuseki-key.pem fuseki.pem
give /run/qstorman-portal ca.pem webface-key.pem webface.pem
give /run/qstorman-monitor ca.pem smed-monitor-key.pem smed-monitor.pem
give /run/qstorman-authority ca.pem
