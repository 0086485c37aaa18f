package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
)

// Files of the content.
const (
	propertyFile = "content/property.yaml"
	tokenFile    = "content/token.yaml"
	wallFile     = "content/wall.yaml"
	plainFile    = "content/plain.yaml"
	extraFile    = "content/extra.yaml"
)

const (
	wallQuery  = "approval_status:app AND love"
	property   = "apiVersion: vitrine.dev/v1alpha1\nkind: Property\nmetadata: {name: default}\nspec: {displayName: Shop}\n"
	readWriter = "apiVersion: vitrine.dev/v1alpha1\nkind: AccessToken\nmetadata: {name: backoffice}\nspec: {class: ReadWrite}\n"
)

// filter is the manifest of a ContentFilter.
func filter(name, query, rest string) string {
	return fmt.Sprintf("apiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata: {name: %s}\nspec:\n  query: '%s'\n%s", name, query, rest)
}

// explicit are the members that a manifest should hold for the tools to put them right.
const explicit = "  readAccess: ReadWrite\n  suspend: false\n"

// shopContent is the first commit of the content: the filter wall has the explicit members, plain leaves them out.
func shopContent() map[string]string {
	return map[string]string{
		propertyFile: property,
		tokenFile:    readWriter,
		wallFile:     filter("wall", wallQuery, explicit),
		plainFile:    filter("plain", "approval_status:app", ""),
		extraFile:    filter("extra", "approval_status:app AND extra", ""),
	}
}

// filterSpec is what the walk looks at of a ContentFilter's spec.
type filterSpec struct {
	Query      string `json:"query"`
	ReadAccess string `json:"readAccess"`
	Suspend    *bool  `json:"suspend"`
}

func (w *gitopsWalk) filterSpec(ctx context.Context, name string) (filterSpec, error) {
	var object struct {
		Spec filterSpec `json:"spec"`
	}
	err := w.read(ctx, &object, "-n", namespace, "contentfilter", name)
	return object.Spec, err
}

// wallRight says what of the filter wall differs from the first commit.
func (w *gitopsWalk) wallRight(ctx context.Context) error {
	spec, err := w.filterSpec(ctx, "wall")
	if err != nil {
		return err
	}
	if spec.Query != wallQuery || spec.ReadAccess != "ReadWrite" || spec.Suspend == nil || *spec.Suspend {
		return fmt.Errorf("the spec of the ContentFilter wall is %+v", spec)
	}
	return nil
}

// drift changes every member that the manifest of the filter wall holds, and two that the one of plain leaves out.
func (w *gitopsWalk) drift(ctx context.Context) error {
	if err := w.kubectl(ctx, "patch", "-n", namespace, "contentfilter", "wall", "--type=merge",
		`--patch={"spec": {"query": "drifted", "readAccess": "ReadOnly", "suspend": true}}`); err != nil {
		return err
	}
	return w.leftOut(ctx)
}

// leftOut sets two members that the manifest of the filter plain leaves out, as the field manager that args name.
func (w *gitopsWalk) leftOut(ctx context.Context, args ...string) error {
	return w.kubectl(ctx, append([]string{"patch", "-n", namespace, "contentfilter", "plain", "--type=merge",
		`--patch={"spec": {"readAccess": "ReadOnly", "sortBy": "id:asc"}}`}, args...)...)
}

// readToken takes up the token of a namespace.
func (w *gitopsWalk) readToken(ctx context.Context, from string) error {
	var secret struct {
		Data map[string][]byte `json:"data"`
	}
	if err := w.read(ctx, &secret, "-n", from, "secret", "backoffice"); err != nil {
		return err
	}
	c, err := newCaller(w.server.url, string(secret.Data["token"]), string(secret.Data["ca.crt"]))
	w.readers[from] = c
	return err
}

// address returns where a filter is served.
func (w *gitopsWalk) address(ctx context.Context, from, name string) (string, error) {
	found, err := w.cluster.get(ctx, "-n", from, "contentfilter", name)
	if err != nil {
		return "", err
	}
	if found[0].Status.URL == "" {
		return "", fmt.Errorf("the ContentFilter %s has no status.url", name)
	}
	return found[0].Status.URL, nil
}

// served wants a filter of the namespace shop to answer.
func (w *gitopsWalk) served(ctx context.Context, name string) error {
	url, err := w.address(ctx, namespace, name)
	if err != nil {
		return err
	}
	return w.readers[namespace].awaitStatus(ctx, url, http.StatusOK)
}

// nothingLeft wants the namespace shop to be without objects and its token to be refused.
func (w *gitopsWalk) nothingLeft(ctx context.Context) error {
	if err := w.readers[namespace].awaitStatus(ctx, "/v2/content/items?q=*:*", http.StatusForbidden); err != nil {
		return err
	}
	return w.await(ctx, time.Minute, func() error { // the garbage collector takes the token's Secret
		found, err := w.cluster.get(ctx, "-n", namespace, "vitrine,secret")
		if err == nil && len(found) > 0 {
			err = fmt.Errorf("%d objects are left, among them %s", len(found), found[0])
		}
		return err
	})
}

// stalled returns why a filter of the namespace shop is stalled.
func (w *gitopsWalk) stalled(ctx context.Context, name string) (message string, err error) {
	found, err := w.cluster.get(ctx, "-n", namespace, "contentfilter", name)
	if err != nil {
		return "", err
	}
	c, ok := found[0].condition("Stalled")
	if !ok || c.Message == "" {
		return "", fmt.Errorf("the ContentFilter %s is not stalled, or does not say why", name)
	}
	return c.Message, nil
}

// whyPrefix begins the command of the page that shows why objects are not ready.
const whyPrefix = "kubectl get vitrine -n shop -o custom-columns="

// whyCommand runs that command and wants it to show why a filter is stalled.
func (w *gitopsWalk) whyCommand(ctx context.Context, name string) error {
	want, err := w.stalled(ctx, name)
	if err != nil {
		return err
	}
	line, ok := w.page.line(whyPrefix)
	if !ok {
		return errors.New("docs/gitops.md has no command that shows why an object is not ready")
	}
	said, err := w.shell(ctx, fmt.Sprintf("export KUBECONFIG=%s PATH=%s:\"$PATH\"\n%s", process.Quote(w.cluster.kubeconfig), process.Quote(filepath.Dir(w.cluster.kubectl)), line))
	if err != nil {
		return err
	}
	if !strings.Contains(said, want) {
		return fmt.Errorf("%s does not show %q:\n%s", line, want, said)
	}
	return nil
}
