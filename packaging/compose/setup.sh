#!/bin/sh
# Make the tokens and passwords of the compose set-up, once, in the volume the parts share.
# Each file is readable by the one user all images run as.
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
