package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// terminal is the output of a running vitrine dev.
type terminal struct {
	t     *testing.T
	lines chan string
	shown []string
}

// await returns the submatches of the next line that matches a pattern.
func (c *terminal) await(pattern string) []string {
	c.t.Helper()
	re := regexp.MustCompile(pattern)
	deadline := time.After(30 * time.Second)
	for {
		select {
		case line, ok := <-c.lines:
			c.shown = append(c.shown, line)
			if m := re.FindStringSubmatch(line); m != nil {
				return m
			}
			if !ok {
				c.t.Fatalf("no line matches %s:\n%s", pattern, strings.Join(c.shown, "\n"))
			}
		case <-deadline:
			c.t.Fatalf("no line matches %s in time:\n%s", pattern, strings.Join(c.shown, "\n"))
		}
	}
}

// startDev runs vitrine dev with the sample manifests. It returns the directory of the manifests, the output, and a function that sends a
// signal to stop the command.
func startDev(t *testing.T, temporary string, flags ...string) (dir string, c *terminal, stop func(os.Signal) error) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../config/samples")); err != nil {
		t.Fatal(err)
	}
	cmd := command(append([]string{"dev", dir, "--http-bind-address", "127.0.0.1:0"}, flags...)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr, cmd.Env = os.Stderr, append(cmd.Env, "TMPDIR="+temporary)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c = &terminal{t: t, lines: make(chan string, 1000)}
	go func() {
		defer close(c.lines)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			c.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return dir, c, func(s os.Signal) error {
		if err := cmd.Process.Signal(s); err != nil {
			return err
		}
		return cmd.Wait()
	}
}

// page returns the status and the body of a response.
func page(t *testing.T, url, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// TestDev edits manifests while vitrine dev serves them.
func TestDev(t *testing.T) {
	temporary := t.TempDir()
	dir, c, stop := startDev(t, temporary, "--samples")
	c.await(`^\d\d:\d\d:\d\d \d+ objects, 0 errors, 0 warnings: \d+ applied, 0 removed$`)
	c.await(`^sample content: 2,000 lines`)
	c.await(`^serving http://127\.0\.0\.1:\d+ after `)
	c.await(`^Property shop/default: 2,000 items, READ-WRITE token `)
	curl := c.await(`curl -H 'Authorization: Bearer (\S+)' '(\S+)'`)
	token, url := curl[1], curl[2]
	call := browse(t, c.await(`login link to the console, .*: (http://127\.0\.0\.1:\d+/console/login#code=\w+)$`)[1])
	if code, body := call("session"); code != http.StatusOK || !strings.Contains(body, `"property":"shop/default"`) {
		t.Errorf("the session of the console: %d %s", code, body)
	}
	c.await(`^AccessToken shop/display: dev-`)
	code, before := page(t, url, token)
	if code != http.StatusOK || strings.Contains(before, `"total_results":0`) {
		t.Fatalf("%d %s", code, before)
	}

	picture := regexp.MustCompile(`"large_image":"([^"]+)"`).FindStringSubmatch(before)
	if picture == nil {
		t.Fatalf("no item has a picture: %s", before)
	}
	if code, drawing := page(t, picture[1], ""); code != http.StatusOK || !strings.HasPrefix(drawing, "<svg ") {
		t.Errorf("the picture %s: %d %.40s", picture[1], code, drawing)
	}

	path := filepath.Join(dir, "contentfilter.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const query = "query: 'approval_status:app AND tags.marketer_tags.key:summer'\n"
	if !strings.Contains(string(text), query) {
		t.Fatalf("the sample filter summer-wall has a query other than %q", query)
	}
	write(strings.Replace(string(text), query, "query: 'approval_status:app AND ('\n", 1))
	c.await(`contentfilter\.yaml:\d+:\d+: error: ContentFilter shop/summer-wall: spec\.query: `)
	c.await(`still serving the last valid version of ContentFilter shop/summer-wall$`)
	if code, now := page(t, url, token); code != http.StatusOK || now != before {
		t.Errorf("with the broken manifest: %d %s", code, now)
	}
	write(strings.Replace(string(text), query, "query: approval_status:app AND text:beach\n", 1))
	c.await(` 0 errors, 0 warnings: 1 applied, 0 removed$`)
	if code, now := page(t, url, token); code != http.StatusOK || now == before {
		t.Errorf("with the changed manifest: %d %s", code, now)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	c.await(`: \d+ applied, 8 removed$`)
	if code, now := page(t, url, token); code != http.StatusNotFound {
		t.Errorf("without the manifest: %d %s", code, now)
	}
	if err := stop(os.Interrupt); err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestDevKeepsData checks that --data-dir keeps items, that --import reads UTF-16 and skips existing items, and that tokens stay valid.
func TestDevKeepsData(t *testing.T) {
	file := filepath.Join(t.TempDir(), "posts.ndjson")
	if err := os.WriteFile(file, []byte(utf16(t, itemLines(1, 10))), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "data")
	token := ""
	for range 2 {
		_, c, stop := startDev(t, t.TempDir(), "--data-dir", data, "--import", file)
		found := c.await(`^Property shop/default: 10 items, READ-WRITE token (\S+)$`)
		if token != "" && found[1] != token {
			t.Errorf("token %s, want %s", found[1], token)
		}
		token = found[1]
		c.await("Ctrl-C")
		if err := stop(os.Interrupt); err != nil {
			t.Error(err)
		}
	}
}

// TestDevHangup checks that vitrine dev removes its temporary files when the terminal is closed.
func TestDevHangup(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("SIGHUP is ignored here, as nohup does, and the command inherits that")
	}
	temporary := t.TempDir()
	_, c, stop := startDev(t, temporary)
	c.await("Ctrl-C")
	if err := stop(syscall.SIGHUP); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestDevOpens checks that --open opens the console.
func TestDevOpens(t *testing.T) {
	opened := fakeBrowser(t)
	_, c, stop := startDev(t, t.TempDir(), "--open")
	login := c.await(`login link to the console, .*: (\S+)$`)[1]
	eventually(t, "the browser is opened", func() bool { return opened.login() == login })
	if err := stop(os.Interrupt); err != nil {
		t.Error(err)
	}
	opened.check(t)
}

// TestDevRefuses checks the errors of wrong arguments.
func TestDevRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no path":             {nil, exitUsage, "requires at least 1 arg"},
		"a path that is gone": {[]string{filepath.Join(dir, "gone")}, exitUsage, "no such file"},
		"an address":          {[]string{dir, "--http-bind-address", "8080"}, exitUsage, "--http-bind-address 8080: must be [host]:port"},
		"a namespace":         {[]string{dir, "--namespace", "A B"}, exitUsage, "--namespace"},
		"no Property":         {[]string{dir, "--http-bind-address", "127.0.0.1:0", "--import", "dev_test.go"}, exitUsage, "0 valid Properties"},
	} {
		t.Run(name, func(t *testing.T) {
			vitrine(t.Context(), "", append([]string{"dev"}, c.args...)...).want(t, c.code, c.want)
		})
	}
}
