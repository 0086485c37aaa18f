package house

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ci copies .ci into a temporary repository and returns a function that runs a command in it. In the temporary repository, the command make
// runs the script makeScript, and apt-get always fails. If shared is true, the empty folder ../shared exists.
func ci(t *testing.T, shared bool, makeScript string) func(command string) (output string, status int) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("the scripts of .ci need bash")
	}
	dir := t.TempDir()
	repository, bin := filepath.Join(dir, "repository"), filepath.Join(dir, "bin")
	if err := os.CopyFS(filepath.Join(repository, ".ci"), os.DirFS(filepath.Join(root, ".ci"))); err != nil {
		t.Fatal(err)
	}
	requirements := filepath.Join(repository, "hack", "install", "judges", "requirements.txt")
	if err := errors.Join(os.Mkdir(bin, 0o700), os.MkdirAll(filepath.Dir(requirements), 0o700), os.WriteFile(requirements, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	// The temporary repository has no requirements that pip could install.
	python := `case "$*" in "-m venv"*) mkdir -p "$4/bin" && ln -s /bin/true "$4/bin/pip" ;; esac`
	for name, script := range map[string]string{
		"make": makeScript, "apt-get": "echo no network; exit 100", "python3": python,
		"gcc": "", "redis-server": "", "chromium": "", "node": "", "npm": "", "java": "", "javac": "", "mvn": "",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if shared {
		if err := os.Mkdir(filepath.Join(dir, "shared"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return func(command string) (string, int) {
		cmd := exec.CommandContext(t.Context(), bash, "-c", command)
		cmd.Dir = repository
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "OPENSEARCH_URL=", "VITRINE_CACHE="+filepath.Join(dir, "cache"))
		output, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(output), cmd.ProcessState.ExitCode()
	}
}

// rootOnDebian reports whether this machine can install Debian packages.
func rootOnDebian() bool {
	_, err := os.Stat("/etc/debian_version")
	return err == nil && os.Getuid() == 0
}

// took matches the duration of a check in the output of .ci/run, which differs between runs.
var took = regexp.MustCompile(`, \d+ s\b`)

const passingMake = `case $1 in test) echo 'race detector: on'; echo 'DONE 8 tests, 1 skipped in 3.1s' ;; esac`

// notHere is the end of the list of checks on a machine without a container engine, an OpenSearch node and a Kubernetes node.
const notHere = "  image   DID NOT RUN: this is no git repository, and a clean clone is checked\n" +
	"  parity  DID NOT RUN: there is no ../shared/tools/opensearch/run.sh, and OPENSEARCH_URL is not set\n" +
	"  e2e     DID NOT RUN: there is no ../shared/tools/k8s/node.sh\n"

// TestCI checks the output and the status of .ci/run for checks that succeed, fail or do not run.
func TestCI(t *testing.T) {
	tests := map[string]struct {
		make   string
		ends   string
		status int
	}{
		"a check that cannot run here is listed and counted": {
			make: passingMake,
			ends: "  race    passed, 0 s\n  smoke   passed, 0 s\n  browser passed, 0 s\n" + notHere +
				"  clients passed, 0 s\n  judges  passed, 0 s\n  site    passed, 0 s\n  gitops  passed, 0 s\n15 passed, 0 failed, 4 skipped\n",
		},
		"so is the race detector": {
			make: `case $1 in test) echo 'RACE DETECTOR DID NOT RUN: no gcc'; echo 'DONE 8 tests, 1 skipped in 3.1s' ;; esac`,
			ends: "  race    DID NOT RUN: no gcc\n  smoke   passed, 0 s\n  browser passed, 0 s\n" + notHere +
				"  clients passed, 0 s\n  judges  passed, 0 s\n  site    passed, 0 s\n  gitops  passed, 0 s\n14 passed, 0 failed, 5 skipped\n",
		},
		"a failure ends the run": {
			make: `case $1 in test) echo 'DONE 10 tests, 1 skipped, 2 failures in 1.2s'; exit 2 ;; esac`,
			ends: "  test    FAILED, 0 s: 7 passed, 2 failed, 1 skipped\n  race    DID NOT RUN: the run ended before it\n" +
				"  smoke   DID NOT RUN: the run ended before it\n  browser DID NOT RUN: the run ended before it\n  image   DID NOT RUN: the run ended before it\n" +
				"  parity  DID NOT RUN: the run ended before it\n  e2e     DID NOT RUN: the run ended before it\n  clients DID NOT RUN: the run ended before it\n" +
				"  judges  DID NOT RUN: the run ended before it\n  site    DID NOT RUN: the run ended before it\n" +
				"  gitops  DID NOT RUN: the run ended before it\n8 passed, 2 failed, 11 skipped\n",
			status: 1,
		},
		"tests that cannot be started have failed": {
			make: `case $1 in test) echo 'DONE 0 tests, 1 error in 0.2s'; exit 2 ;; esac`,
			ends: "  gitops  DID NOT RUN: the run ended before it\n1 passed, 1 failed, 10 skipped\n", status: 1,
		},
		"a failure beside another check ends the run, and shows its output": {
			make: passingMake + "\ncase $1 in clients) echo clients began; touch began; sleep 600 ;; gitops) until [ -e began ]; do sleep 0.05; done; echo Flux broke; exit 2 ;; esac",
			ends: "clients began\n\n== gitops (its output, after it ran beside others)\nFlux broke\n== gitops: FAILED, 0 s\n\nWhat ran and what did not:\n" +
				"  verify  passed, 0 s\n  test    passed, 0 s: 7 passed, 0 failed, 1 skipped\n  race    passed, 0 s\n  smoke   passed, 0 s\n  browser passed, 0 s\n" + notHere +
				"  clients DID NOT RUN to its end: the run ended before\n  judges  DID NOT RUN: the run ended before it\n" +
				"  site    DID NOT RUN: the run ended before it\n  gitops  FAILED, 0 s\n11 passed, 1 failed, 7 skipped\n",
			status: 1,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, status := ci(t, false, test.make)(".ci/run")
			output = took.ReplaceAllString(output, ", 0 s")
			if !strings.HasSuffix(output, test.ends) || status != test.status {
				t.Errorf("status %d, want %d and an output that ends with\n%s\ngot\n%s", status, test.status, test.ends, output)
			}
		})
	}
}

// TestCIRunsEveryCheck runs checks that cannot run. On a machine that must run all checks, such a check must fail; on any other machine, it
// must report that it did not run. A machine must run all checks if ../shared exists and the checks run as root on Debian.
func TestCIRunsEveryCheck(t *testing.T) {
	want, begins := 3, "DID NOT RUN: "
	if rootOnDebian() {
		want, begins = 1, "FAILED: "
	}
	for _, check := range []string{".ci/parity", ".ci/image", ".ci/e2e"} {
		if output, status := ci(t, true, passingMake)(check); status != want || !strings.HasPrefix(output, begins) {
			t.Errorf("%s in an empty ../shared: status %d, want %d and %q, got:\n%s", check, status, want, begins, output)
		}
		if output, status := ci(t, false, passingMake)(check); status != 3 || !strings.HasPrefix(output, "DID NOT RUN: ") {
			t.Errorf("%s without ../shared: status %d, want 3 and that it did not run, got:\n%s", check, status, output)
		}
	}
	// If one of two commands is missing, provide must fail or install its package, even if the other command exists.
	output, status := ci(t, true, passingMake)("set -euo pipefail; . .ci/lib; provide sh=dash absent-command=absent-package; echo provided")
	if status != want || !strings.Contains(output, "absent-package") || strings.Contains(output, "provided") {
		t.Errorf("a missing command: status %d, want %d and the package that it is in, got:\n%s", status, want, output)
	}
}

// TestWorkflowsPinActions checks that the workflows pin each action to a commit, because a tag can move. A comment must name the version of
// the action, for readers and for Dependabot.
func TestWorkflowsPinActions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	uses, pinned := regexp.MustCompile(`(?m)^.*\buses: *(\S.*)$`), regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range uses.FindAllStringSubmatch(string(text), -1) {
			if !strings.HasPrefix(m[1], "./") && !pinned.MatchString(m[1]) {
				t.Errorf("%s uses %s: want a commit, followed by its version as a comment", file, m[1])
			}
		}
	}
}
