// Package house tests rules of the repository, such as: which imports the packages in each folder (room) may have, and which files and
// folders the top level may contain. docs/architecture.md explains the rooms.
package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/vitrine-dev/vitrine/"

// root is the root of the repository, relative to this package.
const root = "../.."

// room lists what the packages of a folder may import in addition to the standard library.
type room struct {
	// own lists the folders of this module that the room may import. A room may always import itself.
	own []string
	// ownInTests lists the folders that only the tests of the room may import.
	ownInTests []string
	// others lists prefixes of the paths of packages in other modules that the room may import. nil allows all modules. The tests of the
	// room may import all other modules.
	others []string
}

// domain lists the packages with the types that all implementations and users of the library share.
var domain = []string{"server/library", "server/item", "server/query"}

var rooms = map[string]room{
	"api": {others: []string{"k8s.io/apimachinery/"}},
	"controllers": {
		own:        append([]string{"api", "controllers/counts", "controllers/tokens", "controllers/translate", "controllers/verdict", "internal/text", "server/webhooks"}, domain...),
		ownInTests: []string{"controllers/cluster", "server/engine", "server/reference"},
		others: []string{
			"k8s.io/", "sigs.k8s.io/", "github.com/go-logr/logr", "github.com/prometheus/client_golang/",
		},
	},
	"controllers/admission": {
		// The domain is absent, because everyone who can reach the port of the webhook can send reviews: what it answers must not depend on
		// a library.
		own:    []string{"api", "controllers/verdict", "internal/text"},
		others: []string{"k8s.io/", "sigs.k8s.io/", "github.com/go-logr/logr", "github.com/prometheus/client_golang/"},
	},
	"controllers/cluster": {
		own: append([]string{"api", "controllers", "controllers/counts", "controllers/tokens", "server/webhooks"}, domain...), ownInTests: []string{"server/reference"},
		others: []string{"k8s.io/", "sigs.k8s.io/", "github.com/go-logr/logr", "github.com/prometheus/client_golang/"},
	},
	"controllers/translate":  {own: append([]string{"api"}, domain...), others: []string{"k8s.io/apimachinery/"}},
	"controllers/verdict":    {own: append([]string{"api", "controllers/translate"}, domain...), others: []string{"k8s.io/apimachinery/"}},
	"controllers/counts":     {own: append([]string{"api"}, domain...), others: []string{"github.com/go-logr/logr", "golang.org/x/time/"}},
	"controllers/tokens":     {own: append([]string{"api", "controllers/translate", "controllers/verdict"}, domain...), others: []string{"k8s.io/api/", "k8s.io/apimachinery/"}},
	"server/query":           {others: []string{}},
	"server/item":            {own: []string{"server/query"}, others: []string{"github.com/klauspost/compress/s2"}},
	"server/library":         {own: []string{"server/item", "server/query"}, others: []string{"github.com/google/uuid", "github.com/cespare/xxhash/v2"}},
	"server/eval":            {own: []string{"server/item", "server/library", "server/query"}, others: []string{}},
	"server/store":           {own: append([]string{"server/definitions", "server/mutations", "server/parallel", "server/transfer"}, domain...), others: []string{"github.com/cockroachdb/pebble/v2"}},
	"server/store/storetest": {others: []string{}},
	"server/store/synced":    {others: []string{"github.com/cockroachdb/pebble/v2/vfs"}},
	"server/reference":       {own: append([]string{"server/definitions", "server/eval", "server/store"}, domain...), others: []string{}},
	"server/parallel":        {others: []string{}},
	"server/flight":          {others: []string{}},
	"server/definitions": {
		own: domain, others: []string{"github.com/tidwall/btree"},
	},
	"server/mutations": {
		own: append([]string{"server/definitions"}, domain...), others: []string{},
	},
	"server/transfer": {
		own:        append([]string{"server/definitions", "server/mutations"}, domain...),
		ownInTests: []string{"hack/opensearch/node/nodetest", "server/engine", "server/opensearch", "server/reference", "server/store"},
		others:     []string{},
	},
	"server/opensearch": {
		own: append([]string{
			"server/definitions", "server/eval", "server/flight", "server/mutations", "server/opensearch/cluster", "server/opensearch/facts",
			"server/opensearch/indices", "server/opensearch/records", "server/opensearch/schema", "server/opensearch/translate",
			"server/opensearch/upkeep", "server/transfer",
		}, domain...),
		ownInTests: []string{"hack/opensearch/node/nodetest", "internal/sample", "server/engine", "server/reference"},
		others:     []string{"github.com/maypok86/otter/v2", "golang.org/x/sync/"},
	},
	"server/opensearch/cluster": {
		own:    append([]string{"server/flight"}, domain...),
		others: []string{"github.com/fxamacker/cbor/v2", "github.com/opensearch-project/opensearch-go/v4"},
	},
	"server/opensearch/schema": {own: domain, ownInTests: []string{"internal/sample"}, others: []string{"github.com/fxamacker/cbor/v2"}},
	"server/opensearch/translate": {
		own: append([]string{"server/definitions", "server/eval", "server/opensearch/schema"}, domain...), ownInTests: []string{"hack/opensearch/node/nodetest"},
		others: []string{},
	},
	"server/opensearch/indices": {own: append([]string{"server/opensearch/cluster", "server/opensearch/schema", "server/transfer"}, domain...), others: []string{}},
	"server/opensearch/facts": {
		own:    append([]string{"server/flight", "server/mutations", "server/opensearch/cluster", "server/opensearch/schema", "server/transfer"}, domain...),
		others: []string{},
	},
	"server/opensearch/records": {
		own:    append([]string{"server/definitions", "server/flight", "server/opensearch/cluster", "server/opensearch/schema", "server/transfer"}, domain...),
		others: []string{},
	},
	"server/opensearch/upkeep": {
		own: append([]string{
			"server/opensearch/cluster", "server/opensearch/facts", "server/opensearch/indices", "server/opensearch/schema", "server/transfer",
		}, domain...),
		others: []string{},
	},
	"server/engine": {
		own:        append([]string{"server/definitions", "server/engine/index", "server/engine/read", "server/engine/search", "server/engine/segment", "server/eval", "server/store", "server/transfer"}, domain...),
		ownInTests: []string{"internal/sample", "server/reference"},
		others:     []string{"github.com/cockroachdb/pebble/v2"},
	},
	"server/engine/read": {
		own:    append([]string{"server/definitions", "server/engine/index", "server/engine/search", "server/engine/segment", "server/eval", "server/flight", "server/store"}, domain...),
		others: []string{},
	},
	"server/engine/search": {
		own:    append([]string{"server/engine/scratch", "server/engine/segment", "server/eval", "server/flight"}, domain...),
		others: []string{"github.com/RoaringBitmap/roaring/v2"},
	},
	"server/engine/scratch": {others: []string{"golang.org/x/sys/"}},
	"server/engine/index": {
		own:    append([]string{"server/engine/segment", "server/parallel", "server/store"}, domain...),
		others: []string{"github.com/RoaringBitmap/roaring/v2", "github.com/cockroachdb/pebble/v2"},
	},
	"server/engine/segment": {
		own:    []string{"server/item", "server/query"},
		others: []string{"github.com/RoaringBitmap/roaring/v2", "golang.org/x/sys/"},
	},
	"server/coding":   {others: []string{}},
	"server/problems": {others: []string{}},
	"server/feed":     {own: append([]string{"server/flight"}, domain...), ownInTests: []string{"server/reference"}},
	"server/webhooks": {
		own: append([]string{"server/feed"}, domain...), ownInTests: []string{"server/engine", "server/reference"},
		others: []string{"github.com/RoaringBitmap/roaring/v2", "github.com/prometheus/client_golang/"},
	},
	"server/jsongzip": {ownInTests: []string{"internal/sample", "server/item", "server/query"}, others: []string{}},
	"server/httpapi": {
		own: append([]string{"server/coding", "server/feed", "server/flight", "server/jsongzip", "server/problems"}, domain...), ownInTests: []string{"hack/opensearch/node/nodetest", "server/engine", "server/opensearch", "server/reference"},
		others: []string{"github.com/cespare/xxhash/v2", "golang.org/x/time/", "github.com/klauspost/compress/", "github.com/prometheus/client_golang/", "github.com/maypok86/otter/v2"},
	},
	"server/console": {
		own: []string{"server/coding", "server/problems"}, ownInTests: append([]string{"server/engine", "server/httpapi"}, domain...),
		others: []string{"github.com/coreos/go-oidc/v3/", "golang.org/x/oauth2"},
	},
	"server/client":   {own: []string{"internal/text", "server/item"}, ownInTests: append([]string{"server/httpapi", "server/reference"}, domain...)},
	"config":          {others: []string{}},
	"internal/admin":  {own: append([]string{"internal/backup", "server/transfer"}, domain...), others: []string{}},
	"internal/backup": {others: []string{}},
	"internal/cli": {
		own:    append([]string{"api", "config", "controllers/tokens", "controllers/translate", "controllers/verdict", "internal/admin", "internal/backup", "internal/exit", "internal/s3", "internal/text", "internal/version", "server/client"}, domain...),
		others: []string{"k8s.io/", "sigs.k8s.io/", "go.yaml.in/yaml/v3", "golang.org/x/", "github.com/go-logr/logr", "github.com/spf13/", "github.com/vbauerster/mpb/v8"},
	},
	"internal/exit":    {others: []string{}},
	"internal/version": {others: []string{}},
	"internal/dev": {
		own:        append([]string{"api", "controllers/translate", "internal/cli"}, domain...),
		ownInTests: []string{"server/reference"}, others: []string{},
	},
	"internal/server": {
		own: append([]string{
			"controllers/admission", "controllers/cluster", "internal/admin", "internal/backup", "internal/cli/message", "internal/exit", "internal/memory", "internal/servingcert",
			"internal/text", "internal/version", "server/console", "server/engine", "server/httpapi", "server/opensearch", "server/problems", "server/store",
			"server/transfer", "server/webhooks",
		}, domain...),
	},
	"internal/memory":      {own: domain, others: []string{"github.com/KimMachineGun/automemlimit/", "k8s.io/apimachinery/"}},
	"internal/servingcert": {others: []string{}},
	"internal/sample":      {ownInTests: []string{"server/item", "server/query"}, others: []string{"sigs.k8s.io/yaml"}},
	"internal/s3":          {others: []string{"github.com/minio/minio-go/v7"}},
	"internal/text":        {others: []string{}},
	"cmd/vitrine": {
		own:        append([]string{"api", "internal", "server/client", "server/console", "server/httpapi", "server/store/synced", "server/transfer"}, domain...),
		ownInTests: []string{"controllers", "hack/docblocks", "hack/opensearch/node/nodetest", "hack/reference", "server/engine", "server/opensearch", "server/reference"},
	},
	"hack": {own: []string{"api", "config", "controllers", "internal", "server", "cmd"}},
}

// TestImports checks that the imports of every package of the main module obey the rules of its room.
func TestImports(t *testing.T) {
	seen := map[string]bool{}
	eachGoFile(t, func(path string) {
		name, r, ok := roomOf(path)
		if !ok {
			t.Errorf("%s is in no room: move it into one, or add a row for its room to this test and to docs/architecture.md", path)
			return
		}
		seen[name] = true
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.ImportsOnly)
		if err != nil {
			t.Errorf("parse %s: %v", path, err)
			return
		}
		test := strings.HasSuffix(path, "_test.go")
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !r.allows(name, imported, test) {
				t.Errorf("%s imports %s, which the room %s must not import", path, imported, name)
			}
		}
	})
	table, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range rooms {
		if !seen[name] {
			t.Errorf("the room %s has no Go file: remove its row, or check where its files are", name)
		}
		if row := "\n| `" + name; !strings.Contains(string(table), row+"`") && !strings.Contains(string(table), row+"/") {
			t.Errorf("docs/architecture.md has no row for the room %s", name)
		}
	}
}

func (r room) allows(name, imported string, test bool) bool {
	if rest, ok := strings.CutPrefix(imported, module); ok {
		allowed := append([]string{name}, r.own...)
		if test {
			allowed = append(allowed, r.ownInTests...)
		}
		return slices.ContainsFunc(allowed, func(dir string) bool { return within(rest, dir) })
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") || r.others == nil {
		return true // the package is in the standard library, or the room may import all modules
	}
	hasPrefix := func(p string) bool { return strings.HasPrefix(imported, p) }
	return slices.ContainsFunc(r.others, hasPrefix) || test
}

// roomOf returns the innermost room that contains a file.
func roomOf(path string) (string, room, bool) {
	best := ""
	for name := range rooms {
		if within(path, name) && len(name) > len(best) {
			best = name
		}
	}
	return best, rooms[best], best != ""
}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// TestTopLevel checks that the top level of the repository contains only what docs/architecture.md lists.
func TestTopLevel(t *testing.T) {
	allowed := []string{
		"api", "cmd", "config", "controllers", "docs", "hack", "internal", "server", "templates",
		"CHANGELOG.md", "CONTRIBUTING.md", "Dockerfile", "LICENSE", "Makefile", "PROJECT", "README.md", "action.yml", "go.mod", "go.sum",
		"bin", "dist", // build output, which Git ignores
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(allowed, e.Name()) {
			t.Errorf("%s does not belong at the top level", e.Name())
		}
	}
}

// eachGoFile calls visit for every Go file of the main module, with its slash path below the root.
func eachGoFile(t *testing.T, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
				return fs.SkipDir
			}
			// A folder with its own go.mod is a separate module, to which the rules do not apply.
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && rel != "." {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(rel, ".go") {
			visit(filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
