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
	// WebhookName is the webhook within a ValidatingWebhookConfiguration that is kept.
	WebhookName = "validate.vitrine.dev"
	// fieldManager owns what is written.
	fieldManager = "vitrine-webhook"
	// timeoutSeconds is how long the API server waits for an answer.
	timeoutSeconds = 5
)

// Keeper sees to it that a ValidatingWebhookConfiguration trusts the authority of the webhook's certificate.
type Keeper struct {
	// RESTConfig says how to reach the API server; it is asked again before every try. Required.
	RESTConfig func() (*rest.Config, error)
	// Name is that of the ValidatingWebhookConfiguration. Required.
	Name string
	// CABundle is the authority of the webhook's certificate, in PEM. Required.
	CABundle []byte
	// URL is where the API server finds the webhook, without Path. With one the whole configuration is written; without,
	// the configuration comes from a manifest that names a Service, and its authority alone is written.
	URL string
	// Interval is the time between two looks; 0 means 5 minutes. After a failure it is a sixtieth of that.
	Interval time.Duration
	// Logger is used for failures and changes; the zero value discards.
	Logger logr.Logger
}

// Run looks until ctx ends. A failure is logged when it is another one than before, and tried again.
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
				log.Info("the webhook is not called; manifests are judged by the controllers alone", "reason", err.Error())
			}
			told = err.Error()
		case changed:
			log.Info("the webhook's configuration trusts our authority", "configuration", k.Name)
			told = ""
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// Once looks once, and reports whether something had to be written.
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
		return false, fmt.Errorf("apply ValidatingWebhookConfiguration %s (config/webhook): %w", k.Name, err)
	}
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read ValidatingWebhookConfiguration %s: %w", k.Name, err)
	}
	if k.current(present) {
		return false, nil
	}
	if k.URL == "" && find(present) == nil {
		return false, fmt.Errorf("give ValidatingWebhookConfiguration %s a webhook named %s (config/webhook)", k.Name, WebhookName)
	}
	// Server-side apply: whoever else manages the object keeps what is theirs, and a manifest that leaves the authority out
	// does not take it away.
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

// wanted is what is written.
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
