//go:build unix

// Package plane runs etcd and kube-apiserver on loopback, by means of envtest, with their state in a directory that survives a
// stop. It adds what a user of the cluster expects and envtest lacks: deleted namespaces go away, only this user can read etcd,
// the two programs end with this process, and their end is reported.
//
// There is no controller-manager, no scheduler and no node: owner references delete nothing, and namespaces get no service
// accounts. etcd runs without fsync, so a machine that loses power may lose the state.
package plane

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
)

// Plane is a running control plane.
type Plane struct {
	// Kubeconfig is the path of an administrator's kubeconfig.
	Kubeconfig string

	env     *envtest.Environment
	logs    map[string]string // file by program
	socket  string            // directory of etcd's sockets
	stop    context.CancelFunc
	stopped chan struct{} // closed when watch has returned
	done    chan struct{}
	err     error // once done is closed
}

// Start starts the programs in the directory assets, with their state in the directory dir, which it creates. The caller
// makes sure that dir has one control plane at a time, and stops it.
func Start(dir, assets string) (_ *Plane, err error) {
	ctrllog.SetLogger(logr.Discard())
	p := &Plane{
		Kubeconfig: filepath.Join(dir, "admin.kubeconfig"),
		env: &envtest.Environment{
			UseExistingCluster: new(bool), ControlPlaneStartTimeout: time.Minute, ControlPlaneStopTimeout: 10 * time.Second,
		},
		logs:    map[string]string{},
		stopped: make(chan struct{}),
		done:    make(chan struct{}),
	}
	etcd, api := &envtest.Etcd{DataDir: filepath.Join(dir, "etcd")}, p.env.ControlPlane.GetAPIServer()
	p.env.ControlPlane.Etcd = etcd
	api.CertDir = filepath.Join(dir, "pki")
	// envtest makes the certificates of a run, and reads none of an earlier one.
	if err := os.RemoveAll(api.CertDir); err != nil {
		return nil, fmt.Errorf("remove old certificates: %w", err)
	}
	for _, d := range []string{api.CertDir, etcd.DataDir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("make a directory of the control plane: %w", err)
		}
	}
	// Other users of the machine can reach loopback, and etcd holds Secrets. A socket's path has about 100 bytes at most.
	if p.socket, err = os.MkdirTemp("", "vitrine-etcd-"); err != nil {
		return nil, fmt.Errorf("make the directory of etcd's sockets: %w", err)
	}
	defer func() {
		if err != nil {
			_ = p.env.Stop() // envtest leaves running what it has started
			os.RemoveAll(p.socket)
		}
	}()
	clients := "unix://" + filepath.Join(p.socket, "clients")
	if etcd.URL, err = freeURL(); err != nil {
		return nil, err
	}
	etcd.Configure().Set("listen-client-urls", clients).Set("advertise-client-urls", clients).
		Set("listen-peer-urls", "unix://"+filepath.Join(p.socket, "peers")).
		Set("listen-metrics-urls", etcd.URL.String()). // has the health check of envtest, and no data
		Set("log-level", "warn")
	api.Configure().Set("etcd-servers", clients).Set("endpoint-reconciler-type", "none")

	for _, program := range []struct {
		name     string
		path     *string
		out, err *io.Writer
	}{{"etcd", &etcd.Path, &etcd.Out, &etcd.Err}, {"kube-apiserver", &api.Path, &api.Out, &api.Err}} {
		*program.path = filepath.Join(dir, "bin", program.name)
		p.logs[program.name] = filepath.Join(dir, "logs", program.name+".log")
		log, err := process.CreateLog(p.logs[program.name])
		if err != nil {
			return nil, err
		}
		defer log.Close() // the programs have copies
		*program.out, *program.err = log, log
		if err := writeProgram(*program.path, process.Leashed(filepath.Join(assets, program.name))); err != nil {
			return nil, err
		}
	}
	if _, err := p.env.Start(); err != nil {
		return nil, fmt.Errorf("%w%s", err, p.tails())
	}
	p.env.Config.WarningHandler = rest.NoWarnings{} // watch asks for every resource, deprecated or not
	if err := os.WriteFile(p.Kubeconfig, p.env.KubeConfig, 0o600); err != nil {
		return nil, fmt.Errorf("write the kubeconfig: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	go p.watch(ctx)
	return p, nil
}

// writeProgram writes an executable script, and creates its directory.
func writeProgram(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("make the directory of a script: %w", err)
	}
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		return fmt.Errorf("write a script: %w", err)
	}
	return nil
}

// freeURL returns an address on loopback that nothing listens on.
func freeURL() (*url.URL, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // an address, without names to resolve
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return &url.URL{Scheme: "http", Host: l.Addr().String()}, nil
}

// tails returns the ends of both logs.
func (p *Plane) tails() string {
	text := ""
	for _, name := range []string{"etcd", "kube-apiserver"} {
		text += fmt.Sprintf("\nthe end of %s:\n%s", p.logs[name], process.Tail(p.logs[name], 15))
	}
	return text
}

// Done is closed when the API server has not answered for some seconds.
func (p *Plane) Done() <-chan struct{} { return p.done }

// Err returns nil while the API server answers, and then why it does not, with the ends of the logs.
func (p *Plane) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Stop stops the API server and then etcd, and returns when both have ended.
func (p *Plane) Stop() {
	p.stop()
	<-p.stopped
	_ = p.env.Stop() // an error says that one had to be killed
	os.RemoveAll(p.socket)
}
