package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// source says where a definition came from, and so which key it is kept under: the owner of a manifest's, else the
// property, the kind and the name of one made over HTTP.
type source struct {
	owner    library.Owner
	property library.PropertyID
	kind     library.Kind
	uuid     string
	id       int64
}

func sourceOf(d library.Definition) source {
	switch {
	case !d.Owner.IsHTTP():
		return source{owner: d.Owner}
	case d.Filter != nil:
		return source{property: d.Property, kind: library.KindFilter, uuid: d.Filter.UUID}
	default:
		return source{property: d.Property, kind: library.KindUnit, id: d.Unit.Unit.ID}
	}
}

func (s source) key() []byte {
	switch {
	case !s.owner.IsHTTP():
		return ownedKey(s.owner)
	case s.kind == library.KindFilter:
		return filterKey(s.property, s.uuid)
	default:
		return unitKey(s.property, s.id)
	}
}

func compareSources(a, b source) int {
	return cmp.Or(
		strings.Compare(a.owner.Install, b.owner.Install), cmp.Compare(a.owner.Kind, b.owner.Kind),
		strings.Compare(a.owner.Namespace, b.owner.Namespace), strings.Compare(a.owner.Name, b.owner.Name),
		strings.Compare(string(a.property), string(b.property)), cmp.Compare(a.kind, b.kind),
		strings.Compare(a.uuid, b.uuid), cmp.Compare(a.id, b.id),
	)
}

// entry is what one source brought. It is never changed, only replaced, so that a pointer to it tells one version.
type entry struct {
	latest library.Definition
	// good is the version that was served when latest came and lost; nil when latest is served or nothing was.
	good *library.Definition
	// changed is when latest came.
	changed time.Time
	sum     [32]byte
}

func newEntry(d library.Definition, good *library.Definition, changed time.Time) (*entry, error) {
	sum, err := library.Fingerprint(d)
	if err != nil {
		return nil, err
	}
	return &entry{latest: d, good: good, changed: changed, sum: sum}, nil
}

// ownedRecord is the stored form of an entry.
type ownedRecord struct {
	Latest  json.RawMessage `json:"latest"`
	Good    json.RawMessage `json:"good,omitempty"`
	Changed time.Time       `json:"changed"`
}

func (e *entry) encode() ([]byte, error) {
	latest, err := library.EncodeDefinition(e.latest)
	if err != nil {
		return nil, err
	}
	r := ownedRecord{Latest: latest, Changed: e.changed.UTC()}
	if e.good != nil {
		if r.Good, err = library.EncodeDefinition(*e.good); err != nil {
			return nil, err
		}
	}
	return json.Marshal(r)
}

func decodeEntry(value []byte) (*entry, error) {
	var r ownedRecord
	if err := json.Unmarshal(value, &r); err != nil {
		return nil, fmt.Errorf("decode a definition: %w", err)
	}
	latest, err := library.DecodeDefinition(r.Latest)
	if err != nil {
		return nil, err
	}
	var good *library.Definition
	if len(r.Good) > 0 {
		g, err := library.DecodeDefinition(r.Good)
		if err != nil {
			return nil, err
		}
		good = &g
	}
	return newEntry(latest, good, r.Changed)
}

// version tells which version of a source is served: nothing is the zero value.
type version struct {
	entry    *entry
	fallback bool
	// adopted is the UUID that an adopting filter has from the one underneath.
	adopted string
}
