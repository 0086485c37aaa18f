// Package admission validates objects when they are applied. It refuses a spec that its controller would refuse, with the same message, and
// warns of probable mistakes. If the API server cannot reach the webhook, it admits objects without this validation, so the controllers
// also report invalid specs.
//
// Invariants: the package judges each object separately. It never checks whether another object exists, because manifests may arrive in any
// order. It never modifies an object. It always admits an update that does not change the spec, so that users can still edit the metadata
// of an object with an invalid spec.
//
// This package may import api, verdict, internal/text and the domain.
package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// Path is the URL path of the handler. A ValidatingWebhookConfiguration contains it.
const Path = "/validate"

// maxWarning is the maximum length of a warning, in characters. The API server truncates the warnings of a request if their total length is
// too large.
const maxWarning = 250

// budget is the time limit for the query that checks whether any item matches. A query that exceeds it causes no warning.
const budget = 2 * time.Second

// Options configures a handler.
type Options struct {
	// Library is the library in which the handler runs the queries of objects. Required.
	Library library.Library
	// Logger logs requests that cannot be read; the zero value discards these messages.
	Logger logr.Logger
	// Metrics registers this package's metrics; nil registers none.
	Metrics prometheus.Registerer
}

// New returns a handler that serves AdmissionReviews of the five kinds at Path.
func New(o Options) (http.Handler, error) {
	if o.Library == nil {
		return nil, errors.New("admission: Library is required")
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	j := &judge{options: o, reviews: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "vitrine_admission_reviews_total", Help: "Admission reviews, by kind and outcome: allowed, warned, refused or failed.",
	}, []string{"kind", "outcome"})}
	if o.Metrics != nil {
		if err := o.Metrics.Register(j.reviews); err != nil {
			return nil, fmt.Errorf("register the metrics of admission: %w", err)
		}
	}
	hook, err := webhook.StandaloneWebhook(&webhook.Webhook{Handler: j}, webhook.StandaloneOptions{Logger: o.Logger})
	if err != nil {
		return nil, fmt.Errorf("create the webhook: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST "+Path, hook)
	return mux, nil
}

type judge struct {
	options Options
	reviews *prometheus.CounterVec
}

// Outcomes of a review.
const (
	allowed = "allowed"
	warned  = "warned"
	refused = "refused"
	failed  = "failed"
)

// Handle implements admission.Handler.
func (j *judge) Handle(ctx context.Context, r webhook.Request) webhook.Response {
	kind := r.Kind.Kind
	o := v1alpha1.NewObject(kind)
	if o == nil || r.Kind.Group != v1alpha1.GroupVersion.Group {
		return webhook.Allowed("") // a configuration may also send objects of other kinds
	}
	outcome, response := j.review(ctx, r, o)
	j.reviews.WithLabelValues(kind, outcome).Inc()
	return response
}

func (j *judge) review(ctx context.Context, r webhook.Request, o v1alpha1.Object) (string, webhook.Response) {
	if r.Operation != admissionv1.Create && r.Operation != admissionv1.Update {
		return allowed, webhook.Allowed("")
	}
	if err := json.Unmarshal(r.Object.Raw, o); err != nil {
		return failed, webhook.Errored(http.StatusBadRequest, fmt.Errorf("read the object: %w", err))
	}
	if !o.GetDeletionTimestamp().IsZero() || r.Operation == admissionv1.Update && sameSpec(r.OldObject, r.Object) {
		return allowed, webhook.Allowed("")
	}
	o.SetNamespace(r.Namespace)
	judgement, err := verdict.Judge(o)
	var refusal *verdict.Refusal
	if errors.As(err, &refusal) {
		return refused, webhook.Denied(refusal.Error())
	}
	if err != nil {
		return failed, webhook.Errored(http.StatusInternalServerError, err)
	}
	member, _ := v1alpha1.QueryOf(o)
	var warnings []string
	for _, w := range judgement.Warnings {
		warnings = append(warnings, text.Cut(member+": "+w.Message, maxWarning))
	}
	if j.matchesNothing(ctx, judgement.Definition) {
		warnings = append(warnings, text.Cut(member+": no item matches this query now", maxWarning))
	}
	if len(warnings) == 0 {
		return allowed, webhook.Allowed("")
	}
	return warned, webhook.Allowed("").WithWarnings(warnings...)
}

// sameSpec reports whether an update leaves the spec unchanged.
func sameSpec(was, is runtime.RawExtension) bool {
	var before, after struct {
		Spec any `json:"spec"`
	}
	if json.Unmarshal(was.Raw, &before) != nil || json.Unmarshal(is.Raw, &after) != nil {
		return false
	}
	return equality.Semantic.DeepEqual(before, after)
}

// matchesNothing reports whether a definition selects items with a query that matches no item. It returns false if the property does not
// exist yet or if the query takes too long.
func (j *judge) matchesNothing(ctx context.Context, d library.Definition) bool {
	text := ""
	switch {
	case d.Filter != nil:
		text = d.Filter.Query
	case d.Tag != nil:
		text = d.Tag.Selector
	case d.Unit != nil:
		text = d.Unit.Selector
	}
	if text == "" {
		return false
	}
	parsed, err := query.ParseFor(text, query.Private)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	page, err := j.options.Library.Read(ctx, library.Read{Property: d.Property, Audience: query.Private, Query: parsed.Root})
	return err == nil && page.Total == 0
}
