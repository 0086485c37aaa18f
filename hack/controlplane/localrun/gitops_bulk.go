package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// bulk is the number of filters of the large roll-out, in bulkNamespace.
const (
	bulk          = 500
	bulkNamespace = "bulk"
)

// Limits of the large roll-out, for each tool. An object waits quietly for a Property that arrives after it or is pruned before
// it, so that any order costs one status write for each filter and no Warning event. A tenth is for objects that wait longer than
// that grace on a slow machine.
const (
	maxStatusWrites    = bulk + bulk/10
	maxRolloutWarnings = bulk / 10
	maxPruneWarnings   = bulk / 10
)

// bulkContent is a Property, a token and bulk filters.
func bulkContent() map[string]string {
	var filters strings.Builder
	for i := range bulk {
		fmt.Fprintf(&filters, "---\n%s", filter(fmt.Sprintf("filter-%03d", i), fmt.Sprintf("approval_status:app AND word%d", i), ""))
	}
	return map[string]string{"bulk/property.yaml": property, "bulk/token.yaml": readWriter, "bulk/filters.yaml": filters.String()}
}

// load is what a roll-out cost the cluster so far.
type load struct {
	writes   int            // of statuses of ContentFilters
	warnings map[string]int // Warning events of bulkNamespace, by reason
}

// statusWrite is a line of the API server's metrics that counts writes of statuses of ContentFilters.
var statusWrite = regexp.MustCompile(`(?m)^apiserver_request_total\{([^}]*resource="contentfilters"[^}]*)\} (\S+)$`)

// statusWrites adds up the writes of statuses of ContentFilters in the API server's metrics.
func statusWrites(metrics string) (int, error) {
	total := 0
	for _, m := range statusWrite.FindAllStringSubmatch(metrics, -1) {
		labels := m[1]
		if !strings.Contains(labels, `subresource="status"`) || strings.Contains(labels, `verb="GET"`) {
			continue
		}
		n, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return 0, fmt.Errorf("read the metric %s: %w", m[0], err)
		}
		total += int(n)
	}
	return total, nil
}

func (w *gitopsWalk) load(ctx context.Context) (load, error) {
	metrics, err := w.cluster.run(ctx, "", "get", "--raw", "/metrics")
	if err != nil {
		return load{}, err
	}
	l := load{warnings: map[string]int{}}
	if l.writes, err = statusWrites(metrics); err != nil {
		return load{}, err
	}
	var events struct {
		Items []struct {
			Reason string `json:"reason"`
		} `json:"items"`
	}
	if err := w.read(ctx, &events, "events", "-n", bulkNamespace, "--field-selector=type=Warning"); err != nil {
		return load{}, err
	}
	for _, e := range events.Items {
		l.warnings[e.Reason]++
	}
	return l, nil
}

// since returns what came after an earlier load.
func (l load) since(before load) load {
	out := load{writes: l.writes - before.writes, warnings: map[string]int{}}
	for reason, n := range l.warnings {
		if n -= before.warnings[reason]; n > 0 {
			out.warnings[reason] = n
		}
	}
	return out
}

// count is the number of Warning events.
func (l load) count() int {
	total := 0
	for _, n := range l.warnings {
		total += n
	}
	return total
}

// bulkServed wants every filter of the large roll-out to be ready, and one of them to answer.
func (w *gitopsWalk) bulkServed(ctx context.Context) error {
	found, err := w.cluster.get(ctx, "-n", bulkNamespace, "contentfilter")
	if err != nil {
		return err
	}
	if len(found) != bulk {
		return fmt.Errorf("%d ContentFilters, want %d", len(found), bulk)
	}
	for _, o := range found {
		if why := o.unready(); why != "" {
			return fmt.Errorf("%s: %s", o, why)
		}
	}
	if err := w.readToken(ctx, bulkNamespace); err != nil {
		return err
	}
	return w.readers[bulkNamespace].awaitStatus(ctx, found[bulk-1].Status.URL, http.StatusOK)
}

// walkBulk rolls the large content out and prunes it, and holds what that costs against the limits.
func (w *gitopsWalk) walkBulk(ctx context.Context, rollOut, prune func(context.Context) error) error {
	before, err := w.load(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := rollOut(ctx); err != nil {
		return err
	}
	took := time.Since(begin)
	if err := w.bulkServed(ctx); err != nil {
		return err
	}
	after, err := w.load(ctx)
	if err != nil {
		return err
	}
	cost := after.since(before)
	w.say("  %d filters rolled out in %s: %d status writes (limit %d), %d Warning events %v (limit %d)",
		bulk, took.Round(100*time.Millisecond), cost.writes, maxStatusWrites, cost.count(), cost.warnings, maxRolloutWarnings)
	if cost.writes == 0 || cost.writes > maxStatusWrites || cost.count() > maxRolloutWarnings {
		return errors.New("the roll-out exceeds its limits")
	}
	begin = time.Now()
	if err := prune(ctx); err != nil {
		return err
	}
	took = time.Since(begin)
	if err := w.await(ctx, time.Minute, func() error { // the garbage collector takes the token's Secret
		found, err := w.cluster.get(ctx, "-n", bulkNamespace, "vitrine,secret")
		if err == nil && len(found) > 0 {
			err = fmt.Errorf("%d objects are left", len(found))
		}
		return err
	}); err != nil {
		return err
	}
	if err := w.readers[bulkNamespace].awaitStatus(ctx, "/v2/content/items?q=*:*", http.StatusForbidden); err != nil {
		return err
	}
	pruned, err := w.load(ctx)
	if err != nil {
		return err
	}
	cost = pruned.since(after)
	w.say("  pruned in %s: %d Warning events %v (limit %d)", took.Round(100*time.Millisecond), cost.count(), cost.warnings, maxPruneWarnings)
	if cost.count() > maxPruneWarnings {
		return errors.New("the prune exceeds its limit")
	}
	return nil
}
