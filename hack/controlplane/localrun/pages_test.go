package main

import (
	"context"
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
		return err == nil && len(docblocks.Commands(string(text), docblocks.Smoke)) == 0
	})
}

// runPage runs the commands of a page in one shell and in a separate directory, and compares their output with the page.
func runPage(ctx context.Context, s *stack, page string) {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(s.root, page))
	Expect(err).NotTo(HaveOccurred())
	dir := filepath.Join(s.state, "pages", filepath.Base(page))
	Expect(os.RemoveAll(dir)).To(Succeed())
	Expect(os.MkdirAll(filepath.Join(dir, "work"), 0o700)).To(Succeed())
	commands := docblocks.Commands(string(text), docblocks.Smoke)
	_, failure := s.shell(ctx, ". "+process.Quote(s.environmentFile())+"\ncd "+process.Quote(filepath.Join(dir, "work"))+"\n"+docblocks.Script(dir, commands))
	Expect(docblocks.Judge(page, dir, commands)).To(Succeed())
	Expect(failure).NotTo(HaveOccurred())
}

func TestPages(t *testing.T) {
	g := NewWithT(t)
	g.Expect(pages()).To(ContainElements("README.md", "docs/get-started.md"))
}
