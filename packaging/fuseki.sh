#!/usr/bin/env bash
# Apache Jena Fuseki, installed from Maven Central and run with the project's configuration.
#
#   packaging/fuseki.sh                    fetch the jar into build/jars, check its hash, print its path
#   packaging/fuseki.sh serve DIR [PORT]   run it on loopback (3030) with its data in DIR; passwords for reader and
#                                          writer are made in DIR/passwd.txt when there are none
#
# 5.6.0 is the newest release that runs on Java 17, the Java of Debian 12. JAVA_OPTIONS go to Java.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
version=5.6.0
sum=d28c1eaf703122ee628895a460c20fa4aa60a892f435d403ea8c036f241da1f8
jar=$root/build/jars/jena-fuseki-server-$version.jar

check() { echo "$sum  $jar" | sha256sum --check --status 2>/dev/null; }

if ! check; then
  command -v mvn >/dev/null || { echo "Fuseki comes by Maven, which is not here: apt-get install maven" >&2; exit 1; }
  mkdir -p "${jar%/*}"
  mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
    -Dartifact=org.apache.jena:jena-fuseki-server:$version -DoutputDirectory="${jar%/*}" >&2
  check || { echo "$jar is not the release it should be" >&2; rm -f "$jar"; exit 1; }
fi

case ${1:-} in
  '') echo "${jar#"$root"/}" ;;
  serve)
    mkdir -p "${2:?where the data go: packaging/fuseki.sh serve DIR [PORT]}"
    cd "$2"
    if [ ! -s passwd.txt ]; then
      (
        umask 077
        for user in reader writer; do echo "$user: $(head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n')"; done >passwd.part
        sed -n 's/^writer: /writer:/p' passwd.part >writer.txt
        mv passwd.part passwd.txt
      )
    fi
    # shellcheck disable=SC2086  # options are words
    exec java -Xmx512m ${JAVA_OPTIONS:-} -cp "$jar" org.apache.jena.fuseki.main.cmds.FusekiMainCmd \
      --localhost --ping --port "${3:-3030}" --config "$root/ontology/fuseki/config.ttl"
    ;;
  *) echo "unknown: $1; see the head of $0" >&2; exit 2 ;;
esac
