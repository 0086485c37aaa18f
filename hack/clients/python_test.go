package clients

import (
	"path/filepath"
	"testing"
)

func TestPython(t *testing.T) {
	tools(t, "python3")
	dir := workspace(t, "python")
	bin := python(t, dir)
	command(t, dir, nil, filepath.Join(bin, "openapi-python-client"), "generate", "--path", document(t), "--output-path", "client")
	env := []string{"PYTHONPATH=client"}
	command(t, dir, []string{"MYPYPATH=client"}, filepath.Join(bin, "mypy"), "--strict", "calls.py", "client/content_library_client")
	calls(t, func(t *testing.T, server []string) {
		t.Log(command(t, dir, append(env, server...), filepath.Join(bin, "python"), "calls.py"))
	})
}

// python creates a virtual environment with the packages of a workspace's requirements, and returns its folder of commands.
func python(t *testing.T, dir string) string {
	t.Helper()
	command(t, dir, nil, "python3", "-m", "venv", "venv")
	bin := filepath.Join(dir, "venv", "bin")
	command(t, dir, nil, filepath.Join(bin, "pip"), "install", "--quiet", "--disable-pip-version-check", "--requirement", "requirements.txt")
	return bin
}
