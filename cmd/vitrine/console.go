package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/internal/cli/connect"
	"github.com/vitrine-dev/vitrine/internal/cli/message"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/server/client"
	"github.com/vitrine-dev/vitrine/server/console"
)

// consoleOptions are the flags of console.
type consoleOptions struct {
	reach     connect.Reach
	property  string
	service   string
	port      uint16
	noBrowser bool
	out       io.Writer
}

// defaultService is the Service of config/default.
const defaultService = "vitrine-system/vitrine"

func newConsole() *cobra.Command {
	o := &consoleOptions{}
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Open the console of a property in a browser, without typing a token",
		Long: `Open a login link to the console in a browser, where you confirm the login. The command runs until Ctrl-C. It finds a token in a
Secret that you may read, preferably a token of the class ReadWrite, and forwards a port to a pod of the server. The server must
run with --console.

The browser connects only to the command on this machine. The command passes the requests on to the server, and verifies the
server's certificate.`,
		Example: example(`
# Open the console of the property in a namespace
kubectl vitrine console -n shop

# Only print the URL, for another browser on this machine
kubectl vitrine console -n shop --no-browser

# Connect to a server that this machine can reach, without a forwarded port
kubectl vitrine console -n shop --server https://content.shop.example`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.out = cmd.OutOrStdout()
			return o.run(cmd.Context())
		},
	}
	o.reach.Bind(cmd)
	fs := cmd.Flags()
	fs.StringVar(&o.property, "property", "", "name of the Property (default: the token's Property)")
	fs.StringVar(&o.service, "service", "", "NAMESPACE/NAME of the server's Service (default: the Service that the URL in the token's Secret names, otherwise "+defaultService+")")
	fs.Uint16Var(&o.port, "port", 0, "port of the console on this machine (default: any free port)")
	fs.BoolVar(&o.noBrowser, "no-browser", false, "only print the URL")
	return cmd
}

func (o *consoleOptions) run(ctx context.Context) error {
	work, stop := context.WithCancel(ctx)
	defer stop()
	parts, work := errgroup.WithContext(work)
	target, err := o.target(work, parts)
	if err != nil {
		return err
	}
	defer target.transport.CloseIdleConnections()
	code, property, err := target.code(ctx)
	if err != nil {
		return err
	}
	if _, name, _ := strings.Cut(property, "/"); o.property != "" && name != o.property {
		return exit.Usagef("--property %s: the token belongs to property %s: use another token, or omit --property", o.property, property)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", o.port))
	if err != nil {
		return exit.With(exit.Address, fmt.Errorf("cannot listen on --port %d: %w", o.port, err))
	}
	address := listener.Addr().String()
	server := &http.Server{Handler: target.proxy(address), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	parts.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	parts.Go(func() error {
		<-work.Done()
		return server.Close()
	})
	login := loginURL("http://"+address, code)
	fmt.Fprintf(o.out, "console of property %s on %s\nlogin link, valid for a minute: %s\n", property, target.server, login)
	if !o.noBrowser {
		defer openBrowser(ctx, o.out, login)()
	}
	fmt.Fprintln(o.out, "Press Ctrl-C to stop.")
	if err := parts.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

// consoleTarget is the server whose console the command opens.
type consoleTarget struct {
	server    *url.URL
	token     string
	transport *http.Transport
}

// target finds a token and a connection to the server. If the connection needs a forwarded port, target starts a goroutine in parts that
// forwards the port until ctx ends.
func (o *consoleOptions) target(ctx context.Context, parts *errgroup.Group) (*consoleTarget, error) {
	server := cmp.Or(o.reach.Connection.Server, os.Getenv("VITRINE_SERVER"))
	if server != "" && o.service != "" {
		return nil, exit.Usagef("--service cannot be used with --server or VITRINE_SERVER, because the command then forwards no port")
	}
	access := client.Options{Server: server}
	var err error
	if access.Token, err = o.reach.Connection.Token(); err != nil {
		return nil, err
	}
	if access.RootCAs, err = o.reach.Connection.Authority(); err != nil {
		return nil, err
	}
	if access.Token != "" && server != "" {
		return newConsoleTarget(access)
	}
	config, namespace, err := o.reach.Cluster.Load()
	if err != nil {
		return nil, err
	}
	k, _, err := o.reach.Cluster.Open()
	if err != nil {
		return nil, err
	}
	if access.Token == "" {
		if access, err = o.fromSecret(ctx, k, namespace); err != nil {
			return nil, err
		}
	}
	if server != "" {
		return newConsoleTarget(access)
	}
	service, err := serviceOf(cmp.Or(o.service, serviceIn(access.Server), defaultService))
	if err != nil {
		return nil, err
	}
	name := service.Name + "." + service.Namespace + ".svc"
	access.Server = cmp.Or(access.Server, "https://"+name)
	t, err := newConsoleTarget(access)
	if err != nil {
		return nil, err
	}
	address, err := connect.Forward(ctx, parts, config, k, service)
	if err != nil {
		return nil, err
	}
	t.transport.Proxy = nil
	t.transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	if access.RootCAs != nil {
		// A certificate from the server's own authority contains the name of the Service, but not necessarily the host of the URL.
		t.transport.TLSClientConfig.ServerName = name
	}
	return t, nil
}

// newConsoleTarget returns the target for a server that this machine can reach directly.
func newConsoleTarget(access client.Options) (*consoleTarget, error) {
	if _, err := client.New(access); err != nil { // checks the URL and the token
		return nil, err
	}
	server, err := url.Parse(access.Server)
	if err != nil {
		return nil, err
	}
	// A one-time code works only on the replica that issued it. With HTTP/2, all requests share one connection and thus reach the same
	// replica.
	return &consoleTarget{server: server, token: access.Token, transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: access.RootCAs, MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: 10 * time.Second,
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
	}}, nil
}

// fromSecret returns options with the first token in the namespace that works in the console. It tries READ-WRITE tokens first.
func (o *consoleOptions) fromSecret(ctx context.Context, k kube.Client, namespace string) (client.Options, error) {
	all, err := connect.Listed[*v1alpha1.AccessToken](ctx, k, &v1alpha1.AccessTokenList{}, namespace)
	if err != nil {
		return client.Options{}, err
	}
	all = slices.DeleteFunc(all, func(t *v1alpha1.AccessToken) bool {
		return t.Spec.Filters != nil || t.Status.SecretName == "" || o.property != "" && (t.PropertyName() != o.property || t.PropertyNamespace() != namespace)
	})
	secret, token, err := connect.UsableToken(ctx, k, all)
	if err != nil {
		return client.Options{}, err
	}
	if secret == nil {
		of := "namespace " + namespace
		if o.property != "" {
			of = "property " + namespace + "/" + o.property
		}
		return client.Options{}, fmt.Errorf("%s has no AccessToken that the console can use: apply one without spec.filters, or specify another namespace (-n), another --property, or --token-file", of)
	}
	return o.reach.Options(secret, token)
}

// serviceIn returns the Service in a URL as namespace/name, or "" if the host is not the name of a Service.
func serviceIn(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	labels := strings.Split(u.Hostname(), ".")
	if len(labels) < 3 || labels[2] != "svc" {
		return ""
	}
	return labels[1] + "/" + labels[0]
}

// serviceOf parses namespace/name.
func serviceOf(text string) (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, exit.Usagef("--service %q: must be NAMESPACE/NAME, such as %s", text, defaultService)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// code exchanges the token for a one-time code. It also returns the property of the token.
func (t *consoleTarget) code(ctx context.Context) (code, property string, err error) {
	return consoleCode(ctx, t.transport, t.server.JoinPath(console.Path).String(), t.token)
}

// consoleCode exchanges a token for a one-time code. It also returns the property of the token. base is the URL of the console.
func consoleCode(ctx context.Context, transport http.RoundTripper, base, token string) (code, property string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(base, "/")+"/codes", http.NoBody)
	if err != nil {
		return "", "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := transport.RoundTrip(req)
	if err != nil {
		return "", "", fmt.Errorf("reach the console: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return "", "", fmt.Errorf("cannot log in to the console: %w", err)
	}
	var answer struct{ Code, Property, Detail string }
	_ = json.NewDecoder(bytes.NewReader(body)).Decode(&answer) // if the body is not JSON, the error contains only the status
	switch {
	case res.StatusCode == http.StatusCreated && answer.Code != "":
		return answer.Code, answer.Property, nil
	case res.StatusCode == http.StatusNotFound:
		return "", "", errors.New("the server has no console: run it with --console, or set console.enabled in the chart")
	}
	return "", "", fmt.Errorf("cannot log in to the console: %s (HTTP %d): pass the current value of an AccessToken with --token-file or VITRINE_TOKEN",
		answer.Detail, res.StatusCode)
}

// loginURL returns the URL with which a browser logs in with a code. The code follows a #, because browsers do not send that part of a URL
// to the server.
func loginURL(server, code string) string { return server + console.Path + "login#code=" + code }

// passedPaths are the paths of the requests that the proxy passes to the server: the console and the API. The proxy passes the API because
// the console shows commands and links that use it. Requests to the API still need a token.
var passedPaths = []string{console.Path, "/v1/", "/v2/", "/i/"}

// proxy passes requests of a browser on this machine to the server. address is the host and port of the proxy.
func (t *consoleTarget) proxy(address string) http.Handler {
	passed := &httputil.ReverseProxy{
		Transport: t.transport, FlushInterval: -1, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(t.server)
			r.Out.Header["User-Agent"] = r.In.Header["User-Agent"]
			// Replace the origin of this proxy with the origin of the server, because the server accepts no other origin.
			if r.In.Header.Get("Origin") == "http://"+address {
				r.Out.Header.Set("Origin", t.server.Scheme+"://"+t.server.Host)
			}
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "cannot reach the server: "+message.OneLine(err), http.StatusBadGateway)
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Reject other host names, so that a page of another site cannot reach the console through DNS rebinding.
		if r.Host != address {
			http.Error(w, "open http://"+address+console.Path, http.StatusMisdirectedRequest)
			return
		}
		passes := func(prefix string) bool { return strings.HasPrefix(r.URL.Path, prefix) }
		if !slices.ContainsFunc(passedPaths, passes) {
			http.Redirect(w, r, console.Path, http.StatusSeeOther)
			return
		}
		passed.ServeHTTP(w, r)
	})
}

// loginPage is the format of a file that opens a URL. It is not a template of html/template, because that package would make the binary a
// quarter larger.
const loginPage = `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url=%[1]s">
<title>Vitrine</title>
<p><a href="%[1]s">Open the console</a>
`

// openBrowser opens the login URL in the user's browser, or prints the reason why it cannot open the browser. Other users of the machine
// see the arguments of processes, so the browser gets a file with the URL that only this user can read. The file exists for a minute, as
// long as the code in the URL is valid, or until the caller calls remove.
func openBrowser(ctx context.Context, out io.Writer, login string) (remove func()) {
	page, remove, err := writeLoginPage(login)
	if err != nil {
		fmt.Fprintf(out, "cannot open a browser: %s; open the URL yourself\n", message.OneLine(err))
		return remove
	}
	time.AfterFunc(time.Minute, remove)
	command := []string{"xdg-open", page}
	switch runtime.GOOS {
	case "darwin":
		command[0] = "open"
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", page}
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...)
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(out, "cannot open a browser: %s; open the URL yourself\n", message.OneLine(err))
		return remove
	}
	go func() { _ = cmd.Wait() }() // a browser can stay open longer than this process
	return remove
}

// writeLoginPage writes a file that opens the login URL, in a directory that only this user can read. remove deletes the file and the
// directory. The caller can call it even after an error.
func writeLoginPage(login string) (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "vitrine-console-")
	if err != nil {
		return "", func() {}, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	path = filepath.Join(dir, "open.html")
	return path, remove, os.WriteFile(path, fmt.Appendf(nil, loginPage, html.EscapeString(login)), 0o600)
}
