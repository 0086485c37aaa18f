package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/counts"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// pass is one reconcile of one object.
type pass struct {
	*Set
	kind       kind
	object     v1alpha1.Object
	def        library.Definition
	warnings   []query.Warning
	result     library.Result
	credential credential // set only for an AccessToken
	signing    signing    // set only for a Webhook
	// after is the time by which the object has to be reconciled again. Zero means that no time is set.
	after time.Time
	// announcement is sent as an event after the status was written.
	announcement announcement
	// quiet suppresses the status write and the event while the object waits for something that is expected to happen soon.
	quiet bool
	// interrupted is true for a Property that the library does not serve, but whose grace period has not ended. Its items cannot be counted.
	interrupted bool
}

// announcement is a change that an event reports in addition to changes of the Ready condition.
type announcement struct{ reason, message string }

// wake ensures that the object is reconciled again by the time t. The zero time has no effect.
func (p *pass) wake(t time.Time) {
	if !t.IsZero() && (p.after.IsZero() || t.Before(p.after)) {
		p.after = t
	}
}

// translate sets the definition that the object declares.
func (p *pass) translate(ctx context.Context) (err error) {
	if p.kind.translate != nil {
		return p.kind.translate(ctx, p)
	}
	p.def, p.warnings, err = translate.Object(p.Install, p.object)
	return err
}

// serve applies the object's spec to the library, and then updates the object's status in memory.
func (p *pass) serve(ctx context.Context) error {
	if err := p.translate(ctx); err != nil {
		return err
	}
	if err := p.apply(ctx); err != nil {
		return err
	}
	if p.kind.report != nil {
		if err := p.kind.report(ctx, p); err != nil {
			return err
		}
	}
	if p.kind.count == nil || p.interrupted {
		return nil
	}
	_, err := p.kind.count(ctx, &counts.Look{Library: p.Library, Clock: p.Clock}, p.object)
	return err
}

// apply stores the definition.
func (p *pass) apply(ctx context.Context) error {
	property, owner := p.def.Property, p.def.Owner
	p.waiters.add(property, owner)
	if owner.Kind == library.KindToken {
		p.waiters.add(anyProperty, owner)
	}
	results, err := p.Library.Apply(ctx, []library.Definition{p.def})
	if err != nil {
		return fmt.Errorf("store the definition: %w", err)
	}
	p.result = results[0]
	if errors.Is(p.result.Err, library.ErrNoProperty) {
		// A guest gets no grace: its grant may have ended, and its status must then show no more counts.
		if end := p.waiters.misses(owner, p.Clock()).Add(p.PropertyGrace); !v1alpha1.Guest(p.object) && p.Clock().Before(end) {
			p.quiet = true
			p.wake(end)
		}
	} else {
		p.waiters.found(owner)
	}
	if conflict := (*library.ConflictError)(nil); !errors.As(p.result.Err, &conflict) {
		p.waiters.remove(anyProperty, owner)
	} else if owner.Kind == library.KindToken {
		p.wake(p.Clock().Add(secretInterval)) // because the holder of the value may release it without requeuing this token
	}
	if p.result.Err != nil {
		p.wakeRivals(property, owner)
		return p.result.Err
	}
	p.waiters.remove(property, owner)
	if !p.result.Changed {
		return nil
	}
	return p.wakeOthers(ctx, property, owner, p.result.Displaced)
}

// base returns the base URL of a property.
func (s *Set) base(p library.PropertyID) string {
	if settings, err := s.Library.Property(p); err == nil && settings.ExternalURL != "" {
		return settings.ExternalURL
	}
	return s.ExternalURL
}
