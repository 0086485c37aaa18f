package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
)

// walkVariable enables the walks, which take minutes.
const walkVariable = "VITRINE_WALK"

// TestWalks runs the walks. A walk is a suite of specs that goes through a complete setup step by step. make smoke and make gitops each
// select one walk by its label (-ginkgo.label-filter).
func TestWalks(t *testing.T) {
	if os.Getenv(walkVariable) == "" {
		t.Skip("DID NOT RUN: make smoke and make gitops run it")
	}
	// If make is killed, interrupt Ginkgo as Ctrl-C would, so that it stops the programs that the walk has started.
	ctx, cancel := process.WithParent(context.Background())
	defer cancel()
	context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), process.ErrParentGone) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		}
	})
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "Walks")
}

// newStack returns a stack that has not started anything, with its own state directory. The directory is kept after a failure.
func newStack() *stack {
	GinkgoHelper()
	root, err := assets.FindRoot()
	Expect(err).NotTo(HaveOccurred())
	state, err := os.MkdirTemp("", "vitrine-walk-")
	Expect(err).NotTo(HaveOccurred())
	s := &stack{options: options{root: root, state: state, out: GinkgoWriter}, tokens: map[string]token{}, unlock: func() {}}
	DeferCleanup(func() {
		if CurrentSpecReport().Failed() {
			fmt.Printf("all logs and data are kept in %s; the end of the server's log:\n%s\n", state, process.Tail(s.log(), 30))
			return
		}
		os.RemoveAll(state)
	})
	return s
}

// await waits until check passes. It fails immediately if a program of the stack has ended.
func (s *stack) await(ctx context.Context, check func(g Gomega)) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		if err := s.Err(); err != nil {
			StopTrying(err.Error()).Now()
		}
		check(g)
	}).WithContext(ctx).Should(Succeed())
}

// do runs kubectl and returns its standard output.
func (s *stack) do(ctx context.Context, args ...string) string {
	GinkgoHelper()
	output, err := s.cluster.run(ctx, "", args...)
	Expect(err).NotTo(HaveOccurred())
	return output
}

// apply applies manifests.
func (s *stack) apply(ctx context.Context, manifests string) {
	GinkgoHelper()
	_, err := s.cluster.run(ctx, manifests, "apply", "-f", "-")
	Expect(err).NotTo(HaveOccurred())
}

// caller sends requests to the content server with one token.
type caller struct {
	server, token string
	client        *http.Client
}

// caller returns a caller with the token of an AccessToken.
func (s *stack) caller(ctx context.Context, namespace, name string) caller {
	GinkgoHelper()
	var secret struct{ Data map[string][]byte }
	Expect(s.cluster.get(ctx, &secret, "-n", namespace, "secret", name)).To(Succeed())
	roots := x509.NewCertPool()
	Expect(roots.AppendCertsFromPEM(secret.Data["ca.crt"])).To(BeTrue())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	return caller{s.url, string(secret.Data["token"]), &http.Client{Transport: transport, Timeout: 30 * time.Second}}
}

// page is the part of a response that the walks use.
type page struct {
	Total    int64 `json:"total_results"`
	Embedded struct {
		Items []struct {
			ID    int64
			Units []unit `json:"activate_units"`
		} `json:"ugc:item"`
		Tags  []tag
		Units []unit `json:"activate_unit:item"`
	} `json:"_embedded"`
}

type unit struct{ Name string }

type tag struct{ Namespace, Key string }

// get requests a path or an absolute URL, expects a status, and decodes a page.
func (c caller) get(ctx context.Context, g Gomega, path string, status int) (p page) {
	GinkgoHelper()
	if path[0] == '/' {
		path = c.server + path
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	g.Expect(err).NotTo(HaveOccurred())
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := c.client.Do(req)
	g.Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resp.StatusCode).To(Equal(status), "GET %s: %.300s", path, text)
	g.Expect(json.Unmarshal(text, &p)).To(Succeed())
	return p
}

// items returns the items that a query finds.
func (c caller) items(ctx context.Context, g Gomega, query string) page {
	GinkgoHelper()
	return c.get(ctx, g, "/v2/content/items?page_size=5&q="+url.QueryEscape(query), http.StatusOK)
}
