package admission

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

const (
	// WebhookName is the name of the webhook that the Keeper manages in a ValidatingWebhookConfiguration.
	WebhookName = "validate.vitrine.dev"
	// fieldManager is the name under which the Keeper manages fields.
	fieldManager = "vitrine-webhook"
	// timeoutSeconds is the time limit for a response of the webhook.
	timeoutSeconds = 5
)

// Keeper keeps the CA bundle in a ValidatingWebhookConfiguration current, so that the API server trusts the webhook's certificate.
type Keeper struct {
	// RESTConfig returns the client configuration for the API server. The Keeper calls it before every attempt. Required.
	RESTConfig func() (*rest.Config, error)
	// Name is the name of the ValidatingWebhookConfiguration. Required.
	Name string
	// CABundle is the PEM bundle that verifies the webhook's certificate. Required.
	CABundle []byte
	// URL is the URL at which the API server reaches the webhook, without Path. If it is set, the Keeper writes the whole configuration.
	// Otherwise, a manifest that names a Service provides the configuration, and the Keeper writes only the CA bundle.
	URL string
	// Interval is the time between two checks; 0 means 5 minutes. After a failure, the Keeper retries after Interval/60.
	Interval time.Duration
	// Logger logs failures and changes; the zero value discards these messages.
	Logger logr.Logger
}

// Run checks the configuration every Interval until ctx ends. It retries after a failure. It does not log a failure whose message equals
// that of the previous failure.
func (k *Keeper) Run(ctx context.Context) error {
	if k.RESTConfig == nil || k.Name == "" || len(k.CABundle) == 0 {
		return errors.New("admission: RESTConfig, Name and CABundle are required")
	}
	log := k.Logger
	if log.GetSink() == nil {
		log = logr.Discard()
	}
	interval := cmp.Or(k.Interval, 5*time.Minute)
	told := ""
	for {
		wait := interval
		changed, err := k.Once(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			wait = interval / 60
			if err.Error() != told {
				log.Info("the API server does not call the webhook; only the controllers validate objects", "reason", err.Error())
			}
			told = err.Error()
		case changed:
			log.Info("certificate authority set in the webhook configuration", "configuration", k.Name)
			told = ""
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// Once checks the configuration a single time. It returns true if it had to write the configuration.
func (k *Keeper) Once(ctx context.Context) (bool, error) {
	cfg, err := k.RESTConfig()
	if err != nil {
		return false, fmt.Errorf("find the API server: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := admissionregistrationv1.AddToScheme(scheme); err != nil {
		return false, fmt.Errorf("register the kinds: %w", err)
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return false, fmt.Errorf("reach the API server: %w", err)
	}
	present := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	err = c.Get(ctx, client.ObjectKey{Name: k.Name}, present)
	if apierrors.IsNotFound(err) && k.URL == "" {
		return false, fmt.Errorf("ValidatingWebhookConfiguration %s is missing, apply config/webhook: %w", k.Name, err)
	}
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read ValidatingWebhookConfiguration %s: %w", k.Name, err)
	}
	if k.current(present) {
		return false, nil
	}
	if k.URL == "" && find(present) == nil {
		return false, fmt.Errorf("ValidatingWebhookConfiguration %[1]s has no webhook named %[2]s: apply config/webhook, or add the webhook to it", k.Name, WebhookName)
	}
	// Server-side apply keeps the fields of other field managers. Applying a manifest without a CA bundle therefore keeps the CA bundle.
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(k.wanted()), client.FieldOwner(fieldManager), client.ForceOwnership)
	if err != nil {
		return false, fmt.Errorf("write ValidatingWebhookConfiguration %s: %w", k.Name, err)
	}
	return true, nil
}

func find(c *admissionregistrationv1.ValidatingWebhookConfiguration) *admissionregistrationv1.ValidatingWebhook {
	for i := range c.Webhooks {
		if c.Webhooks[i].Name == WebhookName {
			return &c.Webhooks[i]
		}
	}
	return nil
}

func (k *Keeper) current(c *admissionregistrationv1.ValidatingWebhookConfiguration) bool {
	w := find(c)
	if w == nil || !bytes.Equal(w.ClientConfig.CABundle, k.CABundle) {
		return false
	}
	return k.URL == "" || w.ClientConfig.URL != nil && *w.ClientConfig.URL == k.URL+Path
}

// wanted returns the configuration to apply.
func (k *Keeper) wanted() *unstructured.Unstructured {
	clientConfig := map[string]any{"caBundle": base64.StdEncoding.EncodeToString(k.CABundle)}
	hook := map[string]any{"name": WebhookName, "clientConfig": clientConfig}
	if k.URL != "" {
		clientConfig["url"] = k.URL + Path
		hook["admissionReviewVersions"] = []any{"v1"}
		hook["sideEffects"] = string(admissionregistrationv1.SideEffectClassNone)
		hook["failurePolicy"] = string(admissionregistrationv1.Ignore)
		hook["timeoutSeconds"] = int64(timeoutSeconds)
		hook["rules"] = []any{map[string]any{
			"apiGroups": []any{v1alpha1.GroupVersion.Group}, "apiVersions": []any{v1alpha1.GroupVersion.Version},
			"operations": []any{"CREATE", "UPDATE"}, "resources": []any{"*"}, "scope": string(admissionregistrationv1.NamespacedScope),
		}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": admissionregistrationv1.SchemeGroupVersion.String(),
		"kind":       "ValidatingWebhookConfiguration",
		"metadata":   map[string]any{"name": k.Name},
		"webhooks":   []any{hook},
	}}
}
