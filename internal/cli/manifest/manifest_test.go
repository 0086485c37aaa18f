package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func selects(apiVersion, _ string) bool { return strings.HasPrefix(apiVersion, "vitrine.dev/") }

func read(t *testing.T, text string) ([]Object, []Problem) {
	t.Helper()
	objects, problems, err := Read([]string{Stdin}, strings.NewReader(text), selects)
	if err != nil {
		t.Fatal(err)
	}
	return objects, problems
}

// TestCharacter checks that Character finds the place of a character of a value in the source, in every style of YAML.
func TestCharacter(t *testing.T) {
	const head = "apiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nspec:\n"
	tests := map[string]struct {
		spec   string
		search string // the text of the value that begins with the character
		line   int    // relative to the line of spec
		column int
	}{
		"plain":                           {"  query: a AND (b OR\n", "(b", 1, 16},
		"plain over two lines":            {"  query: a AND\n    (b OR\n", "(b", 2, 5},
		"single quotes":                   {"  query: 'a:''x'' AND (b'\n", "(b", 1, 23},
		"double quotes":                   {"  query: \"a:\\\"x\\\" AND (b\"\n", "(b", 1, 23},
		"double quotes, numeric escapes":  {"  query: \"\\u0061\\x62 (b\"\n", "(b", 1, 22},
		"double quotes, escaped line end": {"  query: \"a AND \\\n     (b\"\n", "(b", 2, 6},
		"a literal block":                 {"  query: |-\n    a AND\n      c (b OR\n", "(b", 3, 9},
		"a folded block":                  {"  query: >-\n    a AND\n    (b OR\n", "(b", 3, 5},
		"non-ASCII characters":            {"  query: '東京 AND (b'\n", "(b", 1, 18},
		"in a mapping in one line":        {"  {query: 'a (b'}\n", "(b", 1, 14},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			objects, problems := read(t, "# a comment\n---\n"+head+tc.spec)
			if len(objects) != 1 || len(problems) != 0 {
				t.Fatalf("%d objects, problems %v", len(objects), problems)
			}
			value := objects[0].Object["spec"].(map[string]any)["query"].(string)
			index := len([]rune(value[:strings.Index(value, tc.search)]))
			place, ok := objects[0].Character("spec.query", index)
			if !ok || place.Line != 5+tc.line || place.Column != tc.column {
				t.Errorf("found at %d:%d, %v; want %d:%d", place.Line, place.Column, ok, 5+tc.line, tc.column)
			}
			if at := string([]rune(place.Text)[place.Column-1:]); !strings.HasPrefix(at, tc.search) {
				t.Errorf("the text there is %q; want %q", at, tc.search)
			}
			if _, ok := objects[0].Character("spec.query", len([]rune(value))); !ok {
				t.Error("the end of the value is not found")
			}
		})
	}
}

// TestCharacterInJSON checks that a JSON object at any place in a file is parsed as JSON, and that positions in the object are found.
func TestCharacterInJSON(t *testing.T) {
	const object = `{"apiVersion": "vitrine.dev/v1alpha1", "kind": "ContentFilter", "metadata": {"name": "a"},
	"spec": {"x": "東京", "y": [1, {"z": null}], "query": "\ud83d\ude0d a\u00e9\/\ud83d\ude0d (b"}}`
	for name, text := range map[string]string{
		"alone":                object,
		"a document of YAML":   "# a comment\n---\n" + object + "\n---\na: 1\n",
		"after another object": `{"a": 1}` + object,
		"in a List":            "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n" + object + "]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			objects, problems := read(t, text)
			if len(objects) != 1 || len(problems) != 0 {
				t.Fatalf("%d objects, problems %v", len(objects), problems)
			}
			value := objects[0].Object["spec"].(map[string]any)["query"].(string)
			if value != "😍 aé/😍 (b" {
				t.Fatalf("the query is %q", value)
			}
			for i, want := range map[int]string{0: `\ud83d\ude0d a`, 3: `\u00e9\/`, 4: `\/\ud83d`, 7: "(b"} {
				place, ok := objects[0].Character("spec.query", i)
				if at := string([]rune(place.Text)[place.Column-1:]); !ok || !strings.HasPrefix(at, want) {
					t.Errorf("character %d at %q (%t), want %q", i, at, ok, want)
				}
			}
			for path, want := range map[string]string{"spec.y[1].z": "null", "spec.y[0]": "1,", "metadata": "{", "spec.x": `"東`} {
				place := objects[0].Value(path)
				if at := string([]rune(place.Text)[place.Column-1:]); !strings.HasPrefix(at, want) {
					t.Errorf("%s at %q, want %q", path, at, want)
				}
			}
		})
	}
}

// TestCharacterIsLinear checks that finding a character in a long line takes linear time. With quadratic time, this test would take
// minutes.
func TestCharacterIsLinear(t *testing.T) {
	const n = 200_000
	objects, _ := read(t, "apiVersion: vitrine.dev/v1alpha1\nspec: {query: \""+strings.Repeat(`\u00e9`, n)+" (\"}\n")
	if place, ok := objects[0].Character("spec.query", n+1); !ok || place.Column != len("spec: {query: \"")+6*n+2 {
		t.Errorf("found at column %d, %t", place.Column, ok)
	}
}

func TestPlaces(t *testing.T) {
	objects, _ := read(t, `apiVersion: v1
kind: List
items:
  - apiVersion: vitrine.dev/v1alpha1
    kind: Tag
    metadata: {name: a, labels: {a.b/c: d}}
    spec:
      items: [1, 22]
  - apiVersion: v1
    kind: ConfigMap
`)
	if len(objects) != 1 {
		t.Fatalf("%d objects; want the one of the group", len(objects))
	}
	type at struct{ Line, Column int }
	tests := map[string]struct{ key, value at }{
		"spec.items[1]":          {at{8, 18}, at{8, 18}},
		"spec.items":             {at{8, 7}, at{8, 14}},
		"spec.key":               {at{7, 5}, at{7, 5}},
		"spec.selector.query":    {at{7, 5}, at{7, 5}},
		"metadata.labels[a.b/c]": {at{6, 34}, at{6, 41}},
		"":                       {at{4, 5}, at{4, 5}},
	}
	for path, want := range tests {
		key, value := objects[0].Key(path), objects[0].Value(path)
		if diff := cmp.Diff(want.key, at{key.Line, key.Column}); diff != "" {
			t.Errorf("key of %q (-want +got):\n%s", path, diff)
		}
		if diff := cmp.Diff(want.value, at{value.Line, value.Column}); diff != "" {
			t.Errorf("value of %q (-want +got):\n%s", path, diff)
		}
	}
}

// TestLists checks that the members of every kind of list are separate objects with positions.
func TestLists(t *testing.T) {
	const item = "- apiVersion: vitrine.dev/v1alpha1\n  kind: ContentFilter\n  metadata: {name: a}\n"
	for name, text := range map[string]string{
		"a List":              "apiVersion: v1\nkind: List\nitems:\n" + item,
		"a typed list":        "apiVersion: vitrine.dev/v1alpha1\nkind: ContentFilterList\nitems:\n" + item,
		"without kinds":       "apiVersion: vitrine.dev/v1alpha1\nkind: ContentFilterList\nitems:\n\n\n- metadata: {name: a}\n",
		"a list in a list":    "apiVersion: v1\nkind: List\nitems: [{apiVersion: vitrine.dev/v1alpha1, kind: ContentFilterList, items: [\n\n\n\n{metadata: {name: a}}]}]\n",
		"JSON of the server":  "{\"apiVersion\":\"vitrine.dev/v1alpha1\",\"kind\":\"ContentFilterList\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[\n\n\n\n\n{\"metadata\":{\"name\":\"a\"}}]}",
		"a list without more": "apiVersion: v1\nkind: List\n---\napiVersion: vitrine.dev/v1alpha1\nkind: TagList\nitems: []\n---\napiVersion: v1\nkind: List\nitems:\n" + item,
	} {
		t.Run(name, func(t *testing.T) {
			objects, problems := read(t, text)
			if len(objects) != 1 || len(problems) != 0 {
				t.Fatalf("%d objects, problems %v", len(objects), problems)
			}
			o := objects[0]
			if o.GetAPIVersion() != "vitrine.dev/v1alpha1" || o.GetKind() != "ContentFilter" || o.GetName() != "a" {
				t.Errorf("read %v", o.Object)
			}
			if place := o.Value("metadata.name"); !strings.HasPrefix(place.Text[place.Column-1:], "a") && !strings.HasPrefix(place.Text[place.Column-1:], `"a"`) {
				t.Errorf("the name is at %+v", place)
			}
		})
	}
	if objects, problems := read(t, "apiVersion: vitrine.dev/v1alpha1\nkind: PlayList\n"); len(objects) != 1 || len(problems) != 0 {
		t.Errorf("an object without items: %v, %v", objects, problems)
	}
}

func TestProblems(t *testing.T) {
	tests := map[string]struct {
		text string
		line int
		says string
	}{
		"not YAML":                      {"a: 1\n---\nb: [1\nc: 2\n", 3, "did not find expected ',' or ']'"},
		"a duplicate key":               {"a: 1\nb: 2\na: 3\n", 3, "already set"},
		"a List item that is no object": {"apiVersion: v1\nkind: List\nitems:\n- 5\n", 4, "a manifest must be a mapping"},
		"a List without a list":         {"apiVersion: v1\nkind: List\nitems: none\n", 3, "must be a list"},
		"JSON, a duplicate key":         {"{\"a\": 1,\n \"b\": \"\\ud83d\\ude0d\",\n \"a\": 3}\n", 3, "already set"},
		"JSON after JSON":               {"{}\n5\n", 2, "a manifest must be a mapping"},
		"broken JSON":                   {"{\"a\": 1,\n \"b\": [}\n", 1, "did not find expected node content"},
		"a list":                        {"- a\n", 1, "a manifest must be a mapping"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, problems := read(t, tc.text)
			if len(problems) != 1 || problems[0].Place.Line != tc.line || !strings.Contains(problems[0].Message, tc.says) {
				t.Errorf("problems: %+v; want %q on line %d", problems, tc.says, tc.line)
			}
		})
	}
	if objects, problems := read(t, "# nothing\n---\n---\n"); len(objects)+len(problems) != 0 {
		t.Errorf("comments alone: %v, %v", objects, problems)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.yaml", "a/c.yml", "a/d.json", "a/e.txt", ".hidden/f.yaml", ".g.yaml"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Files([]string{dir, Stdin, filepath.Join(dir, "a", "e.txt")})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		if rel, err := filepath.Rel(dir, f); err == nil && f != Stdin {
			files[i] = filepath.ToSlash(rel)
		}
	}
	if diff := cmp.Diff([]string{"a/c.yml", "a/d.json", "b.yaml", Stdin, "a/e.txt"}, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(dir, "a"), link); err != nil {
		t.Fatal(err)
	}
	if files, err := Files([]string{link}); err != nil || !cmp.Equal(files, []string{filepath.Join(link, "c.yml"), filepath.Join(link, "d.json")}) {
		t.Errorf("a link to a folder: %q, %v", files, err)
	}
	if _, err := Files([]string{filepath.Join(dir, "none")}); err == nil {
		t.Error("a missing path is accepted")
	}
}

// TestTooLarge checks that Read reports the name of a file that is too large, and reads the other files.
func TestTooLarge(t *testing.T) {
	dir := t.TempDir()
	large, sound := filepath.Join(dir, "data.json"), filepath.Join(dir, "tag.yaml")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxBytes+1); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sound, []byte("apiVersion: vitrine.dev/v1alpha1\nkind: Tag\nmetadata: {name: a}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, problems, err := Read([]string{large, sound}, nil, selects)
	if err != nil || len(objects) != 1 || len(problems) != 1 || problems[0].Place.File != filepath.ToSlash(large) || !strings.Contains(problems[0].Message, "more than 32 MiB") {
		t.Errorf("objects %v, problems %v, error %v", objects, problems, err)
	}
}
