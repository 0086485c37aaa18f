package controllers_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/server/library"
)

var _ = Describe("The manifest of a definition", func() {
	It("is the current object without what kubectl and the API server add", func(ctx context.Context) {
		w := newServedWorld(ctx)
		o := w.filter("wall", "approval_status:app")
		o.Labels = map[string]string{"team": "brand"}
		o.Annotations = map[string]string{
			v1alpha1.SourcePathAnnotation: "walls/main.yaml", "owner": "brand", "kubectl.kubernetes.io/last-applied-configuration": "{}",
		}
		w.apply(ctx, o)
		install, err := w.lib.Mark("install")
		Expect(err).NotTo(HaveOccurred())
		wall := library.Owner{Install: install, Kind: library.KindFilter, Namespace: w.namespace, Name: "wall"}
		manifest := func(spec string) string {
			return fmt.Sprintf(`{"apiVersion":"vitrine.dev/v1alpha1","kind":"ContentFilter","metadata":{"name":"wall","namespace":%q,`+
				`"labels":{"team":"brand"},"annotations":{"owner":"brand","vitrine.dev/source-path":"walls/main.yaml"}},"spec":%s}`, w.namespace, spec)
		}
		read := func() string {
			GinkgoHelper()
			m, err := w.supervisor.Manifest(ctx, w.id("default"), wall)
			Expect(err).NotTo(HaveOccurred())
			Expect(m.Path).To(Equal("walls/main.yaml"))
			return string(m.Object)
		}
		Expect(read()).To(Equal(manifest(`{"query":"approval_status:app"}`)))

		By("showing the newest spec, also if it is not served")
		w.change(ctx, o, func() { o.Spec.Suspend, o.Spec.Query = true, "approval_status:rej" })
		Expect(read()).To(Equal(manifest(`{"query":"approval_status:rej","suspend":true}`)))

		By("showing nothing to another property, of another cluster, and of an object that does not exist")
		foreign, gone := wall, wall
		foreign.Install, gone.Name = "elsewhere", "gone"
		for _, of := range []struct {
			property string
			owner    library.Owner
		}{{"other", wall}, {"default", foreign}, {"default", gone}} {
			_, err := w.supervisor.Manifest(ctx, w.id(of.property), of.owner)
			Expect(err).To(MatchError(library.ErrNotFound))
		}

		By("saying that it is unknown while the API server does not answer, and without an operator")
		heal := w.network.lose()
		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err = w.supervisor.Manifest(limited, w.id("default"), wall)
		heal()
		Expect(err).To(MatchError(library.ErrUnavailable))
		w.stop()
		_, err = w.supervisor.Manifest(ctx, w.id("default"), wall)
		Expect(err).To(MatchError(library.ErrUnavailable))
	})
})
