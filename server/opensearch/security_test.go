package opensearch

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/opensearch/node/nodetest"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// documentedPermissions returns the permissions on the cluster and on the indices that the documentation lists.
func documentedPermissions(t *testing.T) (cluster, indices []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/opensearch.md")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?s)\*\*Permissions in OpenSearch\.\*\*(.*?)\n\n`).FindStringSubmatch(string(page))
	if text == nil {
		t.Fatal("the documentation names no permissions")
	}
	for _, m := range regexp.MustCompile("`((?:cluster|indices)[a-z_:/]*)`").FindAllStringSubmatch(text[1], -1) {
		if strings.HasPrefix(m[1], "indices") {
			indices = append(indices, m[1])
		} else {
			cluster = append(cluster, m[1])
		}
	}
	return cluster, indices
}

// TestPermissions checks that the documented permissions of the user are enough for all methods of the library over TLS. The user must
// not be able to use the indices of another library.
func TestPermissions(t *testing.T) {
	t.Parallel()
	node := nodetest.NewSecure(t)
	o := Options{URLs: []string{node.URL}, CAFile: node.CAFile, Prefix: "vitrine-secure", FollowInterval: 100 * time.Millisecond}
	cluster, indices := documentedPermissions(t)
	o.UsernameFile, o.PasswordFile = node.User("vitrine", cluster, o.Prefix+"-*", indices)
	l, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	leading, err := l.Lead(t.Context(), "pod")
	if err != nil {
		t.Fatal(err)
	}
	defs := agreedDefinitions()
	if _, err := leading.Apply(t.Context(), defs); err != nil {
		t.Fatal(err)
	}
	apply(t, l, accessToken(1))
	it := image(0, "beach")
	it.ShortCode, it.Content.OriginalURL = "code", "https://posts.example/1"
	mustWrite(t, l, library.Mutation{Put: it}, library.Mutation{Put: image(0, "sea")})
	mustWrite(t, l, library.Mutation{Tag: &item.Tag{Namespace: "vibe", Key: "bold"}, IDs: []item.ID{1}})
	mustWrite(t, l, library.Mutation{Delete: true, ID: 2})
	read := library.Read{Property: shop, Audience: query.Private, Query: query.All{}, Limit: 5}
	parsed, err := query.Parse(`beach OR tags.\*:bold`)
	if err != nil {
		t.Fatal(err)
	}
	read.Query = parsed.Root
	version := ""
	for range 4 {
		read.IfVersion = version
		p, err := l.Read(t.Context(), read)
		if err != nil && !errors.Is(err, library.ErrNotModified) {
			t.Fatal(err)
		}
		version = p.Version
	}
	read.IfVersion = ""
	calls := map[string]error{}
	_, calls["explain"] = l.Explain(t.Context(), read, 1)
	_, _, calls["link"] = l.ShortLink(t.Context(), "code")
	_, calls["tag"] = l.HasTag(shop, item.Tag{Namespace: "vibe", Key: "bold"})
	_, calls["tags"] = l.ItemTags(t.Context(), shop, 1)
	calls["current"] = l.Current(t.Context())
	for _, err := range l.Export(t.Context(), shop, nil) {
		calls["export"] = err
	}
	_, calls["facts"] = l.Facts(t.Context())
	_, calls["freeze"] = l.Freeze(t.Context())
	calls["thaw"] = l.Thaw(t.Context())
	for what, err := range calls {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if s := l.State(t.Context()); !s.Ready || s.Problem != "" || s.Items != 1 {
		t.Errorf("%+v", s)
	}
	checkLongPattern(t, l)
	v := newView(l.conn, l.records.Now().Set.Catalogue(shop), noon)
	if release, err := v.freeze(t.Context()); err != nil {
		t.Errorf("pit: %v", err)
	} else {
		release()
	}
	if _, err := l.Sweep(t.Context(), library.Scope{Install: defs[0].Owner.Install, Kinds: []library.Kind{library.KindProperty, library.KindToken, library.KindTag, library.KindUnit, library.KindFilter}, Confirmed: true}, nil); err != nil {
		t.Error(err)
	}
	if err := l.Purge(t.Context(), shop); err != nil {
		t.Error(err)
	}
	o.Prefix = "other"
	if _, err := Open(t.Context(), o); !errors.Is(err, library.ErrUnavailable) || !strings.Contains(err.Error(), "403") {
		t.Errorf("the indices of another library: %v, want 403", err)
	}
}

// checkLongPattern checks that a pattern that is too long for OpenSearch 2 is an error of the query. Lucene 9 names the cause only in the
// reason of the error.
func checkLongPattern(t *testing.T, l *Library) {
	t.Helper()
	q, err := query.Parse("content.text:/a." + strings.Repeat("b", 999) + "/")
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Read(t.Context(), library.Read{Property: shop, Query: q.Root, Audience: query.Private, Limit: 1})
	var limit *query.SyntaxError
	if !errors.As(err, &limit) || !limit.Limit {
		t.Errorf("%v, want a *query.SyntaxError for a limit", err)
	}
}
