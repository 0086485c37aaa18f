package library

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSwept(t *testing.T) {
	var known []Owner
	for i := range 100 {
		known = append(known, Owner{Install: "cluster", Kind: KindTag, Namespace: "shop", Name: fmt.Sprintf("t%02d", i)})
	}
	other := Owner{Install: "elsewhere", Kind: KindTag, Namespace: "shop", Name: "t"}
	filter := Owner{Install: "cluster", Kind: KindFilter, Namespace: "shop", Name: "f"}
	wall := Owner{Install: "cluster", Kind: KindTag, Namespace: "wall", Name: "t"}
	all := append([]Owner{other, filter, wall, {}}, known...)
	tags := []Kind{KindTag}

	for name, c := range map[string]struct {
		scope Scope
		keep  []Owner
		want  int
		held  *HeldError
		err   error
	}{
		"nothing is gone":        {scope: Scope{Install: "cluster", Kinds: tags}, keep: append(known, wall), want: 0},
		"one is gone":            {scope: Scope{Install: "cluster", Kinds: tags}, keep: known, want: 1},
		"twenty of a hundred":    {scope: Scope{Install: "cluster", Kinds: tags, Namespaces: []string{"shop"}}, keep: known[20:], want: 20},
		"more than a fifth":      {scope: Scope{Install: "cluster", Kinds: tags, Namespaces: []string{"shop"}}, keep: known[21:], held: &HeldError{Remove: 21, Total: 100}},
		"confirmed":              {scope: Scope{Install: "cluster", Kinds: tags, Namespaces: []string{"shop"}, Confirmed: true}, want: 100},
		"few, though all":        {scope: Scope{Install: "cluster", Kinds: []Kind{KindFilter}}, want: 1},
		"another kind":           {scope: Scope{Install: "cluster", Kinds: []Kind{KindUnit}}, want: 0},
		"another namespace":      {scope: Scope{Install: "cluster", Kinds: tags, Namespaces: []string{"wall"}}, want: 1},
		"no namespace at all":    {scope: Scope{Install: "cluster", Kinds: tags, Namespaces: []string{}, Confirmed: true}, want: 0},
		"no kind at all":         {scope: Scope{Install: "cluster", Confirmed: true}, want: 0},
		"another cluster":        {scope: Scope{Install: "elsewhere", Kinds: tags}, want: 1},
		"an unknown cluster":     {scope: Scope{Install: "new", Kinds: tags}, want: 0},
		"no cluster is an error": {scope: Scope{Kinds: tags}, err: ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			gone, err := Swept(all, c.scope, c.keep)
			var held *HeldError
			errors.As(err, &held)
			if diff := cmp.Diff(c.held, held); diff != "" {
				t.Errorf("guard (-want +got):\n%s", diff)
			}
			if c.err != nil && !errors.Is(err, c.err) || c.err == nil && c.held == nil && err != nil {
				t.Errorf("error %v, want %v", err, c.err)
			}
			if len(gone) != c.want {
				t.Errorf("removes %d, want %d: %v", len(gone), c.want, gone)
			}
			for _, o := range gone {
				if o.IsHTTP() {
					t.Error("removes what was made over HTTP")
				}
			}
		})
	}
}
