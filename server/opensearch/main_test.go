package opensearch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node"
)

// testCluster is the cluster that all tests share: that of OPENSEARCH_URL, else a node that the first test starts.
var testCluster struct {
	once sync.Once
	urls []string
	node *node.Node
	dir  string // of the node
	err  error
}

// clusterURLs returns the addresses of a cluster, and skips the test where there is none.
func clusterURLs(t *testing.T) []string {
	t.Helper()
	c := &testCluster
	c.once.Do(func() {
		if given := os.Getenv("OPENSEARCH_URL"); given != "" {
			c.urls = strings.Split(given, ",")
			return
		}
		if c.dir, c.err = os.MkdirTemp("", "opensearch-"); c.err != nil {
			return
		}
		o := node.Options{Dir: c.dir, Version: os.Getenv("OPENSEARCH_VERSION")}
		if c.node, c.err = node.Start(context.Background(), o); c.err == nil {
			c.urls = []string{c.node.URL}
		}
	})
	var absent *node.AbsentError
	if errors.As(c.err, &absent) {
		t.Skip("DID NOT RUN: " + absent.Error())
	}
	if c.err != nil {
		t.Fatal(c.err)
	}
	return c.urls
}

func TestMain(m *testing.M) {
	code := m.Run()
	if n := testCluster.node; n != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if err := n.Stop(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		cancel()
	}
	if err := os.RemoveAll(testCluster.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
