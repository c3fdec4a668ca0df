# syntax=docker/dockerfile:1
# Atrium in a container: one worker, or several with WORKERS. `docs/deploy-one-machine.md` and `docs/deploy-cluster.md` say how to run it.
#
#   docker build -t atrium .                                  with its own Postgres, for one machine
#   docker build -t atrium --build-arg OMIT="dev optional" .  without: DATABASE_URL is required, and the image is smaller
#
# It needs no writable file system but /tmp (bodies of large uploads on their way) and, without DATABASE_URL or S3_BUCKET, /data:
#   docker run --read-only --tmpfs /tmp -v atrium:/data -p 8080:8080 -e SECRET_KEY -e PUBLIC_KEY atrium

ARG NODE_VERSION=22

FROM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run --silent build && rm -f dist/.tsbuildinfo

FROM node:${NODE_VERSION}-bookworm-slim AS packages
ARG OMIT="dev"
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# What only people who build need, and binaries for other systems than this image's, take three quarters of the space.
RUN npm ci --no-audit --no-fund $(printf -- '--omit=%s ' ${OMIT}) \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.a' \) -delete \
  && find node_modules/uWebSockets.js/dist/bin -name '*.node' ! -name "uws_linux_$(node -p 'process.arch + "_" + process.versions.modules').node" -delete

FROM node:${NODE_VERSION}-bookworm-slim
ENV NODE_ENV=production \
    DATA_DIR=/data \
    ADMIN_PORT=9090
WORKDIR /app
RUN install -d -o node -g node -m 0750 /data
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY config ./config
COPY package.json LICENSE NOTICE THIRD-PARTY.md ./
USER node
VOLUME ["/data"]
EXPOSE 8080 9090
# SIGTERM drains: rooms are written down, sockets are sent away in waves, and it ends within 25 s (docker stop --time 30).
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.ADMIN_PORT}/livez`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "dist/main.js"]
