package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
)

// line is a command that is printed so that the user can paste it. make smoke runs the same text.
type line struct{ title, command string }

// Titles of the lines.
const (
	tablesTitle = "The objects:"
	pageTitle   = "READ-ONLY, two items of the filter summer-wall:"
	tagTitle    = "READ-WRITE, a tag for an item:"
)

// lines returns the printed commands.
func (s *stack) lines(ctx context.Context) ([]line, error) {
	url, err := s.cluster.run(ctx, "", "get", "-n", namespace, "contentfilter", "summer-wall", "-o", "jsonpath={.status.url}")
	if err != nil {
		return nil, err
	}
	curl := func(name string) string {
		return fmt.Sprintf("curl -sS --cacert %s -H @%s", process.Quote(s.authority()), process.Quote(s.tokens[name].header))
	}
	return []line{
		{tablesTitle, fmt.Sprintf("KUBECONFIG=%s %s get vitrine -n %s", process.Quote(s.cluster.kubeconfig), process.Quote(s.cluster.kubectl), namespace)},
		{pageTitle, fmt.Sprintf("%s '%s?page_size=2'", curl(readOnly), url)},
		{tagTitle, fmt.Sprintf(`%s -d '{"namespace": "marketer_tags", "key": "picked", "ugc_ids": [100001]}' %s/v1/tags/`, curl(readWrite), s.url)},
	}, nil
}

// report prints the tables, the commands, and instructions for stopping the run.
func (s *stack) report(ctx context.Context) error {
	lines, err := s.lines(ctx)
	if err != nil {
		return err
	}
	for _, l := range lines {
		s.say("\n%s\n\n  %s", l.title, l.command)
		if l.title != tablesTitle {
			continue
		}
		tables, err := s.shell(ctx, l.command)
		if err != nil {
			return err
		}
		s.say("\n%s", indent(tables))
	}
	s.say("\nTo prepare another terminal for kubectl, vitrine and vcurl (curl with the READ-WRITE token), run this in it:\n\n  . %s", process.Quote(s.environmentFile()))
	s.say("\nTo open the console in a browser, run this in that terminal:\n\n  vitrine console")
	s.say("\nThe server listens on %s. Another port: make run PORT=8444", s.url)
	s.say("The server's log is %s.", s.log())
	after := "The next make run continues with the same data; rm -r " + process.Quote(s.state) + " deletes the data."
	if s.given {
		after = "The sample objects stay in your cluster; kubectl delete -k config/samples removes them."
	}
	s.say("Ctrl-C stops everything that this command has started. %s", after)
	return nil
}

// environmentFile returns the path of a shell script that prepares a terminal for the commands in docs.
func (s *stack) environmentFile() string { return filepath.Join(s.state, "env") }

func (s *stack) writeEnvironment(context.Context) error {
	tools := filepath.Join(s.state, "bin")
	if err := os.MkdirAll(tools, 0o700); err != nil {
		return fmt.Errorf("create a directory in the state directory: %w", err)
	}
	for _, name := range []string{"vitrine", "kubectl-vitrine", "kubectl_complete-vitrine"} {
		if err := os.Symlink(s.binary(), filepath.Join(tools, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("link a program: %w", err)
		}
	}
	text := fmt.Sprintf(`# Prepares a shell for commands to a local run. Usage: . %[1]s
export KUBECONFIG=%[2]s
export PATH=%[3]s:%[8]s:"$PATH"
export VITRINE_SERVER=%[4]s
export VITRINE_CA_FILE=%[5]s
export VITRINE_DATA=%[9]s
VITRINE_TOKEN=$(cat %[6]s)
export VITRINE_TOKEN
vcurl() { curl -sS --cacert "$VITRINE_CA_FILE" -H @%[7]s "$@" && echo; }
`, s.environmentFile(), process.Quote(s.cluster.kubeconfig), process.Quote(filepath.Dir(s.cluster.kubectl)), s.url, process.Quote(s.authority()),
		process.Quote(s.tokens[readWrite].file), process.Quote(s.tokens[readWrite].header), process.Quote(tools), process.Quote(s.data()))
	return writePrivate(s.environmentFile(), text)
}

// shell runs a command line in a shell, as a user would, and returns its standard output.
func (s *stack) shell(ctx context.Context, script string) (string, error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
	cmd.Dir = s.root
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+s.cluster.cache, "KUBERC=off")
	text, messages, err := output(ctx, cmd)
	if err != nil {
		return "", fmt.Errorf("run a command in a shell: %w\n%s\n%s%s", err, indent(script), indent(text), indent(messages))
	}
	return text, nil
}

func indent(text string) string {
	var out strings.Builder
	for l := range strings.Lines(text) {
		out.WriteString("  " + strings.TrimRight(l, "\n") + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}
