package connect

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/tokens"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/internal/version"
	"github.com/vitrine-dev/vitrine/server/client"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Reach finds a ContentFilter, and connects to a server that serves it. With a token that the user provides, it needs no cluster. If the
// user provides no token, Reach uses a token from a Secret that the user may read.
type Reach struct {
	Cluster    Cluster
	Connection Connection
}

// Bind declares the flags.
func (r *Reach) Bind(cmd *cobra.Command) {
	r.Cluster.Bind(cmd)
	r.Connection.Bind(cmd.Flags())
}

// Served is a ContentFilter that a server serves.
type Served struct {
	// Name is the name of the object as namespace/name.
	Name, UUID string
}

// Filter returns a filter, and a client that may read it. It asks the server for the filter if the user provides a token and does not select
// a cluster, and the cluster otherwise. If writer is true, it takes only READ-WRITE tokens from Secrets.
func (r *Reach) Filter(ctx context.Context, name string, writer bool) (Served, *client.Client, error) {
	if name == "" {
		return Served{}, nil, exit.Usagef("the name of the ContentFilter is empty: pass the name of one")
	}
	withToken := r.Connection.tokenFile != "" || os.Getenv("VITRINE_TOKEN") != ""
	if withToken && r.Cluster.Kubeconfig == "" && r.Cluster.context == "" {
		return r.onServer(ctx, name)
	}
	k, namespace, err := r.Cluster.Open()
	if err != nil {
		return Served{}, nil, fmt.Errorf("%w, or pass a token of the server with --token-file or VITRINE_TOKEN", err)
	}
	f := &v1alpha1.ContentFilter{}
	if err := k.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, f); apierrors.IsNotFound(err) {
		return Served{}, nil, fmt.Errorf("namespace %[2]s has no ContentFilter %[1]s: run kubectl get contentfilters -n %[2]s, or select another namespace with -n", name, namespace)
	} else if err != nil {
		return Served{}, nil, fmt.Errorf("read ContentFilter %s/%s: %w", namespace, name, err)
	}
	if f.Status.UUID == "" {
		return Served{}, nil, fmt.Errorf("ContentFilter %s/%s was never served: see kubectl vitrine status", namespace, name)
	}
	found := Served{namespace + "/" + name, f.Status.UUID}
	if withToken {
		c, err := r.Connection.Open()
		return found, c, err
	}
	c, err := r.fromSecret(ctx, k, f, writer)
	return found, c, err
}

// onServer finds a filter among the filters of the token's property. It needs a READ-WRITE token.
func (r *Reach) onServer(ctx context.Context, name string) (Served, *client.Client, error) {
	c, err := r.Connection.Open()
	if err != nil {
		return Served{}, nil, err
	}
	var served []string
	where := "in the property of the token"
	if n := r.Cluster.namespace; n != "" {
		where = "in namespace " + n + " and " + where
	}
	for f, err := range c.Filters(ctx) {
		if err != nil {
			return Served{}, nil, fmt.Errorf("find ContentFilter %s on the server: %w", name, err)
		}
		object, managed := strings.CutPrefix(f.ManagedBy, library.KindFilter.String()+" ")
		namespace, own, _ := strings.Cut(object, "/")
		if !managed || r.Cluster.namespace != "" && r.Cluster.namespace != namespace {
			continue // created over HTTP, or in another namespace
		}
		if own == name {
			return Served{object, f.UUID}, c, nil
		}
		served = append(served, own)
	}
	if len(served) == 0 {
		return Served{}, nil, fmt.Errorf("the server serves no ContentFilter %s: apply one, or pass a token of another property", where)
	}
	return Served{}, nil, fmt.Errorf("the server serves no ContentFilter %s %s: use one of %s, or pass a token of another property",
		name, where, text.Cut(strings.Join(served, ", "), 200))
}

// fromSecret returns a client with the first usable token that may read a filter.
func (r *Reach) fromSecret(ctx context.Context, k kube.Client, f *v1alpha1.ContentFilter, writer bool) (*client.Client, error) {
	all, err := Listed[*v1alpha1.AccessToken](ctx, k, &v1alpha1.AccessTokenList{}, f.Namespace)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(t *v1alpha1.AccessToken) bool {
		reads := f.Status.ReadAccess == v1alpha1.ReadAccessReadOnly && (t.Spec.Filters == nil || slices.Contains(t.Spec.Filters, f.Name))
		return translate.PropertyID(t) != translate.PropertyID(f) || t.Status.SecretName == "" || t.Spec.Class != v1alpha1.ReadWrite && (writer || !reads)
	})
	secret, token, err := UsableToken(ctx, k, all)
	if err != nil {
		return nil, err
	}
	if secret != nil {
		return r.client(secret, token)
	}
	class := "ReadWrite"
	if !writer && f.Spec.ReadAccess == v1alpha1.ReadAccessReadOnly {
		class = "ReadWrite or ReadOnly"
	}
	return nil, fmt.Errorf("namespace %s has no AccessToken of class %s for property %s: apply one, or pass --server and --token-file",
		f.Namespace, class, translate.PropertyID(f))
}

// client returns a client with the token of a Secret.
func (r *Reach) client(secret *corev1.Secret, token string) (*client.Client, error) {
	o, err := r.Options(secret, token)
	if err != nil {
		return nil, err
	}
	if o.Server == "" {
		return nil, exit.Usagef("Secret %s/%s has no server URL: pass --server", secret.Namespace, secret.Name)
	}
	c, err := client.New(o)
	if err != nil {
		return nil, fmt.Errorf("use Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return c, nil
}

// Token returns a client with the token of an AccessToken.
func (r *Reach) Token(ctx context.Context, name string) (*client.Client, error) {
	k, namespace, err := r.Cluster.Open()
	if err != nil {
		return nil, fmt.Errorf("%w, or pass - and a token of the server with --token-file or VITRINE_TOKEN", err)
	}
	t := &v1alpha1.AccessToken{}
	if err := k.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, t); apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("namespace %[2]s has no AccessToken %[1]s: run kubectl get accesstokens -n %[2]s, or select another namespace with -n", name, namespace)
	} else if err != nil {
		return nil, fmt.Errorf("read AccessToken %s/%s: %w", namespace, name, err)
	}
	secret, token, err := UsableToken(ctx, k, []*v1alpha1.AccessToken{t})
	if err != nil {
		return nil, err
	}
	return r.client(secret, token)
}

// UsableToken returns the first usable token value, and its Secret. It tries READ-WRITE tokens first. It returns nil if there are no
// AccessTokens, and an error if none of them can be used.
func UsableToken(ctx context.Context, k kube.Client, all []*v1alpha1.AccessToken) (*corev1.Secret, string, error) {
	slices.SortStableFunc(all, func(a, b *v1alpha1.AccessToken) int { return cmp.Compare(classOrder(a), classOrder(b)) })
	var unusable []error
	for _, t := range all {
		if !t.DeletionTimestamp.IsZero() {
			unusable = append(unusable, fmt.Errorf("AccessToken %s/%s is being deleted", t.Namespace, t.Name))
			continue
		}
		if c := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ReadyCondition); c != nil && c.Status == metav1.ConditionFalse {
			unusable = append(unusable, fmt.Errorf("AccessToken %s/%s is not Ready: %s", t.Namespace, t.Name, c.Message))
			continue
		}
		secret := &corev1.Secret{}
		if err := k.Get(ctx, types.NamespacedName{Namespace: t.Namespace, Name: t.Status.SecretName}, secret); err != nil {
			unusable = append(unusable, fmt.Errorf("read Secret %s/%s: %w", t.Namespace, t.Status.SecretName, err))
			continue
		}
		token, err := translate.TokenText(secret.Data[tokens.SecretKey(t)])
		if err != nil {
			unusable = append(unusable, fmt.Errorf("key %s of Secret %s/%s: %w", tokens.SecretKey(t), secret.Namespace, secret.Name, err))
			continue
		}
		return secret, token, nil
	}
	if len(unusable) > 0 {
		return nil, "", fmt.Errorf("no token can be used: %w; fix one of these problems, ask for permission to read Secrets, or pass --server and --token-file", errors.Join(unusable...))
	}
	return nil, "", nil
}

func classOrder(t *v1alpha1.AccessToken) int {
	if t.Spec.Class == v1alpha1.ReadWrite {
		return 0
	}
	return 1
}

// Options returns the client options for a token. The server URL and the certificate authority come from the user's settings, otherwise
// from the token's Secret. If neither contains a server URL, the URL in the options is "".
func (r *Reach) Options(secret *corev1.Secret, token string) (client.Options, error) {
	server := cmp.Or(r.Connection.Server, os.Getenv("VITRINE_SERVER"), string(secret.Data[tokens.URLKey]))
	o := client.Options{Server: server, Token: token, UserAgent: "vitrine/" + version.Get().Version}
	var err error
	if o.RootCAs, err = r.Connection.Authority(); err != nil {
		return client.Options{}, err
	}
	if ca := secret.Data[tokens.CAKey]; o.RootCAs == nil && len(ca) > 0 {
		o.RootCAs = x509.NewCertPool()
		o.RootCAs.AppendCertsFromPEM(ca)
	}
	return o, nil
}
