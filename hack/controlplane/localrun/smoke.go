package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
)

// smoke brings everything up on fresh state, checks each line that a run prints and the tour of README, starts once more
// on the same data, deletes everything and stops.
func smoke(ctx context.Context, root string, out io.Writer) (err error) {
	if _, err := exec.LookPath("curl"); err != nil {
		return fmt.Errorf("smoke runs the printed lines as they are, and they need curl: install it: %w", err)
	}
	state, err := os.MkdirTemp("", "vitrine-smoke-")
	if err != nil {
		return fmt.Errorf("make a directory for the state: %w", err)
	}
	opts := options{root: root, state: state, out: out}
	begin := time.Now()
	defer func() {
		if err == nil {
			os.RemoveAll(state)
			opts.say("smoke: ok, everything stopped, %s", time.Since(begin).Round(time.Second))
			return
		}
		err = fmt.Errorf("smoke: %w\n\nall logs and data are kept in %s", err, state)
		log := filepath.Join(state, "logs", "vitrine.log")
		if _, missing := os.Stat(log); missing == nil {
			err = fmt.Errorf("%w; the end of the server's log:\n%s", err, process.Tail(log, 30))
		}
	}()
	if err := refuseUsedNamespace(ctx, opts); err != nil {
		return err
	}
	if err := smokeFirst(ctx, opts); err != nil {
		return err
	}
	return smokeAgain(ctx, opts)
}

// refuseUsedNamespace keeps smoke, which deletes what it applied, away from a namespace that somebody uses.
func refuseUsedNamespace(ctx context.Context, opts options) error {
	if os.Getenv("KUBECONFIG") == "" {
		return nil
	}
	s := &stack{options: opts}
	if err := s.startPlane(ctx); err != nil {
		return err
	}
	found, err := s.cluster.run(ctx, "", "get", "namespace", namespace, "--ignore-not-found", "-o", "name")
	if err != nil {
		return err
	}
	if found != "" {
		return fmt.Errorf("the cluster of KUBECONFIG has a namespace %s already, and smoke deletes what is in it: unset KUBECONFIG, or remove the namespace", namespace)
	}
	return nil
}

// smokeFirst is the first start: the printed lines, and the tour.
func smokeFirst(ctx context.Context, opts options) error {
	s, err := bringUp(ctx, opts)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.report(ctx); err != nil {
		return err
	}
	opts.say("")
	if err := s.awaitCounts(ctx, 30*time.Second); err != nil {
		return fmt.Errorf("the counts in the status of the objects: %w", err)
	}
	if err := s.checkLines(ctx); err != nil {
		return err
	}
	if err := s.walkReadme(ctx); err != nil {
		return err
	}
	return s.Err()
}

// smokeAgain is a second start on the same data; at its end everything is deleted.
func smokeAgain(ctx context.Context, opts options) error {
	begin := time.Now()
	s, err := bringUp(ctx, opts)
	if err != nil {
		return fmt.Errorf("start again on the same data: %w", err)
	}
	defer s.stop()
	if err := s.checkLines(ctx); err != nil {
		return fmt.Errorf("after a second start: %w", err)
	}
	opts.say("ok: a second start on the same data, %s", time.Since(begin).Round(100*time.Millisecond))
	if err := s.walkUnits(ctx); err != nil {
		return err
	}
	return s.walkEnd(ctx)
}

// checkLines runs each printed line as a user's shell would, and checks what it answers.
func (s *stack) checkLines(ctx context.Context) error {
	lines, err := s.lines(ctx)
	if err != nil {
		return err
	}
	for _, l := range lines {
		output, err := s.shell(ctx, l.command)
		if err != nil {
			return err
		}
		if err := l.check(output); err != nil {
			return fmt.Errorf("a printed line does not work: %w\n%s\n%s", err, indent(l.command), indent(output))
		}
		s.say("ok: %s", l.title)
	}
	output, err := s.shell(ctx, ". "+process.Quote(s.environmentFile())+" && kubectl get contentfilters -n "+namespace+" && vcurl -f \"$VITRINE_SERVER/v2/content/filters\"")
	if err != nil {
		return fmt.Errorf("the printed environment does not work: %w", err)
	}
	if output == "" {
		return errors.New("the printed environment does not work: kubectl and vcurl say nothing")
	}
	s.say("ok: the environment for another terminal")
	return nil
}

// walkUnits attaches a conversion unit to items by a tag that a rule sets, sees both in the items, and sees them gone
// after their manifests.
func (s *stack) walkUnits(ctx context.Context) error {
	c, err := s.caller(readWrite)
	if err != nil {
		return err
	}
	const manifests = `
apiVersion: vitrine.dev/v1alpha1
kind: Tag
metadata: {name: walk, namespace: shop}
spec:
  namespace: marketer_tags
  key: walk
  selector: {query: 'approval_status:app AND text:"東京"'}
---
apiVersion: vitrine.dev/v1alpha1
kind: ActivateUnit
metadata: {name: walk, namespace: shop}
spec:
  name: Walk through Tokyo
  imageURL: https://cdn.shop.example/units/walk.png
  clickThroughURL: https://www.shop.example/p/walk
  selector: {query: 'tags.marketer_tags.key:walk'}
`
	if _, err := s.cluster.run(ctx, manifests, "apply", "-f", "-"); err != nil {
		return err
	}
	if err := s.cluster.waitReady(ctx, 30*time.Second, "-n", namespace, "tag/walk", "activateunit/walk"); err != nil {
		return err
	}
	tagged, err := c.items(ctx, "tags.marketer_tags.key:walk")
	if err != nil {
		return err
	}
	if tagged.Total == 0 || len(tagged.Embedded.Items) == 0 {
		return errors.New("no item is found by a tag that a rule sets")
	}
	item := tagged.Embedded.Items[0]
	tagsOf := fmt.Sprintf("/v1/tags/ugc/%d/", item.ID)
	tags, err := c.get(ctx, tagsOf)
	if err != nil {
		return err
	}
	if !tags.hasTag("marketer_tags", "walk") {
		return fmt.Errorf("%s does not list marketer_tags:walk", tagsOf)
	}
	s.say("ok: a tag by rule, in a query (%d items) and in %s", tagged.Total, tagsOf)
	if !hasUnit(item.Units, "Walk through Tokyo") {
		return fmt.Errorf("item %d does not carry the unit that a rule attaches", item.ID)
	}
	units, err := c.get(ctx, "/v1/activate_units/")
	if err != nil {
		return err
	}
	if !hasUnit(units.Embedded.Units, "Walk through Tokyo") {
		return errors.New("/v1/activate_units/ does not list the unit")
	}
	s.say("ok: a unit by rule, in the items and in /v1/activate_units/")

	if _, err := s.cluster.run(ctx, "", "delete", "-n", namespace, "tag/walk", "activateunit/walk"); err != nil {
		return err
	}
	err = eventually(ctx, 30*time.Second, func() error {
		tags, err := c.get(ctx, tagsOf)
		if err != nil {
			return err
		}
		tagged, err := c.items(ctx, "tags.marketer_tags.key:walk")
		if err != nil {
			return err
		}
		units, err := c.get(ctx, "/v1/activate_units/")
		if err != nil {
			return err
		}
		if tags.hasTag("marketer_tags", "walk") || tagged.Total > 0 || hasUnit(units.Embedded.Units, "Walk through Tokyo") {
			return errors.New("a tag or a unit is served after its manifest is deleted")
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.say("ok: both gone after their manifests")
	return nil
}

func (a *answer) hasTag(namespace, key string) bool {
	for _, t := range a.Embedded.Tags {
		if t.Namespace == namespace && t.Key == key {
			return true
		}
	}
	return false
}

func hasUnit(units []unit, name string) bool {
	for _, u := range units {
		if u.Name == name {
			return true
		}
	}
	return false
}

// walkEnd deletes everything: no filter is served and no token accepted any more.
func (s *stack) walkEnd(ctx context.Context) error {
	walls, err := s.cluster.get(ctx, "-n", namespace, "contentfilter", "summer-wall")
	if err != nil {
		return err
	}
	c, err := s.caller(readOnly)
	if err != nil {
		return err
	}
	wall := walls[0].Status.URL
	if _, err := c.get(ctx, wall); err != nil {
		return err
	}
	if _, err := s.cluster.run(ctx, "", "delete", "-n", namespace, "contentfilter/summer-wall"); err != nil {
		return err
	}
	if err := c.awaitStatus(ctx, wall, http.StatusNotFound); err != nil {
		return fmt.Errorf("after the filter's manifest is deleted: %w", err)
	}
	// The namespace goes with its objects; kubectl waits until both are gone.
	if _, err := s.cluster.run(ctx, "", "delete", "-k", s.samples(), "--ignore-not-found", "--timeout=60s"); err != nil {
		return err
	}
	if err := c.awaitStatus(ctx, "/v2/content/items?q=*:*", http.StatusForbidden); err != nil {
		return fmt.Errorf("after everything is deleted: %w", err)
	}
	s.say("ok: everything deleted, nothing served")
	return nil
}

// awaitStatus waits until path answers with a status.
func (c *caller) awaitStatus(ctx context.Context, path string, want int) error {
	return eventually(ctx, 30*time.Second, func() error {
		status, body, err := c.fetch(ctx, path)
		if err != nil {
			return err
		}
		if status != want {
			return fmt.Errorf("GET %s: status %d, want %d: %.200s", path, status, want, body)
		}
		return nil
	})
}
