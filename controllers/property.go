package controllers

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/counts"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/controllers/verdict"
	"github.com/vitrine-dev/vitrine/server/library"
)

// +kubebuilder:rbac:groups=vitrine.dev,resources=properties,verbs=get;list;watch
// +kubebuilder:rbac:groups=vitrine.dev,resources=properties/status,verbs=patch

func propertyKind() kind {
	return kind{
		identity: identify(library.KindProperty),
		report:   reportServing, frozen: reportServing, count: countProperty,
	}
}

// reportServing returns a refusal if the library cannot serve the Property, whatever the cause. A Property that was served before stays
// Ready for PropertyGrace.
func reportServing(ctx context.Context, p *pass) error {
	id := translate.PropertyID(p.object)
	trouble := p.Library.State(ctx).Serving(id)
	if trouble != nil && verdict.Ready(p.object).Status == metav1.ConditionTrue {
		if end := p.serving.interrupted(id, p.Clock()).Add(p.PropertyGrace); p.Clock().Before(end) {
			p.interrupted = true
			p.wake(end)
			return nil
		}
	}
	p.serving.report(id, trouble)
	if trouble != nil {
		return verdict.NotServed(*trouble)
	}
	return nil
}

func countProperty(ctx context.Context, l *counts.Look, o v1alpha1.Object) (bool, error) {
	n, err := l.Property(ctx, translate.PropertyID(o))
	if err != nil {
		return false, err
	}
	return counts.Set(&o.(*v1alpha1.Property).Status.Items, n), nil
}
