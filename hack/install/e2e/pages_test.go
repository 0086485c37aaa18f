package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/vitrine-dev/vitrine/hack/docblocks"
)

// desk is a copy of the sources, in which the commands of pages run.
var desk string

// pageSpecs runs pages from the beginning to the end, as a reader would on a node of the cluster.
func pageSpecs() {
	BeforeAll(func() {
		if GinkgoLabelFilter() != "pages" {
			Skip("DID NOT RUN: needs a node whose containerd this machine can use, with the image vitrine:latest: PART=pages")
		}
	})
	It("starts in a cluster without remains of an earlier run", expectVacant)
	itRuns("README.md", "Install")
	itRuns("docs/install.md", "The image")
	itRuns("docs/install.md", "kustomize")
	itRuns("docs/install.md", "One file")
	itRuns("docs/install.md", "Check the installation")
	It("makes the samples Ready", applySamples)
	It("imports items from a client pod", importItems)
	itRuns("docs/operations.md", "What to watch")
	itRuns("docs/operations.md", "Backup and restore")
	itRuns("docs/operations.md", "Restore")
	It("serves the restored items", readFilter)
	itRuns("docs/operations.md", "Upgrade and rollback")
	It("loses its manifests while the operator does not run", loseManifests)
	itRuns("docs/operations.md", "A sweep is held")
	itRuns("docs/operations.md", "Two operators on one namespace")
	itRuns("docs/opensearch.md", "Migrating")
	It("still serves the items", readFilter)
	It(runs(erasingPage, erasingSection), purge)
	It("removes everything with config/samples and config/default", func(ctx context.Context) {
		Expect(shell(ctx, "kubectl delete --ignore-not-found -k config/samples && kubectl delete --ignore-not-found -k config/default")).To(Succeed())
	})
	itRuns("docs/install.md", "Helm")
	It("uninstalls the release, and removes what it keeps", func(ctx context.Context) {
		rolledOut(ctx, nil)
		helmUninstall()
		remove(ctx, append(crds(), namespace(system))...)
	})
}

// loseManifests creates 30 filters and deletes them while the operator does not run. These are so many that the operator does not remove
// their definitions without a confirmation.
func loseManifests(ctx context.Context) {
	Expect(shell(ctx, `
		set -eu
		manifest='apiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata: {name: lost-%d, namespace: shop}\nspec: {query: lost}\n---\n'
		printf "$manifest" $(seq 30) >lost.yaml
		kubectl apply -f lost.yaml
		kubectl wait --for=condition=Ready -f lost.yaml
		kubectl -n vitrine-system scale deployment/vitrine --replicas=0
		kubectl -n vitrine-system wait --for=delete pod -l app.kubernetes.io/name=vitrine --timeout=2m
		kubectl delete -f lost.yaml
		kubectl -n vitrine-system scale deployment/vitrine --replicas=1`)).To(Succeed())
	rolledOut(ctx, nil)
}

// erasingPage and erasingSection name the section with the command that purges a property.
const erasingPage, erasingSection = "docs/operations.md", "Erasing"

// purge deletes the Property and runs the command of the page. The command runs on a terminal, where it asks the user to enter the name of
// the property.
func purge(ctx context.Context) {
	commands := sections(erasingPage)[erasingSection]
	Expect(commands).To(HaveLen(1))
	Expect(shell(ctx, "kubectl -n shop delete vprop default")).To(Succeed())
	// Until the operator has seen the deletion, the server refuses the purge.
	Eventually(ctx, func() error {
		return shell(ctx, "echo shop/default | script --quiet --return --command '"+commands[0].Script+"' /dev/null")
	}).WithTimeout(prompt).Should(Succeed())
}

// itRuns adds a spec that runs the commands of a section of a page with the language `sh cluster`, and compares their output with the page.
func itRuns(page, section string) {
	It(runs(page, section), func(ctx context.Context) { runSection(ctx, page, section) })
}

// runs returns the name of the spec that runs the commands of a section of a page.
func runs(page, section string) string {
	return fmt.Sprintf("%s%s, section %q", runsPrefix, page, section)
}

const runsPrefix = "runs the commands of "

func runSection(ctx context.Context, page, section string) {
	GinkgoHelper()
	commands := sections(page)[section]
	Expect(commands).NotTo(BeEmpty())
	dir := GinkgoT().TempDir()
	failure := shell(ctx, docblocks.Script(dir, commands))
	Expect(docblocks.Judge(page, dir, commands)).To(Succeed())
	Expect(failure).NotTo(HaveOccurred())
}

// shell runs a script in desk. When the script ends, its background programs end, too.
func shell(ctx context.Context, script string) error {
	ctx, stop := context.WithTimeout(ctx, 2*patience)
	defer stop()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir, cmd.Stdout, cmd.Stderr = desk, GinkgoWriter, GinkgoWriter
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	defer func() { _ = cmd.Cancel() }()
	return cmd.Run()
}

// sections returns the commands of a page with the language `sh cluster`, by section.
func sections(page string) map[string][]docblocks.Command {
	GinkgoHelper()
	text, err := os.ReadFile(page)
	Expect(err).NotTo(HaveOccurred())
	all := map[string][]docblocks.Command{}
	for _, c := range docblocks.Commands(string(text), docblocks.Cluster) {
		all[c.Section] = append(all[c.Section], c)
	}
	return all
}

// prepareDesk copies the sources to desk, and lets commands of pages find kubectl-vitrine and helm.
func prepareDesk() {
	GinkgoHelper()
	desk = GinkgoT().TempDir()
	out, err := exec.Command("sh", "-c", `git ls-files -z | tar -c --null -T - | tar -x -C "$0"`, desk).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "copy the sources: %s", out)
	bin, err := filepath.Abs(filepath.Dir(*pluginFlag))
	Expect(err).NotTo(HaveOccurred())
	GinkgoT().Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// TestPages checks that every block with the language `sh cluster` is run by a spec, and that every spec that runs a section finds such
// blocks in the section.
func TestPages(t *testing.T) {
	if *imageFlag != "" {
		t.Skip("make test checks it") // do not run the specs: Ginkgo can run them only once in a process
	}
	RegisterTestingT(t)
	t.Chdir("../../..")
	unused := map[string]bool{}
	for _, spec := range PreviewSpecs("Vitrine in a cluster").SpecReports {
		if strings.HasPrefix(spec.LeafNodeText, runsPrefix) {
			unused[spec.LeafNodeText] = true
		}
	}
	pages, err := filepath.Glob("docs/*.md")
	Expect(err).NotTo(HaveOccurred())
	for _, page := range append(pages, "README.md") {
		page = filepath.ToSlash(page)
		for section, commands := range sections(page) {
			name := runs(page, section)
			if _, found := unused[name]; !found {
				t.Errorf("%s:%d: no spec runs this block: add itRuns(%q, %q)", page, commands[0].Line, page, section)
			}
			delete(unused, name)
		}
	}
	for name := range unused {
		t.Errorf("the page has no commands for the spec %q", name)
	}
}
