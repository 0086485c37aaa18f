package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vitrine-dev/vitrine/internal/cli/connect"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/reference"
)

var (
	// rawError matches texts of the operating system and of Go packages, which do not say what to do.
	rawError = regexp.MustCompile(`arg\(s\)|no such file|dial |connect: |\b(?:Get|Post|Put|Delete) "|\b(?:stat|lstat|open|mkdir|lookup|read) /|strconv|` +
		`invalid (?:syntax|argument)|unknown (?:command|flag|shorthand)|x509|tls:|\bEOF\b|context (?:canceled|deadline)|unexpected end|yaml:|json:`)
	// advice matches the imperatives with which messages say what to do, and the form of valid values.
	advice = regexp.MustCompile(`\b(?:check|pass|set|use|see|start|name|select|run|log in|create|ask|must be|stop) `)
)

// checkFailure checks that a failed command prints one line that says what to do.
func checkFailure(t *testing.T, got result, args []string) {
	t.Helper()
	switch {
	case got.code == 0:
		t.Errorf("%q succeeds", args)
	case got.stdout != "", strings.Count(got.stderr, "\n") != 1, !strings.HasPrefix(got.stderr, "vitrine: "):
		t.Errorf("%q does not print one line on standard error: %s\n%s", args, got.stdout, got.stderr)
	case rawError.MatchString(got.stderr):
		t.Errorf("%q prints the text %q of another program: %s", args, rawError.FindString(got.stderr), got.stderr)
	case !advice.MatchString(got.stderr):
		t.Errorf("%q does not say what to do: %s", args, got.stderr)
	}
}

// commandArgs returns the arguments that select a command.
func commandArgs(cmd *cobra.Command) []string { return strings.Fields(cmd.CommandPath())[1:] }

// TestWrongCommandLine runs every command with a wrong number of arguments, an unknown flag, a flag without a value, and an invalid value
// of each flag that is not a text.
func TestWrongCommandLine(t *testing.T) {
	run := func(args []string, says string) {
		t.Helper()
		got := vitrine(t.Context(), "", args...)
		checkFailure(t, got, args)
		got.want(t, exit.Usage, says)
	}
	eachCommand(newProgram(), func(cmd *cobra.Command) {
		args := slices.Repeat([]string{"x"}, 9)
		if cmd.Args(cmd, args) == nil && !cmd.HasSubCommands() && cmd.Name() != "help" {
			args = nil
		}
		run(append(commandArgs(cmd), args...), "--help")
		if cmd.Name() == "help" {
			return
		}
		run(append(commandArgs(cmd), "--nosuch"), "there is no flag --nosuch: see "+cmd.CommandPath()+" --help")
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.NoOptDefVal == "" {
				run(append(commandArgs(cmd), "--"+f.Name), "--"+f.Name+" needs a value")
			}
			if !slices.Contains([]string{"string", "stringSlice"}, f.Value.Type()) {
				run(append(commandArgs(cmd), "--"+f.Name+"=x!"), "--"+f.Name)
			}
		})
	})
	vitrine(t.Context(), "", "facet", "tags").want(t, exit.Usage, `vitrine: there is no command "facet" (did you mean facets?): see vitrine --help`)
	vitrine(t.Context(), "", "help", "facet").want(t, exit.Usage, "did you mean facets?")
	vitrine(t.Context(), "", "validate", "deploy/").want(t, exit.Usage, "vitrine: 1 argument given: use vitrine validate -f FILE|DIR|-, or see vitrine validate --help")
	vitrine(t.Context(), "", "help", "import").want(t, 0, "Import items from an NDJSON file", "--on-conflict")
	vitrine(t.Context(), "", "completion").want(t, 0, "powershell")
}

// valid contains, for each command that reads files or connects to a server, arguments with which it fails only because of a file or a
// server. SERVER, TOKEN, CONFIG, DIR and FILE stand for values that the test chooses.
var valid = map[string]string{
	"serve":          "--without-kubernetes --data-dir DIR",
	"dev":            "FILE --data-dir DIR --http-bind-address 127.0.0.1:0",
	"validate":       "-f FILE",
	"diff":           "-f FILE --server SERVER --token-file TOKEN",
	"status":         "--kubeconfig CONFIG",
	"items":          "x --server SERVER --token-file TOKEN",
	"explain":        "x 1 --server SERVER --token-file TOKEN",
	"tokens":         "--kubeconfig CONFIG",
	"console":        "--no-browser --server SERVER --token-file TOKEN",
	"import":         "FILE --server SERVER --token-file TOKEN",
	"export":         "--server SERVER --token-file TOKEN",
	"changes":        "--query x --server SERVER --token-file TOKEN",
	"facets":         "tags --server SERVER --token-file TOKEN",
	"can-i":          "- --server SERVER --token-file TOKEN",
	"backup":         "s3://bucket/x.tar --data-dir DIR --s3-endpoint SERVER",
	"restore":        "FILE --data-dir DIR",
	"migrate":        "--to opensearch --data-dir DIR --opensearch-url SERVER",
	"sweep":          "--data-dir DIR",
	"purge":          "a/b --data-dir DIR",
	"webhook test":   "x --kubeconfig CONFIG",
	"webhook replay": "x --kubeconfig CONFIG",
	"version":        "",
}

// extra contains further arguments that a flag needs, or that let a command use the flag.
var extra = map[string]string{
	"serve --kubeconfig":                      "--without-kubernetes=false",
	"serve --tls-cert-file":                   "--tls-private-key-file FILE",
	"serve --tls-private-key-file":            "--tls-cert-file FILE",
	"serve --webhook-client-ca-file":          "--without-kubernetes=false --kubeconfig CONFIG --webhook-bind-address 127.0.0.1:0",
	"serve --opensearch-ca-file":              "--library opensearch --opensearch-url SERVER",
	"serve --opensearch-username-file":        "--library opensearch --opensearch-url SERVER --opensearch-password-file FILE",
	"serve --opensearch-password-file":        "--library opensearch --opensearch-url SERVER --opensearch-username-file FILE",
	"serve --console-oidc-ca-file":            "--console --console-oidc-issuer-url https://id.example --console-oidc-client-secret-file FILE",
	"dev --console-oidc-ca-file":              "--console-oidc-issuer-url https://id.example --console-oidc-client-secret-file FILE",
	"serve --console-oidc-client-secret-file": "--console --console-oidc-issuer-url https://id.example",
	"dev --console-oidc-client-secret-file":   "--console-oidc-issuer-url https://id.example",
	"changes --kubeconfig":                    "--query= --filter x",
	"console --kubeconfig":                    "--server= --token-file=",
	"migrate --opensearch-username-file":      "--opensearch-password-file FILE",
	"migrate --opensearch-password-file":      "--opensearch-username-file FILE",
}

// TestMissingFile runs every command with the name of a missing file in each of its arguments and flags that name a file.
func TestMissingFile(t *testing.T) {
	for _, name := range []string{"KUBECONFIG", "VITRINE_SERVER", "VITRINE_TOKEN", "VITRINE_CA_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "key")
	missing := filepath.Join(t.TempDir(), "nosuch", "file")
	file := write(t, "input", filterManifest("x", "query: love"))
	saved := filepath.Join(t.TempDir(), "backup.tar")
	vitrine(t.Context(), "", "backup", "--data-dir", start(t, newStore(t)).dir, saved).want(t, 0)
	// A directory is created if it is missing, except below a file.
	missingDir := filepath.Join(file, "nosuch")
	named := regexp.MustCompile(`(?:^|-)file$|-dir$|^filename$|^import$|^kubeconfig$`)
	const server = "https://127.0.0.1:1"
	replace := func(args, file string) []string {
		return strings.Fields(strings.NewReplacer("SERVER", server, "TOKEN", write(t, "token", secret), "CONFIG", kubeconfigOf(t, server, nil),
			"DIR", filepath.Join(t.TempDir(), "data"), "FILE", file).Replace(args))
	}
	eachCommand(newRoot(), func(cmd *cobra.Command) {
		if cmd.HasSubCommands() {
			return
		}
		name := strings.Join(commandArgs(cmd), " ")
		args, listed := valid[name]
		if !listed {
			t.Errorf("%s is not in the table valid: add its arguments", name)
			return
		}
		check := func(args []string, says string) {
			t.Helper()
			got := vitrine(t.Context(), "", args...)
			got.want(t, got.code, says)
			if slices.Contains([]string{"serve", "dev"}, name) { // these log before
				lines := strings.SplitAfter(strings.TrimSuffix(got.stderr, "\n"), "\n")
				got.stdout, got.stderr = "", lines[len(lines)-1]+"\n"
			}
			checkFailure(t, got, args)
		}
		if strings.HasPrefix(args, "FILE") {
			check(append(commandArgs(cmd), replace(args, missing)...), missing)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !named.MatchString(f.Name) || name == "restore" && f.Name == "s3-ca-file" { // as in backup
				return
			}
			input := file
			if name == "restore" {
				input = saved
			}
			path, says := missing, missing
			if strings.HasSuffix(f.Name, "-dir") {
				path, says = missingDir, file // the message can name the parent
			}
			all := append(commandArgs(cmd), replace(args+" "+extra[name+" --"+f.Name], input)...)
			check(append(all, "--"+f.Name+"="+path), says)
		})
	})
}

// cancelling is a buffer whose first write cancels a context.
type cancelling struct {
	bytes.Buffer
	cancel func()
}

func (c *cancelling) Write(p []byte) (int, error) {
	c.cancel()
	return c.Buffer.Write(p)
}

// TestStoppedServer runs every command that connects to a server, a cluster or a data directory while nothing listens there.
func TestStoppedServer(t *testing.T) {
	for _, name := range []string{"KUBECONFIG", "VITRINE_SERVER", "VITRINE_TOKEN", "VITRINE_CA_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	const server = "https://127.0.0.1:1"
	values := strings.NewReplacer("SERVER", server, "TOKEN", write(t, "token", secret), "CONFIG", kubeconfigOf(t, server, nil), "DIR", t.TempDir(),
		"FILE", write(t, "x.yaml", filterManifest("x", "query: love")))
	var runs sync.WaitGroup // the client repeats requests, with pauses
	results := map[string]result{}
	var mu sync.Mutex
	for name, args := range valid {
		if slices.Contains([]string{"serve", "dev", "validate", "restore", "version", "import", "backup"}, name) {
			continue // connect to nothing, or are below
		}
		runs.Go(func() {
			got := vitrine(t.Context(), "", append(strings.Fields(name), strings.Fields(values.Replace(args))...)...)
			mu.Lock()
			defer mu.Unlock()
			results[name] = got
		})
	}
	backup := []string{"backup", "--data-dir", t.TempDir(), filepath.Join(t.TempDir(), "x.tar")}
	checkFailure(t, vitrine(t.Context(), "", backup...), backup)
	runs.Wait()
	for name, got := range results {
		checkFailure(t, got, []string{name})
	}
	for name, says := range map[string]string{
		"export": "vitrine: cannot reach https://127.0.0.1:1 (connection refused): check the address, and that the server runs\n",
		"status": "cannot reach the cluster at https://127.0.0.1:1 (connection refused): check --kubeconfig and --context, and that the cluster runs\n",
	} {
		results[name].want(t, exit.Failed, says)
	}

	// An import retries for minutes. Interrupt it after it has said so.
	ctx, cancel := context.WithCancel(t.Context())
	stderr := &cancelling{cancel: cancel}
	args := []string{"import", "-", "--server", server, "--token-file", write(t, "token", secret)}
	code := execute(ctx, "vitrine", args, strings.NewReader(itemLines(1, 1)), &bytes.Buffer{}, stderr)
	first, last, _ := strings.Cut(stderr.String(), "\n")
	if code != exit.Interrupted || rawError.MatchString(first) || !strings.HasPrefix(first, "cannot reach "+server+" (connection refused): check the address") {
		t.Errorf("exit code %d, and the first line %s", code, first)
	}
	if last != "vitrine: interrupted after line 0; the rest of the input is not imported\n" {
		t.Errorf("the last line: %s", last)
	}
}

// kubeconfigOf writes a kubeconfig with an invalid token. ca is the authority of the cluster.
func kubeconfigOf(t *testing.T, server string, ca []byte) string {
	t.Helper()
	return write(t, "kubeconfig", fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: x
contexts: [{name: x, context: {cluster: x, user: x}}]
clusters: [{name: x, cluster: {server: %q, certificate-authority-data: %q}}]
users: [{name: x, user: {token: expired}}]
`, server, base64.StdEncoding.EncodeToString(ca)))
}

// TestExpiredToken runs every command that connects to a server or a cluster with a token that has expired.
func TestExpiredToken(t *testing.T) {
	for _, name := range []string{"KUBECONFIG", "VITRINE_SERVER", "VITRINE_TOKEN", "VITRINE_CA_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := newStore(t)
	lib, err := reference.Open(reference.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	const old = "test-token-that-was-valid-an-hour-ago"
	_, err = lib.Apply(t.Context(), []library.Definition{{
		Property: property, Owner: library.Owner{Install: "test", Kind: library.KindToken, Namespace: "shop", Name: "old"},
		Token: &library.Token{ReadWrite: true, Values: []library.TokenValue{{Digest: sha256.Sum256([]byte(old)), Expires: time.Now().Add(-time.Hour)}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := lib.Close(); err != nil {
		t.Fatal(err)
	}
	s := start(t, dir, "--console")
	_, config := newCluster(t)
	cluster, _, err := (&connect.Cluster{Kubeconfig: config}).Load()
	if err != nil {
		t.Fatal(err)
	}
	values := strings.NewReplacer(
		"SERVER", "https://"+s.addresses["https"]+" --ca-file "+filepath.Join(dir, "tls", "ca.crt"), "TOKEN", write(t, "token", old),
		"CONFIG", kubeconfigOf(t, cluster.Host, cluster.CAData), "FILE", write(t, "x.yaml", filterManifest("x", "query: love")),
	)
	items := write(t, "items.ndjson", itemLines(1, 1))
	for name, args := range valid {
		args := append(strings.Fields(name), strings.Fields(values.Replace(args))...)
		if name == "import" {
			args[1] = items
		}
		says := "the access token is unknown, expired or revoked (HTTP 403): pass the current value of an AccessToken with --token-file or VITRINE_TOKEN"
		switch {
		case name == "console":
			says = "pass the current value of an AccessToken"
		case strings.Contains(valid[name], "CONFIG"):
			says = "the cluster does not accept your credentials: log in to the cluster again"
		case !strings.Contains(valid[name], "TOKEN"):
			continue
		}
		got := vitrine(t.Context(), "", args...)
		checkFailure(t, got, args)
		got.want(t, exit.Failed, says)
		if strings.Contains(got.stderr, old) || strings.Contains(s.logged(), old) {
			t.Errorf("%q prints the token", args)
		}
	}
	for _, c := range []struct {
		server, token string
		code          int
		says          string
	}{
		{"http://" + s.addresses["https"], secret, exit.Failed, "use https:// if the server uses TLS"},
		{"https://" + s.addresses["probes"], secret, exit.Failed, "the server speaks HTTP and not HTTPS, so use http://"},
		{"https://" + s.addresses["https"], secret + "\n" + secret, exit.Failed, "pass only the token, in one line"},
		{"https://" + s.addresses["https"], secret, exit.Certificate, "pass the server's ca.crt with --ca-file"},
	} {
		args := []string{"export", "--server", c.server, "--token-file", write(t, "token", c.token)}
		got := vitrine(t.Context(), "", args...)
		checkFailure(t, got, args)
		got.want(t, c.code, c.says)
	}
}
