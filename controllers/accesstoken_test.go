package controllers_test

import (
	corev1 "k8s.io/api/core/v1"
)

// secret makes a Secret of somebody else's with the key token.
func (w *world) secret(name, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: w.meta(name), Data: map[string][]byte{"token": []byte(value)}}
}
