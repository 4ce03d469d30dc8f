#!/usr/bin/env bash
# Fetch Apache Jena Fuseki into build/jars, by Maven, and check what came. Does nothing when it is there.
# 5.6.0 is the newest release that runs on Java 17, the Java of Debian 12.
set -euo pipefail
cd "$(dirname "$0")/.."
version=5.6.0
sum=d28c1eaf703122ee628895a460c20fa4aa60a892f435d403ea8c036f241da1f8
jar=build/jars/jena-fuseki-server-$version.jar
check() { echo "$sum  $jar" | sha256sum --check --status 2>/dev/null; }
if ! check; then
  mkdir -p build/jars
  mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
    -Dartifact=org.apache.jena:jena-fuseki-server:$version -DoutputDirectory="$PWD/build/jars" >&2
  check || { echo "$jar is not the release it should be" >&2; rm -f "$jar"; exit 1; }
fi
echo "$jar"
