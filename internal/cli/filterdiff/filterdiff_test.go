package filterdiff

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/vitrine-dev/vitrine/server/client"
	"github.com/vitrine-dev/vitrine/server/library"
)

// answers is a Server that answers with a comparison and an error.
type answers struct {
	comparison client.Comparison
	err        error
}

func (a answers) Compare(context.Context, client.Change) (client.Comparison, error) {
	return a.comparison, a.err
}

func TestCompareStates(t *testing.T) {
	wall := library.Definition{Owner: library.Owner{Kind: library.KindFilter, Namespace: "shop", Name: "wall"}, Filter: &library.Filter{Query: "a", Order: "id:asc"}}
	served := client.Version{Query: "a", SortBy: "id:asc", FavoriteTag: "vibe:calm"}
	other := func(change func(*client.Version)) client.Version {
		v := served
		change(&v)
		return v
	}
	for name, c := range map[string]struct {
		before *client.Version
		after  client.Version
		err    error
		state  string
	}{
		"new":            {nil, served, nil, New},
		"the same":       {&served, served, nil, Unchanged},
		"a favorite tag": {&served, other(func(v *client.Version) { v.FavoriteTag = "" }), nil, Changed},
		"an order":       {&served, other(func(v *client.Version) { v.SortBy = "id:desc" }), nil, Changed},
		"refused":        {nil, served, &client.Problem{Status: http.StatusBadRequest, Detail: "too long"}, Failed},
	} {
		got, err := Compare(t.Context(), answers{client.Comparison{Before: c.before, After: c.after}, c.err}, wall, 5)
		if err != nil || got.State != c.state {
			t.Errorf("%s: state %q, error %v, want %q", name, got.State, err, c.state)
		}
	}
	down := errors.New("connection refused")
	if _, err := Compare(t.Context(), answers{err: down}, wall, 5); !errors.Is(err, down) {
		t.Errorf("a server that is down: error %v", err)
	}
}
