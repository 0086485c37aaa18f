package judges

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/vitrine-dev/vitrine/hack/install/render"
)

const config = "../../../config"

// digest is the digest of the image in the renderings. Some checks require a digest, and installations should use one.
const digest = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// The checks that may fail, with the reason. A test fails if one of these checks no longer fails.
var (
	kubeScore = map[string]string{
		"container-resources":                           "a CPU limit would slow down responses while the node is idle",
		"container-ephemeral-storage-request-and-limit": "the root file system is read-only; a limit would evict the pod because of its logs, or of the store if it is in an emptyDir",
		"container-image-pull-policy":                   "a tag of a release never changes, and a restart must not depend on the registry",
		"deployment-strategy":                           "only one process can open the store, so the old pod must stop first (library: engine)",
		"deployment-replicas":                           "only one process can open the store (library: engine)",
		"deployment-has-host-podantiaffinity":           "topologySpreadConstraints distribute the replicas (library: opensearch)",
	}
	checkov = map[string]string{
		"CKV_K8S_11":  "a CPU limit would slow down responses while the node is idle",
		"CKV_K8S_38":  "the operator calls the API server",
		"CKV_K8S_155": "the operator writes the authority of its certificate into its own webhook configuration, and only into this one",
		"CKV_K8S_8":   "the container that makes backups serves nothing; it repeats what fails",
		"CKV_K8S_9":   "the container that makes backups serves nothing; it repeats what fails",
		"CKV_K8S_35":  "the container that makes backups reads the keys of the bucket from environment variables, as S3 clients usually do",
	}
)

// enabled skips the test unless VITRINE_JUDGES is set.
func enabled(t *testing.T) {
	t.Helper()
	if os.Getenv("VITRINE_JUDGES") == "" {
		t.Skip("run make judges")
	}
}

// cannot skips a test whose tool is missing. If VITRINE_REQUIRE_TOOLS is set, it fails the test instead.
func cannot(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("VITRINE_REQUIRE_TOOLS") != "" {
		t.Fatalf("%s, and VITRINE_REQUIRE_TOOLS is set", why)
	}
	t.Skipf("DID NOT RUN: %s", why)
}

// renderings writes the objects of config/default, of config/namespaced, and of the chart to files. It renders the chart once for each
// configuration that creates different objects.
func renderings(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	var files []string
	write := func(name string, text []byte, err error) {
		t.Helper()
		path := filepath.Join(dir, name+".yaml")
		if err := errors.Join(err, os.WriteFile(path, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	for _, name := range []string{"default", "namespaced"} {
		text, err := render.Kustomize(filepath.Join(config, name), types.Image{Name: "vitrine", NewName: "registry.example/vitrine", Digest: digest})
		write("config-"+name, text, err)
	}
	c, err := loader.Load(filepath.Join(config, "chart"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"defaults", "backup", "backup-s3", "everything", "http-route", "ingress", "monitoring", "namespaced", "opensearch-autoscaling", "service-monitor", "webhook"} {
		text, err := os.ReadFile(filepath.Join("../render/testdata", name+".values.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		values, err := render.Values(text)
		if err != nil {
			t.Fatal(err)
		}
		values["image"] = map[string]any{"repository": "registry.example/vitrine", "digest": digest}
		objects, _, err := render.Chart(c, render.Release{Name: "vitrine", Namespace: "vitrine-system"}, values)
		write("chart-"+name, objects, err)
	}
	return files
}

// goTool returns the command of a tool of hack/tools/judges.
func goTool(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", append([]string{"tool", name}, args...)...)
	cmd.Dir = "../../tools/judges"
	return cmd
}

// parse runs a command and parses its standard output. Both tools exit with 1 for a failed check.
func parse(t *testing.T, cmd *exec.Cmd, into any) {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		cannot(t, err.Error())
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, stderr.String())
	}
}

// compare fails the test for each failed check without an exception, and for each exception whose check has not failed. failed contains, by
// check, the objects that fail the check.
func compare(t *testing.T, failed map[string][]string, exceptions map[string]string) {
	t.Helper()
	for _, check := range slices.Sorted(maps.Keys(failed)) {
		if exceptions[check] == "" {
			t.Errorf("%s: fix it, or explain the exception: %s", check, strings.Join(failed[check], ", "))
		}
	}
	for _, check := range slices.Sorted(maps.Keys(exceptions)) {
		if len(failed[check]) == 0 {
			t.Errorf("%s: no check fails without this exception: remove it", check)
		}
	}
}

func TestKubeScore(t *testing.T) {
	enabled(t)
	failed := map[string][]string{}
	for _, file := range renderings(t) {
		var objects []struct {
			Name   string `json:"object_name"`
			Checks []struct {
				Check   struct{ ID string }
				Grade   int
				Skipped bool
			}
		}
		parse(t, goTool(t.Context(), "kube-score", "score", "--output-format", "json", file), &objects)
		if len(objects) == 0 {
			t.Errorf("%s: no objects", file)
		}
		for _, o := range objects {
			for _, c := range o.Checks {
				if !c.Skipped && c.Grade < 10 { // 10 is the best grade
					failed[c.Check.ID] = append(failed[c.Check.ID], filepath.Base(file)+" "+o.Name)
				}
			}
		}
	}
	compare(t, failed, kubeScore)
}

func TestCheckov(t *testing.T) {
	enabled(t)
	if _, err := exec.LookPath("checkov"); err != nil {
		cannot(t, "checkov is missing: run .ci/judges, or install the version in hack/install/judges/requirements.txt")
	}
	// Check all files with one process, because its start takes longer than the checks.
	args, files := []string{"--framework", "kubernetes", "--compact", "--skip-download", "--output", "json"}, renderings(t)
	for _, file := range files {
		args = append(args, "--file", file)
	}
	type result struct {
		Check    string `json:"check_id"`
		File     string `json:"file_abs_path"`
		Resource string
	}
	var report struct {
		Results struct {
			Passed []result `json:"passed_checks"`
			Failed []result `json:"failed_checks"`
		}
	}
	parse(t, exec.CommandContext(t.Context(), "checkov", args...), &report)
	for _, file := range files {
		if !slices.ContainsFunc(report.Results.Passed, func(r result) bool { return r.File == file }) {
			t.Errorf("%s: no check has passed", file)
		}
	}
	failed := map[string][]string{}
	for _, f := range report.Results.Failed {
		failed[f.Check] = append(failed[f.Check], filepath.Base(f.File)+" "+f.Resource)
	}
	compare(t, failed, checkov)
}
