#!/usr/bin/env bash
# Write the source that packages are built from, as DIRECTORY/NAME.tar.gz and unpacked beside it: tracked
# files as they are now, of what runs on compute nodes.  Usage: packaging/source.sh DIRECTORY NAME FILE
# (FILE: the name of the archive).
set -euo pipefail
cd "$(dirname "$0")/.."
directory=${1:?usage: packaging/source.sh DIRECTORY NAME FILE} name=${2:?NAME is missing} file=${3:?FILE is missing}

rm -rf "${directory:?}/$name"
mkdir -p "$directory/$name"
git ls-files -z -- CHANGELOG.md LICENSE README.md docs libses ses-service/client packaging ':!packaging/debian' \
  | tar --null --files-from=- --create --file=- | tar --extract --directory="$directory/$name" --file=-
tar --create --gzip --sort=name --owner=0 --group=0 --numeric-owner \
  --file="$directory/$file" --directory="$directory" "$name"
