package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vitrine-dev/vitrine/internal/exit"
)

// kubeconfig writes a kubeconfig that names a server, and returns its path.
func kubeconfig(t *testing.T, name, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	content := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}]}`, server)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhichClusterIsWatched(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if err := os.Mkdir(filepath.Join(home, ".kube"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(kubeconfig(t, "config", "https://last-used.example"), filepath.Join(home, ".kube", "config")); err != nil {
		t.Fatal(err)
	}
	flag := kubeconfig(t, "flag", "https://flag.example")
	first, second := kubeconfig(t, "first", "https://first.example"), kubeconfig(t, "second", "https://second.example")
	cases := map[string]struct{ flag, env, host, fails string }{
		"flag":                                  {flag: flag, host: "https://flag.example"},
		"flag takes precedence over KUBECONFIG": {flag: flag, env: first, host: "https://flag.example"},
		"KUBECONFIG":                            {env: first, host: "https://first.example"},
		"KUBECONFIG with two files":             {env: second + string(os.PathListSeparator) + first, host: "https://second.example"},
		"not ~/.kube/config":                    {fails: "no cluster: pass --kubeconfig"},
		"a missing KUBECONFIG file":             {env: first + ".absent", fails: "is missing or names no cluster"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", tc.env)
			load, err := restConfig(tc.flag)
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) || exit.Code(err) != exit.Usage {
					t.Errorf("%v; want %q", err, tc.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c, err := load(); err != nil || c.Host != tc.host {
				t.Errorf("%v, %v; want %s", c, err, tc.host)
			}
		})
	}
}

func TestKubeconfigIsReadAgain(t *testing.T) {
	path := kubeconfig(t, "config", "https://before.example")
	load, err := restConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(kubeconfig(t, "new", "https://after.example"), path); err != nil {
		t.Fatal(err)
	}
	if c, err := load(); err != nil || c.Host != "https://after.example" {
		t.Errorf("%v, %v", c, err)
	}
}
