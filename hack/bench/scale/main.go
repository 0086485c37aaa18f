// Command scale measures the operator with a thousand and with ten thousand objects against a real API server, and writes
// docs/scale.md.
//
//	go -C hack/bench run ./scale [-objects 10000] [-check] [-docs DIR]
//
// The command starts kube-apiserver and etcd from the directory in KUBEBUILDER_ASSETS. It builds the operator from this tree and starts it
// as a separate process. It compares the speed of the operator with that of a bare client in the same run, because the speed of machines
// varies. The numbers of writes are exact, because the API server counts them. With -check, the command fails if a figure is out of its
// range.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/vitrine-dev/vitrine/hack/bench/load"
	"github.com/vitrine-dev/vitrine/hack/bench/subject"
)

// settings are the flags.
type settings struct {
	objects int
	rounds  int
	workers int
	check   bool
	docs    string
}

func main() {
	var s settings
	flag.IntVar(&s.objects, "objects", 10_000, "number of objects in the large part; the small part has 1,000, or this number if it is smaller")
	flag.IntVar(&s.rounds, "rounds", 3, "number of rounds of the comparison with a bare client")
	flag.IntVar(&s.workers, "workers", 8, "concurrent requests of the bare client, and of the client that creates objects for the operator")
	flag.BoolVar(&s.check, "check", false, "fail if a figure is out of its range")
	flag.StringVar(&s.docs, "docs", "", "write scale.md and scale.json into this directory")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintf(os.Stderr, "scale: %v\n", err)
		stop()
		os.Exit(1)
	}
}

// run measures everything and writes the report.
func run(ctx context.Context, s settings) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	work, err := os.MkdirTemp("", "vitrine-scale-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	c, err := startCluster(ctx, filepath.Join("..", "..", "config", "crd", "bases"), work)
	if err != nil {
		return err
	}
	defer c.stop()
	binary, err := subject.BuildVitrine(ctx, work)
	if err != nil {
		return err
	}
	m := &measurement{settings: s, log: log, cluster: c, binary: binary, work: work, client: load.NewClient(s.workers)}
	defer m.close()
	r, err := m.run(ctx)
	if err != nil {
		return err
	}
	fmt.Print(r.Table())
	if s.docs != "" {
		if err := r.Write(s.docs); err != nil {
			return err
		}
	}
	if out := r.OutOfRange(); s.check && len(out) > 0 {
		return errors.New("out of range:\n  " + strings.Join(out, "\n  "))
	}
	return nil
}
