package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/cli"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nodePort is a port that clusters rarely assign.
const nodePort = 32443

func helmSpecs() {
	It("starts in a cluster without remains of an earlier run", expectVacant)
	It("installs the chart", func(ctx context.Context) { helmInstall(ctx, nil) })
	It("makes the samples Ready", applySamples)
	It("imports items from a client pod", func(ctx context.Context) { importItems(ctx) })
	It("opens a NodePort with an upgrade, and keeps posted items", func(ctx context.Context) {
		expectReplaced(ctx, func(*corev1.Pod) { helmUpgrade(ctx, exposed(ctx)) })
	})
	var copied string // the file name of the backup
	It("makes a scheduled backup, which the upgrade has enabled, beside the server", func(ctx context.Context) {
		Eventually(ctx, func(g Gomega) {
			pods, err := typed.CoreV1().Pods(system).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=vitrine"})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(pods.Items).To(HaveLen(1))
			text, err := typed.CoreV1().Pods(system).GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{Container: "backup"}).DoRaw(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			_, after, found := strings.Cut(string(text), "copied to /backup/")
			g.Expect(found).To(BeTrue(), string(text))
			copied = strings.TrimSpace(after)
		}).WithTimeout(3 * time.Minute).Should(Succeed()) // enough for a second attempt, a minute after the first
	})
	itRuns("docs/operations.md", "Scheduled backups")
	It("exports the items to a client pod over the NodePort", func(ctx context.Context) {
		exportItems(ctx, "export-node-port", fmt.Sprintf("https://%s:%d", nodeAddress(ctx), nodePort))
	})
	It(runs(consolePage, consoleSection), visitConsole)
	It("rejects an invalid query with its position, through the webhook that the upgrade has enabled", func(ctx context.Context) {
		try := func(query string) error {
			o := object(group, "ContentFilter", shop, "judged")
			o.Object["spec"] = map[string]any{"query": query}
			return kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), owner, client.DryRunAll)
		}
		// Retry until the object is rejected: the API server admits objects while the webhook does not respond yet.
		Eventually(ctx, func() error { return try("approval_status:app AND (beach OR") }).WithTimeout(prompt).
			Should(MatchError(And(ContainSubstring("validate.vitrine.dev"), ContainSubstring("position"))))
		Expect(try("approval_status:app AND (beach OR sunset)")).To(Succeed())
	})
	itRuns("docs/admission.md", "The validating webhook")
	It("restores the backup into an empty volume before the server starts", func(ctx context.Context) {
		claim := object("v1", "PersistentVolumeClaim", system, "restored")
		claim.Object["spec"] = map[string]any{
			"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
		}
		apply(ctx, claim)
		values := exposed(ctx)
		values["persistence"] = map[string]any{"existingClaim": "restored"}
		values["restore"] = map[string]any{"claimName": "vitrine-backup", "path": copied}
		expectReplaced(ctx, func(*corev1.Pod) { helmUpgrade(ctx, values) })
	})
	It("is restricted to one namespace by an upgrade", func(ctx context.Context) {
		apply(ctx, namespace(other))
		values := exposed(ctx)
		values["watchNamespaces"] = []any{shop}
		helmUpgrade(ctx, values)
		readFilter(ctx)
	})
	It("ignores objects in other namespaces, and cannot read Secrets there", confined)
	It("keeps the CRDs, their objects and the volume when it is uninstalled", func(ctx context.Context) {
		helmUninstall()
		for _, o := range append(crds(), filter, object("v1", "PersistentVolumeClaim", system, "vitrine")) {
			_, err := get(ctx, o)
			Expect(err).NotTo(HaveOccurred(), "%s %s was deleted with the release", o.GetKind(), o.GetName())
		}
		_, err := get(ctx, object("apps/v1", "Deployment", system, "vitrine"))
		Expect(err).To(MatchError(gone, "is absent"))
	})
	It("serves the same content at the same URLs when it is installed again", func(ctx context.Context) {
		before, err := filterPath(ctx)
		Expect(err).NotTo(HaveOccurred())
		helmInstall(ctx, nil)
		readFilter(ctx)
		Expect(filterPath(ctx)).To(Equal(before))
	})
	It("does not delay the deletion of a namespace with objects while the operator runs", func(ctx context.Context) { remove(ctx, namespace(shop)) })
	It("does not delay the deletion of the CRDs, the volume and the namespace without the operator", func(ctx context.Context) {
		helmUninstall()
		remove(ctx, append(crds(), namespace(system))...)
	})
}

// helm connects Helm to the cluster and loads the chart. It returns the values that all releases in the specs have, together with the
// values in more.
func helm(more map[string]any) (*action.Configuration, *chart.Chart, map[string]any) {
	GinkgoHelper()
	settings := cli.New()
	settings.SetNamespace(system)
	c := &action.Configuration{}
	Expect(c.Init(settings.RESTClientGetter(), system, "secret", func(string, ...any) {})).To(Succeed())
	loaded, err := loader.Load(filepath.Join(*configFlag, "chart"))
	Expect(err).NotTo(HaveOccurred())
	values := map[string]any{"image": map[string]any{"repository": at.NewName, "tag": at.NewTag, "digest": at.Digest}}
	for key, v := range more {
		values[key] = v
	}
	return c, loaded, values
}

func helmInstall(ctx context.Context, more map[string]any) {
	GinkgoHelper()
	apply(ctx, namespace(system))
	c, chart, values := helm(more)
	install := action.NewInstall(c)
	install.ReleaseName, install.Namespace, install.Wait, install.Timeout = "vitrine", system, true, patience
	_, err := install.RunWithContext(ctx, chart, values)
	Expect(err).NotTo(HaveOccurred())
	rolledOut(ctx, nil)
}

func helmUpgrade(ctx context.Context, more map[string]any) {
	GinkgoHelper()
	c, chart, values := helm(more)
	upgrade := action.NewUpgrade(c)
	upgrade.Namespace, upgrade.Wait, upgrade.Timeout = system, true, patience
	_, err := upgrade.RunWithContext(ctx, "vitrine", chart, values)
	Expect(err).NotTo(HaveOccurred())
	rolledOut(ctx, nil)
}

func helmUninstall() {
	GinkgoHelper()
	c, _, _ := helm(nil)
	uninstall := action.NewUninstall(c)
	uninstall.Wait, uninstall.Timeout = true, patience
	_, err := uninstall.Run("vitrine")
	Expect(err).NotTo(HaveOccurred())
}

// exposed returns the values of an upgrade that enables a NodePort, a certificate for the node's address, the webhook, backups and the
// console.
func exposed(ctx context.Context) map[string]any {
	GinkgoHelper()
	return map[string]any{
		"service": map[string]any{"type": "NodePort", "nodePort": nodePort},
		// Do not set the external URL: statuses and Secrets must still contain the address of the Service.
		"server":  map[string]any{"tlsHosts": []any{nodeAddress(ctx)}, "logLevel": "debug"},
		"webhook": map[string]any{"enabled": true},
		"backup":  map[string]any{"enabled": true, "size": "1Gi"},
		"console": map[string]any{"enabled": true},
	}
}

// loginLink is the link that the plugin prints: the URL of the console, and a one-time code.
var loginLink = regexp.MustCompile(`(http://127\.0\.0\.1:\d+/console/)login#code=(\w+)`)

// consolePage and consoleSection name the section with the command that opens the console.
const consolePage, consoleSection = "docs/console-setup.md", "Open the console without an Ingress"

// visitConsole runs the command of the page that opens the console, with a fake browser that does nothing. It then logs in with the printed
// link, in the same way as the login page, and stops the command. An earlier upgrade must have enabled the console.
func visitConsole(ctx context.Context) {
	commands := sections(consolePage)[consoleSection]
	Expect(commands).To(HaveLen(1))
	browsers := GinkgoT().TempDir()
	for _, name := range []string{"xdg-open", "open"} {
		Expect(os.WriteFile(filepath.Join(browsers, name), []byte("#!/bin/sh\n"), 0o700)).To(Succeed())
	}
	GinkgoT().Setenv("PATH", browsers+string(filepath.ListSeparator)+os.Getenv("PATH"))
	ctx, stop := context.WithTimeout(ctx, prompt)
	plugin := exec.CommandContext(ctx, "sh", "-c", "exec "+commands[0].Script)
	plugin.Stderr = GinkgoWriter
	out, err := plugin.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(plugin.Start()).To(Succeed())
	defer func() {
		stop()
		_ = plugin.Wait()
	}()
	var link, printed []string
	for lines := bufio.NewScanner(out); link == nil && lines.Scan(); {
		printed = append(printed, lines.Text())
		link = loginLink.FindStringSubmatch(lines.Text())
	}
	Expect(link).NotTo(BeNil(), "no login link in what the plugin prints: %q", printed)
	answer := func(method, path, body string) (*http.Response, string) {
		GinkgoHelper()
		req, err := http.NewRequestWithContext(ctx, method, link[1]+path, strings.NewReader(body))
		Expect(err).NotTo(HaveOccurred())
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Vitrine-Console", "1")
		res, err := http.DefaultClient.Do(req)
		Expect(err).NotTo(HaveOccurred())
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		Expect(err).NotTo(HaveOccurred())
		return res, string(text)
	}
	page, text := answer(http.MethodGet, "", "")
	Expect(page.StatusCode).To(Equal(http.StatusOK), text)
	Expect(page.Header.Get("Content-Security-Policy")).To(HavePrefix("default-src 'none'; script-src 'self' 'sha256-"))
	session, text := answer(http.MethodPost, "session", fmt.Sprintf(`{"code":%q}`, link[2]))
	Expect(session.StatusCode).To(Equal(http.StatusCreated), text)
	Expect(text).To(ContainSubstring(`"class":"READ-WRITE","property":"shop/default"`))
}

func nodeAddress(ctx context.Context) string {
	GinkgoHelper()
	nodes, err := typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	for _, n := range nodes.Items {
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				return a.Address
			}
		}
	}
	Fail("no node has an internal address")
	return ""
}

func confined(ctx context.Context) {
	declared := func(namespace string) *unstructured.Unstructured {
		o := object(group, "Property", namespace, "confined")
		o.Object["spec"] = map[string]any{"displayName": "Confined"}
		return o
	}
	apply(ctx, declared(other), declared(shop))
	// The Property in the other namespace was created first. If the operator processed it, the operator would have done so before the
	// Property in shop is Ready.
	expectReady(ctx, declared(shop))
	o, err := get(ctx, declared(other))
	Expect(err).NotTo(HaveOccurred())
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	Expect(err).NotTo(HaveOccurred())
	Expect(conditions).To(BeEmpty(), "the operator evaluated the Property in the other namespace")
	expectGrants(ctx, Default, account, accountGroups, `
		yes list /secrets in shop
		yes list vitrine.dev/contentfilters in shop
		yes get /namespaces in kube-system named kube-system
		yes get apiextensions.k8s.io/customresourcedefinitions named tags.vitrine.dev
		no list /secrets in elsewhere
		no list /secrets
		no get /secrets in kube-system
		no list vitrine.dev/contentfilters`)
	remove(ctx, namespace(other))
}
