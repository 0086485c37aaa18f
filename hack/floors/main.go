// Command floors measures, for each package of this module, how far the files of the package depend on each other in one direction.
//
// A file that uses a function, method, type, variable or constant of another file of its package has an arrow to this file, no matter how
// often it uses it. If the arrows contain no circle, the files have an order in which every arrow goes down. Otherwise, some arrows go up in
// every order. floors searches for an order with few arrows up, and counts them. A package with many arrows up must be read as a whole: no
// file of it can be understood before the others. Calls through an interface are no arrows, because the caller does not know the other file.
//
//	go run ./hack/floors          # a row for each package with at least 8 files, the worst first
//	go run ./hack/floors -v PATH  # also the files of this package from top to bottom, with the names that the arrows up stand for
//
// The test of this package limits the numbers. Tests and generated files are not counted. Tools such as goda and depgraph draw imports
// between packages; none of them looks at the calls between the files of a package.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// leastFiles is the smallest number of files in a package that floors lists. A smaller package fits into one head in any order.
const leastFiles = 8

// module is the path of the module of this repository.
const module = "github.com/vitrine-dev/vitrine/"

// arrow is a file that uses another file of the same package.
type arrow struct{ from, to string }

// building is a package with the arrows between its files.
type building struct {
	// name is the directory of the package in the repository.
	name string
	// files contains the base names of the files, from the top floor down.
	files []string
	// arrows contains all arrows, and up those that go up in the order of files.
	arrows, up []arrow
	// uses contains the names that an arrow stands for.
	uses map[arrow]map[string]bool
}

// share returns the share of the arrows that go up.
func (b building) share() float64 { return float64(len(b.up)) / max(1, float64(len(b.arrows))) }

func main() {
	detail := flag.String("v", "", "the directory of a package whose files to list")
	flag.Parse()
	all, err := measure(".", "./...")
	if err != nil {
		fmt.Fprintf(os.Stderr, "floors: %v\n", err)
		os.Exit(1)
	}
	slices.SortFunc(all, func(a, b building) int { return cmp.Compare(b.share(), a.share()) })
	fmt.Println("files  arrows    up  share  package")
	for _, b := range all {
		if len(b.files) >= leastFiles || b.name == *detail {
			fmt.Printf("%5d  %6d  %4d  %3.0f %%  %s\n", len(b.files), len(b.arrows), len(b.up), 100*b.share(), b.name)
		}
		if b.name == *detail {
			b.list()
		}
	}
}

// list prints the files of a package from top to bottom, each with its arrows up.
func (b building) list() {
	for _, file := range b.files {
		fmt.Printf("               %s\n", file)
		for _, a := range b.up {
			if a.from == file {
				fmt.Printf("                   up to %s: %s\n", a.to, strings.Join(slices.Sorted(maps.Keys(b.uses[a])), ", "))
			}
		}
	}
}

// measure loads the packages that match a pattern, seen from a directory, and measures them.
func measure(dir, pattern string) ([]building, error) {
	loaded, err := packages.Load(&packages.Config{
		Dir:  dir,
		Mode: packages.NeedName | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedExportFile,
	}, pattern)
	if err != nil {
		return nil, err
	}
	var all []building
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("load %s: %w", p.PkgPath, p.Errors[0])
		}
		all = append(all, build(p))
	}
	return all, nil
}

// build measures a package.
func build(p *packages.Package) building {
	b := building{name: strings.TrimPrefix(p.PkgPath, module), uses: map[arrow]map[string]bool{}}
	for _, f := range p.Syntax {
		if ast.IsGenerated(f) {
			continue
		}
		from := filepath.Base(p.Fset.Position(f.Package).Filename)
		b.files = append(b.files, from)
		for n := range ast.Preorder(f) {
			id, ok := n.(*ast.Ident)
			if !ok {
				continue
			}
			if used := p.TypesInfo.Uses[id]; used != nil && used.Pkg() == p.Types && isDefinition(used) {
				a := arrow{from, filepath.Base(p.Fset.Position(used.Pos()).Filename)}
				if a.from == a.to {
					continue
				}
				if b.uses[a] == nil {
					b.uses[a] = map[string]bool{}
				}
				b.uses[a][used.Name()] = true
			}
		}
	}
	b.arrows = slices.SortedFunc(maps.Keys(b.uses), func(a, b arrow) int {
		return cmp.Or(strings.Compare(a.from, b.from), strings.Compare(a.to, b.to))
	})
	b.order()
	return b
}

// isDefinition reports whether an object is defined at the top level of a file, or is a method, but not of an interface.
func isDefinition(o types.Object) bool {
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		return !types.IsInterface(f.Signature().Recv().Type())
	}
	return o.Parent() == o.Pkg().Scope()
}

// order sorts the files so that few arrows go up: it begins with the files that have the most arrows out over arrows in, and moves single
// files as long as that helps.
func (b *building) order() {
	over := map[string]int{}
	for _, a := range b.arrows {
		over[a.from]++
		over[a.to]--
	}
	slices.SortFunc(b.files, func(x, y string) int { return cmp.Or(cmp.Compare(over[y], over[x]), strings.Compare(x, y)) })
	for b.improve() {
	}
	b.up = b.climbs(b.files)
}

// improve moves one file to another place if fewer arrows go up after that.
func (b *building) improve() bool {
	now := len(b.climbs(b.files))
	for i, file := range b.files {
		rest := slices.Delete(slices.Clone(b.files), i, i+1)
		for at := range b.files {
			if moved := slices.Insert(slices.Clone(rest), at, file); len(b.climbs(moved)) < now {
				b.files = moved
				return true
			}
		}
	}
	return false
}

// climbs returns the arrows that go up in an order.
func (b *building) climbs(files []string) []arrow {
	floor := map[string]int{}
	for i, file := range files {
		floor[file] = i
	}
	var up []arrow
	for _, a := range b.arrows {
		if floor[a.from] > floor[a.to] {
			up = append(up, a)
		}
	}
	return up
}
