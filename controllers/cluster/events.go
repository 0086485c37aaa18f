package cluster

import (
	"context"
	"fmt"
	"net/http"

	eventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
)

// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// eventRate and eventBurst limit the Events that are written per second, as in a kubelet. If ten thousand objects become Ready at once,
// their Events are delayed and do not compete with the reconciles.
const (
	eventRate  = 50
	eventBurst = 100
)

// reportingController is the name of this operator in Events.
const reportingController = "vitrine"

// startEvents starts a broadcaster of Events. To stop it, the caller must end ctx and call Shutdown.
func startEvents(ctx context.Context, cfg *rest.Config, c *http.Client) (events.EventBroadcaster, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst, cfg.RateLimiter = eventRate, eventBurst, nil
	sink, err := eventsv1.NewForConfigAndClient(cfg, c)
	if err != nil {
		return nil, fmt.Errorf("create a client for Events: %w", err)
	}
	b := events.NewBroadcaster(&events.EventSinkImpl{Interface: sink})
	if err := b.StartRecordingToSinkWithContext(ctx); err != nil {
		b.Shutdown()
		return nil, fmt.Errorf("record Events: %w", err)
	}
	return b, nil
}
