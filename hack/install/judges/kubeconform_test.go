package judges

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestKubeconform validates all objects of Kubernetes kinds with their schemas. Package render checks the objects of other projects with
// their Go types.
func TestKubeconform(t *testing.T) {
	enabled(t)
	args := append([]string{
		"-strict", "-summary", "-output", "json", "-skip", "CustomResourceDefinition,Certificate,HTTPRoute,PodMonitor,PrometheusRule,ServiceMonitor",
		"-schema-location", schemas(t) + "/{{.ResourceKind}}{{.KindSuffix}}.json",
	}, renderings(t)...)
	var report struct {
		Resources []struct{ Filename, Kind, Name, Status, Msg string }
		Summary   struct{ Valid int }
	}
	parse(t, goTool(t.Context(), "kubeconform", args...), &report)
	for _, r := range report.Resources {
		t.Errorf("%s: %s %s: %s: %s", filepath.Base(r.Filename), r.Kind, r.Name, r.Status, r.Msg)
	}
	if report.Summary.Valid < 100 {
		t.Errorf("only %d valid objects", report.Summary.Valid)
	}
}

// schemas returns a directory with a JSON schema for each kind of Kubernetes, named as kubeconform expects. The schemas are from the
// OpenAPI document in the Go module of Kubernetes, and reject unknown fields.
func schemas(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "k8s.io/kubernetes")
	cmd.Dir = "../../controlplane/tools/kubernetes"
	out, err := cmd.Output()
	if err != nil {
		cannot(t, "download k8s.io/kubernetes: "+err.Error())
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "api/openapi-spec/swagger.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Definitions map[string]map[string]any `json:"definitions"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, content any) {
		t.Helper()
		text, err := json.Marshal(content)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, d := range document.Definitions {
		if d["format"] == "int-or-string" {
			d["type"] = []string{"string", "integer"}
		}
		if d["properties"] != nil && d["additionalProperties"] == nil {
			d["additionalProperties"] = false
		}
		kinds, _ := d["x-kubernetes-group-version-kind"].([]any)
		if len(kinds) != 1 {
			continue // skip schemas that are not of exactly one kind, such as DeleteOptions, which all groups share
		}
		kind := kinds[0].(map[string]any)
		group, _, _ := strings.Cut(kind["group"].(string), ".")
		file := strings.ToLower(strings.Join([]string{kind["kind"].(string), group, kind["version"].(string)}, "-"))
		write(strings.ReplaceAll(file, "--", "-")+".json", map[string]any{"$ref": "definitions.json#/definitions/" + name})
	}
	write("definitions.json", document)
	return dir
}
