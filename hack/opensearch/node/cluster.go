package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// StartCluster starts n nodes that form a cluster, and returns when all of them are ready. Node i uses port o.Port+i for HTTP, and port
// o.Port+i+100 for the transport between nodes. The directory of node i is n<i+1> in o.Dir. If a node does not start, StartCluster stops
// the other nodes.
func StartCluster(ctx context.Context, o Options, n int) ([]*Node, error) {
	nodes := make([]*Node, n)
	var g errgroup.Group
	for i := range nodes {
		g.Go(func() (err error) {
			nodes[i], err = Start(ctx, Member(o, i, n))
			return err
		})
	}
	err := g.Wait()
	if err == nil {
		return nodes, nil
	}
	for _, started := range nodes {
		if started != nil {
			err = errors.Join(err, started.Stop(ctx))
		}
	}
	return nil, err
}

// Member returns the options of node i in a cluster of n nodes that StartCluster starts with the options o.
func Member(o Options, i, n int) Options {
	o.Dir = filepath.Join(o.Dir, fmt.Sprintf("n%d", i+1))
	first := o.Port
	o.Port += i
	transport := func(i int) int { return first + 100 + i }
	o.Settings = append(slices.Clone(o.Settings), fmt.Sprintf("node.name=n%d", i+1), fmt.Sprintf("transport.port=%d", transport(i)))
	if n > 1 {
		var names, seeds []string
		for k := range n {
			names = append(names, fmt.Sprintf("n%d", k+1))
			seeds = append(seeds, fmt.Sprintf("127.0.0.1:%d", transport(k)))
		}
		o.Settings = append(o.Settings, "discovery.type=zen",
			"cluster.initial_cluster_manager_nodes="+strings.Join(names, ","), "discovery.seed_hosts="+strings.Join(seeds, ","))
	}
	return o
}
