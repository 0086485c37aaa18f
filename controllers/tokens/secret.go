package tokens

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

// Keys of a Secret that the operator writes: the token's value, the base URL of the HTTP interface and, if the server made its own
// certificate, the CA certificate in PEM.
const (
	ValueKey = "token"
	URLKey   = "url"
	CAKey    = "ca.crt"
)

const (
	// Label marks the Secrets that the operator caches and watches: the Secrets that it writes, and the existing Secrets to which users add
	// this label with the name of the AccessToken (63 characters at most). The operator sees a changed value in a labeled Secret at once. It
	// reads the Secrets in spec.existingSecret that lack the label once a minute.
	Label = "vitrine.dev/access-token"
	// StoreAnnotation contains the name of the store whose operator writes the Secret.
	StoreAnnotation = "vitrine.dev/store"
	// issuedAnnotation contains the time at which the value was issued, in the format of RFC 3339.
	issuedAnnotation = "vitrine.dev/issued-at"
)

// Secret returns the desired Secret, and true if s.Secret differs from it. url is the base URL of the HTTP interface. ca is the CA
// certificate in PEM, or "" if there is none.
func Secret(s Subject, v Value, url, ca string) (secret *corev1.Secret, changed bool) {
	secret, changed = s.written(SecretName(s.Token), v.Issue.At, map[string]string{ValueKey: v.Text, URLKey: url, CAKey: ca})
	return secret, set(&secret.Labels, Label, labelValue(s.Token.Name)) || changed
}

// written returns the desired Secret with a name, the time of issue of its value, and data, and true if s.Secret differs from it. An empty
// value in data means that the Secret does not have the key.
func (s Subject) written(name string, issued time.Time, data map[string]string) (secret *corev1.Secret, changed bool) {
	o := s.object()
	if secret = s.Secret.DeepCopy(); secret == nil {
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: o.GetNamespace(), Name: name,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: s.kind(), Name: o.GetName(), UID: o.GetUID(),
				Controller: new(true), BlockOwnerDeletion: new(false),
			}},
		}}
	}
	changed = set(&secret.Annotations, StoreAnnotation, s.Store)
	changed = set(&secret.Annotations, issuedAnnotation, issued.UTC().Format(time.RFC3339)) || changed
	for key, want := range data {
		is, there := secret.Data[key]
		switch {
		case string(is) == want && there == (want != ""):
			continue
		case want == "":
			delete(secret.Data, key)
		case secret.Data == nil:
			secret.Data = map[string][]byte{key: []byte(want)}
		default:
			secret.Data[key] = []byte(want)
		}
		changed = true
	}
	return secret, changed
}

// labelValue returns the value of Label for an AccessToken: its name, truncated to the maximum length of a label value. A truncated name
// causes no ambiguity, because a Secret that the operator writes names its AccessToken as its controller.
func labelValue(name string) string {
	if len(name) > validation.LabelValueMaxLength {
		name = strings.TrimRight(name[:validation.LabelValueMaxLength], "-.")
	}
	return name
}

func set(m *map[string]string, key, value string) bool {
	if (*m)[key] == value {
		return false
	}
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[key] = value
	return true
}
