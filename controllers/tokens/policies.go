package tokens

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
)

// policy returns the refusal to use a Secret, or nil to leave the decision to the next policy in the chain.
type policy func(Subject) *verdict.Refusal

// own returns the chain for a Secret that the operator writes.
func own() []policy { return []policy{leftBehind, foreign, otherStore} }

// existing returns the chain for the Secret in spec.existingSecret, which the operator only reads.
func existing() []policy { return []policy{absent, unusable} }

// leftBehind refuses the Secret of a deleted object of the same name until the garbage collector has deleted that Secret. A GitOps
// tool can recreate an object before the garbage collector has deleted the Secret of the deleted one.
func leftBehind(s Subject) *verdict.Refusal {
	if s.Secret == nil {
		return nil
	}
	c := metav1.GetControllerOf(s.Secret)
	if c == nil || c.Kind != s.kind() || c.Name != s.object().GetName() || c.UID == s.object().GetUID() {
		return nil
	}
	return &verdict.Refusal{
		Reason: v1alpha1.ReasonSecretConflict, Waiting: true,
		Cure:    "wait until Kubernetes deletes the Secret, or delete it yourself if the cluster has no garbage collector",
		Problem: fmt.Sprintf("Secret %s belongs to a deleted %s of the same name", s.Secret.Name, s.kind()),
	}
}

// foreign refuses a Secret that does not belong to the object.
func foreign(s Subject) *verdict.Refusal {
	if s.Secret == nil || metav1.IsControlledBy(s.Secret, s.object()) {
		return nil
	}
	cure := "choose another spec.secretName, or delete the Secret"
	if s.Webhook != nil {
		cure = "delete the Secret, or create the Webhook with another name"
	}
	return verdict.Conflict(v1alpha1.ReasonSecretConflict, cure,
		fmt.Sprintf("Secret %s does not belong to this %s, so the operator does not change it", s.Secret.Name, s.kind()))
}

// otherStore refuses a Secret that the operator of another store writes, so that two operators never write the same Secret.
func otherStore(s Subject) *verdict.Refusal {
	other, _ := Writer(s)
	if other == "" || other == s.Store {
		return nil
	}
	return verdict.Conflict(v1alpha1.ReasonSecretConflict,
		fmt.Sprintf("stop one of them, or run kubectl annotate secret -n %s %s %s- to hand the Secret over",
			s.Secret.Namespace, s.Secret.Name, StoreAnnotation),
		fmt.Sprintf("the operator with store %s writes this Secret, and this operator has store %s", other, s.Store))
}

// absent refuses spec.existingSecret until the Secret exists and contains the key.
func absent(s Subject) *verdict.Refusal {
	ref := s.existing()
	if s.Secret != nil {
		if _, ok := s.Secret.Data[ref.Key]; ok {
			return nil
		}
	}
	return &verdict.Refusal{
		Reason: v1alpha1.ReasonSecretNotFound, Waiting: true,
		Cure: "create the Secret, or add the key", Problem: fmt.Sprintf("Secret %s does not exist or has no key %s", ref.Name, ref.Key),
	}
}

// unusable refuses a value that cannot be a token or a signing secret.
func unusable(s Subject) *verdict.Refusal {
	ref := s.existing()
	_, err := translate.TokenText(s.Secret.Data[ref.Key])
	if s.Webhook != nil {
		_, err = parseKeys(string(s.Secret.Data[ref.Key]))
	}
	if err == nil {
		return nil
	}
	return &verdict.Refusal{
		Reason: v1alpha1.ReasonSecretInvalid, Cure: "change the value",
		Problem: fmt.Sprintf("key %s of Secret %s: %s", ref.Key, ref.Name, err), Cause: err,
	}
}

// Expired returns a *verdict.Refusal if a token value that expires at the given time has expired. If the time is zero, the value never
// expires. cure tells the user what to do.
func Expired(at, now time.Time, cure string) error {
	if at.IsZero() || at.After(now) {
		return nil
	}
	return &verdict.Refusal{
		Reason: v1alpha1.ReasonExpired, Cure: cure, Problem: "the value expired at " + at.UTC().Format(time.RFC3339),
	}
}
