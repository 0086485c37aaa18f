package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
)

// line is a command that is printed for the user to paste. Smoke runs the very same text.
type line struct {
	title   string
	command string
	// check says what is wrong with the command's output.
	check func(output string) error
}

// lines are the printed commands.
func (s *stack) lines(ctx context.Context) ([]line, error) {
	walls, err := s.cluster.get(ctx, "-n", namespace, "contentfilter", "summer-wall")
	if err != nil {
		return nil, err
	}
	url := walls[0].Status.URL
	if url == "" {
		return nil, errors.New("ContentFilter summer-wall is ready and has no status.url")
	}
	curl := func(name string) string {
		return fmt.Sprintf("curl -sS --cacert %s -H @%s", process.Quote(s.authority()), process.Quote(s.tokens[name].header))
	}
	return []line{
		{
			title:   "The objects:",
			command: fmt.Sprintf("KUBECONFIG=%s %s get vitrine -n %s", process.Quote(s.cluster.kubeconfig), process.Quote(s.cluster.kubectl), namespace),
			check:   checkTables,
		},
		{
			title:   "READ-ONLY, two items of the filter summer-wall:",
			command: fmt.Sprintf("%s '%s?page_size=2'", curl(readOnly), url),
			check:   checkPage,
		},
		{
			title:   "READ-WRITE, a tag for an item:",
			command: fmt.Sprintf(`%s -d '{"namespace": "marketer_tags", "key": "picked", "ugc_ids": [100001]}' %s/v1/tags/`, curl(readWrite), s.server.url),
			check:   checkTagged,
		},
	}, nil
}

// report prints the tables, the lines that work when pasted, and how to stop.
func (s *stack) report(ctx context.Context) error {
	lines, err := s.lines(ctx)
	if err != nil {
		return err
	}
	for i, l := range lines {
		s.say("\n%s\n\n  %s", l.title, l.command)
		if i > 0 {
			continue
		}
		tables, err := s.shell(ctx, l.command)
		if err != nil {
			return err
		}
		s.say("\n%s", indent(tables))
	}
	s.say("\nkubectl, vcurl (curl with the READ-WRITE token) and VITRINE_SERVER for another terminal:\n\n  . %s", process.Quote(s.environmentFile()))
	s.say("\nThe server's log is %s.", s.log())
	after := "make run goes on with the same data; rm -r " + process.Quote(s.state) + " forgets it."
	if s.given {
		after = "The objects stay in your cluster; kubectl delete -k config/samples removes them."
	}
	s.say("Ctrl-C stops everything that was started here. %s", after)
	return nil
}

// environmentFile is a shell script that makes a terminal ready for the tour of README.
func (s *stack) environmentFile() string { return filepath.Join(s.state, "env") }

func (s *stack) writeEnvironment(context.Context) error {
	text := fmt.Sprintf(`# For a shell beside a local run: . %[1]s
export KUBECONFIG=%[2]s
export PATH=%[3]s:"$PATH"
export VITRINE_SERVER=%[4]s
export VITRINE_CA_FILE=%[5]s
VITRINE_TOKEN=$(cat %[6]s)
export VITRINE_TOKEN
vcurl() { curl -sS --cacert "$VITRINE_CA_FILE" -H @%[7]s "$@" && echo; }
`, s.environmentFile(), process.Quote(s.cluster.kubeconfig), process.Quote(filepath.Dir(s.cluster.kubectl)), s.server.url, process.Quote(s.authority()),
		process.Quote(s.tokens[readWrite].file), process.Quote(s.tokens[readWrite].header))
	return writePrivate(s.environmentFile(), text)
}

// shell runs a command line as a user's shell would and returns its standard output.
func (s *stack) shell(ctx context.Context, script string) (string, error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
	cmd.Dir = s.root
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+s.cluster.cache, "KUBERC=off")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", fmt.Errorf("run by a shell: %w\n%s\n%s%s", err, indent(script), indent(stdout.String()), indent(stderr.String()))
	}
	return stdout.String(), nil
}

// checkTables wants a row for every sample object, none of them not ready.
func checkTables(output string) error {
	for _, name := range []string{
		"property.vitrine.dev/default", "accesstoken.vitrine.dev/storefront", "accesstoken.vitrine.dev/backoffice",
		"contentfilter.vitrine.dev/summer-wall", "contentfilter.vitrine.dev/moderation-queue",
		"tag.vitrine.dev/hero", "tag.vitrine.dev/seaside", "activateunit.vitrine.dev/sandals",
	} {
		if !strings.Contains(output, name) {
			return fmt.Errorf("there is no row for %s", name)
		}
	}
	for row := range strings.Lines(output) {
		if fields := strings.Fields(row); len(fields) > 1 && strings.Contains(fields[0], ".vitrine.dev/") && fields[1] != "True" {
			return fmt.Errorf("not ready: %s", strings.TrimSpace(row))
		}
	}
	return nil
}

// checkPage wants two whole items without what is private.
func checkPage(output string) error {
	var page struct {
		Total    int64 `json:"total_results"`
		Embedded struct {
			Items []map[string]json.RawMessage `json:"ugc:item"`
		} `json:"_embedded"`
	}
	if err := json.Unmarshal([]byte(output), &page); err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	if page.Total <= 2 || len(page.Embedded.Items) != 2 {
		return fmt.Errorf("%d items of %d in all, want 2 of more", len(page.Embedded.Items), page.Total)
	}
	for _, item := range page.Embedded.Items {
		if item["content"] == nil {
			return errors.New("an item has no content")
		}
		if item["submission"] != nil {
			return errors.New("a READ-ONLY token sees a submission")
		}
	}
	return nil
}

func checkTagged(output string) error {
	var mapping struct {
		Namespace string  `json:"namespace"`
		Key       string  `json:"key"`
		IDs       []int64 `json:"ugc_ids"`
	}
	if err := json.Unmarshal([]byte(output), &mapping); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if mapping.Namespace != "marketer_tags" || mapping.Key != "picked" || len(mapping.IDs) != 1 || mapping.IDs[0] != 100001 {
		return fmt.Errorf("unexpected mapping %+v", mapping)
	}
	return nil
}

func indent(text string) string {
	var out strings.Builder
	for l := range strings.Lines(text) {
		out.WriteString("  " + strings.TrimRight(l, "\n") + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}
