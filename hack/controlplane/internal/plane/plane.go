// Package plane runs etcd and kube-apiserver on loopback.
//
// There is no controller-manager, no scheduler and no node: objects are stored, validated, watched and served, as
// operators need it. Of the controllers there is one thing: a namespace that is deleted is emptied and goes. Nothing else
// is done for anybody; owner references delete nothing, and namespaces get no service accounts.
//
// State lives in one directory and survives a stop. It is for trials and tests: etcd runs without fsync, so a machine
// that loses power may lose it.
package plane

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/ports"
	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
)

// Options describe a control plane.
type Options struct {
	// Dir holds its state; an absolute path, made when absent. One control plane at a time runs on it.
	Dir string
	// Assets is a directory with etcd and kube-apiserver; see assets.Ensure.
	Assets string
	// Timeout limits the wait until it is ready; 0 means two minutes.
	Timeout time.Duration
}

// Plane is a running control plane.
type Plane struct {
	// Kubeconfig is the path of an administrator's kubeconfig, URL the address of the API server.
	Kubeconfig, URL string

	etcd, apiserver *process.Process
	failed          chan struct{}
	unlock          func()
	stopNamespaces  func() // returns when the emptying of namespaces has ended
}

// ErrInUse means that another process runs a control plane on the same directory.
var ErrInUse = errors.New("a control plane already runs on this directory")

// Start starts a control plane and waits until it is ready. The caller stops it.
func Start(ctx context.Context, opts Options) (*Plane, error) {
	if opts.Timeout == 0 {
		opts.Timeout = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, opts.Timeout)
	defer cancel()
	unlock, err := process.TryLock(filepath.Join(opts.Dir, "lock"))
	if errors.Is(err, process.ErrLocked) {
		return nil, fmt.Errorf("%s: %w: stop that one first", opts.Dir, ErrInUse)
	}
	if err != nil {
		return nil, err
	}
	keep := false
	defer func() {
		if !keep {
			unlock()
		}
	}()
	files, err := ensureCredentials(filepath.Join(opts.Dir, "pki"))
	if err != nil {
		return nil, err
	}
	// The ports are free when they are chosen and may be taken a moment later: such a start is tried again.
	const attempts = 3
	for attempt := 1; ; attempt++ {
		p, err := start(ctx, opts, files)
		if err == nil {
			if err := p.emptyNamespaces(files); err != nil {
				p.apiserver.Stop(time.Second)
				p.etcd.Stop(time.Second)
				return nil, err
			}
			p.unlock, keep = unlock, true
			go p.watch()
			return p, nil
		}
		if attempt == attempts || ctx.Err() != nil || !errors.Is(err, errEnded) {
			return nil, err
		}
		if err := os.Remove(filepath.Join(opts.Dir, portsFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("forget the ports: %w", err)
		}
	}
}

// Stop stops both programs, the API server first, and returns when they are gone.
func (p *Plane) Stop() {
	p.stopNamespaces()
	// Open watches hold an API server's end up, so it is not waited for long; what it acknowledged is in etcd.
	p.apiserver.Stop(5 * time.Second)
	p.etcd.Stop(10 * time.Second)
	p.unlock()
}

// Failed is closed when one of the programs has ended.
func (p *Plane) Failed() <-chan struct{} { return p.failed }

// Err says which program has ended and how; nil while both run.
func (p *Plane) Err() error { return errors.Join(p.etcd.Ended(), p.apiserver.Ended()) }

func (p *Plane) watch() {
	select {
	case <-p.etcd.Done():
	case <-p.apiserver.Done():
	}
	close(p.failed)
}

// portsFile, in the directory of a control plane, remembers its ports.
const portsFile = "ports.json"

// errEnded means that a program ended before the control plane was ready.
var errEnded = errors.New("the control plane did not start")

func start(ctx context.Context, opts Options, files credentials) (_ *Plane, err error) {
	chosen, err := ports.Choose(ctx, filepath.Join(opts.Dir, portsFile), map[string]int{"apiserver": 0, "etcd": 0, "peer": 0})
	if err != nil {
		return nil, err
	}
	etcdURL, peerURL := ports.URL(chosen["etcd"]), ports.URL(chosen["peer"])
	p := &Plane{
		Kubeconfig: filepath.Join(opts.Dir, "admin.kubeconfig"),
		URL:        ports.URL(chosen["apiserver"]),
		failed:     make(chan struct{}),
	}
	if err := writeKubeconfig(p.Kubeconfig, p.URL, files); err != nil {
		return nil, err
	}
	logs := filepath.Join(opts.Dir, "logs")
	p.etcd, err = process.Start(process.Spec{
		Name: assets.Etcd, Path: filepath.Join(opts.Assets, assets.Etcd), Log: filepath.Join(logs, "etcd.log"),
		Args: []string{
			"--name=local",
			"--data-dir=" + filepath.Join(opts.Dir, "etcd"),
			"--unsafe-no-fsync", // see the package comment
			"--log-level=warn",
			"--listen-client-urls=" + etcdURL,
			"--advertise-client-urls=" + etcdURL,
			"--listen-peer-urls=" + peerURL,
			"--initial-advertise-peer-urls=" + peerURL,
			"--initial-cluster=local=" + peerURL,
			// Secrets are in there, and other users of the machine reach loopback too.
			"--client-cert-auth", "--trusted-ca-file=" + files.ca,
			"--cert-file=" + files.server.cert, "--key-file=" + files.server.key,
			"--peer-client-cert-auth", "--peer-trusted-ca-file=" + files.ca,
			"--peer-cert-file=" + files.server.cert, "--peer-key-file=" + files.server.key,
		},
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.etcd.Stop(time.Second)
		}
	}()
	p.apiserver, err = process.Start(process.Spec{
		Name: assets.APIServer, Path: filepath.Join(opts.Assets, assets.APIServer), Log: filepath.Join(logs, "kube-apiserver.log"),
		Args: []string{
			"--etcd-servers=" + etcdURL,
			"--etcd-cafile=" + files.ca, "--etcd-certfile=" + files.server.cert, "--etcd-keyfile=" + files.server.key,
			"--bind-address=127.0.0.1",
			"--secure-port=" + strconv.Itoa(chosen["apiserver"]),
			"--advertise-address=127.0.0.1",
			"--endpoint-reconciler-type=none", // nobody uses the service `kubernetes`
			"--tls-cert-file=" + files.server.cert, "--tls-private-key-file=" + files.server.key,
			"--client-ca-file=" + files.ca,
			"--authorization-mode=RBAC",
			"--service-cluster-ip-range=10.201.0.0/16",
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file=" + files.server.cert, "--service-account-signing-key-file=" + files.server.key,
			// Without a controller-manager no namespace has a service account, and every pod would be refused for that.
			"--disable-admission-plugins=ServiceAccount",
			"--profiling=false",
		},
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.apiserver.Stop(time.Second)
		}
	}()
	return p, p.waitReady(ctx, files)
}

// waitReady waits until /readyz answers.
func (p *Plane) waitReady(ctx context.Context, files credentials) error {
	client, err := newAdmin(p.URL, files)
	if err != nil {
		return err
	}
	defer client.close()
	for {
		last := client.do(ctx, http.MethodGet, "/readyz", nil, nil)
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the API server (%w), last: %w; the end of its log:\n%s", context.Cause(ctx), last, p.apiserver.Tail(15))
		case <-p.etcd.Done():
			return fmt.Errorf("%w: %w", errEnded, p.etcd.Ended())
		case <-p.apiserver.Done():
			return fmt.Errorf("%w: %w", errEnded, p.apiserver.Ended())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
