// Package nodetest provides an OpenSearch cluster for tests: the one with the comma-separated URLs in OPENSEARCH_URL or, if
// VITRINE_OPENSEARCH is set, as make opensearch does, a node of OPENSEARCH_VERSION that the first test starts. Without a cluster,
// tests are skipped with a message.
//
// It may import hack/opensearch/node.
package nodetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node"
)

// shared is the cluster of all tests of a package.
var shared struct {
	once sync.Once
	urls []string
	node *node.Node
	dir  string // directory of the node
	err  error
}

// Run runs the tests of a package, stops the node that they started, and returns the exit code.
func Run(m *testing.M) int {
	code := m.Run()
	if shared.node != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := shared.node.Stop(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := os.RemoveAll(shared.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// URLs returns the addresses of the cluster. It skips the test if there is none.
func URLs(t testing.TB) []string {
	t.Helper()
	shared.once.Do(provide)
	var absent *node.AbsentError
	if errors.As(shared.err, &absent) {
		t.Skipf("DID NOT RUN: %v; set OPENSEARCH_URL to use a running cluster", absent)
	}
	if shared.err == nil && len(shared.urls) == 0 {
		t.Skip("DID NOT RUN: run make opensearch, or set OPENSEARCH_URL to use a running cluster")
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.urls
}

func provide() {
	s := &shared
	if given := os.Getenv("OPENSEARCH_URL"); given != "" {
		s.urls = strings.Split(given, ",")
		return
	}
	if os.Getenv("VITRINE_OPENSEARCH") == "" {
		return
	}
	if s.dir, s.err = os.MkdirTemp("", "opensearch-"); s.err != nil {
		return
	}
	o := node.Options{Dir: s.dir, Version: os.Getenv("OPENSEARCH_VERSION")}
	if s.node, s.err = node.Start(context.Background(), o); s.err == nil {
		s.urls = []string{s.node.URL}
	}
}

// Prefix returns a prefix of index names that no other test uses. Its indices are deleted when the test ends.
func Prefix(t testing.TB) string {
	t.Helper()
	prefix := "test-" + strings.ToLower(rand.Text())
	DropAtEnd(t, prefix)
	return prefix
}

// DropAtEnd deletes the indices with a prefix when the test ends.
func DropAtEnd(t testing.TB, prefix string) {
	t.Helper()
	url := URLs(t)[0] + "/" + prefix + "-*"
	t.Cleanup(func() {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodDelete, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
		if res.StatusCode != http.StatusOK {
			t.Errorf("DELETE %s: %s", url, res.Status)
		}
	})
}
