# An image with one static binary and what it needs: no shell, no package, nothing to update but the binary, and nothing to
# pull. `make image` puts the files into dist/image and carries this file out, with or without an engine.
FROM scratch
ARG TARGETARCH
ARG VERSION
ARG REVISION
# The account, and the public authorities, for commands that call a server whose certificate comes from one of them.
COPY dist/image/common/files/ /
COPY --chown=65532:65532 dist/image/common/data/ /var/lib/vitrine
# The licence, those of what is linked in, and the bill of materials.
COPY dist/image/${TARGETARCH}/doc/ /usr/share/doc/vitrine/
COPY dist/image/${TARGETARCH}/vitrine /vitrine
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
