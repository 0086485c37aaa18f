package browser

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// provider is a running identity provider. It is the certified oidc-provider of npm.
type provider struct {
	url    string
	client *http.Client
}

// clientSecret is the secret of Vitrine's client at the provider.
const clientSecret = "a secret of the client"

// startProvider starts an identity provider, and stops it at the end of the test. settings are those of provider.mjs.
func startProvider(t *testing.T, settings map[string]any) *provider {
	t.Helper()
	gate(t)
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(modules(t), "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("provider/provider.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "provider.mjs"), script, 0o600); err != nil {
		t.Fatal(err)
	}
	argument, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "provider.mjs"), string(argument))
	var messages bytes.Buffer
	cmd.Stderr = &messages
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	lines := bufio.NewScanner(output)
	if !lines.Scan() {
		_ = cmd.Wait()
		t.Fatalf("the identity provider has not started:\n%s", messages.String())
	}
	go func() { _, _ = io.Copy(io.Discard, output) }()
	return &provider{url: lines.Text(), client: http.DefaultClient}
}

// modules returns a directory with the npm packages of the provider. It downloads them once into the user's cache directory, and npm checks
// their digests.
func modules(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			absent(t, "there is no %s", tool)
		}
	}
	lock, err := os.ReadFile("provider/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		absent(t, "%v", err)
	}
	sum := sha256.Sum256(lock)
	dir := filepath.Join(cache, "vitrine", "browser", "provider-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".install-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	for _, name := range []string{"package.json", "package-lock.json"} {
		content, err := os.ReadFile(filepath.Join("provider", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(temp, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = temp
	if message, err := install.CombinedOutput(); err != nil {
		absent(t, "install the identity provider: %v: %s", err, bytes.TrimSpace(message))
	}
	if err := os.Rename(temp, dir); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	return dir
}

// set changes what the provider does. change is a JSON object with members of test in provider.mjs.
func (p *provider) set(t *testing.T, change string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, p.url+"/test", strings.NewReader(change))
	if err != nil {
		t.Fatal(err)
	}
	res, err := p.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		t.Fatalf("change the provider: %s", res.Status)
	}
}
