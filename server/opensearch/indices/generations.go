package indices

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/opensearch/cluster"
	"github.com/vitrine-dev/vitrine/server/opensearch/schema"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// Index is one generation of the index of a property's items, in the state in which this replica read it.
type Index struct {
	schema.Meta
	Name string
	// UUID distinguishes indices that have the same name at different times.
	UUID string
	// Copying is the alias through which package upkeep fills the index, if the index is an unfinished copy. It is empty for all other
	// indices.
	Copying string
	// Active is true if the index has the alias that the method Writes returns.
	Active bool
	// Blocked is true if a setting of the index rejects writes.
	Blocked bool
}

// Writes returns the alias through which a generation is written. The alias exists only while the generation is the current one. A write
// to a replaced generation must fail, because its sequence numbers have no meaning in another generation.
func (x *Index) Writes() string { return x.Name + schema.WriteMark }

// Activate returns the action that makes a generation accept writes.
func (x *Index) Activate() object {
	return object{"add": object{"index": x.Name, "alias": x.Writes()}}
}

// Show returns the action that adds an alias for searches of items. The filter of the alias hides the tombstones.
func (x *Index) Show(alias string) object {
	return object{"add": object{"index": x.Name, "alias": alias, "filter": schema.Items()}}
}

// Generations holds the indices of a property's items. Reads and writes of items use only the current index.
type Generations struct {
	// Current is nil if there is no current index.
	Current *Index
	// Copies holds the unfinished copies. Retired holds the earlier generations that Current has replaced.
	Copies, Retired []*Index
	// unknown holds all other indices, such as one that was restored from a snapshot without its aliases.
	unknown []*Index
}

// All returns the names of all generations.
func (g *Generations) All() []string {
	var names []string
	if g.Current != nil {
		names = append(names, g.Current.Name)
	}
	for _, x := range slices.Concat(g.Copies, g.Retired, g.unknown) {
		names = append(names, x.Name)
	}
	return names
}

// Replacing returns the unfinished copy of the current generation that has a newer schema, or nil if there is none.
func (g *Generations) Replacing() *Index {
	for _, x := range g.Copies {
		if g.Current != nil && x.Source == g.Current.UUID && x.Schema > g.Current.Schema {
			return x
		}
	}
	return nil
}

// describedIndices describes indices by name. Every request for it also names the index of the definitions, so that a response without
// any index of items differs from a response that is not one.
type describedIndices map[string]struct {
	Aliases  map[string]struct{} `json:"aliases"`
	Mappings struct {
		Meta schema.Meta `json:"_meta"`
	} `json:"mappings"`
	Settings struct {
		Index struct {
			UUID   string `json:"uuid"`
			Blocks struct {
				Write string `json:"write"`
			} `json:"blocks"`
		} `json:"index"`
	} `json:"settings"`
}

func (a *describedIndices) Lacks() string {
	for _, is := range *a {
		if is.Settings.Index.UUID == "" {
			return "an index has no UUID"
		}
	}
	return cluster.Unless(len(*a) > 0, "it describes no index")
}

// Generations returns the generations of all properties that have an index whose name matches a pattern.
func (ix *Indices) Generations(ctx context.Context, pattern string) (map[library.PropertyID]*Generations, error) {
	shared := schema.SharedIndex(ix.Names.Definitions())
	var found describedIndices
	const parts = "*.aliases,*.mappings._meta,*.settings.index.blocks.write,*.settings.index.uuid"
	if err := ix.Cluster.Do(ctx, http.MethodGet, "/"+shared+","+pattern+"?filter_path="+parts, nil, &found); err != nil {
		return nil, fmt.Errorf("look up the indices of items: %w", err)
	}
	delete(found, shared)
	out := map[library.PropertyID]*Generations{}
	first := false
	others := map[library.PropertyID][]*Index{}
	for name, is := range found {
		x := &Index{Meta: is.Mappings.Meta, Name: name, UUID: is.Settings.Index.UUID, Blocked: is.Settings.Index.Blocks.Write == "true"}
		_, x.Active = is.Aliases[x.Writes()]
		for alias := range is.Aliases {
			if strings.HasPrefix(alias, name+schema.CopyMark) {
				x.Copying = alias
			}
		}
		g := out[x.Property]
		if g == nil {
			g = &Generations{}
			out[x.Property] = g
		}
		if _, ok := is.Aliases[ix.Names.Items(x.Property)]; ok {
			g.Current = x
			first = first || x.Schema == 1
		} else {
			others[x.Property] = append(others[x.Property], x)
		}
	}
	if first || pattern == ix.Names.EveryItems() {
		if ix.First.Swap(first) != first {
			ix.Changed()
		}
	}
	for p, g := range out {
		for _, x := range others[p] {
			switch {
			case x.Copying != "":
				g.Copies = append(g.Copies, x)
			case g.Current != nil && g.Current.Source == x.UUID:
				g.Retired = append(g.Retired, x)
			default:
				g.unknown = append(g.unknown, x)
			}
		}
	}
	return out, nil
}

// GenerationsOf returns the generations of one property.
func (ix *Indices) GenerationsOf(ctx context.Context, p library.PropertyID) (*Generations, error) {
	found, err := ix.Generations(ctx, ix.Names.Items(p)+schema.GenerationMark+"*")
	if err != nil {
		return nil, err
	}
	if g := found[p]; g != nil {
		return g, nil
	}
	return &Generations{}, nil
}

// Writable returns the generation that accepts writes, as last seen by this replica. An outdated result does no harm: the write fails
// because the alias is missing, and the caller calls AwaitSuccessor.
func (ix *Indices) Writable(ctx context.Context, p library.PropertyID) (*Index, error) {
	if known, ok := ix.current.Load(p); ok {
		return known.(*Index), nil
	}
	g, err := ix.currentOf(ctx, p)
	if err != nil {
		return nil, err
	}
	return g.Current, nil
}

// currentOf returns the generations of a property, and remembers the current one for writable. It fails if there is no current
// generation, or if this version of Vitrine cannot write to it.
func (ix *Indices) currentOf(ctx context.Context, p library.PropertyID) (*Generations, error) {
	ix.Forget(p)
	g, err := ix.GenerationsOf(ctx, p)
	if err != nil {
		return nil, err
	}
	if g.Current == nil {
		return nil, &cluster.ResponseError{Status: http.StatusNotFound, Type: "index_not_found_exception", Reason: fmt.Sprintf("no such index [%s]", ix.Names.Items(p))}
	}
	if err := ix.Schemas.Check(g.Current.Name, g.Current.Schema); err != nil {
		return nil, fmt.Errorf("%w: %w", library.ErrUnavailable, err)
	}
	if g.Current.Active {
		ix.current.Store(p, g.Current)
	}
	return g, nil
}

// switchPause is the maximum time between two checks whether another generation has become the current one.
const switchPause = 250 * time.Millisecond

// AwaitSuccessor waits until the caller can retry a write to generation x. The caller calls it if x rejected the write because a copy is
// replacing x or has replaced it. AwaitSuccessor waits for at most the timeout of a request.
// frozen returns the current freeze.
func (ix *Indices) AwaitSuccessor(ctx context.Context, x *Index, frozen func() transfer.Freeze) error {
	ctx, cancel := ix.Cluster.Within(ctx, fmt.Errorf("%w: index %s is being replaced", library.ErrUnavailable, x.Name))
	defer cancel()
	for pause := cluster.ShortestPause; ; pause = min(2*pause, switchPause) {
		g, err := ix.currentOf(ctx, x.Property)
		frozen := frozen().Err()
		switch {
		case err != nil:
			return err
		case frozen != nil:
			return frozen
		case g.Current.UUID != x.UUID && g.Current.Active:
			return nil
		case g.Current.UUID == x.UUID && g.Current.Blocked && g.Replacing() == nil:
			return fmt.Errorf("%w: index %s rejects writes: remove its setting index.blocks.write", library.ErrUnavailable, x.Name)
		case !cluster.Wait(ctx, pause):
			return context.Cause(ctx)
		case g.Current.UUID == x.UUID && !g.Current.Blocked:
			return nil
		}
	}
}

// Replaced reports whether err may mean that the generation to which a write was sent is being replaced or has been replaced.
func Replaced(err error) bool { return cluster.IsIndexMissing(err) || cluster.IsWriteBlock(err) }

// CheckSchemas fails if this version of Vitrine does not know the schema of a current index of items.
func (ix *Indices) CheckSchemas(ctx context.Context) error {
	all, err := ix.Generations(ctx, ix.Names.EveryItems())
	if err != nil {
		return err
	}
	for _, g := range all {
		if g.Current == nil {
			continue
		}
		if err := ix.Schemas.Check(g.Current.Name, g.Current.Schema); err != nil {
			return err
		}
	}
	return nil
}

// Forget forgets the current generation of a property.
func (ix *Indices) Forget(p library.PropertyID) { ix.current.Delete(p) }

// Drop deletes indices, and ignores those that do not exist.
func (ix *Indices) Drop(ctx context.Context, indices ...string) error {
	err := ix.Cluster.Do(ctx, http.MethodDelete, "/"+strings.Join(indices, ",")+"?ignore_unavailable=true", nil, &cluster.Acknowledged{})
	if err != nil && !cluster.IsIndexMissing(err) {
		return fmt.Errorf("delete %s: %w", strings.Join(indices, " and "), err)
	}
	return nil
}

// Alias changes aliases in one step. Either all of the actions take effect, or none.
func (ix *Indices) Alias(ctx context.Context, actions ...object) error {
	if err := ix.Cluster.Do(ctx, http.MethodPost, "/_aliases", object{"actions": actions}, &cluster.Acknowledged{}); err != nil {
		return fmt.Errorf("change aliases: %w", err)
	}
	return nil
}

// Unblock lets an index accept writes again.
func (ix *Indices) Unblock(ctx context.Context, index string) error {
	if err := ix.Cluster.Do(ctx, http.MethodPut, "/"+index+"/_settings", object{"index.blocks.write": nil}, &cluster.Acknowledged{}); err != nil {
		return fmt.Errorf("remove the write block from index %s: %w", index, err)
	}
	return nil
}

// CreateItems creates the index of a property's items with its aliases, unless the property already has one.
func (ix *Indices) CreateItems(ctx context.Context, p library.PropertyID) error {
	g, err := ix.GenerationsOf(ctx, p)
	if err != nil || g.Current != nil {
		return err
	}
	alias := ix.Names.Items(p)
	index := schema.Generation(alias, 1)
	aliases := object{index + schema.WriteMark: object{}}
	for _, reads := range []string{alias, index + schema.CurrentMark} {
		aliases[reads] = object{"filter": schema.Items()}
	}
	return ix.create(ctx, index, ix.ItemSettings(), ix.Schemas.Mapping(schema.Meta{Property: p, Schema: ix.Schemas.Latest()}), aliases)
}
