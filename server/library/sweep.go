package library

import (
	"fmt"
	"slices"
)

// A sweep is refused if it would remove more than sweepFew definitions and also more than 1/sweepShare of those in scope.
const (
	sweepFew   = 20
	sweepShare = 5
)

// Contains reports whether a sweep with this scope may remove the definitions of owner. No scope contains definitions created over HTTP. A
// scope without kinds, or with an empty but non-nil list of namespaces, contains nothing, so a sweep with this scope removes nothing.
func (s Scope) Contains(owner Owner) bool {
	return !owner.IsHTTP() && owner.Install == s.Install && slices.Contains(s.Kinds, owner.Kind) &&
		(s.Namespaces == nil || slices.Contains(s.Namespaces, owner.Namespace))
}

// Swept returns the owners whose definitions a sweep removes: those in known and in scope that are not in keep. It fails with *HeldError if
// the sweep would remove too many definitions (see Scope.Confirmed), and with ErrInvalid if the scope names no install.
func Swept(known []Owner, scope Scope, keep []Owner) ([]Owner, error) {
	if scope.Install == "" {
		return nil, fmt.Errorf("%w: a sweep needs the identity of the cluster", ErrInvalid)
	}
	kept := make(map[Owner]bool, len(keep))
	for _, o := range keep {
		kept[o] = true
	}
	var total int
	var gone []Owner
	for _, o := range known {
		if !scope.Contains(o) {
			continue
		}
		total++
		if !kept[o] {
			gone = append(gone, o)
		}
	}
	if !scope.Confirmed && len(gone) > sweepFew && len(gone)*sweepShare > total {
		return nil, &HeldError{Remove: len(gone), Total: total}
	}
	return gone, nil
}
