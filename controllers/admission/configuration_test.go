package admission

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// TestConfigurationEqualsManifest checks that the configuration that the Keeper writes equals the manifest, except for the address.
func TestConfigurationEqualsManifest(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "webhook", "configuration.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest, written admissionregistrationv1.ValidatingWebhookConfiguration
	if err := yaml.UnmarshalStrict(text, &manifest); err != nil {
		t.Fatal(err)
	}
	k := &Keeper{Name: manifest.Name, URL: "https://127.0.0.1:9443"}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(k.wanted().Object, &written, true); err != nil {
		t.Fatal(err)
	}
	if len(manifest.Webhooks) != 1 || len(written.Webhooks) != 1 {
		t.Fatalf("%d and %d webhooks, want one", len(manifest.Webhooks), len(written.Webhooks))
	}
	manifest.Webhooks[0].ClientConfig = written.Webhooks[0].ClientConfig
	// The manifest sets this field to the default of the API server.
	if p := manifest.Webhooks[0].MatchPolicy; p != nil && *p == admissionregistrationv1.Equivalent {
		manifest.Webhooks[0].MatchPolicy = nil
	}
	if diff := cmp.Diff(manifest, written); diff != "" {
		t.Errorf("-config/webhook/configuration.yaml +written:\n%s", diff)
	}
}
