package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/s3/s3test"
)

// TestBackupToS3 copies a running server to a bucket and restores it from there, by name and as the newest scheduled backup.
func TestBackupToS3(t *testing.T) {
	store := s3test.New(t)
	s := start(t, newStore(t), "--expect-backups", "24h")
	s.environment(t)
	vitrine(t.Context(), itemLines(1, 200), "import", "-").want(t, 0, "200 added")
	want := vitrine(t.Context(), "", "export").stdout
	run := func(command, dataDir string, args ...string) result {
		return vitrine(t.Context(), "", append([]string{command, "--data-dir", dataDir}, store.Flags(args...)...)...)
	}
	for range 2 { // the second backup replaces the first
		run("backup", s.dir, "s3://backups/by-hand/vitrine.tar").want(t, 0, "files copied to s3://backups/by-hand/vitrine.tar")
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan result, 1)
	go func() {
		ended <- vitrine(ctx, "", append([]string{"backup", "--data-dir", s.dir, "--every", "24h"}, store.Flags("s3://backups/shop/vitrine/")...)...)
	}()
	eventually(t, "the backup is in the metrics", func() bool {
		_, page := get(t, "http://"+s.addresses["metrics"]+"/metrics")
		return strings.Contains(page, "\nvitrine_backup_last_success_timestamp_seconds 1.")
	})
	cancel()
	(<-ended).want(t, 0)
	files, incomplete := store.Visible()
	if len(files) != 3 || files[0] != "by-hand/vitrine.tar" || files[2] != "shop/vitrine/"+"vitrine-owner.json" || incomplete != nil {
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
		path := filepath.Join(store.Dir, "by-hand", "vitrine.tar")
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
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
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
				fmt.Fprintf(w, `{"AccessKeyId":%q,"SecretAccessKey":%q,"Token":"","Expiration":%q}`, s3test.User, s3test.Secret, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
			}
		}))
		defer agent.Close()
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
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
	store := s3test.New(t)
	s := start(t, newStore(t))
	s.environment(t)
	vitrine(t.Context(), itemLines(1, 200), "import", "-").want(t, 0, "200 added")
	args := func(endpoint string) []string {
		return []string{"backup", "--data-dir", s.dir, "--every", "24h", "--s3-endpoint", endpoint, "--s3-ca-file", store.CAFile, "s3://backups/vitrine"}
	}

	owned := []string{"vitrine/" + "vitrine-owner.json"}
	address, uploaded := store.Stuck()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan result, 1)
	go func() { ended <- vitrine(ctx, "", args(address)...) }()
	<-uploaded
	cancel()
	(<-ended).want(t, 0)
	if files, incomplete := store.Visible(); !cmp.Equal(files, owned) || incomplete != nil {
		t.Errorf("after an interruption: %v and, incomplete, %v", files, incomplete)
	}

	address, uploaded = store.Stuck()
	killed := command(args(address)...)
	killed.Env = append(killed.Env, "AWS_ACCESS_KEY_ID="+s3test.User, "AWS_SECRET_ACCESS_KEY="+s3test.Secret)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	<-uploaded
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // ignore the error, which only reports that the command was killed
	if files, incomplete := store.Visible(); !cmp.Equal(files, owned) || len(incomplete) != 1 {
		t.Errorf("after a kill: %v and, incomplete, %v", files, incomplete)
	}
	vitrine(t.Context(), "", "restore", "--data-dir", filepath.Join(t.TempDir(), "data"), "--s3-endpoint", store.URL, "--s3-ca-file", store.CAFile, "s3://backups/vitrine/").
		want(t, exit.Failed, "contains no scheduled backup, such as vitrine-ID-")

	ctx, cancel = context.WithCancel(t.Context())
	go func() { ended <- vitrine(ctx, "", args(store.URL)...) }()
	eventually(t, "a backup without the parts of the one that was killed", func() bool {
		files, incomplete := store.Visible()
		return len(files) == 2 && incomplete == nil
	})
	cancel()
	(<-ended).want(t, 0)
}

// TestS3Errors checks that each error names the endpoint, the bucket and the cause, and contains no credential.
func TestS3Errors(t *testing.T) {
	store := s3test.New(t)
	dir := serveAdmin(t, whole{})
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, c := range []struct {
		about, endpoint, ca, target, secret string
		code                                int
		want                                []string
	}{
		{"another bucket", store.URL, store.CAFile, "s3://other/vitrine.tar", s3test.Secret, exit.Failed, []string{"other", store.URL, "the bucket does not exist"}},
		{"a wrong secret", store.URL, store.CAFile, "s3://backups/vitrine.tar", s3test.Secret + "-no", exit.Failed, []string{"backups", store.URL, "access denied"}},
		{"an unknown authority", store.URL, "", "s3://backups/vitrine.tar", s3test.Secret, exit.Failed, []string{"backups", store.URL, "certificate"}},
		{"nothing there", closed.URL, "", "s3://backups/vitrine.tar", s3test.Secret, exit.Failed, []string{"backups", closed.URL, "refused"}},
		{"no file name", store.URL, store.CAFile, "s3://backups/vitrine", s3test.Secret, exit.Usage, []string{"must end in .tar"}},
		{"no bucket", store.URL, store.CAFile, "s3:///vitrine.tar", s3test.Secret, exit.Usage, []string{"name a bucket"}},
		{"no credentials", store.URL, store.CAFile, "s3://backups/vitrine.tar", "", exit.Usage, []string{"AWS_SECRET_ACCESS_KEY"}},
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
				if strings.Contains(got.stdout+got.stderr, s3test.Secret) {
					t.Errorf("%s prints the secret: %s", args[0], got.stderr)
				}
			}
		})
	}
	if files, incomplete := store.Visible(); files != nil || incomplete != nil {
		t.Errorf("failed backups left %v and, incomplete, %v", files, incomplete)
	}

	// If the server fails during a backup, the command must report the error of the server, and the earlier file must stay.
	args := append([]string{"backup", "--data-dir"}, dir)
	vitrine(t.Context(), "", append(args, store.Flags("s3://backups/vitrine.tar")...)...).want(t, 0)
	args[2] = serveAdmin(t, broken{})
	got := vitrine(t.Context(), "", append(args, store.Flags("s3://backups/vitrine.tar")...)...)
	got.want(t, exit.Failed, "the backup is incomplete", "run the command again")
	if files, incomplete := store.Visible(); !cmp.Equal(files, []string{"vitrine.tar"}) || incomplete != nil || strings.Contains(got.stderr, "damaged") {
		t.Errorf("%s\nthe bucket contains %v and, incomplete, %v", got.stderr, files, incomplete)
	}
	vitrine(t.Context(), "", append([]string{"restore", "--data-dir", filepath.Join(t.TempDir(), "data")}, store.Flags("s3://backups/vitrine.tar")...)...).want(t, 0)
}
