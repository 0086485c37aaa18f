package verdict

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

// ScopeOf returns what limits the items that a token reads. readOnlyQuery is that of its Property.
func ScopeOf(t *library.Token, readOnlyQuery string) v1alpha1.TokenScope {
	return v1alpha1.TokenScope(t.LimitedBy(readOnlyQuery))
}

// Unrestricted returns the warning about a READ-ONLY token that reads all items of a Property.
func Unrestricted(property string) string {
	return fmt.Sprintf("A web page that contains this token can read the public fields of every item, including items that are pending or rejected: "+
		"set spec.query, or set spec.readOnlyQuery of the Property %q, for example to approval_status:app", property)
}

// SubjectsUnused is the warning about the subjects of an AccessToken on a server without an identity provider.
const SubjectsUnused = "No person can log in to the console through spec.subjects, because the server has no identity provider: " +
	"set --console-oidc-issuer-url of the server, or remove spec.subjects"

// Subjects sets the SubjectsUnused condition of an AccessToken. t is the definition that the server serves. login is true if the server has
// an identity provider.
func Subjects(o *v1alpha1.AccessToken, t *library.Token, login bool) {
	if login || len(t.Subjects) == 0 {
		unset(o, v1alpha1.SubjectsUnusedCondition)
		return
	}
	set(o, v1alpha1.SubjectsUnusedCondition, metav1.ConditionTrue, v1alpha1.ReasonNoIdentityProvider, SubjectsUnused)
}

// Delivering sets the Delivering condition of a Webhook, which is True for ReasonDelivering and False for every other reason.
func Delivering(o *v1alpha1.Webhook, reason, message string) {
	status := metav1.ConditionFalse
	if reason == v1alpha1.ReasonDelivering {
		status = metav1.ConditionTrue
	}
	set(o, v1alpha1.DeliveringCondition, status, reason, message)
}

// Scope sets the scope of an AccessToken, and its Unrestricted condition. t is the definition that the server serves, and readOnlyQuery that
// of its Property.
func Scope(o *v1alpha1.AccessToken, t *library.Token, readOnlyQuery string) {
	o.Status.Scope = ScopeOf(t, readOnlyQuery)
	if t.ReadWrite || o.Status.Scope != v1alpha1.ScopeAllItems {
		unset(o, v1alpha1.UnrestrictedCondition)
		return
	}
	set(o, v1alpha1.UnrestrictedCondition, metav1.ConditionTrue, v1alpha1.ReasonAllItems, Unrestricted(o.PropertyName()))
}
