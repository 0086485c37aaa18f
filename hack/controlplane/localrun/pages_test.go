package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/assets"
	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
	"github.com/vitrine-dev/vitrine/hack/docblocks"
)

// pages returns the pages with commands, relative to the root of the repository.
func pages() []string {
	root, err := assets.FindRoot()
	if err != nil {
		panic(err)
	}
	names := []string{"README.md"}
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		panic(err)
	}
	for _, file := range found {
		names = append(names, filepath.Join("docs", filepath.Base(file)))
	}
	return slices.DeleteFunc(names, func(name string) bool {
		text, err := os.ReadFile(filepath.Join(root, name))
		return err == nil && len(docblocks.Commands(string(text))) == 0
	})
}

// runPage runs the commands of a page in one shell, in a directory of their own, and compares their output with the page.
func runPage(ctx context.Context, s *stack, page string) {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(s.root, page))
	Expect(err).NotTo(HaveOccurred())
	dir := filepath.Join(s.state, "pages", filepath.Base(page))
	Expect(os.RemoveAll(dir)).To(Succeed())
	Expect(os.MkdirAll(filepath.Join(dir, "work"), 0o700)).To(Succeed())
	commands := docblocks.Commands(string(text))
	output := func(i int) string { return filepath.Join(dir, fmt.Sprint(i)) }
	script := "set -eu\n. " + process.Quote(s.environmentFile()) + "\ncd " + process.Quote(filepath.Join(dir, "work")) + "\n"
	for i, c := range commands {
		// Use braces instead of parentheses, so that later blocks see the variables of this one.
		block := "{\n" + c.Script + "} >" + process.Quote(output(i)) + " 2>&1"
		if c.Fails {
			block = "if " + block + "; then echo 'the last command did not fail' >>" + process.Quote(output(i)) + "; exit 1; fi"
		}
		script += block + "\n: >" + process.Quote(output(i)+".done") + "\n"
	}
	_, failure := s.shell(ctx, script)
	for i, c := range commands {
		got, err := os.ReadFile(output(i))
		Expect(err).NotTo(HaveOccurred())
		place := fmt.Sprintf("%s:%d", page, c.Line)
		if _, err := os.Stat(output(i) + ".done"); err != nil {
			Fail(fmt.Sprintf("%s: %v\n%s", place, failure, got))
		}
		if c.Output != "" && !docblocks.Matches(c.Output, string(got)) {
			Fail(fmt.Sprintf("%s: the page shows\n%s\nand the commands print\n%s", place, c.Output, got))
		}
	}
	Expect(failure).NotTo(HaveOccurred())
}

func TestPages(t *testing.T) {
	g := NewWithT(t)
	g.Expect(pages()).To(ContainElements("README.md", "docs/get-started.md"))
}
