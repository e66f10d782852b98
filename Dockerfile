# axisd in a container: `./dev image` builds it without a daemon; so does
#   docker build -t axisd .
#   docker build --platform linux/arm64 -t axisd .     cross-compiled, no QEMU
#   docker build --target test .                       runs the tests
#   docker build --build-arg DEBIAN=sid .              the newest gRPC
# deploy/README.md says which Debian to run where.
ARG DEBIAN=bookworm
ARG BASE=docker.io/library/debian:${DEBIAN}-slim

# The compiler runs on the machine that builds, whatever it builds for.
FROM --platform=$BUILDPLATFORM ${BASE} AS packages
ARG DEBIAN
ARG TARGETARCH
WORKDIR /src
COPY dev dev
COPY deploy/image/packages.sh deploy/image/packages.sh
RUN deploy/image/packages.sh "$DEBIAN" "$TARGETARCH" build

FROM packages AS build
ARG TARGETARCH
COPY . .
RUN --mount=type=cache,target=/root/.cache/ccache \
    deploy/image/compile.sh "$TARGETARCH"
# The SBOM names the commit: then no cache gives one commit's image for another.
ARG REVISION=unknown
RUN deploy/image/root.sh "$TARGETARCH" "$REVISION" build/image /root-of-image

# Everything that ctest knows, in the Debian of the image.
FROM packages AS test
ARG DEBIAN
ARG TARGETARCH
RUN deploy/image/packages.sh "$DEBIAN" "$TARGETARCH" all
COPY . .
RUN --mount=type=cache,target=/root/.cache/ccache ./dev test

# Only the two binaries, the libraries they need and where those came from.
FROM scratch AS axisd
ARG VERSION=0.0.0
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="axisd" \
      org.opencontainers.image.description="Tensor rearrangement over gRPC" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED"
COPY --from=build /root-of-image/ /
USER 65532:65532
EXPOSE 8001 8002
# Liveness, not readiness: what restarts the unhealthy must leave the draining.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["/usr/bin/axisctl", "--server=127.0.0.1:8001", "--timeout=2s", "health", "liveness"]
ENTRYPOINT ["/usr/bin/axisd"]
