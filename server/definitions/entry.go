package definitions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// Source identifies the origin of a definition: its manifest or, for a definition created over HTTP, its property, its kind, and its UUID
// or ID. A library stores one entry for each source.
type Source struct {
	// Owner is the manifest; the other members are then zero. For a definition created over HTTP, Owner is zero and the other members are set.
	Owner    library.Owner
	Property library.PropertyID
	// Kind is KindFilter or KindUnit. UUID is set for KindFilter, and ID is set for KindUnit.
	Kind library.Kind
	UUID string
	ID   int64
}

// SourceOf returns the source of a valid definition.
func SourceOf(d library.Definition) Source {
	switch {
	case !d.Owner.IsHTTP():
		return Source{Owner: d.Owner}
	case d.Filter != nil:
		return Source{Property: d.Property, Kind: library.KindFilter, UUID: d.Filter.UUID}
	default:
		return Source{Property: d.Property, Kind: library.KindUnit, ID: d.Unit.Unit.ID}
	}
}

func compareSources(a, b Source) int {
	return cmp.Or(
		strings.Compare(a.Owner.Install, b.Owner.Install), cmp.Compare(a.Owner.Kind, b.Owner.Kind),
		strings.Compare(a.Owner.Namespace, b.Owner.Namespace), strings.Compare(a.Owner.Name, b.Owner.Name),
		strings.Compare(string(a.Property), string(b.Property)), cmp.Compare(a.Kind, b.Kind),
		strings.Compare(a.UUID, b.UUID), cmp.Compare(a.ID, b.ID),
	)
}

// Entry is the stored state of one source. An Entry is immutable, so a pointer identifies one version.
type Entry struct {
	// Latest is the newest version.
	Latest library.Definition
	// Good is the version that was being served when Latest was refused. It is nil if Latest is served, or if no version was served.
	Good *library.Definition
	// Changed is the time at which Latest arrived.
	Changed time.Time
	sum     [32]byte
}

// NewEntry returns the entry for a definition that arrived at the time changed. good is the version that was being served at that time, or
// nil if none was.
func NewEntry(d library.Definition, good *library.Definition, changed time.Time) (*Entry, error) {
	sum, err := library.Fingerprint(d)
	if err != nil {
		return nil, err
	}
	return &Entry{Latest: d, Good: good, Changed: changed, sum: sum}, nil
}

// Same reports whether the newest versions of two entries have the same content.
func (e *Entry) Same(o *Entry) bool { return e.sum == o.sum }

// entryJSON is the stored form of an Entry.
type entryJSON struct {
	Latest  json.RawMessage `json:"latest"`
	Good    json.RawMessage `json:"good,omitempty"`
	Changed time.Time       `json:"changed"`
}

// Encode returns the entry as JSON, which a library stores and DecodeEntry decodes.
func (e *Entry) Encode() ([]byte, error) {
	latest, err := library.EncodeDefinition(e.Latest)
	if err != nil {
		return nil, err
	}
	r := entryJSON{Latest: latest, Changed: e.Changed.UTC()}
	if e.Good != nil {
		if r.Good, err = library.EncodeDefinition(*e.Good); err != nil {
			return nil, err
		}
	}
	return json.Marshal(r)
}

// DecodeEntry decodes the output of Encode.
func DecodeEntry(value []byte) (*Entry, error) {
	var r entryJSON
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
	return NewEntry(latest, good, r.Changed)
}

func (e *Entry) candidate() library.Candidate {
	return library.Candidate{Latest: e.Latest, Good: e.Good}
}

// version identifies the served version of a source. The zero value means that no version is served.
type version struct {
	entry    *Entry
	fallback bool
	// adopted is the UUID of the served filter. If the source adopts a filter, the UUID can change although entry does not.
	adopted string
}
