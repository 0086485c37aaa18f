package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/vitrine-dev/vitrine/hack/controlplane/internal/process"
)

var _ = Describe("make run", Label("smoke"), Ordered, func() {
	var s *stack

	// up brings up a stack with the given options, and assigns it to s.
	up := func(ctx context.Context, opts options) {
		GinkgoHelper()
		started, err := bringUp(ctx, opts)
		Expect(err).NotTo(HaveOccurred())
		s = started
	}
	AfterAll(func() { s.stop() })

	BeforeAll(func(ctx SpecContext) {
		_, err := exec.LookPath("curl")
		Expect(err).NotTo(HaveOccurred(), "the printed lines need curl: install it")
		s = newStack()
		if os.Getenv("KUBECONFIG") != "" {
			// The walk deletes the namespace of the samples, so this namespace must not exist before the walk.
			Expect(s.startPlane(ctx)).To(Succeed())
			found := s.do(ctx, "get", "namespace", namespace, "--ignore-not-found", "-o", "name")
			Expect(found).To(BeEmpty(), "the cluster of KUBECONFIG has a namespace %s, and the walk deletes what is in it: unset KUBECONFIG, or remove the namespace", namespace)
		}
		up(ctx, s.options)
	})

	It("prints lines that work", func(ctx SpecContext) {
		Expect(s.report(ctx)).To(Succeed())
		s.await(ctx, func(g Gomega) { g.Expect(s.counted(ctx)).To(Succeed()) })
		checkLines(ctx, s)
	})

	for _, page := range pages() {
		It("runs the commands of "+page+", with the output that it shows", func(ctx SpecContext) { runPage(ctx, s, page) })
	}

	It("runs a page again that deletes what it created", func(ctx SpecContext) { runPage(ctx, s, "docs/connect-an-app.md") })

	It("starts again on the same data", func(ctx SpecContext) {
		Expect(s.Err()).To(Succeed())
		s.stop()
		up(ctx, s.options)
		checkLines(ctx, s)
	})

	It("attaches a unit by a tag that a rule sets, and removes both with their manifests", func(ctx SpecContext) {
		c := s.caller(ctx, namespace, readWrite)
		const query = "tags.marketer_tags.key:walk"
		byRule, walk := tag{"marketer_tags", "walk"}, unit{"Walk through Tokyo"}
		s.apply(ctx, `
apiVersion: vitrine.dev/v1alpha1
kind: Tag
metadata: {name: walk, namespace: shop}
spec:
  namespace: marketer_tags
  key: walk
  selector: {query: 'approval_status:app AND text:"東京"'}
---
apiVersion: vitrine.dev/v1alpha1
kind: ActivateUnit
metadata: {name: walk, namespace: shop}
spec:
  name: Walk through Tokyo
  imageURL: https://cdn.shop.example/units/walk.png
  clickThroughURL: https://www.shop.example/p/walk
  selector: {query: 'tags.marketer_tags.key:walk'}
`)
		s.do(ctx, "wait", "-n", namespace, "--for=condition=Ready", "tag/walk", "activateunit/walk")
		tagged := c.items(ctx, Default, query)
		Expect(tagged.Embedded.Items).NotTo(BeEmpty(), "a query finds no item by the tag that a rule sets")
		item := tagged.Embedded.Items[0]
		tagsOf := fmt.Sprintf("/v1/tags/ugc/%d/", item.ID)
		Expect(c.get(ctx, Default, tagsOf, http.StatusOK).Embedded.Tags).To(ContainElement(byRule))
		Expect(item.Units).To(ContainElement(walk))
		Expect(c.get(ctx, Default, "/v1/activate_units/", http.StatusOK).Embedded.Units).To(ContainElement(walk))

		s.do(ctx, "delete", "-n", namespace, "tag/walk", "activateunit/walk")
		s.await(ctx, func(g Gomega) {
			g.Expect(c.get(ctx, g, tagsOf, http.StatusOK).Embedded.Tags).NotTo(ContainElement(byRule))
			g.Expect(c.items(ctx, g, query).Total).To(BeZero())
			g.Expect(c.get(ctx, g, "/v1/activate_units/", http.StatusOK).Embedded.Units).NotTo(ContainElement(walk))
		})
	})

	It("serves nothing after everything is deleted", func(ctx SpecContext) {
		wall := s.do(ctx, "get", "-n", namespace, "contentfilter", "summer-wall", "-o", "jsonpath={.status.url}")
		c := s.caller(ctx, namespace, readOnly)
		c.get(ctx, Default, wall, http.StatusOK)
		s.do(ctx, "delete", "-n", namespace, "contentfilter/summer-wall")
		s.await(ctx, func(g Gomega) { c.get(ctx, g, wall, http.StatusNotFound) })
		// This command deletes the namespace with all of its objects, and waits until the namespace is gone.
		s.do(ctx, "delete", "-k", s.samples(), "--ignore-not-found", "--timeout=60s")
		s.await(ctx, func(g Gomega) { c.get(ctx, g, "/v2/content/items?q=*:*", http.StatusForbidden) })
		Expect(s.Err()).To(Succeed())
	})
})

// lineChecks check the output of each printed line.
var lineChecks = map[string]func(output string){
	tablesTitle: func(output string) {
		for _, name := range []string{
			"property.vitrine.dev/default", "accesstoken.vitrine.dev/storefront", "accesstoken.vitrine.dev/backoffice",
			"contentfilter.vitrine.dev/summer-wall", "contentfilter.vitrine.dev/moderation-queue",
			"tag.vitrine.dev/hero", "tag.vitrine.dev/seaside", "activateunit.vitrine.dev/sandals",
		} {
			Expect(output).To(MatchRegexp(`(?m)^` + name + ` +True `))
		}
		Expect(output).NotTo(MatchRegexp(`(?m)^\S+\.vitrine\.dev/\S+ +(?:False|Unknown|[^TFU\s])`), "something is not ready")
	},
	pageTitle: func(output string) {
		var got struct {
			Total    int64 `json:"total_results"`
			Embedded struct {
				Items []map[string]any `json:"ugc:item"`
			} `json:"_embedded"`
		}
		Expect(json.Unmarshal([]byte(output), &got)).To(Succeed())
		Expect(got.Total).To(BeNumerically(">", 2))
		Expect(got.Embedded.Items).To(HaveLen(2))
		Expect(got.Embedded.Items).To(HaveEach(And(HaveKey("content"), Not(HaveKey("submission")))))
	},
	tagTitle: func(output string) {
		Expect(output).To(MatchJSON(`{"namespace": "marketer_tags", "key": "picked", "ugc_ids": [100001]}`))
	},
}

// checkLines runs each printed line in a shell, as a user would.
func checkLines(ctx context.Context, s *stack) {
	GinkgoHelper()
	lines, err := s.lines(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(lines).To(HaveLen(len(lineChecks)))
	for _, l := range lines {
		By(l.title)
		output, err := s.shell(ctx, l.command)
		Expect(err).NotTo(HaveOccurred())
		Expect(lineChecks).To(HaveKey(l.title))
		lineChecks[l.title](output)
	}
	By("the environment for another terminal")
	output, err := s.shell(ctx, ". "+process.Quote(s.environmentFile())+" && kubectl get contentfilters -n "+namespace+" && vcurl -f \"$VITRINE_SERVER/v2/content/filters\"")
	Expect(err).NotTo(HaveOccurred())
	Expect(output).NotTo(BeEmpty())
}
