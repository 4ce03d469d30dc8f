# Apache Jena Fuseki, the reference knowledge base: the server's jar from Maven Central on a Java runtime.
#
# Maven reads the build secrets `maven` (a settings.xml) and `truststore` (Java certificates, password
# "changeit") where a site needs them; neither stays in an image.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
RUN apt-get update -q && apt-get install -y -q --no-install-recommends maven default-jre-headless
WORKDIR /src
COPY packaging/fuseki.sh packaging/fuseki.sh
RUN --mount=type=secret,id=maven --mount=type=secret,id=truststore \
    if [ -s /run/secrets/maven ]; then mkdir -p ~/.m2 && ln -s /run/secrets/maven ~/.m2/settings.xml; fi \
    && if [ -s /run/secrets/truststore ]; then export MAVEN_OPTS=-Djavax.net.ssl.trustStore=/run/secrets/truststore; fi \
    && packaging/fuseki.sh && install -D build/jars/jena-fuseki-server-*.jar /opt/fuseki/fuseki-server.jar

FROM ${BASE}
RUN apt-get update -q && apt-get install -y -q --no-install-recommends default-jre-headless curl openssl \
    && rm -rf /var/lib/apt/lists/* && useradd --system --uid 10001 --no-create-home qstorman \
    && install -d -o qstorman /var/lib/qstorman /run/qstorman-knowledge
COPY --from=build /opt/fuseki /opt/fuseki
COPY ontology/fuseki /opt/fuseki/config
COPY packaging/docker/fuseki-start.sh /usr/local/bin/fuseki-start
USER qstorman
EXPOSE 3030
ENTRYPOINT ["fuseki-start"]
