# All targets need only Go, unless the target says otherwise. `make help` lists the targets; README explains when to use them.
SHELL := /bin/sh
GO ?= go
comma := ,
space := $() $()
IMAGE ?= vitrine:$(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
ARCHITECTURES ?= amd64,arm64
STATE ?= $(CURDIR)/.vitrine
GROWTH ?= $(CURDIR)/bin/growth

GOFMT := $(shell $(GO) env GOROOT)/bin/gofmt

# The tools have a separate go.mod, so that the product does not depend on them.
TOOL := $(GO) tool -modfile='$(CURDIR)/hack/tools/go.mod'
# Builds an S3-compatible store for tests, and prints its path.
S3SERVER := CGO_ENABLED=0 $(GO) tool -n -modfile='$(CURDIR)/hack/tools/versitygw/go.mod' versitygw
# The product and the other modules of the repository, which are separate because of their large dependencies. Every check covers
# all of them.
MODULES := . $(patsubst %/go.mod,%,$(filter-out hack/tools/%,$(sort $(wildcard hack/*/go.mod))))
# Packages with goroutines, which make test runs only under the race detector. cmd/vitrine is not in this list, because its tests set memory
# limits, and the detector alone needs more memory. make opensearch runs server/opensearch under the detector. Their tests start in this order.
# The longest come first, so that both processors are busy until the end.
RACE := ./controllers/... ./server/engine ./server/engine/index ./server/engine/read ./server/engine/search ./server/httpapi/... ./server/store/... ./internal/... ./server/client/... ./server/console/... ./server/flight/... ./server/library/... ./server/reference/...
# make must be the direct parent of these programs, without a shell or the go command in between, because they stop everything when make is
# killed.
LOCALRUN := bin/localrun
WALKS := bin/walks
BENCH := $(GO) -C hack/bench test -run '^$$' -bench . -benchtime 1x -timeout 0
walk = VITRINE_WALK=1 exec $(WALKS) -test.run '^TestWalks$$' -test.timeout 90m -ginkgo.v -ginkgo.no-color -ginkgo.label-filter

# Tests of server/opensearch that only compare answers. The race detector would make them five times as slow.
COMPARISONS := ^(TestAgreement|TestFacetsAgree)$$

.DEFAULT_GOAL := help
.PHONY: help run smoke gitops walk-programs gitops-programs test browser e2e bin/e2e parity lucene opensearch opensearch-interface opensearch-others s3 clients judges scale bench growth cluster verify generate site format lint prose build image manifest chart release samples assets \
	install uninstall deploy undeploy manifests fmt vet docker-build docker-push test-e2e clean $(LOCALRUN) $(WALKS)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(LOCALRUN) ## run the whole product on this machine until Ctrl-C; PORT=8444 sets the port of the server (default: 8443, or another one if 8443 is in use), WEBHOOK=on validates manifests when they are applied
	@exec $(LOCALRUN) -state '$(STATE)' $(if $(PORT),-port '$(PORT)') $(if $(WEBHOOK),-webhook)

smoke: $(WALKS) walk-programs ## like run, but without a terminal: checks every printed line and the commands in docs, then stops
	@$(walk) smoke

test: ## run all tests, with a real API server and a real S3-compatible store; packages with goroutines run under the race detector
	@# Tests build these programs again. They are built here, so that no time limit of a test contains a build that is not cached.
	@$(GO) build -o /dev/null ./cmd/vitrine && CGO_ENABLED=0 $(GO) build -trimpath -o /dev/null ./cmd/vitrine && $(GO) -C hack/clients tool -n oapi-codegen >/dev/null
	@assets=$$($(GO) -C hack/controlplane run . assets) && s3=$$($(S3SERVER)) && \
	KUBEBUILDER_ASSETS="$$assets" VITRINE_S3_SERVER="$$s3" RACE='$(RACE)' exec hack/test.sh $(MODULES)

e2e: bin/e2e ## install IMAGE into the cluster of KUBECONFIG, test the product there and remove it; the nodes must have IMAGE or be able to pull it (PART=pages, install, after, helm or replicas: only that part; replicas needs OPENSEARCH_URL, which pods can reach)
	@[ -n "$$KUBECONFIG" ] || { echo 'make e2e starts no cluster: set KUBECONFIG, and give its nodes the image (kind load image-archive dist/image.tar)'; exit 1; }
	@exec bin/e2e -image '$(IMAGE)' -items bin/e2e-items.ndjson -ginkgo.fail-on-empty $(if $(PART),-ginkgo.label-filter '$(PART)')

gitops: $(WALKS) walk-programs gitops-programs ## test the manifests of docs/gitops.md with real Flux and Argo CD, which are built once in about 10 minutes of CPU time; needs redis-server
	@$(walk) gitops

parity: ## compare the query language with a real OpenSearch node at OPENSEARCH_URL, with CORPUS=file or the sample content; QUERIES=file runs those queries, QUERY=text shows one, GENERATE=n generates only n queries, LIBRARY=reference or opensearch compares that library
	@[ -n "$$OPENSEARCH_URL" ] || { echo 'make parity starts no OpenSearch: set OPENSEARCH_URL to a node without security, such as http://127.0.0.1:9200'; exit 1; }
	$(GO) test ./hack/parity -count=1 -timeout 60m -run '^TestParity$$' -v -url "$$OPENSEARCH_URL" \
	  $(if $(GENERATE),-seeds 1 -generate $(GENERATE),-seeds $(if $(filter opensearch,$(LIBRARY)),1 -generate 300,3)) \
	  -corpus '$(subst $(space),$(comma),$(abspath $(CORPUS)))' -queries '$(abspath $(QUERIES))' -query '$(QUERY)' $(if $(LIBRARY),-library $(LIBRARY))

lucene: ## compare the regular expressions that are sent to OpenSearch with all supported versions of Lucene, for PATTERNS random patterns; needs a JDK
	VITRINE_LUCENE=$(or $(PATTERNS),1000000) VITRINE_LUCENE_SEED=$(SEED) $(GO) test ./server/opensearch/translate -count=1 -timeout 120m -run '^TestLucene' -v

opensearch: ## test the library on OpenSearch with a real cluster: the one at OPENSEARCH_URL, otherwise a node that each package starts, which needs a JDK
	@# Download and compile OpenSearch before the time limits of the tests begin. Without a JDK, the tests say what is missing.
	@$(GO) run ./hack/opensearch --nodes 0 || true
	VITRINE_OPENSEARCH=1 $(GO) test -race ./server/opensearch/... -count=1 -timeout 30m -parallel 3 -skip '$(COMPARISONS)'
	@# The tests of the interface wait for half of the time, so the others run beside them.
	@exec $(MAKE) --no-print-directory -j 2 opensearch-interface opensearch-others

opensearch-interface:
	VITRINE_OPENSEARCH=1 VITRINE_TEST_LIBRARY=opensearch $(GO) test ./server/httpapi ./server/transfer -count=1 -timeout 30m

opensearch-others:
	VITRINE_OPENSEARCH=1 $(GO) test ./server/opensearch -count=1 -timeout 20m -run '$(COMPARISONS)'
	@assets=$$($(GO) -C hack/controlplane run . assets) && export KUBEBUILDER_ASSETS="$$assets" VITRINE_OPENSEARCH=1 && set -x && \
	$(GO) test ./cmd/vitrine -count=1 -timeout 10m -run 'OpenSearch|Replicas|Migrate' && \
	exec $(GO) -C hack/install test ./permissions -count=1 -timeout 10m -run Replica

s3: ## test backups with a real S3-compatible store, versitygw, which is built once in some minutes
	@s3=$$($(S3SERVER)) && VITRINE_S3_SERVER="$$s3" exec $(GO) test ./cmd/vitrine ./internal/cli/schedule -count=1 -run 'S3|Upload|Bucket'

scale: ## measure the operator with 10,000 objects on a real API server; writes docs/scale.md (CHECK=1 fails if a figure is out of its range)
	@assets=$$($(GO) -C hack/controlplane run . assets) && \
	KUBEBUILDER_ASSETS="$$assets" exec $(BENCH) ./scale -args -docs '$(CURDIR)/docs' $(if $(CHECK),-check)

clients: ## test clients that tools of four languages generate from openapi.json, and run linters and a fuzzer; skips missing tools (VITRINE_REQUIRE_TOOLS=1 fails)
	@cd hack/clients && VITRINE_CLIENTS=1 exec $(GO) test -count=1 -v -timeout 60m ./...

browser: ## test the console in a real Chromium, by mouse and by keyboard, with axe-core; skips what is missing (VITRINE_REQUIRE_TOOLS=1 fails); SHOTS=1 also writes the pictures in docs/images
	@cd hack/browser && VITRINE_BROWSER=1 exec $(GO) test -count=1 -v -timeout 30m ./... $(if $(SHOTS),-shots '$(CURDIR)/docs/images')

judges: ## check the chart and config with kube-score, kubeconform and checkov; skips missing tools (VITRINE_REQUIRE_TOOLS=1 fails)
	@$(GO) -C hack/tools/judges tool -n kube-score >/dev/null && $(GO) -C hack/tools/judges tool -n kubeconform >/dev/null
	@VITRINE_JUDGES=1 exec $(GO) -C hack/install test -count=1 -v -timeout 20m ./judges

bench: ## compare Vitrine with a bare server, OpenSearch and Lucene, with wrk; writes docs/benchmarks.md (FULL=1: a million items; CHECK=1 fails if a figure is out of its range)
	@mkdir -p bin && rm -f bin/bench.failed
	@{ $(BENCH) . $(if $(FULL),-args -items 1000000) || touch bin/bench.failed; } | tee bin/bench.txt
	@[ ! -e bin/bench.failed ] && exec $(GO) -C hack/bench run . -docs ../../docs $(if $(FULL),-full) $(if $(CHECK),-check) <bin/bench.txt

growth: ## measure one store that grows to ITEMS items (default: 10000000), in less than an hour; continues an interrupted run; writes docs/growth.md; needs wrk, root and 40 GB of disk space in GROWTH (default: bin/growth)
	@mkdir -p bin '$(GROWTH)' && rm -f bin/bench.failed
	@{ $(BENCH) -bench Growth . -args -growth '$(GROWTH)' $(if $(ITEMS),-growth-items $(ITEMS)) || touch bin/bench.failed; } | tee -a '$(GROWTH)/results.txt'
	@[ ! -e bin/bench.failed ] && exec $(GO) -C hack/bench run . -docs ../../docs -growth <'$(GROWTH)/results.txt'

cluster: ## measure the library on three OpenSearch nodes with ITEMS items (default: 3000000), in some hours; prints the results; needs wrk, a JDK, and 15 KB of disk space in TMPDIR for each item
	@$(GO) run ./hack/opensearch --nodes 0
	@VITRINE_OPENSEARCH=1 exec $(BENCH) -bench Cluster . -args -cluster-items $(or $(ITEMS),3000000)

verify: ## check the tree: generated files, formatting, vet, lint, import rules, go.mod; fails if it is dirty
	$(MAKE) generate
	@unformatted=$$(git ls-files '*.go' | xargs $(GOFMT) -s -l) && [ -z "$$unformatted" ] || { echo "not formatted, run make format:"; echo "$$unformatted"; exit 1; }
	$(MAKE) vet
	@set -e; for module in $(MODULES) hack/tools hack/tools/actionlint hack/tools/judges hack/tools/vale hack/tools/versitygw hack/controlplane/tools/kubernetes; do (set -x; $(GO) -C $$module mod tidy -diff); done
	$(GO) test ./hack/house
	$(MAKE) lint
	$(MAKE) prose
	@[ -z "$$(git status --porcelain)" ] || { echo "the tree is dirty: commit these files, which you or make generate changed:"; git status --short; git diff; exit 1; }

generate: ## generate CRDs, deep copies and RBAC from the markers in the code, docs/reference, and the page about the chart's values
	$(TOOL) controller-gen object paths=./api/...
	$(TOOL) controller-gen crd paths=./api/... output:crd:artifacts:config=config/crd/bases
	$(TOOL) controller-gen rbac:roleName=vitrine paths=./controllers/... output:rbac:artifacts:config=config/rbac
	@# Copies are necessary, because Helm reads no file outside of a chart, and Flux omits symbolic links from Git sources.
	@rm -rf config/chart/files && mkdir -p config/chart/files/crds config/chart/files/rbac config/chart/files/monitoring
	cp config/crd/bases/*.yaml config/chart/files/crds
	cp config/rbac/role.yaml config/rbac/view.yaml config/rbac/edit.yaml config/rbac/admin.yaml config/chart/files/rbac
	cp config/monitoring/podmonitor.yaml config/monitoring/rules.yaml config/monitoring/dashboard.json config/chart/files/monitoring
	$(GO) -C hack/install run . values >config/chart/README.md
	$(GO) test ./cmd/vitrine -count=1 -run '^TestReference$$' -update

format: ## run gofmt
	@git ls-files -co --exclude-standard '*.go' | xargs $(GOFMT) -s -w

site: bin/mkdocs/complete ## build the documentation as HTML in dist/site, and check its links; needs Python, and installs mkdocs in bin/mkdocs
	@bin/mkdocs/bin/mkdocs build --config-file hack/site/mkdocs.yml --site-dir '$(CURDIR)/dist/site'

bin/mkdocs/complete: hack/site/requirements.txt
	@python3 -m venv --clear bin/mkdocs && bin/mkdocs/bin/pip install --quiet --disable-pip-version-check --requirement $< && touch $@

lint: ## run golangci-lint with .golangci.yml, and actionlint on the workflows
	$(GO) tool -modfile='$(CURDIR)/hack/tools/actionlint/go.mod' actionlint
	@set -e; for module in $(MODULES); do (set -x; cd $$module && $(TOOL) golangci-lint run ./...); done

prose: ## run Vale on docs and on the texts of the programs, with the rules of hack/prose
	@$(GO) run ./hack/prose

build: ## build bin/vitrine
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/vitrine ./cmd/vitrine

image: ## build dist/image.tar with IMAGE for ARCHITECTURES, for `docker load` and similar; needs no container engine (with one: docker build .)
	$(GO) -C hack/image run . -ref '$(IMAGE)' -architectures '$(ARCHITECTURES)' -to '$(CURDIR)/dist/image.tar'

manifest: ## write dist/install.yaml: everything that a cluster needs in one file, with IMAGE
	@mkdir -p dist
	@$(GO) -C hack/install run . manifest -image '$(IMAGE)' >dist/install.yaml.new && mv dist/install.yaml.new dist/install.yaml
	@echo dist/install.yaml

chart: ## package config/chart into dist as VERSION (such as 0.1.0)
	@[ -n '$(VERSION)' ] || { echo 'make chart needs VERSION, such as 0.1.0'; exit 1; }
	@mkdir -p dist && $(GO) -C hack/install run . chart -version '$(VERSION)' -to '$(CURDIR)/dist'

release: ## write all files of the release VERSION (such as v0.1.0) into dist and replace what is there; needs no container engine
	@case '$(VERSION)' in v[0-9]*.*.*) rm -rf dist ;; *) echo 'make release needs VERSION, such as v0.1.0'; exit 1 ;; esac
	@$(GO) run ./hack/release -version '$(VERSION)' $(RELEASE_FLAGS)

samples: ## print the sample content as NDJSON
	@$(GO) run ./hack/samplegen

assets: ## print a directory with etcd, kube-apiserver and kubectl, after downloading or building them
	@$(GO) -C hack/controlplane run . assets

# Targets with the usual names of kubebuilder projects. They change the cluster that kubectl points to.
KUBECTL ?= kubectl
CONTAINER_TOOL ?= docker

install: ## install the CRDs into the cluster of kubectl
	$(KUBECTL) apply --server-side -k config/crd

uninstall: ## remove the CRDs, and with them all objects of the six kinds
	$(KUBECTL) delete --ignore-not-found -k config/crd

deploy: manifest ## deploy CRDs, operator and server with IMAGE to the cluster of kubectl
	$(KUBECTL) apply --server-side -f dist/install.yaml
	$(KUBECTL) -n vitrine-system rollout status deployment/vitrine --timeout=5m

undeploy: ## remove everything that deploy created, including the volume and all objects of the six kinds
	$(KUBECTL) delete --ignore-not-found -k config/default

docker-build: ## build IMAGE with CONTAINER_TOOL (docker, podman or buildah)
	$(CONTAINER_TOOL) build -t '$(IMAGE)' .

docker-push: ## push IMAGE with CONTAINER_TOOL
	$(CONTAINER_TOOL) push '$(IMAGE)'

manifests: generate
fmt: format
test-e2e: e2e

vet:
	@set -e; for module in $(MODULES); do (set -x; $(GO) -C $$module vet ./...); done

clean: ## remove what the other targets build; the state of make run stays in STATE
	rm -rf bin dist

# The programs that the walks start. They are built or downloaded here, so that no time limit of a spec contains a build.
walk-programs:
	@$(GO) -C hack/controlplane run . assets >/dev/null
	@CGO_ENABLED=0 $(GO) build -buildvcs=false -trimpath -o bin/vitrine ./cmd/vitrine

gitops-programs:
	@$(GO) -C hack/controlplane run . gitops

bin/e2e:
	@$(GO) -C hack/install test -c -o ../../bin/e2e ./e2e
	@$(GO) build -o bin/kubectl-vitrine ./cmd/vitrine
	@$(GO) -C hack/install build -o ../../bin/helm helm.sh/helm/v3/cmd/helm
	@$(GO) run ./hack/samplegen >bin/e2e-items.ndjson
	@# The commands of the pages build again what is built here, and no time limit of a spec contains a build that is not cached.
	@$(if $(filter pages,$(PART)),set -e; $(GO) -C hack/image run . -ref vitrine:pages -to '$(CURDIR)/bin/pages-image.tar' >/dev/null; \
	$(GO) -C hack/install run . manifest -image vitrine:pages >/dev/null; $(GO) tool -n pprof >/dev/null)

# The flags are the same as in localrun's own builds, so that the standard library is compiled only once.
$(LOCALRUN):
	@[ -x '$@' ] || echo 'building $@…'
	@CGO_ENABLED=0 $(GO) build -buildvcs=false -trimpath -o '$@' ./hack/controlplane/localrun

$(WALKS):
	@[ -x '$@' ] || echo 'building $@…'
	@CGO_ENABLED=0 $(GO) test -c -buildvcs=false -trimpath -o '$@' ./hack/controlplane/localrun
