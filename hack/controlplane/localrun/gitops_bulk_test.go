package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/hack/controlplane/plane"
)

// bulk is the number of filters of the large roll-out, in bulkNamespace.
const (
	bulk          = 500
	bulkNamespace = "bulk"
)

// Limits of the large roll-out for each tool. If the Property of an object is missing, the operator waits for 30 seconds before it reports
// an error. Therefore, in whatever order a tool creates or prunes the objects, the cost is one status write for each filter and no Warning
// event. The limits allow for a slow machine, on which the wait is too short for a tenth of the objects.
const (
	maxStatusWrites    = bulk + bulk/10
	maxRolloutWarnings = bulk / 10
	maxPruneWarnings   = bulk / 10
)

// bulkContent returns a Property, a token and bulk filters.
func bulkContent() map[string]string {
	var filters strings.Builder
	for i := range bulk {
		fmt.Fprintf(&filters, "---\n%s", filter(fmt.Sprintf("filter-%03d", i), fmt.Sprintf("approval_status:app AND word%d", i), ""))
	}
	return map[string]string{"bulk/property.yaml": property, "bulk/token.yaml": readWriter, "bulk/filters.yaml": filters.String()}
}

// load returns the total load on the cluster: status writes of ContentFilters, and Warning events of bulkNamespace by reason.
func (w *gitops) load(ctx context.Context) (statuses int64, warnings plane.Writes) {
	GinkgoHelper()
	writes, err := plane.CountWrites(w.do(ctx, "get", "--raw", "/metrics"), v1alpha1.GroupVersion.Group)
	Expect(err).NotTo(HaveOccurred())
	warnings = plane.Writes{}
	for _, event := range w.objects(ctx, Default, "events", "-n", bulkNamespace, "--field-selector=type=Warning") {
		warnings[fmt.Sprint(event.Object["reason"])]++
	}
	return writes["contentfilters/status"], warnings
}

// rollOutBulk rolls out the content of the large roll-out, prunes it, and compares the cost with the limits.
func (w *gitops) rollOutBulk(ctx context.Context, rollOut, prune func()) {
	GinkgoHelper()
	before, warningsBefore := w.load(ctx)
	begin := time.Now()
	rollOut()
	took := time.Since(begin)
	found := w.objects(ctx, Default, "-n", bulkNamespace, "contentfilter")
	Expect(found).To(HaveLen(bulk))
	ready(found)
	w.readToken(ctx, bulkNamespace)
	w.answers(ctx, bulkNamespace, w.do(ctx, "get", "-n", bulkNamespace, "contentfilter", "filter-499", "-o", "jsonpath={.status.url}"), http.StatusOK)
	after, warnings := w.load(ctx)
	statuses, cost := after-before, warnings.Since(warningsBefore)
	w.say("%d filters rolled out in %s: %d status writes (limit %d), %d Warning events %v (limit %d)",
		bulk, took.Round(100*time.Millisecond), statuses, maxStatusWrites, cost.Total(), cost, maxRolloutWarnings)
	Expect(statuses).To(And(BeNumerically(">", 0), BeNumerically("<=", maxStatusWrites)))
	Expect(cost.Total()).To(BeNumerically("<=", maxRolloutWarnings))

	begin = time.Now()
	prune()
	took = time.Since(begin)
	w.nothingLeft(ctx, bulkNamespace)
	_, warningsAfter := w.load(ctx)
	cost = warningsAfter.Since(warnings)
	w.say("pruned in %s: %d Warning events %v (limit %d)", took.Round(100*time.Millisecond), cost.Total(), cost, maxPruneWarnings)
	Expect(cost.Total()).To(BeNumerically("<=", maxPruneWarnings))
}
