// Package admission validates objects when they are applied. It refuses a spec that its controller would refuse, with the same message, and
// warns of probable mistakes. If the API server cannot reach the webhook, it admits objects without this validation, so the controllers
// also report invalid specs.
//
// Invariants: the answer to a review depends only on the review itself. The package has no access to a library, to tokens or to the API
// server, because the API server calls webhooks without credentials by default, so anyone who can reach the port can send reviews. The
// package therefore never checks whether another object exists, which it must not do anyway, because manifests may arrive in any order. It
// never modifies an object. It always admits an update that does not change the spec, so that users can still edit the metadata of an
// object with an invalid spec. The size, the number and the duration of concurrent reviews are limited.
//
// This package may import api, verdict and internal/text.
package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/internal/text"
)

// Path is the URL path of the handler. A ValidatingWebhookConfiguration contains it.
const Path = "/validate"

// These limits bound the cost of reviews, because everyone who can reach the port can send them. maxWait and maxRead together are shorter
// than timeoutSeconds, so that the API server receives an answer.
const (
	// maxBody is the maximum size of a review, in bytes. A review of an update contains two objects, and etcd by default stores no object
	// larger than 1.5 MiB.
	maxBody = 3 << 20
	// maxSpec is the maximum size of the spec in a review, in bytes. A spec that the server can use is smaller. Decoding a hostile spec can
	// need more than 30 times its size in memory.
	maxSpec = 512 << 10
	// maxRequests is the maximum number of requests whose bodies are in memory. It is larger than maxReviews, so that callers who send their
	// reviews slowly do not keep others waiting.
	maxRequests = 32
	// maxReviews is the maximum number of concurrent reviews. Most reviews take less than a millisecond, but a pattern that is expensive to
	// compile can occupy a processor for much longer.
	maxReviews = 2
	// maxRead is how long a request waits for its body.
	maxRead = 2 * time.Second
	// maxWait is how long a request then waits for other reviews.
	maxWait = 2 * time.Second
)

// maxWarning is the maximum length of a warning, in characters. The API server truncates the warnings of a request if their total length is
// too large.
const maxWarning = 250

// Options configures a handler.
type Options struct {
	// Logger logs requests that cannot be read; the zero value discards these messages.
	Logger logr.Logger
	// Metrics registers this package's metrics; nil registers none.
	Metrics prometheus.Registerer
}

// New returns a handler that serves AdmissionReviews of the six kinds at Path.
func New(o Options) (http.Handler, error) {
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	h := &handler{
		log: o.Logger, open: make(chan struct{}, maxRequests), running: make(chan struct{}, maxReviews),
		reviews: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vitrine_admission_reviews_total",
			Help: "Admission reviews, by kind and outcome: allowed, warned, refused, failed (unreadable) or dropped (too many at the same time). The kind is empty if it is not known.",
		}, []string{"kind", "outcome"}),
	}
	if o.Metrics != nil {
		if err := o.Metrics.Register(h.reviews); err != nil {
			return nil, fmt.Errorf("register the metrics of admission: %w", err)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("POST "+Path, h)
	return mux, nil
}

// handler reads reviews and answers them.
type handler struct {
	log     logr.Logger
	reviews *prometheus.CounterVec
	// open has an element for each request, and running for each review in progress.
	open, running chan struct{}
}

// Outcomes of a review.
const (
	allowed = "allowed"
	warned  = "warned"
	refused = "refused"
	failed  = "failed"
	dropped = "dropped"
)

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case h.open <- struct{}{}:
		defer func() { <-h.open }()
	default:
		h.drop(w)
		return
	}
	// Ignore an error, which means that the connection supports no deadlines.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(maxRead))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		h.fail(w, fmt.Errorf("read the review: %w", err))
		return
	}
	if !h.begin(r.Context()) {
		h.drop(w)
		return
	}
	defer func() { <-h.running }()
	asked, err := decode(body)
	if err != nil {
		h.fail(w, err)
		return
	}
	answer := &admissionv1.AdmissionResponse{Allowed: true} // a configuration may also send objects of other kinds
	kind := asked.Kind.Kind
	if o := v1alpha1.NewObject(kind); o != nil && asked.Kind.Group == v1alpha1.GroupVersion.Group {
		var outcome string
		outcome, answer = judge(asked, o)
		h.reviews.WithLabelValues(kind, outcome).Inc()
	}
	answer.UID = asked.UID
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{ // an error means that the caller has disconnected
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}, Response: answer,
	})
}

// drop answers a request beyond a limit.
func (h *handler) drop(w http.ResponseWriter) {
	h.reviews.WithLabelValues("", dropped).Inc()
	http.Error(w, "too many reviews at the same time", http.StatusServiceUnavailable)
}

// fail answers a request that is not a review.
func (h *handler) fail(w http.ResponseWriter, err error) {
	h.reviews.WithLabelValues("", failed).Inc()
	h.log.V(1).Info("cannot read a review", "error", err.Error())
	status := http.StatusBadRequest
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		status = http.StatusRequestEntityTooLarge
	}
	http.Error(w, err.Error(), status)
}

// begin waits until fewer than maxReviews reviews are in progress. It returns false if that takes too long.
func (h *handler) begin(ctx context.Context) bool {
	wait := time.NewTimer(maxWait)
	defer wait.Stop()
	select {
	case h.running <- struct{}{}:
		return true
	case <-wait.C:
	case <-ctx.Done():
	}
	return false
}

// request contains the members of an AdmissionRequest that a judgement depends on. The decoder skips all other members, so that they need
// no memory.
type request struct {
	UID       types.UID
	Kind      metav1.GroupVersionKind
	Namespace string
	Operation admissionv1.Operation
	Object    object
	OldObject object
}

// object contains the members of an object that a judgement depends on.
type object struct {
	Metadata metadata        `json:"metadata"`
	Spec     json.RawMessage `json:"spec,omitempty"`
}

type metadata struct {
	Name              string            `json:"name,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	DeletionTimestamp *metav1.Time      `json:"deletionTimestamp,omitempty"`
}

func decode(body []byte) (*request, error) {
	var review struct{ Request *request }
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, fmt.Errorf("decode the review: %w", err)
	}
	if review.Request == nil {
		return nil, errors.New("decode the review: it has no request")
	}
	if n := len(review.Request.Object.Spec); n > maxSpec {
		return nil, fmt.Errorf("a spec of %d bytes exceeds the limit of %d", n, maxSpec)
	}
	return review.Request, nil
}

// judge answers a review of an object. o is an empty object of its kind.
func judge(r *request, o v1alpha1.Object) (outcome string, answer *admissionv1.AdmissionResponse) {
	outcome, answer = allowed, &admissionv1.AdmissionResponse{Allowed: true}
	if r.Operation != admissionv1.Create && r.Operation != admissionv1.Update || r.Object.Metadata.DeletionTimestamp != nil {
		return outcome, answer
	}
	warn := func(w string) {
		outcome, answer.Warnings = warned, append(answer.Warnings, text.Cut(w, maxWarning))
	}
	if _, err := v1alpha1.SourcePath(r.Object.Metadata.Annotations); err != nil {
		warn(err.Error())
	}
	// The API server encodes both objects in the same way, so equal specs have equal bytes.
	if r.Operation == admissionv1.Update && bytes.Equal(r.OldObject.Spec, r.Object.Spec) {
		return outcome, answer
	}
	raw, err := json.Marshal(r.Object)
	if err == nil {
		err = json.Unmarshal(raw, o)
	}
	if err != nil {
		return failed, denied(http.StatusBadRequest, "", "read the object: "+err.Error())
	}
	o.SetNamespace(r.Namespace)
	judgement, err := verdict.Judge(o)
	var refusal *verdict.Refusal
	if errors.As(err, &refusal) {
		return refused, denied(http.StatusForbidden, metav1.StatusReasonForbidden, refusal.Error())
	}
	if err != nil {
		return failed, denied(http.StatusInternalServerError, "", err.Error())
	}
	member, _ := v1alpha1.QueryOf(o)
	for _, w := range judgement.Warnings {
		warn(member + ": " + w.Message)
	}
	return outcome, answer
}

// denied returns an answer that refuses an object.
func denied(code int32, reason metav1.StatusReason, message string) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}
