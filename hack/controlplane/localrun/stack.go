package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
	"github.com/vitrine-dev/vitrine/hack/controlplane/plane"
)

// namespace is where config/samples lives.
const namespace = "shop"

// Names of the AccessTokens of config/samples.
const (
	readOnly  = "storefront"
	readWrite = "backoffice"
)

// options of a local run.
type options struct {
	// root is the root of the repository, state the directory that keeps everything; absolute paths.
	root, state string
	// webhook has manifests judged while they are applied.
	webhook bool
	// out receives what is said.
	out io.Writer
}

func (o options) say(format string, args ...any) { fmt.Fprintf(o.out, format+"\n", args...) }

// assets are the options for programs that are not in the repository.
func (o options) assets() assets.Options { return assets.Options{Root: o.root, Progress: o.say} }

func (o options) samples() string { return filepath.Join(o.root, "config", "samples") }

// stack is everything that a local run has started.
type stack struct {
	options
	process.Group // what was started
	cluster       cluster
	given         bool // the cluster is the user's
	server        *server
	binary        string // vitrine
	tokens        map[string]token
	unlock        func()
}

// token is what an AccessToken's Secret holds.
type token struct {
	value string
	// file holds the value, header the value as the header line that curl takes with -H @FILE: what stands in a command
	// line is seen by every user of the machine.
	file, header string
}

// bringUp starts everything and waits until all sample objects are ready and all sample content is in. What it started
// is stopped again when that fails.
func bringUp(ctx context.Context, opts options) (_ *stack, err error) {
	begin := time.Now()
	s := &stack{options: opts, tokens: map[string]token{}, binary: filepath.Join(opts.root, "bin", "vitrine")}
	if s.unlock, err = lock(opts.state); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	steps := []func(context.Context) error{
		s.buildServer, s.startPlane, s.applyCRDs, s.startServer, s.applySamples, s.readTokens, s.importContent, s.writeEnvironment,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.awaitCounts(ctx, 15*time.Second); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		s.say("some counts in the tables may lag: %v", err)
	}
	s.say("up after %s", time.Since(begin).Round(100*time.Millisecond))
	return s, nil
}

// lock keeps other runs away from a state directory, which it creates, until unlock is called or this process ends.
func lock(state string) (unlock func(), err error) {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	file := flock.New(filepath.Join(state, "lock"))
	taken, err := file.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the state directory: %w", err)
	}
	if !taken {
		return nil, fmt.Errorf("another run uses %s: stop that one first, or choose another directory (make run STATE=DIR)", state)
	}
	return func() { file.Close() }, nil
}

// log is the file with the server's log.
func (s *stack) log() string { return filepath.Join(s.state, "logs", "vitrine.log") }

// stop ends what was started, the last first, and returns when it is gone.
func (s *stack) stop() {
	s.Stop(0)
	s.unlock()
}

func (s *stack) buildServer(ctx context.Context) error {
	// Without the version from git, which fails where the clone belongs to another user, as in some containers. -trimpath and no
	// cgo, as for the control plane and this program: the standard library is then compiled once for all of them.
	return assets.Go(ctx, s.assets(), s.root, "building vitrine", "build", "-v", "-buildvcs=false", "-trimpath", "-o", s.binary, "./cmd/vitrine")
}

// ownPlane is the directory of the control plane that a run starts itself.
func (s *stack) ownPlane() string { return filepath.Join(s.state, "controlplane") }

// givenCluster returns the KUBECONFIG of the user's cluster, "" for a control plane of our own, to which .vitrine/env sets
// KUBECONFIG as well.
func (s *stack) givenCluster() string {
	if given := os.Getenv("KUBECONFIG"); given != filepath.Join(s.ownPlane(), "admin.kubeconfig") {
		return given
	}
	return ""
}

// startPlane starts a control plane, or takes the cluster that KUBECONFIG names.
func (s *stack) startPlane(ctx context.Context) error {
	s.cluster.cache = filepath.Join(s.state, "kubectl")
	given := s.givenCluster()
	if s.given = given != ""; s.given {
		if _, err := os.Stat(given); err != nil {
			return fmt.Errorf("KUBECONFIG has to name one file that is there, or be unset for a control plane of our own: %w", err)
		}
	}
	bin, err := assets.Dir(ctx, s.assets())
	if err != nil {
		return err
	}
	s.cluster.kubectl = filepath.Join(bin, assets.Kubectl)
	if s.given {
		if s.cluster.kubeconfig, err = filepath.Abs(given); err != nil {
			return fmt.Errorf("resolve KUBECONFIG: %w", err)
		}
		address, err := s.cluster.run(ctx, "", "config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")
		if err != nil {
			return err
		}
		s.say("using the cluster at %s, since KUBECONFIG is set to %s", address, given)
		return nil
	}
	s.say("starting etcd and kube-apiserver…")
	p, err := plane.Start(s.ownPlane(), bin)
	if err != nil {
		return err
	}
	s.Add(p)
	s.cluster.kubeconfig = p.Kubeconfig
	return nil
}

func (s *stack) applyCRDs(ctx context.Context) error { return s.cluster.applyCRDs(ctx, s.root) }

func (s *stack) startServer(ctx context.Context) error {
	s.say("starting vitrine…")
	var err error
	if s.server, err = startServer(ctx, s.binary, s.state, s.cluster.kubeconfig, s.webhook); err != nil {
		return err
	}
	s.Add(s.server.process)
	return nil
}

// applySamples applies config/samples and waits until every object of it is ready.
func (s *stack) applySamples(ctx context.Context) error {
	s.say("applying config/samples…")
	if _, err := s.cluster.run(ctx, "", "apply", "-k", s.samples()); err != nil {
		return err
	}
	if err := s.cluster.waitReady(ctx, 2*time.Minute, "-k", s.samples()); err != nil {
		return fmt.Errorf("wait until the sample objects are ready: %w; the end of %s:\n%s", err, s.log(), process.Tail(s.log(), 15))
	}
	return nil
}

// readTokens writes the tokens of the samples, and the authority to trust, into files of their own.
func (s *stack) readTokens(ctx context.Context) error {
	for _, name := range []string{readOnly, readWrite} {
		secret, err := s.cluster.secret(ctx, name)
		if err != nil {
			return err
		}
		file := filepath.Join(s.state, "tokens", name)
		t := token{value: secret["token"], file: file, header: file + ".header"}
		if t.value == "" || secret["ca.crt"] == "" {
			return fmt.Errorf("the Secret %s/%s lacks token or ca.crt", namespace, name)
		}
		s.tokens[name] = t
		if err := writePrivate(t.file, t.value); err != nil {
			return err
		}
		if err := writePrivate(t.header, "Authorization: Bearer "+t.value+"\n"); err != nil {
			return err
		}
		if err := writePrivate(s.authority(), secret["ca.crt"]); err != nil {
			return err
		}
	}
	return nil
}

// authority is the file with the certificate to trust.
func (s *stack) authority() string { return filepath.Join(s.state, "ca.crt") }

// caller makes requests with the token of an AccessToken of the samples.
func (s *stack) caller(name string) (*caller, error) {
	ca, err := os.ReadFile(s.authority())
	if err != nil {
		return nil, fmt.Errorf("read the authority: %w", err)
	}
	return newCaller(s.server.url, s.tokens[name].value, string(ca))
}

// awaitCounts waits until the counts in the objects have caught up with the content, so that the tables show them. They
// are written at leisure, and nothing else depends on them.
func (s *stack) awaitCounts(ctx context.Context, timeout time.Duration) error {
	return eventually(ctx, timeout, func() error {
		objects, err := s.cluster.get(ctx, "-n", namespace, "property/default", "contentfilter/latest", "tag/seaside", "activateunit/sandals")
		if err != nil {
			return err
		}
		for _, o := range objects {
			if o.Status.Items+o.Status.MatchedItems+o.Status.Applied+o.Status.Attached == 0 {
				return fmt.Errorf("%s counts no items yet", o)
			}
		}
		return nil
	})
}

// writePrivate writes a file that only this user reads.
func writePrivate(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("make a directory of the state: %w", err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write a file of the state: %w", err)
	}
	return nil
}
