//go:build unix

// Package plane runs etcd and kube-apiserver on loopback with envtest. Their state is in a directory that Stop does not remove. The package
// adds to envtest what users of a cluster expect: deleted namespaces disappear, only this user can read etcd, the two programs end with
// this process, and the package reports when the API server no longer responds.
//
// There is no controller-manager, no scheduler and no node: owner references have no effect on deletion, and namespaces get no
// service accounts. etcd runs without fsync, so the state can be lost if the machine loses power. kind was refused, because it needs a
// container engine.
package plane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
	"github.com/vitrine-dev/vitrine/hack/loopback"
)

// Plane is a running control plane.
type Plane struct {
	env     *envtest.Environment
	logs    map[string]string // log file by program
	socket  string            // directory of etcd's sockets, and the working directory of the programs
	stop    context.CancelFunc
	stopped chan struct{} // closed when watch has returned
	done    chan struct{}
	err     error // set before done is closed
}

// Kubeconfig returns the path of the administrator's kubeconfig of a control plane with its state in dir.
func Kubeconfig(dir string) string { return filepath.Join(dir, "admin.kubeconfig") }

// Start starts the programs in the directory assets. Their state is in the directory dir, which Start creates. The caller must stop the
// Plane, and must not start two Planes with the same dir.
func Start(dir, assets string) (_ *Plane, err error) {
	ctrllog.SetLogger(logr.Discard())
	p := &Plane{
		socket: filepath.Join(dir, "socket"),
		env: &envtest.Environment{
			UseExistingCluster: new(bool), ControlPlaneStartTimeout: time.Minute, ControlPlaneStopTimeout: 10 * time.Second,
		},
		logs:    map[string]string{},
		stopped: make(chan struct{}),
		done:    make(chan struct{}),
	}
	defer func() {
		if err != nil {
			_ = p.env.Stop() // after an error, envtest does not stop the programs that it has already started
			os.RemoveAll(p.socket)
		}
	}()
	etcd, api := &envtest.Etcd{DataDir: filepath.Join(dir, "etcd")}, p.env.ControlPlane.GetAPIServer()
	p.env.ControlPlane.Etcd, api.CertDir = etcd, filepath.Join(dir, "pki")
	// Remove the sockets that a killed control plane has left, and the certificates, which envtest creates for each run.
	if err := errors.Join(os.RemoveAll(p.socket), os.RemoveAll(api.CertDir)); err != nil {
		return nil, fmt.Errorf("remove the files of an earlier control plane: %w", err)
	}
	for _, d := range []string{p.socket, api.CertDir, etcd.DataDir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("create a directory for the control plane: %w", err)
		}
	}
	if err := hide(etcd, api); err != nil {
		return nil, err
	}
	if etcd.Path, etcd.Out, err = p.program(dir, assets, "etcd"); err != nil {
		return nil, err
	}
	if api.Path, api.Out, err = p.program(dir, assets, "kube-apiserver"); err != nil {
		return nil, err
	}
	etcd.Err, api.Err = etcd.Out, api.Out
	if _, err := p.env.Start(); err != nil {
		return nil, fmt.Errorf("%w%s", err, p.tails())
	}
	p.env.Config.WarningHandler = rest.NoWarnings{} // suppress warnings, because watch lists every resource, even deprecated ones
	if err := os.WriteFile(Kubeconfig(dir), p.env.KubeConfig, 0o600); err != nil {
		return nil, fmt.Errorf("write the kubeconfig: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	go p.watch(ctx)
	return p, nil
}

// hide makes etcd listen on sockets that only this user can reach. Other users of the machine can reach loopback, and etcd contains
// Secrets. The URLs are relative to the working directory of both programs, because the path of a socket is limited to about 100
// bytes.
func hide(etcd *envtest.Etcd, api *envtest.APIServer) error {
	free, err := loopback.Free(1)
	if err != nil {
		return err
	}
	etcd.URL = &url.URL{Scheme: "http", Host: free[0]}
	etcd.Configure().Set("listen-client-urls", "unix://clients").Set("advertise-client-urls", "unix://clients").
		Set("listen-peer-urls", "unix://peers").
		Set("listen-metrics-urls", etcd.URL.String()). // envtest checks the health of etcd at this address, which serves no data
		Set("log-level", "warn")
	api.Configure().Set("etcd-servers", "unix://clients").Set("endpoint-reconciler-type", "none")
	return nil
}

// program returns a script that runs a program in the directory assets and ends the program with this process. It also returns the
// program's log.
func (p *Plane) program(dir, assets, name string) (script string, log io.Writer, err error) {
	script, p.logs[name] = filepath.Join(dir, "bin", name), filepath.Join(dir, "logs", name+".log")
	if err := os.MkdirAll(filepath.Dir(script), 0o700); err != nil {
		return "", nil, fmt.Errorf("create the directory for a script: %w", err)
	}
	if err := os.WriteFile(script, []byte(process.Leashed(p.socket, filepath.Join(assets, name))), 0o700); err != nil {
		return "", nil, fmt.Errorf("write a script: %w", err)
	}
	log, err = process.CreateLog(p.logs[name])
	return script, log, err
}

// tails returns the ends of both logs.
func (p *Plane) tails() string {
	text := ""
	for _, name := range []string{"etcd", "kube-apiserver"} {
		text += fmt.Sprintf("\nThe end of %s:\n%s", p.logs[name], process.Tail(p.logs[name], 15))
	}
	return text
}

// Done returns a channel that is closed when the API server has stopped responding.
func (p *Plane) Done() <-chan struct{} { return p.done }

// Err returns nil while the API server responds. Afterwards, it returns the reason and the ends of the logs.
func (p *Plane) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Stop stops the API server and then etcd, and waits until both have ended.
func (p *Plane) Stop() {
	p.stop()
	<-p.stopped
	_ = p.env.Stop() // an error means that a program had to be killed
	os.RemoveAll(p.socket)
}
