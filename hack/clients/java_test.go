package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Versions of the plugins and libraries that Maven needs in addition to the dependencies of the generated client.
const (
	openapiGenerator = "org.openapitools:openapi-generator-cli:7.23.0"
	dependencyPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
)

func TestJava(t *testing.T) {
	tools(t, "java", "javac", "mvn")
	dir := t.TempDir()
	mvn := func(args ...string) { command(t, dir, nil, "mvn", append([]string{"-q", "-B"}, args...)...) }
	mvn(dependencyPlugin+":copy", "-Dartifact="+openapiGenerator, "-DoutputDirectory=generator")
	jars, err := filepath.Glob(filepath.Join(dir, "generator", "*.jar"))
	if err != nil || len(jars) != 1 {
		t.Fatalf("want one jar of the generator: %v, %v", jars, err)
	}
	command(t, dir, nil, "java", "-jar", jars[0], "generate", "-g", "java", "-i", document(t), "-o", dir)
	source := filepath.Join("src", "main", "java", "Calls.java")
	text, err := os.ReadFile("testdata/java/Calls.java")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, source), text, 0o600); err != nil {
		t.Fatal(err)
	}
	// The generated project compiles with -Xlint:all.
	mvn("compile", dependencyPlugin+":build-classpath", "-Dmdep.outputFile=classpath")
	libraries, err := os.ReadFile(filepath.Join(dir, "classpath"))
	if err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{filepath.Join(dir, "target", "classes"), strings.TrimSpace(string(libraries))}, string(os.PathListSeparator))
	calls(t, func(t *testing.T, env []string) { t.Log(command(t, dir, env, "java", "-cp", path, "Calls")) })
}
