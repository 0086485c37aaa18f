package httpapi

import (
	"log/slog"
	"slices"
	"time"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// maxAuditedItems is the maximum number of ids in a line about a change of several items.
const maxAuditedItems = 100

// auditMutation writes the line about a mutation that has changed items. id is the item of its outcome.
func (x *exchange) auditMutation(m library.Mutation, id item.ID) {
	switch {
	case m.Put != nil:
		x.audit("create", slog.Int64("item", id))
	case m.Patch != nil:
		x.audit("change", slog.Int64("item", id), slog.Any("members", m.Patch.Members()))
	case m.Delete:
		x.audit("erase", slog.Int64("item", id))
	default:
		action := "tag"
		if m.Untag != nil {
			action = "untag"
		}
		x.audit(action, slog.Any("items", slices.Clone(m.IDs[:min(len(m.IDs), maxAuditedItems)])), slog.Int("count", len(m.IDs)), slog.Any("members", []string{"tags"}))
	}
}

// audit writes a line to the log about who has changed items. The line has the names of members, but no values. Those of a submission count
// as one member. The handler of the token adds the property and the name of the token.
func (x *exchange) audit(action string, attrs ...slog.Attr) {
	ctx := x.r.Context()
	if !x.grant.log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "items changed", 0)
	r.AddAttrs(slog.String("request", x.id), slog.String("action", action))
	if user := x.actor().User; user != "" {
		r.AddAttrs(slog.String("user", user))
	}
	r.AddAttrs(attrs...)
	_ = x.grant.log.Handle(ctx, r) // a failure of the log cannot be reported anywhere
}
