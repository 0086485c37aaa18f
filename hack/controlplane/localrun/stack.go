package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
	"github.com/vitrine-dev/vitrine/hack/controlplane/plane"
)

// namespace is the namespace of config/samples.
const namespace = "shop"

// Names of AccessTokens of config/samples.
const (
	readOnly  = "storefront"
	readWrite = "backoffice"
)

// options configure a local run.
type options struct {
	// root is the root of the repository. state is the directory for the state. Both are absolute paths.
	root, state string
	// port is the port of the content server. 0 means the port of the last run, else 8443, else any free port.
	port uint
	// webhook enables the validation of manifests when they are applied.
	webhook bool
	// out receives all messages.
	out io.Writer
}

func (o options) say(format string, args ...any) { fmt.Fprintf(o.out, format+"\n", args...) }

// assets returns the options for programs that are not part of the repository.
func (o options) assets() assets.Options { return assets.Options{Root: o.root, Progress: o.say} }

// Files and directories of a local run.
func (o options) samples() string   { return filepath.Join(o.root, "config", "samples") }
func (o options) binary() string    { return filepath.Join(o.root, "bin", "vitrine") }
func (o options) data() string      { return filepath.Join(o.state, "data") }
func (o options) log() string       { return filepath.Join(o.state, "logs", "vitrine.log") }
func (o options) authority() string { return filepath.Join(o.state, "ca.crt") }
func (o options) ownPlane() string  { return filepath.Join(o.state, "controlplane") }

// stack contains everything that a local run has started.
type stack struct {
	options
	process.Group
	cluster cluster
	given   bool   // the cluster belongs to the user
	fresh   bool   // the data directory did not exist when vitrine started
	url     string // URL of the content server
	tokens  map[string]token
	unlock  func()
}

// token is the token value in the Secret of an AccessToken.
type token struct {
	value string
	// file is the path of a file with the value. header is the path of a file with the value as a header line, for curl -H @FILE. Commands
	// read these files, because every user of the machine can see the arguments of a command.
	file, header string
}

// bringUp starts everything, and waits until all sample objects are ready and all sample content is imported. If it fails, it stops the
// programs that it has started.
func bringUp(ctx context.Context, opts options) (_ *stack, err error) {
	begin := time.Now()
	s := &stack{options: opts, tokens: map[string]token{}}
	if s.unlock, err = lock(opts.state); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	_, missing := os.Stat(s.data())
	s.fresh = errors.Is(missing, os.ErrNotExist)
	steps := []func(context.Context) error{
		s.chooseURL, s.buildServer, s.startPlane, s.applyCRDs, s.startServer, s.applySamples, s.readTokens, s.importContent, s.writeEnvironment,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.poll(ctx, 15*time.Second, s.counted); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		s.say("some counts in the tables may be too low: %v", err)
	}
	s.say("up after %s", time.Since(begin).Round(100*time.Millisecond))
	return s, nil
}

// lock locks a state directory against other runs, and creates it if necessary. The lock is held until unlock is called or this
// process ends.
func lock(state string) (unlock func(), err error) {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, fmt.Errorf("create the state directory: %w", err)
	}
	file := flock.New(filepath.Join(state, "lock"))
	taken, err := file.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the state directory: %w", err)
	}
	if !taken {
		return nil, fmt.Errorf("another run uses %s: stop that run first, or choose another directory (make run STATE=DIR)", state)
	}
	return func() { file.Close() }, nil
}

// stop stops everything in reverse order and waits until it has ended.
func (s *stack) stop() {
	s.Stop()
	s.unlock()
}

// poll calls check until it returns nil. After the timeout, it returns the last error. It fails immediately if a started program
// has ended.
func (s *stack) poll(ctx context.Context, timeout time.Duration, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, s.Err()
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("after %s: %w", timeout, last)
	}
	return err
}

func (s *stack) buildServer(ctx context.Context) error {
	// Omit the version from Git, because Git refuses to read a clone that belongs to another user, as in some containers. The control plane
	// and this program are also built with -trimpath and without cgo, so the standard library is compiled only once.
	return assets.Go(ctx, s.assets(), s.root, "building vitrine", "build", "-v", "-buildvcs=false", "-trimpath", "-o", s.binary(), "./cmd/vitrine")
}

// startPlane starts a control plane, or uses the cluster in KUBECONFIG. If the user has sourced .vitrine/env, KUBECONFIG names localrun's
// own control plane. In that case, startPlane starts the control plane.
func (s *stack) startPlane(ctx context.Context) error {
	bin, err := assets.Dir(ctx, s.assets())
	if err != nil {
		return err
	}
	s.cluster = cluster{kubectl: filepath.Join(bin, assets.Kubectl), cache: filepath.Join(s.state, "kubectl"), kubeconfig: plane.Kubeconfig(s.ownPlane())}
	given := os.Getenv("KUBECONFIG")
	if s.given = given != "" && given != s.cluster.kubeconfig; s.given {
		if s.cluster.kubeconfig, err = filepath.Abs(given); err == nil {
			_, err = os.Stat(s.cluster.kubeconfig)
		}
		if err != nil {
			return fmt.Errorf("KUBECONFIG must name one existing file: %w (to start a separate control plane instead, unset KUBECONFIG)", err)
		}
		address, err := s.cluster.run(ctx, "", "config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")
		if err != nil {
			return err
		}
		s.say("using the cluster at %s, because KUBECONFIG is set to %s", address, given)
		return nil
	}
	s.say("starting etcd and kube-apiserver…")
	p, err := plane.Start(s.ownPlane(), bin)
	if err != nil {
		return err
	}
	s.Add(p)
	return nil
}

func (s *stack) applyCRDs(ctx context.Context) error {
	if err := s.cluster.applyCRDs(ctx, s.root); err != nil {
		return err
	}
	return s.poll(ctx, time.Minute, s.cluster.established)
}

// applySamples applies config/samples and waits until all of its objects are ready.
func (s *stack) applySamples(ctx context.Context) error {
	s.say("applying config/samples…")
	if _, err := s.cluster.run(ctx, "", "apply", "-k", s.samples()); err != nil {
		return err
	}
	if err := s.cluster.waitReady(ctx, "-k", s.samples()); err != nil {
		return fmt.Errorf("wait until the sample objects are ready: %w\nThe end of %s:\n%s", err, s.log(), process.Tail(s.log(), 15))
	}
	return nil
}

// readTokens writes the tokens of the samples and the CA certificate to separate files.
func (s *stack) readTokens(ctx context.Context) error {
	for _, name := range []string{readOnly, readWrite} {
		var secret struct{ Data map[string][]byte }
		if err := s.cluster.get(ctx, &secret, "-n", namespace, "secret", name); err != nil {
			return err
		}
		value, authority := string(secret.Data["token"]), string(secret.Data["ca.crt"])
		if value == "" || authority == "" {
			return fmt.Errorf("the Secret %s/%s lacks the key token or ca.crt", namespace, name)
		}
		file := filepath.Join(s.state, "tokens", name)
		s.tokens[name] = token{value: value, file: file, header: file + ".header"}
		for file, text := range map[string]string{
			s.tokens[name].file: value, s.tokens[name].header: "Authorization: Bearer " + value + "\n", s.authority(): authority,
		} {
			if err := writePrivate(file, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// counted returns nil when the counts in the statuses match the content. The server writes the counts with a delay. Nothing depends on
// them, except that the printed tables show them.
func (s *stack) counted(ctx context.Context) error {
	var list struct {
		Items []struct {
			Kind   string
			Status struct{ Items, MatchedItems, Applied, Attached int64 }
		}
	}
	if err := s.cluster.get(ctx, &list, "-n", namespace, "property/default", "contentfilter/latest", "tag/seaside", "activateunit/sandals"); err != nil {
		return err
	}
	for _, o := range list.Items {
		if o.Status.Items+o.Status.MatchedItems+o.Status.Applied+o.Status.Attached == 0 {
			return fmt.Errorf("the status of a %s does not count any items yet", o.Kind)
		}
	}
	return nil
}

// writePrivate writes a file that only this user can read.
func writePrivate(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("create a directory in the state directory: %w", err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write a file in the state directory: %w", err)
	}
	return nil
}
