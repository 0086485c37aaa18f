# Vitrine's image, built with a container engine from a clean clone: docker build . (or podman build, buildah build). `make image`
# builds the same image from the same files without an engine. hack/image/image.go has the same configuration.
#
# BUILDER needs Go and git. BASE can be empty: the binary is static, and the image contains certificates and an account.
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
# Copy the parent directory, because COPY sets the owner and mode of the contents and not of the target.
COPY --from=build --chown=65532:65532 /data/ /var/lib/
# A number, so that Kubernetes can verify that it is not root.
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
