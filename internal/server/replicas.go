package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/vitrine-dev/vitrine/controllers/cluster"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/servingcert"
)

// leaseFlags select the objects that the replicas of one installation share in the cluster: a Lease, and a Secret with their certificate
// authorities.
type leaseFlags struct {
	namespace, name string
}

// defaultLease is the default name of the Lease.
const defaultLease = "vitrine"

// authoritySuffix is appended to the name of the Lease to form the name of the Secret.
const authoritySuffix = "-authority"

func (f *leaseFlags) bind(fs *pflag.FlagSet) {
	fs.StringVar(&f.namespace, "lease-namespace", "", "namespace of the Lease and of the Secret LEASE-NAME"+authoritySuffix+", which the replicas share (default: the namespace of the pod)")
	fs.StringVar(&f.name, "lease-name", defaultLease, "name of the Lease that decides which replica runs the controllers")
}

// validate checks the flags. used is true if replicas can share the library.
func (f *leaseFlags) validate(used bool) error {
	if !used {
		if f.namespace != "" || f.name != defaultLease {
			return exit.Usagef("--lease-namespace and --lease-name need --library=%s and a cluster", LibraryOpenSearch)
		}
		return nil
	}
	if f.namespace == "" {
		f.namespace = podNamespace()
	}
	if len(validation.IsDNS1123Label(f.namespace)) > 0 {
		return exit.Usagef("--lease-namespace %q: must be the name of a namespace, and is required outside a pod", f.namespace)
	}
	if problems := validation.IsDNS1123Subdomain(f.name + authoritySuffix); len(problems) > 0 {
		return exit.Usagef("--lease-name %q: %s", f.name, problems[0])
	}
	return nil
}

// podNamespace returns the namespace of the pod that the process runs in, or "" outside a pod.
func podNamespace() string {
	name, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

// lease returns the lease for which this process competes.
func (f *leaseFlags) lease() (*cluster.Lease, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("find the name of this host for the lease: %w", err)
	}
	// The identity has a random part, because a pod keeps its name when its container restarts, and because several processes can run on
	// one host.
	return &cluster.Lease{Namespace: f.namespace, Name: f.name, Identity: host + "_" + strings.ToLower(rand.Text())}, nil
}

// shareAuthorities copies the authorities that all replicas share from a Secret to the data directory. dirs contains the directory of each
// authority, by the key in the Secret. The first replica creates the authorities. While the API server is unreachable, a replica uses the
// authorities in its data directory. If that has none yet, the replica waits, and the probes say so.
func (f *leaseFlags) shareAuthorities(ctx context.Context, dirs map[string]string, restConfig func() (*rest.Config, error), probes string, log *slog.Logger) error {
	if len(dirs) == 0 {
		return nil
	}
	share := func() (again bool, err error) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		cfg, err := restConfig()
		if err != nil {
			return true, err
		}
		core, err := typedv1.NewForConfig(cfg)
		if err != nil {
			return false, err
		}
		for key, dir := range dirs {
			name := f.name + authoritySuffix
			err := adoptShared(ctx, core.Secrets(f.namespace), name, key, dir)
			if err == nil {
				continue
			}
			if servingcert.HasAuthority(dir) {
				log.Warn("cannot share the certificate authority of the other replicas; using the one in the data directory", "dir", dir, "error", err)
				continue
			}
			return true, fmt.Errorf("share the certificate authority %s in Secret %s/%s: %w", key, f.namespace, name, err)
		}
		return false, nil
	}
	if err := retry(ctx, probes, "certificate", log, share); err != nil {
		return exit.With(exit.Certificate, err)
	}
	return nil
}

// adoptShared copies the authority under a key of a Secret to dir. If the key is missing, or if its authority expires soon, adoptShared
// first writes the authority in dir or a new authority to the Secret.
func adoptShared(ctx context.Context, secrets typedv1.SecretInterface, name, key, dir string) error {
	for {
		secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
		there := err == nil
		if apierrors.IsNotFound(err) {
			secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/name": "vitrine"}}}
		} else if err != nil {
			return err
		}
		if kept, ok := secret.Data[key]; ok {
			if err := servingcert.Adopt(dir, kept); !errors.Is(err, servingcert.ErrExpiring) {
				return err
			}
		}
		made, err := servingcert.ProposeAuthority(dir)
		if err != nil {
			return err
		}
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[key] = made
		if there {
			_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
		} else {
			_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
		}
		// If another replica has changed the Secret in the meantime, the next iteration adopts its authority.
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
}
