package tokens

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
)

// The keys of a Secret that the operator writes: the token's value, the base of the HTTP interface and, where the server made its
// own certificate, the certificate of its authority in PEM.
const (
	ValueKey = "token"
	URLKey   = "url"
	CAKey    = "ca.crt"
)

const (
	// Label is on every Secret that the operator caches and watches: those that it writes, and those existingSecrets on which a user
	// puts it, with the name of the AccessToken (63 characters at most), so that a change of the value is noticed at once. The
	// operator reads a Secret without it once a minute.
	Label = "vitrine.dev/access-token"
	// StoreAnnotation names the store of the operator that writes the Secret.
	StoreAnnotation = "vitrine.dev/store"
	// issuedAnnotation holds the time at which the value was issued, RFC 3339.
	issuedAnnotation = "vitrine.dev/issued-at"
)

// Secret returns what the Secret that the operator writes has to contain, and whether s.Secret differs from it. url is the base of
// the HTTP interface, and ca the authority of its certificate in PEM, "" where the operator knows none.
func Secret(s Subject, v Value, url, ca string) (secret *corev1.Secret, changed bool) {
	o := s.Token
	if secret = s.Secret.DeepCopy(); secret == nil {
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: SecretName(o),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.AccessTokenKind, Name: o.Name, UID: o.UID,
				Controller: new(true), BlockOwnerDeletion: new(false),
			}},
		}}
	}
	changed = set(&secret.Labels, Label, labelValue(o.Name))
	changed = set(&secret.Annotations, StoreAnnotation, s.Store) || changed
	changed = set(&secret.Annotations, issuedAnnotation, v.Issue.At.UTC().Format(time.RFC3339)) || changed
	for key, want := range map[string]string{ValueKey: v.Text, URLKey: url, CAKey: ca} {
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

// labelValue is the value of Label for an AccessToken: its name, cut to what a label can hold. Nothing is looked up by it on a Secret
// that the operator writes, which names its AccessToken as its controller.
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
