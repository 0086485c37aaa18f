package opensearch

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// itemIndex is one generation of the index of a property's items, in the state in which this replica read it.
type itemIndex struct {
	itemMeta
	name string
	// uuid distinguishes indices that have the same name at different times.
	uuid string
	// copying is the alias through which a copier fills the index, if the index is an unfinished copy (see copier). It is empty for all
	// other indices.
	copying string
	// active is true if the index has the alias that the method writes returns.
	active bool
	// blocked is true if a setting of the index rejects writes.
	blocked bool
}

// writes returns the alias through which a generation is written. The alias exists only while the generation is the current one. A write
// to a replaced generation must fail, because its sequence numbers have no meaning in another generation.
func (x *itemIndex) writes() string { return x.name + writeMark }

// activate returns the action that makes a generation accept writes.
func (x *itemIndex) activate() object {
	return object{"add": object{"index": x.name, "alias": x.writes()}}
}

// generations holds the indices of a property's items. Reads and writes of items use only the current index.
type generations struct {
	// current is nil if there is no current index.
	current *itemIndex
	// copies holds the unfinished copies. retired holds the earlier generations that current has replaced.
	copies, retired []*itemIndex
	// unknown holds all other indices, such as one that was restored from a snapshot without its aliases.
	unknown []*itemIndex
}

// all returns the names of all generations.
func (g *generations) all() []string {
	var names []string
	if g.current != nil {
		names = append(names, g.current.name)
	}
	for _, x := range slices.Concat(g.copies, g.retired, g.unknown) {
		names = append(names, x.name)
	}
	return names
}

// replacing returns the unfinished copy of the current generation that has a newer schema, or nil if there is none.
func (g *generations) replacing() *itemIndex {
	for _, x := range g.copies {
		if g.current != nil && x.Source == g.current.uuid && x.Schema > g.current.Schema {
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
		Meta itemMeta `json:"_meta"`
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

func (a *describedIndices) lacks() string {
	for _, is := range *a {
		if is.Settings.Index.UUID == "" {
			return "an index has no UUID"
		}
	}
	return unless(len(*a) > 0, "it describes no index")
}

// generations returns the generations of all properties that have an index whose name matches a pattern.
func (ix *indices) generations(ctx context.Context, pattern string) (map[library.PropertyID]*generations, error) {
	shared := sharedIndex(ix.names.definitions())
	var found describedIndices
	const parts = "*.aliases,*.mappings._meta,*.settings.index.blocks.write,*.settings.index.uuid"
	if err := ix.cluster.do(ctx, http.MethodGet, "/"+shared+","+pattern+"?filter_path="+parts, nil, &found); err != nil {
		return nil, fmt.Errorf("look up the indices of items: %w", err)
	}
	delete(found, shared)
	out := map[library.PropertyID]*generations{}
	first := false
	others := map[library.PropertyID][]*itemIndex{}
	for name, is := range found {
		x := &itemIndex{itemMeta: is.Mappings.Meta, name: name, uuid: is.Settings.Index.UUID, blocked: is.Settings.Index.Blocks.Write == "true"}
		_, x.active = is.Aliases[x.writes()]
		for alias := range is.Aliases {
			if strings.HasPrefix(alias, name+copyMark) {
				x.copying = alias
			}
		}
		g := out[x.Property]
		if g == nil {
			g = &generations{}
			out[x.Property] = g
		}
		if _, ok := is.Aliases[ix.names.items(x.Property)]; ok {
			g.current = x
			first = first || x.Schema == 1
		} else {
			others[x.Property] = append(others[x.Property], x)
		}
	}
	if first || pattern == ix.names.everyItems() {
		if ix.first.Swap(first) != first {
			ix.changed()
		}
	}
	for p, g := range out {
		for _, x := range others[p] {
			switch {
			case x.copying != "":
				g.copies = append(g.copies, x)
			case g.current != nil && g.current.Source == x.uuid:
				g.retired = append(g.retired, x)
			default:
				g.unknown = append(g.unknown, x)
			}
		}
	}
	return out, nil
}

// generationsOf returns the generations of one property.
func (ix *indices) generationsOf(ctx context.Context, p library.PropertyID) (*generations, error) {
	found, err := ix.generations(ctx, ix.names.items(p)+generationMark+"*")
	if err != nil {
		return nil, err
	}
	if g := found[p]; g != nil {
		return g, nil
	}
	return &generations{}, nil
}

// writable returns the generation that accepts writes, as last seen by this replica. An outdated result does no harm: the write fails
// because the alias is missing, and the caller calls awaitSuccessor.
func (ix *indices) writable(ctx context.Context, p library.PropertyID) (*itemIndex, error) {
	if known, ok := ix.current.Load(p); ok {
		return known.(*itemIndex), nil
	}
	g, err := ix.currentOf(ctx, p)
	if err != nil {
		return nil, err
	}
	return g.current, nil
}

// currentOf returns the generations of a property, and remembers the current one for writable. It fails if there is no current
// generation, or if this version of Vitrine cannot write to it.
func (ix *indices) currentOf(ctx context.Context, p library.PropertyID) (*generations, error) {
	ix.forget(p)
	g, err := ix.generationsOf(ctx, p)
	if err != nil {
		return nil, err
	}
	if g.current == nil {
		return nil, &responseError{Status: http.StatusNotFound, Type: "index_not_found_exception", Reason: fmt.Sprintf("no such index [%s]", ix.names.items(p))}
	}
	if err := ix.schemas.check(g.current.name, g.current.Schema); err != nil {
		return nil, fmt.Errorf("%w: %w", library.ErrUnavailable, err)
	}
	if g.current.active {
		ix.current.Store(p, g.current)
	}
	return g, nil
}

// switchPause is the maximum time between two checks whether another generation has become the current one.
const switchPause = 250 * time.Millisecond

// awaitSuccessor waits until the caller can retry a write to generation x. The caller calls it if x rejected the write because a copy is
// replacing x or has replaced it. awaitSuccessor waits for at most the timeout of a request.
// frozen returns the current freeze.
func (ix *indices) awaitSuccessor(ctx context.Context, x *itemIndex, frozen func() transfer.Freeze) error {
	ctx, cancel := ix.cluster.within(ctx, fmt.Errorf("%w: index %s is being replaced", library.ErrUnavailable, x.name))
	defer cancel()
	for pause := shortestPause; ; pause = min(2*pause, switchPause) {
		g, err := ix.currentOf(ctx, x.Property)
		frozen := frozen().Err()
		switch {
		case err != nil:
			return err
		case frozen != nil:
			return frozen
		case g.current.uuid != x.uuid && g.current.active:
			return nil
		case g.current.uuid == x.uuid && g.current.blocked && g.replacing() == nil:
			return fmt.Errorf("%w: index %s rejects writes: remove its setting index.blocks.write", library.ErrUnavailable, x.name)
		case !wait(ctx, pause):
			return context.Cause(ctx)
		case g.current.uuid == x.uuid && !g.current.blocked:
			return nil
		}
	}
}

// replaced reports whether err may mean that the generation to which a write was sent is being replaced or has been replaced.
func replaced(err error) bool { return isIndexMissing(err) || isWriteBlock(err) }

// checkSchemas fails if this version of Vitrine does not know the schema of a current index of items.
func (ix *indices) checkSchemas(ctx context.Context) error {
	all, err := ix.generations(ctx, ix.names.everyItems())
	if err != nil {
		return err
	}
	for _, g := range all {
		if g.current == nil {
			continue
		}
		if err := ix.schemas.check(g.current.name, g.current.Schema); err != nil {
			return err
		}
	}
	return nil
}

// forget forgets the current generation of a property.
func (ix *indices) forget(p library.PropertyID) { ix.current.Delete(p) }

// drop deletes indices, and ignores those that do not exist.
func (ix *indices) drop(ctx context.Context, indices ...string) error {
	err := ix.cluster.do(ctx, http.MethodDelete, "/"+strings.Join(indices, ",")+"?ignore_unavailable=true", nil, &acknowledged{})
	if err != nil && !isIndexMissing(err) {
		return fmt.Errorf("delete %s: %w", strings.Join(indices, " and "), err)
	}
	return nil
}

// alias changes aliases in one step. Either all of the actions take effect, or none.
func (ix *indices) alias(ctx context.Context, actions ...object) error {
	if err := ix.cluster.do(ctx, http.MethodPost, "/_aliases", object{"actions": actions}, &acknowledged{}); err != nil {
		return fmt.Errorf("change aliases: %w", err)
	}
	return nil
}

// unblock lets an index accept writes again.
func (ix *indices) unblock(ctx context.Context, index string) error {
	if err := ix.cluster.do(ctx, http.MethodPut, "/"+index+"/_settings", object{"index.blocks.write": nil}, &acknowledged{}); err != nil {
		return fmt.Errorf("remove the write block from index %s: %w", index, err)
	}
	return nil
}
