# Vitrine's image with a container engine, on a clean clone: docker build . (or podman build, buildah build).
# `make image` makes the same files into the same image without an engine; hack/image/image.go has the same configuration.
#
# BUILDER needs Go and git. BASE needs nothing: the binary is static and brings certificates and an account with it.
ARG BUILDER=docker.io/library/golang:1.26
ARG BASE=scratch

FROM --platform=${BUILDPLATFORM} ${BUILDER} AS build
ARG TARGETARCH
WORKDIR /src
COPY . .
RUN go -C hack/image run . -architectures "${TARGETARCH}" -root /image && mkdir -m 700 -p /data/vitrine

FROM ${BASE}
ARG VERSION
ARG REVISION
COPY --from=build /image/ /
# The directory comes within another one: COPY sets owner and mode of what it copies, and not of the target.
COPY --from=build --chown=65532:65532 /data/ /var/lib/
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
ENV PATH=/
EXPOSE 8443 8081 9090
VOLUME /var/lib/vitrine
LABEL org.opencontainers.image.title=Vitrine
LABEL org.opencontainers.image.licenses=Apache-2.0
LABEL org.opencontainers.image.source=https://github.com/vitrine-dev/vitrine
LABEL org.opencontainers.image.version=${VERSION}
LABEL org.opencontainers.image.revision=${REVISION}
ENTRYPOINT ["/vitrine"]
CMD ["serve"]
