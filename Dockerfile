# The whole platform but the builder in one container: handler (4001), API (4002), dashboard (3002), documentation (3005), broker, database service.
# docs/self-hosting.md; `docker build -f Dockerfile -t platform-platform .` from the root of the repository.
ARG BASE=debian:trixie-slim

# npm, from Debian; Node 24 is a package of the lockfile.
FROM ${BASE} AS npm
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates npm \
 && apt-get clean && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY .npmrc ./

FROM npm AS program
COPY package.json package-lock.json ./
COPY packages packages
RUN npm ci --cache /tmp/npm \
 && rm -rf /tmp/npm \
 && cp node_modules/node-linux-*/bin/node /node
COPY . .
RUN node cli/run.mjs :image platform /out

# uWebSockets.js: of its package the one binary that this Node on this processor loads.
FROM npm AS uws
COPY bench/package.json bench/package-lock.json ./
COPY --from=program /node /usr/local/bin/node24
RUN npm ci --omit=optional --cache /tmp/npm \
 && mkdir -p /out/uWebSockets.js && cd node_modules/uWebSockets.js \
 && cp package.json LICENSE* uws.js "$(node24 -p '`uws_${process.platform}_${process.arch}_${process.versions.modules}.node`')" /out/uWebSockets.js \
 && rm -rf /src/node_modules /tmp/npm

FROM ${BASE}
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates git openssh-client \
 && apt-get clean && rm -rf /var/lib/apt/lists/*
RUN groupadd --gid 10001 platform && useradd --uid 10001 --gid 10001 --home-dir /data --no-create-home platform \
 && install -d -o platform -g platform -m 0711 /data \
 && install -d -o platform -g platform -m 0700 /cache /data/artifacts /data/routes /data/files /data/edge /data/secrets \
 && install -d -g platform -m 1770 /run/servers
COPY --from=program /node /usr/local/bin/node
COPY --from=program /out /opt/platform
COPY --from=uws /out /opt/platform/node_modules
ENV NODE_ENV=production FS_PATH=/data PLATFORM_CACHE_DIR=/cache HOME=/cache
ENV PLATFORM_PARTS=handler,databases,broker,api,migrator,web,backups HOST=0.0.0.0 HANDLER_HOST=0.0.0.0 API_HOST=0.0.0.0 HANDLER_LISTENER=uws \
    DB_STORAGE_DIR=/data/db-storage
RUN ln -s /opt/platform/platform /usr/local/bin/platform
USER 10001:10001
EXPOSE 4001 4002 3002 3005 8081
HEALTHCHECK --interval=5s --timeout=4s --start-period=120s --retries=3 CMD ["/opt/platform/healthy"]
CMD ["/opt/platform/start"]
