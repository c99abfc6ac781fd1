# The builder. It runs as root of its container, so that every build has a user id of its own; compose.yaml says with which rights.
# docs/self-hosting.md; `docker build -f containers/Dockerfile.builder -t platform-builder .` from the root of the repository.
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
RUN node cli/run.mjs :image builder /out

# What builds install with: npm, and corepack, which fetches pnpm and yarn as projects name them.
FROM npm AS tools
RUN npm install --global --prefix /tools npm@11.6.2 corepack@0.34.0

FROM ${BASE}
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends bubblewrap ca-certificates git openssh-client procps \
 && apt-get clean && rm -rf /var/lib/apt/lists/*
COPY --from=tools /tools /usr/local
RUN groupadd --gid 10001 platform && useradd --uid 10001 --gid 10001 --home-dir /data --no-create-home platform \
 && install -d -o platform -g platform -m 0711 /data \
 && install -d -o platform -g platform -m 0700 /cache /data/artifacts /data/routes /data/files /data/edge /data/secrets
COPY --from=program /node /usr/local/bin/node
COPY --from=program /out /opt/platform
ENV NODE_ENV=production FS_PATH=/data PLATFORM_CACHE_DIR=/cache HOME=/cache
ENV PLATFORM_PARTS=builder
EXPOSE 8081
HEALTHCHECK --interval=5s --timeout=4s --start-period=120s --retries=3 CMD ["/opt/platform/healthy"]
CMD ["/opt/platform/start"]
