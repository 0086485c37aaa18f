package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/internal/cli/connect"
	"github.com/vitrine-dev/vitrine/internal/cli/output"
	"github.com/vitrine-dev/vitrine/internal/text"
)

type statusOptions struct {
	cluster connect.Cluster
	output  output.Format
}

func newStatus() *cobra.Command {
	o := &statusOptions{}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how many objects are served, and why others are not",
		Long:  `Show how many objects of each kind exist and how many are served. For each object that is not served, show the reason.`,
		Example: example(`
# The objects of one namespace
kubectl vitrine status -n shop

# The objects of all namespaces, as JSON
kubectl vitrine status -A -o json`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.cluster.BindAll(cmd)
	o.output.Bind(cmd.Flags())
	return cmd
}

// clusterStatus is the output of status.
type clusterStatus struct {
	Kinds    []kindStatus   `json:"kinds"`
	Notable  []objectStatus `json:"notable"`
	Items    int64          `json:"items"`
	asOf     time.Time
	allOfAll bool
}

type kindStatus struct {
	Kind      string `json:"kind"`
	Total     int    `json:"total"`
	Ready     int    `json:"ready"`
	Suspended int    `json:"suspended"`
	Advised   int    `json:"advised"`
}

// objectStatus is an object that needs a user's attention.
type objectStatus struct {
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Ready     string    `json:"ready"`
	Reason    string    `json:"reason"`
	Since     time.Time `json:"since,omitzero"`
	Message   string    `json:"message"`
}

func (o *statusOptions) run(cmd *cobra.Command) error {
	if err := o.output.Validate(); err != nil {
		return err
	}
	k, namespace, err := o.cluster.Open()
	if err != nil {
		return err
	}
	s, err := statusOf(cmd.Context(), k, namespace)
	if err != nil {
		return err
	}
	return o.output.Show(cmd.OutOrStdout(), s, s.table)
}

func statusOf(ctx context.Context, k kube.Client, namespace string) (*clusterStatus, error) {
	s := &clusterStatus{Notable: []objectStatus{}, asOf: time.Now(), allOfAll: namespace == ""}
	for _, kind := range v1alpha1.Kinds() {
		objects, err := connect.Listed[v1alpha1.Object](ctx, k, kind.NewList(), namespace)
		if err != nil {
			return nil, err
		}
		counts := kindStatus{Kind: kind.Name, Total: len(objects)}
		for _, o := range objects {
			s.add(&counts, o)
		}
		s.Kinds = append(s.Kinds, counts)
	}
	none := !slices.ContainsFunc(s.Kinds, func(k kindStatus) bool { return k.Total > 0 })
	if namespace != "" && none {
		// Ignore any other error: a user who may not read namespaces sees an empty status.
		if err := k.Get(ctx, kube.ObjectKey{Name: namespace}, &corev1.Namespace{}); apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("namespace %q does not exist: check --namespace and --context", namespace)
		}
	}
	return s, nil
}

func (s *clusterStatus) add(counts *kindStatus, o v1alpha1.Object) {
	if p, ok := o.(*v1alpha1.Property); ok && p.Status.Items != nil {
		s.Items += *p.Status.Items
	}
	state := v1alpha1.StateOf(o)
	if state.Phase == v1alpha1.PhaseSuspended {
		counts.Suspended++
	}
	if state.Advised {
		counts.Advised++
	}
	if state.Current {
		counts.Ready++
		if state.Tells.Type == v1alpha1.ReadyCondition {
			return
		}
	}
	tells := state.Tells
	if tells == nil {
		tells = &metav1.Condition{Reason: "NotSeen", Message: "No operator has processed this object yet. Check that an operator runs and watches this namespace. If the Property of the object is missing, the operator reports it only after 30 seconds."}
	}
	s.Notable = append(s.Notable, objectStatus{
		Kind: counts.Kind, Namespace: o.GetNamespace(), Name: o.GetName(), Ready: string(state.Ready),
		Reason: tells.Reason, Since: tells.LastTransitionTime.Time, Message: tells.Message,
	})
}

func (s *clusterStatus) table(w io.Writer) error {
	var rows [][]string
	for _, k := range s.Kinds {
		rows = append(rows, []string{k.Kind, strconv.Itoa(k.Total), strconv.Itoa(k.Ready), strconv.Itoa(k.Suspended), strconv.Itoa(k.Advised)})
	}
	if err := output.Columns(w, []string{"KIND", "TOTAL", "READY", "SUSPENDED", "WARNINGS"}, rows); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s items\n", text.Thousands(s.Items))
	if len(s.Notable) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	rows = nil
	for _, o := range s.Notable {
		name := o.Name
		if s.allOfAll {
			name = o.Namespace + "/" + o.Name
		}
		rows = append(rows, []string{o.Kind, name, o.Ready, o.Reason, output.Since(o.Since, s.asOf), text.Cut(o.Message, 200)})
	}
	return output.Columns(w, []string{"KIND", "NAME", "READY", "REASON", "SINCE", "MESSAGE"}, rows)
}
