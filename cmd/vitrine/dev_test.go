package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/hack/docblocks"
	"github.com/vitrine-dev/vitrine/internal/exit"
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

// sampleWebhook is not one of the sample manifests, because nothing receives its deliveries.
const sampleWebhook = `apiVersion: vitrine.dev/v1alpha1
kind: Webhook
metadata: {name: moderator, namespace: shop}
spec: {url: "https://moderator.shop.example/vitrine", query: "approval_status:pen"}
`

// startDev runs vitrine dev with the sample manifests and one more file of manifests. It returns the directory of the manifests, the output,
// and a function that sends a signal to stop the command.
func startDev(t *testing.T, temporary, more string, flags ...string) (dir string, c *terminal, stop func(os.Signal) error) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../config/samples")); err != nil {
		t.Fatal(err)
	}
	if more != "" {
		if err := os.WriteFile(filepath.Join(dir, "more.yaml"), []byte(more), 0o600); err != nil {
			t.Fatal(err)
		}
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
	dir, c, stop := startDev(t, temporary, sampleWebhook, "--samples")
	c.await(`^\d\d:\d\d:\d\d \d+ objects, 0 errors, 0 warnings: \d+ applied, 0 removed$`)
	c.await(`^sample content: 2,000 lines`)
	c.await(`^serving http://127\.0\.0\.1:\d+ after `)
	c.await(`^Property shop/default: 2,000 items, READ-WRITE token `)
	c.await(`^  export VITRINE_SERVER=http://127\.0\.0\.1:\d+ VITRINE_TOKEN=dev-`)
	curl := c.await(`curl -H 'Authorization: Bearer (\S+)' '(\S+)'`)
	token := curl[1]
	call := browse(t, c.await(`login link to the console, .*: (http://127\.0\.0\.1:\d+/console/login#code=\w+)$`)[1])
	if code, body := call("session"); code != http.StatusOK || !strings.Contains(body, `"property":"shop/default"`) {
		t.Errorf("the session of the console: %d %s", code, body)
	}
	c.await(`^AccessToken shop/backoffice: dev-\w+ \(READ-WRITE: all items\)$`)
	c.await(`^AccessToken shop/display: dev-\w+ \(READ-ONLY: the items of its filters that match approval_status:app\)$`)
	c.await(`^AccessToken shop/storefront: dev-\w+ \(READ-ONLY: all items that match approval_status:app\)$`)
	c.await(`^Webhook shop/moderator: no deliveries, because vitrine dev sends nothing to Webhooks$`)
	c.await(`^ContentFilter shop/latest: http://127\.0\.0\.1:\d+/v2/content/filters/[0-9a-f-]{36}$`)
	url := c.await(`^ContentFilter shop/summer-wall: (\S+)$`)[1]
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
	property := filepath.Join(dir, "property.yaml")
	manifest, err := os.ReadFile(property)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(property, []byte(strings.Replace(string(manifest), "readOnlyQuery: ", "# ", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	c.await(`: warning: AccessToken shop/storefront: spec\.class: A web page that contains this token can read `)
	c.await(`^AccessToken shop/storefront: dev-\w+ \(READ-ONLY: all items\)$`)
	roles := filepath.Join(dir, "roles.yaml")
	role := "apiVersion: vitrine.dev/v1alpha1\nkind: AccessToken\nmetadata: {name: moderators, namespace: shop}\nspec: {class: ReadWrite, subjects: [{user: jo}]}\n"
	if err := os.WriteFile(roles, []byte(role), 0o600); err != nil {
		t.Fatal(err)
	}
	c.await(`roles\.yaml:4:\d+: warning: AccessToken shop/moderators: spec\.subjects: No person can log in to the console through spec\.subjects`)
	if err := os.Remove(roles); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(property, manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	c.await(`^AccessToken shop/storefront: dev-\w+ \(READ-ONLY: all items that match approval_status:app\)$`)
	write(strings.Replace(string(text), query, "query: approval_status:app AND text:beach\n", 1))
	c.await(` 0 errors, 0 warnings: 1 applied, 0 removed$`)
	if next := <-c.lines; next != "ContentFilter shop/summer-wall: "+url {
		t.Errorf("after the change of a filter, the command prints %q", next)
	}
	if code, now := page(t, url, token); code != http.StatusOK || now == before {
		t.Errorf("with the changed manifest: %d %s", code, now)
	}
	if n := strings.Count(strings.Join(c.shown, "\n"), "Webhook shop/moderator: "); n != 1 {
		t.Errorf("the command says %d times that it does not deliver", n)
	}
	withoutCluster(t, url[:strings.Index(url, "/v2/")], token)
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

// withoutCluster runs the commands that find a ContentFilter, with a server and a token and without a cluster.
func withoutCluster(t *testing.T, server, token string) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "nosuch"))
	t.Setenv("VITRINE_SERVER", server)
	t.Setenv("VITRINE_TOKEN", token)
	t.Setenv("VITRINE_CA_FILE", "")
	vitrine(t.Context(), "", "items", "summer-wall", "--limit", "2").want(t, 0, "ID       CREATED")
	vitrine(t.Context(), "", "items", "summer-wall", "-n", "shop", "--limit", "1", "-q", "text:beach", "-o", "json").want(t, 0, `"approval_status": "app"`)
	vitrine(t.Context(), "", "items", "").want(t, exit.Usage, "the name of the ContentFilter is empty: pass the name of one")
	vitrine(t.Context(), "", "items", "summer-wal").want(t, exit.Failed, "the server serves no ContentFilter summer-wal in the property of the token: use one of ", "summer-wall")
	vitrine(t.Context(), "", "items", "summer-wall", "-n", "other").want(t, exit.Failed, "the server serves no ContentFilter in namespace other")
	vitrine(t.Context(), "", "explain", "summer-wall", "101972").want(t, 0, "Item 101972 is not in ContentFilter shop/summer-wall.\n\n✗ all of\n├─ ✓ must approval_status:app")
	var got explained
	if err := json.Unmarshal([]byte(vitrine(t.Context(), "", "explain", "summer-wall", "102000", "-o", "json").stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Item != 102000 || got.Filter != "shop/summer-wall" || got.Result != "not in" || got.Explanation.Matched || len(got.Explanation.Children) != 2 {
		t.Errorf("as JSON: %+v", got)
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
		_, c, stop := startDev(t, t.TempDir(), "", "--data-dir", data, "--import", file)
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
	_, c, stop := startDev(t, temporary, "")
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
	_, c, stop := startDev(t, t.TempDir(), "", "--open")
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
		"no path":             {nil, exit.Usage, "0 arguments given: use vitrine dev PATH..."},
		"a path that is gone": {[]string{filepath.Join(dir, "gone")}, exit.Usage, "does not exist: check the path"},
		"an address":          {[]string{dir, "--http-bind-address", "8080"}, exit.Usage, "--http-bind-address 8080: must be [host]:port"},
		"a namespace":         {[]string{dir, "--namespace", "A B"}, exit.Usage, "--namespace"},
		"no Property":         {[]string{dir, "--http-bind-address", "127.0.0.1:0", "--import", "dev_test.go"}, exit.Usage, "0 valid Properties"},
	} {
		t.Run(name, func(t *testing.T) {
			vitrine(t.Context(), "", append([]string{"dev"}, c.args...)...).want(t, c.code, c.want)
		})
	}
}

// devShell runs the commands of pages beside a running vitrine dev, as a user does in a second terminal.
type devShell struct {
	t         *testing.T
	dev       *terminal
	manifests string // the folder that vitrine dev serves, and the pages call my-filters
	work      string
	server    string
	variables []string
	stop      func(os.Signal) error
}

// newDevShell starts vitrine dev with the sample manifests and the sample content.
func newDevShell(t *testing.T) *devShell {
	t.Helper()
	s := &devShell{t: t, work: t.TempDir()}
	s.manifests, s.dev, s.stop = startDev(t, t.TempDir(), "", "--samples")
	set := s.dev.await(`^  export (VITRINE_SERVER=(\S+)) (VITRINE_TOKEN=\S+)$`)
	s.dev.await("Ctrl-C")
	s.server = set[2]
	program, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for link, to := range map[string]string{filepath.Join(s.work, "my-filters"): s.manifests, filepath.Join(bin, "vitrine"): program} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	s.variables = append(os.Environ(), asCommand+"=1", "PATH="+bin+":"+os.Getenv("PATH"), "KUBECONFIG="+filepath.Join(s.work, "nosuch"), set[1], set[3])
	return s
}

// run runs a block of a page, and compares its output with the page. If the block changes a manifest, run waits until vitrine dev has
// applied the change.
func (s *devShell) run(page string, block docblocks.Command) {
	s.t.Helper()
	output := s.t.TempDir()
	cmd := exec.Command("sh", "-c", docblocks.Script(output, []docblocks.Command{block}))
	cmd.Dir, cmd.Env = s.work, s.variables
	_ = cmd.Run() // Judge reports how the script ended
	if err := docblocks.Judge(page, output, []docblocks.Command{block}); err != nil {
		s.t.Fatal(err)
	}
	if strings.Contains(block.Script, "my-filters/") {
		s.dev.await(`applied, \d+ removed$`)
	}
}

// TestGetStarted runs the commands of docs/get-started.md that need no cluster.
func TestGetStarted(t *testing.T) {
	const page = "docs/get-started.md"
	text := string(readFile(t, "../../"+page))
	s := newDevShell(t)
	commands := docblocks.Commands(text, docblocks.Dev)
	for _, block := range commands {
		s.run(page, block)
	}
	if len(commands) < 5 {
		t.Errorf("%s has only %d blocks for vitrine dev", page, len(commands))
	}
	if err := s.stop(os.Interrupt); err != nil {
		t.Error(err)
	}
	for line := range s.dev.lines {
		s.dev.shown = append(s.dev.shown, line)
	}
	// The page shows what vitrine dev prints after a change in indented blocks.
	printed := strings.NewReplacer(s.manifests, "my-filters", strings.TrimPrefix(s.server, "http://"), "127.0.0.1:8080").Replace(strings.Join(s.dev.shown, "\n"))
	shown := regexp.MustCompile(`(?m)^    (?:\d\d:\d\d:\d\d )?((?:ContentFilter|my-filters/|    5|      \||18 objects|still serving).*)$`).FindAllStringSubmatch(text, -1)
	for _, line := range shown {
		if !strings.Contains(printed, line[1]) {
			t.Errorf("%s shows\n%s\nbut vitrine dev prints\n%s", page, line[1], printed)
		}
	}
	if len(shown) != 7 {
		t.Errorf("%s shows %d lines of vitrine dev", page, len(shown))
	}
}

// TestFiltersWithoutCluster runs the commands of docs/filters.md with vitrine dev instead of a cluster, with the replacements in the table of
// that page.
func TestFiltersWithoutCluster(t *testing.T) {
	const page = "docs/filters.md"
	text := string(readFile(t, "../../"+page))
	s := newDevShell(t)
	setup := regexp.MustCompile(`(?m)^    (vcurl\(\) .*)$`).FindStringSubmatch(text)
	if setup == nil {
		t.Fatalf("%s does not define vcurl", page)
	}
	url := s.server + "/v2/content/filters/8fef2da6-1ad3-5358-8eac-420f8ca05753"
	replaced := regexp.MustCompile(`(?m)^(?:kubectl (?:wait|get) .*|url=.*)\n`)
	for _, block := range docblocks.Commands(text, docblocks.Smoke) {
		script := replaced.ReplaceAllString(block.Script, "")
		script = strings.NewReplacer("kubectl apply -f beach-videos.yaml", "cp beach-videos.yaml my-filters/", "kubectl delete -f beach-videos.yaml", "rm my-filters/beach-videos.yaml").Replace(script)
		if strings.Contains(script, "my-filters/") {
			block.Output = "" // the output of kubectl
		}
		if strings.Contains(script, "kubectl") {
			t.Errorf("%s:%d needs a cluster: %s", page, block.Line, script)
		}
		block.Script = setup[1] + "\nurl=" + url + "\n" + script
		s.run(page, block)
	}
	if !slices.Contains(s.dev.shown, "ContentFilter shop/beach-videos: "+url) {
		t.Errorf("vitrine dev does not print the URL of the filter:\n%s", strings.Join(s.dev.shown, "\n"))
	}
}

// TestCampaign runs the queries of docs/campaign.md with the sample content, and compares the numbers of items with the page.
func TestCampaign(t *testing.T) {
	text := string(readFile(t, "../../docs/campaign.md"))
	_, dev, _ := startDev(t, t.TempDir(), "", "--samples")
	set := dev.await(`^  export VITRINE_SERVER=(\S+) VITRINE_TOKEN=(\S+)$`)
	dev.await("Ctrl-C")
	check := func(query, items string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, set[1]+"/v2/content/items?"+url.Values{"q": {query}, "page_size": {"1"}}.Encode(), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+set[2])
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var found struct {
			Total int `json:"total_results"`
		}
		if err := json.NewDecoder(res.Body).Decode(&found); err != nil {
			t.Fatal(err)
		}
		if got := strconv.Itoa(found.Total); got != items || res.Header.Get("Warning") != "" {
			t.Errorf("the query %s finds %s items, with the warning %q; the page says %s", query, got, res.Header.Get("Warning"), items)
		}
	}
	rows := regexp.MustCompile("(?m)^\\| [^|]+ \\| `([^`]+)` \\| (\\d+) \\|$").FindAllStringSubmatch(text, -1)
	for _, row := range rows {
		check(row[1], row[2])
	}
	if len(rows) != 10 {
		t.Errorf("the page has %d queries", len(rows))
	}
	story := regexp.MustCompile(`(?m)^    (approval_status:.*)$`).FindStringSubmatch(text)
	if story == nil || !strings.Contains(text, "\nSix items remain") {
		t.Fatal("the page has no query that finds six items")
	}
	check(story[1], "6")
}
