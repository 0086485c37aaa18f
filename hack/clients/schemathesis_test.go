package clients

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSchemathesis sends valid and invalid requests that Schemathesis generates from the document, with each class of token. It runs all
// checks of Schemathesis, except for positive_data_acceptance, which a stricter check in testdata/schemathesis/hooks.py replaces. The
// folder also contains settings for properties of the server that the document does not describe.
func TestSchemathesis(t *testing.T) {
	tools(t, "python3")
	dir := workspace(t, "schemathesis")
	bin := python(t, dir)
	for class, token := range map[string]string{"none": "", "READ-ONLY": readOnly, "READ-WRITE": readWrite} {
		t.Run(class, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, "schemathesis.toml"))
			if err != nil {
				t.Fatal(err)
			}
			if token != "" {
				// The document describes two ways to send the token, in a header and in the query. Use both with the same token.
				text = append(text, "\n[auth.openapi]\nbearer.bearer = \""+token+"\"\nquery.api_key = \""+token+"\"\n"...)
			}
			config := filepath.Join(dir, class+".toml")
			if err := os.WriteFile(config, text, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Log(command(t, dir, nil, filepath.Join(bin, "schemathesis"), "--config-file", config, "run", document(t),
				"--url", serve(t), "--checks", "all", "--exclude-checks", "positive_data_acceptance", "--continue-on-failure", "--no-color"))
		})
	}
}
