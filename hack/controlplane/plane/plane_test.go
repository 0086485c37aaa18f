package plane

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestPlaneKeepsItsState(t *testing.T) {
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		t.Fatal(`KUBEBUILDER_ASSETS is not set: run make test, or KUBEBUILDER_ASSETS="$(make -s assets)" go test ./hack/controlplane/...`)
	}
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "state")
	kubectl := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(filepath.Join(assets, "kubectl"), args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+Kubeconfig(dir), "KUBECACHEDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}

	first, err := Start(dir, assets)
	g.Expect(err).NotTo(HaveOccurred())
	kubectl("create", "configmap", "kept", "-n", "default")

	kubectl("create", "namespace", "passing")
	kubectl("create", "configmap", "lost", "-n", "passing")
	kubectl("delete", "namespace", "passing", "--timeout=30s") // waits until the namespace is gone
	kubectl("create", "namespace", "passing")
	g.Expect(kubectl("get", "configmap", "-n", "passing", "-o", "name")).To(BeEmpty(), "a deleted namespace left something behind")

	g.Expect(filepath.Join(first.socket, "peers")).To(BeAnExistingFile())
	info, err := os.Stat(first.socket)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(BeEquivalentTo(0o700), "other users can reach etcd")
	g.Expect(first.Err()).To(Succeed())
	first.Stop()
	_, err = os.Stat(first.socket)
	g.Expect(err).To(MatchError(os.ErrNotExist))

	// A killed control plane leaves its sockets.
	g.Expect(os.Mkdir(first.socket, 0o755)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(first.socket, "clients"), nil, 0o600)).To(Succeed())
	second, err := Start(dir, assets)
	g.Expect(err).NotTo(HaveOccurred())
	defer second.Stop()
	g.Expect(kubectl("get", "configmap", "kept", "-n", "default", "-o", "name")).To(Equal("configmap/kept"))

	// etcd serves its data only through the socket.
	connection, err := net.Dial("unix", filepath.Join(second.socket, "clients"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(connection.Close()).To(Succeed()) // close the connections, because etcd waits for open connections when it stops
	answer, err := http.Post(second.env.ControlPlane.Etcd.URL.String()+"/v3/kv/range", "application/json", strings.NewReader("{}"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.Body.Close()).To(Succeed())
	g.Expect(answer.StatusCode).To(Equal(http.StatusNotFound))

	// Check that a Plane reports when its control plane stops working. env.Stop stops the programs, but not the Plane.
	g.Expect(second.env.Stop()).To(Succeed())
	g.Eventually(second.Done()).WithTimeout(10 * refusal).Should(BeClosed())
	g.Expect(second.Err()).To(MatchError(And(ContainSubstring("the API server does not respond"), ContainSubstring("kube-apiserver.log"))))
}

func TestStartSaysWhyItFails(t *testing.T) {
	assets := t.TempDir()
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if err := os.WriteFile(filepath.Join(assets, name), []byte("#!/bin/sh\necho no such flag >&2; exit 1\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Start(t.TempDir(), assets)
	if err == nil || !strings.Contains(err.Error(), "etcd") || !strings.Contains(err.Error(), "no such flag") {
		t.Errorf("the error is %v", err)
	}
}
