package records

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
)

// note keeps the error of the follower for probes. It logs when the follower begins to fail and when it recovers.
func (r *Records) note(err error) {
	r.problemMu.Lock()
	defer r.problemMu.Unlock()
	switch {
	case err != nil && r.failure == nil:
		r.logger.Warn("cannot read changes to the definitions, will retry", slog.Any("error", err))
	case err == nil && r.failure != nil:
		r.logger.Info("reads changes to the definitions again")
	}
	r.failure = err
}

// Problem returns the reason why the definitions may be out of date, or an empty string.
func (r *Records) Problem() string {
	r.problemMu.Lock()
	defer r.problemMu.Unlock()
	err := r.failure
	for _, id := range slices.Sorted(maps.Keys(r.unreadable)) {
		err = cmp.Or(err, r.unreadable[id])
	}
	if err == nil {
		return ""
	}
	return fmt.Sprintf("changes to definitions are not applied: %v", err)
}

// Fails reports whether the last poll failed.
func (r *Records) Fails() bool {
	r.problemMu.Lock()
	defer r.problemMu.Unlock()
	return r.failure != nil
}

// setUnreadable records which documents of d cannot be read. The parameter `all` is true if d contains all documents.
func (r *Records) setUnreadable(d *decoded, all bool) {
	r.problemMu.Lock()
	defer r.problemMu.Unlock()
	if all || r.unreadable == nil {
		r.unreadable = map[string]error{}
	}
	for id := range d.seen {
		delete(r.unreadable, id)
	}
	for id, err := range d.unreadable {
		r.logger.Warn("cannot read a definition; its previous state stays in use, unless it is a token, which is rejected", slog.Any("error", err))
		r.unreadable[id] = err
	}
}
