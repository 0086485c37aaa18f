package house

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// overlay collects changed files for the flag -overlay of the go command, so that a test can build a changed repository.
type overlay struct {
	t    *testing.T
	root string
	// files maps the path of a file in the repository to its new text.
	files map[string]string
}

func (o *overlay) read(path string) string {
	o.t.Helper()
	if text, ok := o.files[path]; ok {
		return text
	}
	text, err := os.ReadFile(filepath.Join(o.root, filepath.FromSlash(path)))
	if err != nil {
		o.t.Fatal(err)
	}
	return string(text)
}

// insert adds text before the first line that begins with a mark.
func (o *overlay) insert(path, mark, text string) {
	o.t.Helper()
	old := o.read(path)
	at := strings.Index(old, "\n"+mark) + 1
	if at == 0 {
		o.t.Fatalf("%s has no line that begins with %q", path, mark)
	}
	o.files[path] = old[:at] + text + old[at:]
}

// run runs the go command in the changed repository.
func (o *overlay) run(args ...string) (string, error) {
	o.t.Helper()
	replace := map[string]string{}
	dir := o.t.TempDir()
	for path, text := range o.files {
		changed := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			o.t.Fatal(err)
		}
		replace[filepath.Join(o.root, filepath.FromSlash(path))] = changed
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		o.t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		o.t.Fatal(err)
	}
	args = append([]string{args[0], "-overlay", file}, args[1:]...)
	cmd := exec.CommandContext(o.t.Context(), "go", args...)
	cmd.Dir = o.root
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestNewKind adds a kind, Gadget, as the row about kinds in CONTRIBUTING.md says. With changes in only the six Go files of the row, and with
// what `make generate` would generate, the controllers and `vitrine dev` build, and `vitrine validate` judges a Gadget.
func TestNewKind(t *testing.T) {
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	o := &overlay{t: t, root: top, files: map[string]string{}}
	gadget := func(text string) string {
		return strings.NewReplacer("TagRule", "Gadget", "KindTag", "KindGadget", "vtag", "vgadget", "Tag", "Gadget", "tags", "gadgets").Replace(text)
	}

	o.files["api/v1alpha1/gadget_types.go"] = gadget(o.read("api/v1alpha1/tag_types.go"))
	o.insert("api/v1alpha1/groupversion.go", "	ActivateUnitKind ", "	GadgetKind = \"Gadget\"\n")
	o.insert("api/v1alpha1/groupversion.go", "		{ActivateUnitKind,",
		"		{GadgetKind, func() Object { return &Gadget{} }, func() ObjectList { return &GadgetList{} }},\n")

	const library = "server/library/definition.go"
	o.insert(library, ")\n\n// kindNames", "	KindGadget\n")
	o.files[library] = strings.NewReplacer(
		`KindWebhook: "Webhook",`, `KindWebhook: "Webhook", KindGadget: "Gadget",`,
		"{d.Unit != nil, d.Unit},", "{d.Unit != nil, d.Unit}, {d.Gadget != nil, d.Gadget},",
	).Replace(o.read(library))
	o.insert(library, "	Unit         *UnitRule", "	Gadget *Gadget\n")
	o.insert(library, "	case d.Unit != nil:", "	case d.Gadget != nil:\n		return KindGadget\n")
	o.files[library] += "\n// Gadget is a kind that no manifest needs.\ntype Gadget struct{ Key string }\n\nfunc (*Gadget) check(Owner) error { return nil }\n"

	const translate = "controllers/translate/translate.go"
	o.insert(translate, "	case *v1alpha1.ActivateUnit:", "	case *v1alpha1.Gadget:\n"+
		"		d = definition(install, library.KindGadget, o)\n		d.Gadget = &library.Gadget{Key: o.Spec.Key}\n		return d, nil, nil\n")

	o.files["controllers/gadget.go"] = "package controllers\n\nimport \"github.com/vitrine-dev/vitrine/server/library\"\n\n" +
		"func gadgetKind() kind { return kind{identity: identify(library.KindGadget)} }\n"
	const kinds = "controllers/kinds.go"
	o.files[kinds] = strings.Replace(o.read(kinds), "webhookKind()}", "webhookKind(), gadgetKind()}", 1)

	row := regexp.MustCompile(`(?m)^\| a kind of manifest \|.*$`).FindString(o.read("CONTRIBUTING.md"))
	if !strings.Contains(row, "six Go files") || len(o.files) != 6 {
		t.Errorf("this test changes %d Go files, and the row in CONTRIBUTING.md is %q", len(o.files), row)
	}
	for path := range o.files {
		named := strings.Replace(path, "gadget", "<kind>", 1)
		if !strings.Contains(row, "`"+named+"`") && !strings.Contains(row, "`"+filepath.Base(named)+"`") {
			t.Errorf("the row about kinds in CONTRIBUTING.md does not name %s", named)
		}
	}

	// What make generate writes.
	const deepcopy = "api/v1alpha1/zz_generated.deepcopy.go"
	for _, f := range regexp.MustCompile(`(?ms)^func \(in \*Tag(|List|Spec|Status)\) .*?^}\n`).FindAllString(o.read(deepcopy), -1) {
		o.files[deepcopy] = o.read(deepcopy) + "\n" + gadget(f)
	}
	o.files["config/crd/bases/vitrine.dev_gadgets.yaml"] = strings.NewReplacer("Tag", "Gadget", "tag\n", "gadget\n", "tags", "gadgets").
		Replace(o.read("config/crd/bases/vitrine.dev_tags.yaml"))

	o.files["internal/cli/validate/gadget_test.go"] = `package validate

import (
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/internal/cli/manifest"
	"github.com/vitrine-dev/vitrine/server/library"
)

func TestGadget(t *testing.T) {
	objects, problems, err := manifest.Read([]string{manifest.Stdin}, strings.NewReader(object("Gadget", "a", "namespace: vibe, key: a, items: [1]")), Ours)
	if err != nil {
		t.Fatal(err)
	}
	r, all, err := Run(t.Context(), objects, problems, "shop")
	if err != nil || r.Errors > 0 || len(all) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if d := all[0].Judgement.Definition; d.Kind() != library.KindGadget || all[0].Owner("here").Kind != library.KindGadget {
		t.Errorf("the definition is %+v, and its owner %v", d, all[0].Owner("here"))
	}
}
`
	for _, args := range [][]string{
		{"build", "./controllers", "./internal/dev", "./server/definitions"},
		{"test", "-run", "^TestGadget$", "./internal/cli/validate"},
	} {
		if out, err := o.run(args...); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
