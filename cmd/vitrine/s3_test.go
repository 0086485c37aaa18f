package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/s3"
)

// The credentials of the S3 store that the tests start.
const (
	s3User   = "test-user"
	s3Secret = "test-secret-that-must-never-be-printed"
)

// s3Store is a real S3-compatible store, versitygw. It stores the bucket backups in a directory.
type s3Store struct {
	t *testing.T
	// url is the address of the store, and ca is the file with its certificate. dir contains the files of the bucket.
	url, ca, dir string
	roots        *x509.CertPool
	client       *minio.Client
}

// newS3 starts a store, stops it when the test ends, and sets its credentials in the environment. It skips the test if the path of
// versitygw is not configured.
func newS3(t *testing.T) *s3Store {
	t.Helper()
	program := os.Getenv("VITRINE_S3_SERVER")
	if program == "" {
		t.Skip("DID NOT RUN: run make test, which sets VITRINE_S3_SERVER to the program versitygw")
	}
	s := &s3Store{t: t, ca: filepath.Join(t.TempDir(), "ca.crt"), roots: x509.NewCertPool()}
	key := filepath.Join(t.TempDir(), "tls.key")
	issuer := httptest.NewTLSServer(nil) // provides a certificate
	certificate := issuer.TLS.Certificates[0]
	s.roots.AddCert(issuer.Certificate())
	issuer.Close()
	private, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	s.write(s.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}))
	s.write(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))

	// The program cannot choose a port, so find a free port for it.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	s.url, s.dir = "https://"+address, filepath.Join(root, "backups")
	cmd := exec.Command(program, "--port", address, "--access", s3User, "--secret", s3Secret, "--cert", s.ca, "--key", key, "--quiet",
		"posix", "--sidecar", t.TempDir(), root)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // ignore the error, which only reports that the program was killed
		if t.Failed() {
			t.Logf("output of the store:\n%s", log.String())
		}
	})
	t.Setenv("AWS_ACCESS_KEY_ID", s3User)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3Secret)
	s.client, err = minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(s3User, s3Secret, ""), Secure: true, Transport: s.transport(), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the store responds", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	if err := s.client.MakeBucket(t.Context(), "backups", minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *s3Store) write(path string, content []byte) {
	s.t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *s3Store) transport() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.roots, MinVersion: tls.VersionTLS12}}
}

// flags returns the flags for the store, followed by other arguments.
func (s *s3Store) flags(args ...string) []string {
	return append([]string{"--s3-endpoint", s.url, "--s3-ca-file", s.ca}, args...)
}

// visible returns the keys of all files in the bucket, and the keys of all incomplete uploads.
func (s *s3Store) visible() (files, incomplete []string) {
	s.t.Helper()
	for o := range s.client.ListObjectsIter(s.t.Context(), "backups", minio.ListObjectsOptions{Recursive: true}) {
		if o.Err != nil {
			s.t.Fatal(o.Err)
		}
		files = append(files, o.Key)
	}
	for u := range s.client.ListIncompleteUploads(s.t.Context(), "backups", "", true) {
		if u.Err != nil {
			s.t.Fatal(u.Err)
		}
		incomplete = append(incomplete, u.Key)
	}
	return files, incomplete
}

// stuck returns the URL of a proxy in front of the store. The proxy never returns the response to the upload of a part. stuck also returns
// a channel that is closed when the store has received the first part.
func (s *s3Store) stuck() (address string, uploaded <-chan struct{}) {
	s.t.Helper()
	target, err := url.Parse(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	reached := make(chan struct{})
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Transport: s.transport(),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // keep the host, because the signature of the request covers it
		},
		ModifyResponse: func(r *http.Response) error {
			if r.Request.URL.Query().Has("partNumber") {
				close(reached)
				<-r.Request.Context().Done()
			}
			return nil
		},
	})
	s.t.Cleanup(proxy.Close)
	return proxy.URL, reached
}

// TestBackupToS3 copies a running server to a bucket and restores it from there, by name and as the newest scheduled backup.
func TestBackupToS3(t *testing.T) {
	store := newS3(t)
	s := start(t, newStore(t), "--expect-backups", "24h")
	s.environment(t)
	vitrine(t.Context(), itemLines(1, 200), "import", "-").want(t, 0, "200 added")
	want := vitrine(t.Context(), "", "export").stdout
	run := func(command, dataDir string, args ...string) result {
		return vitrine(t.Context(), "", append([]string{command, "--data-dir", dataDir}, store.flags(args...)...)...)
	}
	for range 2 { // the second backup replaces the first
		run("backup", s.dir, "s3://backups/by-hand/vitrine.tar").want(t, 0, "files copied to s3://backups/by-hand/vitrine.tar")
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan result, 1)
	go func() {
		ended <- vitrine(ctx, "", append([]string{"backup", "--data-dir", s.dir, "--every", "24h"}, store.flags("s3://backups/shop/vitrine/")...)...)
	}()
	eventually(t, "the backup is in the metrics", func() bool {
		_, page := get(t, "http://"+s.addresses["metrics"]+"/metrics")
		return strings.Contains(page, "\nvitrine_backup_last_success_timestamp_seconds 1.")
	})
	cancel()
	(<-ended).want(t, 0)
	files, incomplete := store.visible()
	if len(files) != 3 || files[0] != "by-hand/vitrine.tar" || files[2] != "shop/vitrine/"+ownerName || incomplete != nil {
		t.Fatalf("the bucket contains %v and, incomplete, %v", files, incomplete)
	}
	s.signal(syscall.SIGTERM)

	for _, source := range []string{"s3://backups/by-hand/vitrine.tar", "s3://backups/shop/vitrine/"} {
		data := filepath.Join(t.TempDir(), "data")
		run("restore", data, "--if-empty", source).want(t, 0, "restored to "+data)
		restored := start(t, data)
		restored.environment(t)
		if got := vitrine(t.Context(), "", "export").stdout; got != want {
			t.Errorf("%s: restored %d lines, want %d", source, strings.Count(got, "\n"), strings.Count(want, "\n"))
		}
		restored.signal(syscall.SIGTERM)
	}

	t.Run("damaged", func(t *testing.T) {
		path := filepath.Join(store.dir, "by-hand", "vitrine.tar")
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data := filepath.Join(t.TempDir(), "data")
		for _, damaged := range [][]byte{
			bytes.Replace(content, []byte("item number 7"), []byte("item number 8"), 1), content[:len(content)/2],
		} {
			if bytes.Equal(damaged, content) {
				t.Fatal("the file is not damaged")
			}
			store.write(path, damaged)
			run("restore", data, "s3://backups/by-hand/vitrine.tar").want(t, exit.Failed, "the backup is damaged")
			if left, err := os.ReadDir(data); err != nil || len(left) > 0 {
				t.Errorf("a failed restore left %v, %v", left, err)
			}
		}
	})

	t.Run("identity of a pod", func(t *testing.T) {
		const token = "test-token-of-the-pod"
		agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == token {
				fmt.Fprintf(w, `{"AccessKeyId":%q,"SecretAccessKey":%q,"Token":"","Expiration":%q}`, s3User, s3Secret, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
			}
		}))
		defer agent.Close()
		file := filepath.Join(t.TempDir(), "token")
		store.write(file, []byte(token))
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.URL)
		t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file)
		data := filepath.Join(t.TempDir(), "data")
		run("restore", data, "s3://backups/shop/vitrine/").want(t, 0, "restored to "+data)
	})
}

// TestInterruptedUpload checks that an interrupted or killed upload leaves no file, and that the next scheduled backup removes the parts
// that it uploaded.
func TestInterruptedUpload(t *testing.T) {
	store := newS3(t)
	s := start(t, newStore(t))
	s.environment(t)
	vitrine(t.Context(), itemLines(1, 200), "import", "-").want(t, 0, "200 added")
	args := func(endpoint string) []string {
		return []string{"backup", "--data-dir", s.dir, "--every", "24h", "--s3-endpoint", endpoint, "--s3-ca-file", store.ca, "s3://backups/vitrine"}
	}

	owned := []string{"vitrine/" + ownerName}
	address, uploaded := store.stuck()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan result, 1)
	go func() { ended <- vitrine(ctx, "", args(address)...) }()
	<-uploaded
	cancel()
	(<-ended).want(t, 0)
	if files, incomplete := store.visible(); !cmp.Equal(files, owned) || incomplete != nil {
		t.Errorf("after an interruption: %v and, incomplete, %v", files, incomplete)
	}

	address, uploaded = store.stuck()
	killed := command(args(address)...)
	killed.Env = append(killed.Env, "AWS_ACCESS_KEY_ID="+s3User, "AWS_SECRET_ACCESS_KEY="+s3Secret)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	<-uploaded
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // ignore the error, which only reports that the command was killed
	if files, incomplete := store.visible(); !cmp.Equal(files, owned) || len(incomplete) != 1 {
		t.Errorf("after a kill: %v and, incomplete, %v", files, incomplete)
	}
	vitrine(t.Context(), "", "restore", "--data-dir", filepath.Join(t.TempDir(), "data"), "--s3-endpoint", store.url, "--s3-ca-file", store.ca, "s3://backups/vitrine/").
		want(t, exit.Failed, "contains no scheduled backup, such as vitrine-ID-")

	ctx, cancel = context.WithCancel(t.Context())
	go func() { ended <- vitrine(ctx, "", args(store.url)...) }()
	eventually(t, "a backup without the parts of the one that was killed", func() bool {
		files, incomplete := store.visible()
		return len(files) == 2 && incomplete == nil
	})
	cancel()
	(<-ended).want(t, 0)
}

// TestS3Errors checks that each error names the endpoint, the bucket and the cause, and contains no credential.
func TestS3Errors(t *testing.T) {
	store := newS3(t)
	dir := serveAdmin(t, whole{})
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, c := range []struct {
		about, endpoint, ca, target, secret string
		code                                int
		want                                []string
	}{
		{"another bucket", store.url, store.ca, "s3://other/vitrine.tar", s3Secret, exit.Failed, []string{"other", store.url, "the bucket does not exist"}},
		{"a wrong secret", store.url, store.ca, "s3://backups/vitrine.tar", s3Secret + "-no", exit.Failed, []string{"backups", store.url, "access denied"}},
		{"an unknown authority", store.url, "", "s3://backups/vitrine.tar", s3Secret, exit.Failed, []string{"backups", store.url, "certificate"}},
		{"nothing there", closed.URL, "", "s3://backups/vitrine.tar", s3Secret, exit.Failed, []string{"backups", closed.URL, "refused"}},
		{"no file name", store.url, store.ca, "s3://backups/vitrine", s3Secret, exit.Usage, []string{"must end in .tar"}},
		{"no bucket", store.url, store.ca, "s3:///vitrine.tar", s3Secret, exit.Usage, []string{"name a bucket"}},
		{"no credentials", store.url, store.ca, "s3://backups/vitrine.tar", "", exit.Usage, []string{"AWS_SECRET_ACCESS_KEY"}},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Setenv("AWS_SECRET_ACCESS_KEY", c.secret)
			for _, args := range [][]string{
				{"backup", "--data-dir", dir, c.target}, {"restore", "--data-dir", filepath.Join(t.TempDir(), "data"), c.target},
			} {
				if c.about == "no file name" && args[0] == "restore" {
					continue // for restore, this target is not an error, but a file without a suffix that does not exist
				}
				got := vitrine(t.Context(), "", append(args, "--s3-endpoint", c.endpoint, "--s3-ca-file", c.ca)...)
				got.want(t, c.code, c.want...)
				if strings.Contains(got.stdout+got.stderr, s3Secret) {
					t.Errorf("%s prints the secret: %s", args[0], got.stderr)
				}
			}
		})
	}
	if files, incomplete := store.visible(); files != nil || incomplete != nil {
		t.Errorf("failed backups left %v and, incomplete, %v", files, incomplete)
	}

	// If the server fails during a backup, the command must report the error of the server, and the earlier file must stay.
	args := append([]string{"backup", "--data-dir"}, dir)
	vitrine(t.Context(), "", append(args, store.flags("s3://backups/vitrine.tar")...)...).want(t, 0)
	args[2] = serveAdmin(t, broken{})
	got := vitrine(t.Context(), "", append(args, store.flags("s3://backups/vitrine.tar")...)...)
	got.want(t, exit.Failed, "the backup is incomplete", "run the command again")
	if files, incomplete := store.visible(); !cmp.Equal(files, []string{"vitrine.tar"}) || incomplete != nil || strings.Contains(got.stderr, "damaged") {
		t.Errorf("%s\nthe bucket contains %v and, incomplete, %v", got.stderr, files, incomplete)
	}
	vitrine(t.Context(), "", append([]string{"restore", "--data-dir", filepath.Join(t.TempDir(), "data")}, store.flags("s3://backups/vitrine.tar")...)...).want(t, 0)
}

// TestScheduleInBucket makes the same checks as TestSchedule, with a bucket.
func TestScheduleInBucket(t *testing.T) {
	store := newS3(t)
	bucket, err := s3.Open("backups", s3.Options{Endpoint: store.url, Addressing: s3.Auto, CAFile: store.ca})
	if err != nil {
		t.Fatal(err)
	}
	testSchedule(t, bucketFolder{bucket, "vitrine/"})
	testSchedule(t, bucketFolder{bucket, ""})
}
