# An image with one static binary and nothing else: no shell, no package, nothing to update but the binary.
FROM golang:1.26 AS build
WORKDIR /src
# Modules first: they change less often than the code.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /vitrine ./cmd/vitrine && install -d -m 0700 -o 65532 -g 65532 /data

FROM scratch
# For import and export from within a cluster, to servers whose certificate comes from a public authority.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /data /var/lib/vitrine
COPY --from=build /vitrine /vitrine
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
ENV PATH=/
EXPOSE 8443 8081 9090
VOLUME /var/lib/vitrine
ENTRYPOINT ["/vitrine"]
CMD ["serve"]
