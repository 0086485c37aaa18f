// Package facts reads and writes the facts index, which contains data that outlives items: the ledger of each property, the tags that exist
// or existed, the notes about data to erase, and the claims that decide which replica does a task.
//
// The package may import cluster, schema, flight, mutations, transfer, library and item.
package facts

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/mutations"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// Facts is the facts index as this replica sees it.
type Facts struct {
	cluster *cluster.Client
	names   schema.Names
	Ledgers *Ledgers
	Tags    *Tags
}

// New returns the facts of the library whose indices have the given names.
func New(c *cluster.Client, n schema.Names) *Facts {
	return &Facts{c, n, &Ledgers{cluster: c, names: n, known: map[library.PropertyID]*Ledger{}}, &Tags{cluster: c, names: n}}
}

// Forget forgets what this replica remembers about a property.
func (f *Facts) Forget(p library.PropertyID) {
	f.Ledgers.keep(p, nil)
	f.Tags.forget()
}

// Read reads the facts of properties.
func (f *Facts) Read(ctx context.Context, properties map[library.PropertyID]transfer.Property) error {
	if err := f.cluster.Do(ctx, http.MethodPost, "/"+f.names.Facts()+"/_refresh", nil, &cluster.OnShards{}); err != nil {
		return fmt.Errorf("read the facts: %w", err)
	}
	hits, err := cluster.BySequence[fact](ctx, f.cluster.Do, f.names.Facts(), 0)
	if err != nil {
		return fmt.Errorf("read the facts: %w", err)
	}
	for _, h := range hits {
		p, ok := properties[h.Source.Property]
		switch {
		case !ok:
		case h.Source.Namespace != "":
			p.Tags[item.Tag{Namespace: h.Source.Namespace, Key: h.Source.Key}] = true
		default:
			if p.Names, err = h.Source.sums(); err != nil {
				return fmt.Errorf("read the ledger of property %s: %w", h.Source.Property, err)
			}
			p.Sequence = h.Source.Sequence
			properties[h.Source.Property] = p
		}
	}
	return nil
}

// Erase deletes the facts of a property: its ledger and its tags. It reports whether there were any facts.
func (f *Facts) Erase(ctx context.Context, p library.PropertyID) (bool, error) {
	var answer deletedDocuments
	f.Forget(p)
	// The query must also find documents that were stored immediately before.
	err := f.cluster.Do(ctx, http.MethodPost, "/"+f.names.Facts()+"/_refresh", nil, &cluster.OnShards{})
	if err == nil {
		body := object{"query": object{"term": object{"property": string(p)}}}
		err = f.cluster.Do(ctx, http.MethodPost, "/"+f.names.Facts()+"/_delete_by_query?conflicts=proceed&refresh=true", body, &answer)
	}
	if err != nil {
		return false, fmt.Errorf("delete the facts of property %s: %w", p, err)
	}
	return *answer.Deleted > 0, nil
}

// deletedDocuments is the response to a request that deletes the documents that match a query.
type deletedDocuments struct {
	TimedOut *bool    `json:"timed_out"`
	Deleted  *int     `json:"deleted"`
	Failures []object `json:"failures"`
}

func (a *deletedDocuments) Lacks() string {
	return cmp.Or(cluster.Lacking(a.Deleted != nil && a.TimedOut != nil, "deleted"),
		cluster.Unless(a.TimedOut == nil || !*a.TimedOut, "the deletion timed out"), cluster.Unless(len(a.Failures) == 0, "some documents were not deleted"))
}

// Operations returns the operations that store the facts of a property of a transfer.
func (f *Facts) Operations(id library.PropertyID, p transfer.Property, namer *mutations.Namer) []cluster.Operation {
	ledger := &Ledger{Sequence: p.Sequence, Names: p.Names, Namespaces: mutations.OwnNamespaces(namer, p.Tags, p.Names)}
	ops := []cluster.Operation{{Index: f.names.Facts(), ID: ledgerID(id), Doc: ledgerFact(id, ledger), Over: true}}
	for tag := range p.Tags {
		ops = append(ops, cluster.Operation{Index: f.names.Facts(), ID: tagID(id, tag), Doc: tagFact(id, tag), Over: true})
	}
	return ops
}
