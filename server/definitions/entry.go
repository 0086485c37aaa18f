package definitions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// Source identifies where a definition came from: the manifest that owns it, or, for one made over HTTP, its property, its
// kind and its name. A library stores one entry for each source.
type Source struct {
	// Owner is the manifest; the zero Owner for HTTP, and then the other members are set.
	Owner    library.Owner
	Property library.PropertyID
	// Kind is KindFilter, with UUID, or KindUnit, with ID.
	Kind library.Kind
	UUID string
	ID   int64
}

// SourceOf returns the source of a sound definition.
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

// Entry is what one source brought. An Entry is replaced and never changed, so that a pointer identifies one version.
type Entry struct {
	// Latest is the newest version.
	Latest library.Definition
	// Good is the version that was served when Latest came and was refused; nil when Latest is served or nothing was.
	Good *library.Definition
	// Changed is when Latest came.
	Changed time.Time
	sum     [32]byte
}

// NewEntry returns the entry for a definition that came at the time changed; good is nil or the version served until then.
func NewEntry(d library.Definition, good *library.Definition, changed time.Time) (*Entry, error) {
	sum, err := library.Fingerprint(d)
	if err != nil {
		return nil, err
	}
	return &Entry{Latest: d, Good: good, Changed: changed, sum: sum}, nil
}

// entryJSON is the stored form of an Entry.
type entryJSON struct {
	Latest  json.RawMessage `json:"latest"`
	Good    json.RawMessage `json:"good,omitempty"`
	Changed time.Time       `json:"changed"`
}

// Encode returns the JSON that a library stores and DecodeEntry reads.
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

// DecodeEntry reads the output of Encode.
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

// version identifies which version of a source is served; the zero value stands for none.
type version struct {
	entry    *Entry
	fallback bool
	// adopted is the UUID that an adopting filter takes over from the filter that it adopts.
	adopted string
}
