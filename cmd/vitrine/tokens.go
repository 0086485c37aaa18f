package main

import (
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/internal/cli/connect"
	"github.com/vitrine-dev/vitrine/internal/cli/output"
	"github.com/vitrine-dev/vitrine/internal/text"
)

type tokensOptions struct {
	cluster connect.Cluster
	output  output.Format
}

func newTokens() *cobra.Command {
	o := &tokensOptions{}
	cmd := &cobra.Command{
		Use:   "tokens",
		Short: "List the access tokens with class and expiry, never their values",
		Long: `List the AccessTokens: what each one can access, which Secret holds it, when it was issued, and when it expires and rotates.
The command never reads a token value.`,
		Example: example(`
# The tokens of one namespace
kubectl vitrine tokens -n shop`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.cluster.BindAll(cmd)
	o.output.Bind(cmd.Flags())
	return cmd
}

// tokenStatus is the output for one token.
type tokenStatus struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Ready     string   `json:"ready"`
	Class     string   `json:"class"`
	Property  string   `json:"property"`
	Filters   []string `json:"filters,omitempty"`
	Query     string   `json:"query,omitempty"`
	// Scope is status.scope, which shows what limits the items that the token reads.
	Scope v1alpha1.TokenScope `json:"scope,omitempty"`
	// Allow contains the actions that a READ-WRITE token is limited to.
	Allow []v1alpha1.TokenAction `json:"allow,omitempty"`
	// Subjects are the people who may use the token in the console.
	Subjects []v1alpha1.Subject `json:"subjects,omitempty"`
	Secret   string             `json:"secret"`
	// Issued, Expires and Rotates are the times at which the current value was issued, will expire and will be replaced. The zero time
	// means never.
	Issued  time.Time `json:"issued,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
	Rotates time.Time `json:"rotates,omitzero"`
	// Reason is the reason why the token is not ready.
	Reason string `json:"reason,omitempty"`
}

func (o *tokensOptions) run(cmd *cobra.Command) error {
	if err := o.output.Validate(); err != nil {
		return err
	}
	k, namespace, err := o.cluster.Open()
	if err != nil {
		return err
	}
	objects, err := connect.Listed[*v1alpha1.AccessToken](cmd.Context(), k, &v1alpha1.AccessTokenList{}, namespace)
	if err != nil {
		return err
	}
	tokens := make([]tokenStatus, len(objects))
	for i, t := range objects {
		tokens[i] = tokenStatusOf(t)
	}
	now := time.Now()
	return o.output.Show(cmd.OutOrStdout(), tokens, func(w io.Writer) error {
		head := []string{"NAME", "READY", "CLASS", "PROPERTY", "MAY LIST", "SECRET", "ISSUED", "EXPIRES IN", "ROTATES IN"}
		if namespace == "" {
			head = append([]string{"NAMESPACE"}, head...)
		}
		var rows [][]string
		for _, t := range tokens {
			ready := t.Ready
			if t.Reason != "" {
				ready += " (" + t.Reason + ")"
			}
			scope := "everything"
			switch {
			case len(t.Filters) > 0:
				scope = strings.Join(t.Filters, ",")
			case t.Query != "":
				scope = t.Query
			case t.Scope == v1alpha1.ScopeProperty:
				scope = "readOnlyQuery"
			}
			row := []string{t.Name, ready, t.Class, t.Property, text.Cut(scope, 60), t.Secret, output.Since(t.Issued, now), until(t.Expires, now), until(t.Rotates, now)}
			if namespace == "" {
				row = append([]string{t.Namespace}, row...)
			}
			rows = append(rows, row)
		}
		return output.Columns(w, head, rows)
	})
}

func tokenStatusOf(t *v1alpha1.AccessToken) tokenStatus {
	s := tokenStatus{
		Namespace: t.Namespace, Name: t.Name, Ready: string(metav1.ConditionUnknown), Class: string(t.Spec.Class),
		Property: t.PropertyName(), Filters: t.Spec.Filters, Query: t.Spec.Query,
		Scope: t.Status.Scope, Allow: t.Spec.Allow, Subjects: t.Spec.Subjects, Secret: t.Status.SecretName,
	}
	if v1alpha1.Guest(t) {
		s.Property = t.PropertyNamespace() + "/" + t.PropertyName()
	}
	if c := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ReadyCondition); c != nil {
		s.Ready = string(c.Status)
		if c.Status != metav1.ConditionTrue {
			s.Reason = c.Reason
		}
	}
	if t.Status.LastRotation != nil {
		s.Issued = t.Status.LastRotation.UTC()
		if t.Spec.Rotation != nil {
			s.Rotates = s.Issued.Add(t.Spec.Rotation.Every.Duration)
		}
	}
	if t.Status.ExpiresAt != nil {
		s.Expires = t.Status.ExpiresAt.UTC()
	}
	return s
}

// until returns the time from now to t, or "never" for the zero time.
func until(t, now time.Time) string {
	switch {
	case t.IsZero():
		return "never"
	case !t.After(now):
		return "over"
	}
	return output.Since(now, t)
}
