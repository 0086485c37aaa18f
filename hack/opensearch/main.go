// Command opensearch runs real OpenSearch nodes on 127.0.0.1 until it is interrupted:
//
//	go run ./hack/opensearch [--version 3.8.0] [--nodes 1] [--port 9200] [--host ADDRESS] [--dir DIR] [--heap 768m]
//
// The command prints a line for each node that is ready. It needs a JDK. It downloads the jars from Maven Central and verifies their
// checksums.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var o node.Options
	flag.StringVar(&o.Version, "version", node.Version3, "version of OpenSearch")
	nodes := flag.Int("nodes", 1, "number of nodes of the cluster; 0 only downloads and compiles what a node needs")
	flag.IntVar(&o.Port, "port", 9200, "HTTP port of the first node; the other nodes use the next ports, and the transport port of each node is 100 higher than its HTTP port")
	host := flag.String("host", "", "address to serve HTTP on in addition to 127.0.0.1, without authentication")
	flag.StringVar(&o.Heap, "heap", "768m", "Java heap of each node")
	dir := flag.String("dir", "", "directory for the data (default: a temporary directory)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *nodes == 0 {
		_, _, err := node.Libraries(ctx, o.Version)
		return err
	}
	if *dir == "" {
		temp, err := os.MkdirTemp("", "opensearch-")
		if err != nil {
			return fmt.Errorf("create a directory: %w", err)
		}
		defer os.RemoveAll(temp)
		*dir = temp
	}
	o.Dir, o.Log = *dir, os.Stderr
	if *host != "" {
		o.Settings = []string{"http.host=127.0.0.1," + *host}
	}
	running, err := node.StartCluster(ctx, o, *nodes)
	for _, n := range running {
		fmt.Println("ready", n.URL)
	}
	if err == nil {
		<-ctx.Done()
	}
	// From here on, a second signal immediately ends the program together with the nodes.
	stop()
	closing, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, n := range running {
		err = errors.Join(err, n.Stop(closing))
	}
	return err
}
