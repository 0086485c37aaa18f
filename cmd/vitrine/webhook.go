package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/internal/cli/connect"
	"github.com/vitrine-dev/vitrine/internal/cli/output"
	"github.com/vitrine-dev/vitrine/internal/exit"
)

func newWebhook() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Test a Webhook, or send changes to its receiver again",
		Long: `Test a Webhook, or send changes to its receiver again. The commands set an annotation of the object, and wait until the operator has
responded in the status. You need permission to get and patch Webhooks.`,
		Example: example(`
kubectl vitrine webhook test moderator -n shop
kubectl vitrine webhook replay moderator --since 2h -n shop`),
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(newWebhookTest(), newWebhookReplay())
	return cmd
}

// webhookRequest is a request to the operator, which the command passes on in an annotation of a Webhook.
type webhookRequest struct {
	cluster connect.Cluster
	output  output.Format
	timeout time.Duration
}

func (r *webhookRequest) bind(cmd *cobra.Command) {
	cmd.Args = cobra.ExactArgs(1)
	r.cluster.Bind(cmd)
	r.output.Bind(cmd.Flags())
	cmd.ValidArgsFunction = first(r.cluster.Suggest(&v1alpha1.WebhookList{}))
	cmd.Flags().DurationVar(&r.timeout, "timeout", time.Minute, "how long to wait for the operator")
}

func newWebhookTest() *cobra.Command {
	r := &webhookRequest{}
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Send a signed test delivery to the receiver of a Webhook",
		Long: `Send a delivery of the type content.test, which is signed and contains no changes, and show the response. The server sends it at once,
even if it waits after a failed delivery or if the receiver has stopped the deliveries. The other deliveries continue as before. If the
receiver does not accept the test, the exit code is 1.`,
		Example: example(`
# Can the server reach the receiver, and does the receiver accept the signature?
kubectl vitrine webhook test moderator -n shop`),
		RunE: func(cmd *cobra.Command, args []string) error { return r.test(cmd, args[0]) },
	}
	r.bind(cmd)
	return cmd
}

func (r *webhookRequest) test(cmd *cobra.Command, name string) error {
	value := time.Now().UTC().Format(time.RFC3339Nano)
	o, err := r.ask(cmd, name, v1alpha1.TestAnnotation, value, func(s v1alpha1.WebhookStatus) bool {
		return s.LastTest != nil && s.LastTest.Request == value
	})
	if err != nil {
		return err
	}
	outcome := *o.Status.LastTest
	if err := r.output.Show(cmd.OutOrStdout(), outcome, func(w io.Writer) error {
		if outcome.Problem != "" {
			return nil // execute prints the error
		}
		_, err := fmt.Fprintf(w, "the receiver of Webhook %s/%s accepted the test\n", o.Namespace, o.Name)
		return err
	}); err != nil {
		return err
	}
	if outcome.Problem != "" {
		return fmt.Errorf("the test of Webhook %s/%s failed: %s", o.Namespace, o.Name, outcome.Problem)
	}
	return nil
}

func newWebhookReplay() *cobra.Command {
	r, since := &webhookRequest{}, time.Duration(0)
	cmd := &cobra.Command{
		Use:   "replay NAME",
		Short: "Send the changes of the last hours to the receiver of a Webhook again",
		Long: `Send the changes since a time to the receiver again, for example because it has lost deliveries. The server begins at the last
position that it recorded before this time, so it also sends some older changes. It sends each item as it is now. If it recorded no
position before this time, it sends a reset, and the receiver has to list the items. The server makes the next attempt immediately,
even after a failed delivery or if the receiver has stopped the deliveries.`,
		Example: example(`
# The receiver lost what it got in the last two hours
kubectl vitrine webhook replay moderator --since 2h -n shop`),
		RunE: func(cmd *cobra.Command, args []string) error { return r.replay(cmd, args[0], since) },
	}
	r.bind(cmd)
	cmd.Flags().DurationVar(&since, "since", time.Hour, "how far to go back")
	return cmd
}

func (r *webhookRequest) replay(cmd *cobra.Command, name string, since time.Duration) error {
	if since <= 0 {
		return exit.Usagef("--since %v: must be more than 0s", since)
	}
	value := time.Now().Add(-since).UTC().Format(time.RFC3339Nano)
	o, err := r.ask(cmd, name, v1alpha1.ReplaySinceAnnotation, value, func(s v1alpha1.WebhookStatus) bool {
		return s.LastReplay != nil && s.LastReplay.Request == value
	})
	if err != nil {
		return err
	}
	begun := *o.Status.LastReplay
	return r.output.Show(cmd.OutOrStdout(), begun, func(w io.Writer) error {
		what := "a reset, because it does not know what it had sent before that time"
		if begun.From != nil {
			what = "all changes since " + begun.From.UTC().Format(time.RFC3339) + " again"
		}
		_, err := fmt.Fprintf(w, "the server sends the receiver of Webhook %s/%s %s\n", o.Namespace, o.Name, what)
		return err
	})
}

// ask sets an annotation of a Webhook, and waits until the status answers it. It returns the object with that status.
func (r *webhookRequest) ask(cmd *cobra.Command, name, annotation, value string, answered func(v1alpha1.WebhookStatus) bool) (*v1alpha1.Webhook, error) {
	if err := r.output.Validate(); err != nil {
		return nil, err
	}
	k, namespace, err := r.cluster.Open()
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{annotation: value}}})
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	o := &v1alpha1.Webhook{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := k.Patch(cmd.Context(), o, kube.RawPatch(types.MergePatchType, patch)); apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("namespace %[2]s has no Webhook %[1]s: run kubectl get webhooks.vitrine.dev -n %[2]s, or select another namespace with -n", name, namespace)
	} else if err != nil {
		return nil, fmt.Errorf("annotate Webhook %s/%s: %w", namespace, name, err)
	}
	const interval = 500 * time.Millisecond
	err = wait.PollUntilContextTimeout(cmd.Context(), interval, r.timeout, true, func(context.Context) (bool, error) {
		// Do not use the context of the poll: close to its deadline, the rate limiter of the client returns an error of its own.
		if err := k.Get(cmd.Context(), kube.ObjectKeyFromObject(o), o); err != nil {
			return false, fmt.Errorf("read Webhook %s/%s: %w", namespace, name, err)
		}
		return answered(o.Status), nil
	})
	switch {
	case cmd.Context().Err() != nil:
		return nil, cmd.Context().Err()
	case !wait.Interrupted(err):
		return o, err
	}
	if ready := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ReadyCondition); ready != nil && ready.Status == metav1.ConditionFalse {
		return nil, fmt.Errorf("the operator did not respond within %v, and Webhook %s/%s is not ready: %s", r.timeout, namespace, name, ready.Message)
	}
	return nil, fmt.Errorf("the operator did not respond within %v: check that one of this version runs and watches namespace %s, or increase --timeout", r.timeout, namespace)
}
