package clients

import "testing"

func TestTypeScript(t *testing.T) {
	tools(t, "npm", "node")
	dir := workspace(t, "typescript")
	install(t, dir)
	command(t, dir, nil, "node_modules/.bin/openapi-typescript", document(t), "--output", "schema.ts")
	command(t, dir, nil, "node_modules/.bin/tsc", "--outDir", "built")
	calls(t, func(t *testing.T, env []string) { t.Log(command(t, dir, env, "node", "built/calls.js")) })
}
