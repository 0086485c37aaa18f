package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/internal/cli/message"
	"github.com/vitrine-dev/vitrine/internal/cli/validate"
	"github.com/vitrine-dev/vitrine/internal/dev"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/sample"
	"github.com/vitrine-dev/vitrine/internal/server"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/client"
	"github.com/vitrine-dev/vitrine/server/console"
	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/library"
)

// devOptions are the flags of dev.
type devOptions struct {
	paths     []string
	namespace string
	address   string
	dataDir   string
	samples   bool
	open      bool
	imports   []string
	property  string
	// consoleDir is the folder with the files of the console; "" means the embedded files.
	consoleDir string
	oidc       server.OIDC
	started    time.Time
	out        io.Writer
	folder     *dev.Folder
	api        *httpapi.Server
	// listener is the address of the server, and url is its URL.
	listener, url string
	// introduced contains the objects that introduce has printed, as KIND NAME. It is nil before the first load.
	introduced map[string]bool
	// tokens contains the last line that introduce has printed about each AccessToken.
	tokens map[library.Owner]string
	// removePage removes the file that --open has written.
	removePage func()
}

func newDev() *cobra.Command {
	o := &devOptions{}
	cmd := &cobra.Command{
		Use:   "dev PATH...",
		Short: "Serve manifests from files and folders on this machine, without a cluster, and follow their changes",
		Long: "Serve the manifests in files and folders on this machine, without a cluster, until Ctrl-C. The command validates each\n" +
			"manifest, and reports each problem with the same message as in the object's conditions. When a file\n" +
			"changes, the server applies the change within half a second. If a manifest becomes invalid, the server keeps serving its\n" +
			"last valid version. The command creates a READ-WRITE token for each Property and a value for each AccessToken, and prints\n" +
			"them with the URL of each ContentFilter. It reads no Secrets. Without --data-dir, the command deletes the store when it ends.",
		Example: example(`
# Serve the sample manifests with sample content
vitrine dev config/samples --samples

# The same, and open the console in a browser
vitrine dev config/samples --samples --open

# Serve your manifests with your items, and keep the items for the next run
vitrine dev deploy/ --import posts.ndjson --data-dir .vitrine-dev`),
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.started, o.paths, o.out = time.Now(), args, cmd.OutOrStdout()
			log, flush, err := server.NewLogger(cmd.ErrOrStderr(), "text", "warn")
			if err != nil {
				return err
			}
			defer flush()
			return o.run(cmd.Context(), log)
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&o.namespace, "namespace", "n", "default", "namespace for manifests that do not specify one")
	fs.StringVar(&o.address, "http-bind-address", "127.0.0.1:8080", "address of the HTTP API")
	fs.StringVar(&o.dataDir, "data-dir", "", "directory of the store, which stays when the command ends (default: a temporary directory)")
	fs.BoolVar(&o.open, "open", false, "open the console of the first Property in a browser")
	fs.BoolVar(&o.samples, "samples", false, "import sample content into every Property")
	fs.StringSliceVar(&o.imports, "import", nil, "NDJSON file to import (see vitrine import); repeatable")
	fs.StringVar(&o.property, "property", "", "NAMESPACE/NAME of the Property for --import (default: the only one)")
	fs.StringVar(&o.consoleDir, "console-assets", "", "folder with the files of the console, for its development (default: the embedded files)")
	o.oidc.Bind(fs)
	_ = fs.MarkHidden("console-assets") // an error means that the flag does not exist
	return cmd
}

func (o *devOptions) run(ctx context.Context, log *slog.Logger) error {
	if err := checkNamespace(o.namespace); err != nil {
		return err
	}
	if err := server.CheckBindAddress("http-bind-address", o.address); err != nil {
		return err
	}
	if o.address == "" {
		return exit.Usagef("--http-bind-address is empty: set it to [host]:port, such as 127.0.0.1:8080")
	}
	if err := o.oidc.Validate(true, "http://"+o.address); err != nil {
		return err
	}
	for _, path := range append(o.paths, o.imports...) {
		if _, err := os.Stat(path); err != nil {
			return exit.Usagef("%w", err)
		}
	}
	dir := o.dataDir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "vitrine-dev-"); err != nil {
			return fmt.Errorf("create a directory for the store: %w", err)
		}
		defer os.RemoveAll(dir)
	}
	o.removePage = func() {}
	defer func() { o.removePage() }()
	var public func(http.Handler) http.Handler
	if o.samples {
		public = withSamplePictures
	}
	return server.Run(ctx, server.Options{
		WithoutKubernetes: true, DataDir: dir, Library: server.LibraryEngine, HTTP: o.address, DrainFor: time.Second,
		Definitions: o.follow, Public: public, Console: true, ConsoleDir: o.consoleDir, OIDC: o.oidc,
	}, log)
}

// follow returns the manifests as the definitions of the library of the server.
func (o *devOptions) follow(lib library.Library) server.Definitions {
	o.folder = dev.New(dev.Options{
		Library: lib, Paths: o.paths, Namespace: o.namespace, Login: o.oidc.Set(),
		Report: func(ctx context.Context, l dev.Load) error {
			o.report(l)
			if l.Failed != nil {
				return nil
			}
			if err := o.fill(ctx, lib); err != nil {
				return err
			}
			o.introduce(ctx, lib, l.Applied)
			return nil
		},
	})
	run := func(ctx context.Context, api *httpapi.Server, address net.Addr) error {
		o.api = api
		o.listen(address)
		if err := o.folder.Claim(ctx); err != nil {
			return exit.With(exit.Store, err)
		}
		return o.folder.Run(ctx)
	}
	return server.Definitions{Run: run, Loaded: o.folder.Loaded, Rejected: o.folder.Rejected, Manifest: o.folder.Manifest}
}

// listen records the address of the server.
func (o *devOptions) listen(address net.Addr) {
	at := address.(*net.TCPAddr)
	host := at.IP.String()
	if at.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	o.listener = net.JoinHostPort(host, strconv.Itoa(at.Port))
	o.url = "http://" + o.listener
}

// report prints the result of a load.
func (o *devOptions) report(l dev.Load) {
	at := time.Now().Format(time.TimeOnly)
	if l.Failed != nil {
		fmt.Fprintf(o.out, "%s cannot load the manifests: %s; the server keeps serving what it served before\n", at, message.OneLine(l.Failed))
		return
	}
	validate.Text(o.out, l.Findings)
	fmt.Fprintf(o.out, "%s %s: %d applied, %d removed\n", at, tally(l.Report), len(l.Applied), l.Removed)
	if len(l.Kept) > 0 {
		fmt.Fprintf(o.out, "%s still serving the last valid version of %s\n", at, strings.Join(l.Kept, ", "))
	}
}

// introduce prints the tokens, example requests, console links and URLs of all objects that it has not printed yet, that their Webhooks are
// not delivered, and the URLs of the applied ContentFilters.
func (o *devOptions) introduce(ctx context.Context, lib library.Library, applied []library.Owner) {
	first := o.introduced == nil
	if first {
		o.introduced, o.tokens = map[string]bool{}, map[library.Owner]string{}
		fmt.Fprintf(o.out, "\nserving %s after %s\n", o.url, time.Since(o.started).Round(10*time.Millisecond))
	}
	items := lib.State(ctx).PropertyItems
	var urls []string // of the filters
	for _, p := range lib.Properties() {
		example := ""
		filters, _, err := lib.Filters(p, 0, 0)
		if err != nil {
			fmt.Fprintf(o.out, "cannot list the filters of Property %s: %s\n", p, message.OneLine(err))
		}
		for _, f := range filters {
			if f.Owner.Kind != library.KindFilter {
				continue // created over HTTP
			}
			name, url := f.Owner.String(), o.url+"/v2/content/filters/"+f.UUID
			example = cmp.Or(example, url)
			if !o.introduced[name] || slices.Contains(applied, f.Owner) {
				o.introduced[name] = true
				urls = append(urls, name+": "+url)
			}
		}
		if o.introduced["Property "+string(p)] {
			continue
		}
		o.introduced["Property "+string(p)] = true
		token := o.folder.Token(p)
		fmt.Fprintf(o.out, "\nProperty %s: %s items, READ-WRITE token %s\n", p, text.Thousands(items[p]), token)
		fmt.Fprintf(o.out, "  export VITRINE_SERVER=%s VITRINE_TOKEN=%s\n", o.url, token)
		if example != "" {
			fmt.Fprintf(o.out, "  curl -H 'Authorization: Bearer %s' '%s?page_size=2'\n", token, example)
		}
		o.introduceConsole(ctx, token)
	}
	tokens := o.folder.Tokens()
	for _, owner := range slices.SortedFunc(maps.Keys(tokens), func(a, b library.Owner) int { return cmp.Compare(a.String(), b.String()) }) {
		line := fmt.Sprintf("%s: %s (%s)", owner, tokens[owner], tokenShows(ctx, lib, owner))
		if o.tokens[owner] != line {
			o.tokens[owner] = line
			fmt.Fprintln(o.out, line)
		}
	}
	for _, owner := range o.folder.Webhooks() {
		if name := owner.String(); !o.introduced[name] {
			o.introduced[name] = true
			fmt.Fprintf(o.out, "%s: no deliveries, because vitrine dev sends nothing to Webhooks\n", name)
		}
	}
	for _, url := range slices.Sorted(slices.Values(urls)) {
		fmt.Fprintln(o.out, url)
	}
	if first {
		fmt.Fprintln(o.out, "\nThe server applies each change to the manifests. Press Ctrl-C to stop.")
	}
}

// tokenShows describes the items that a token reads, and what it may do with them.
func tokenShows(ctx context.Context, lib library.Library, owner library.Owner) string {
	d, err := lib.Definition(ctx, owner)
	if err != nil || d.Token == nil {
		return "not served"
	}
	property, err := lib.Property(d.Property)
	if err != nil {
		return "not served"
	}
	queries := d.Token.ScopeQueries(property.ReadOnlyQuery)
	scope, err := library.ParseTokenScope(queries[:]...)
	if err != nil {
		return "not served"
	}
	access := "READ-ONLY"
	if d.Token.ReadWrite {
		access = "READ-WRITE"
	}
	if len(d.Token.Allow) > 0 {
		access = fmt.Sprintf("%s limited to %v", access, d.Token.Allow)
	}
	shows := "all items"
	if d.Token.Filters != nil {
		shows = "the items of its filters"
	}
	if scope != nil {
		shows += " that match " + text.Visible(scope.String())
	}
	return access + ": " + shows
}

// introduceConsole prints a link that logs a browser in. With --open, it also opens the first link in a browser.
func (o *devOptions) introduceConsole(ctx context.Context, token string) {
	var code string
	err := o.await(ctx, token)
	if err == nil {
		code, _, err = consoleCode(ctx, o.transport(), "http://localhost"+console.Path, token)
	}
	if err != nil {
		fmt.Fprintf(o.out, "  cannot create a login link to the console: %s\n", message.OneLine(err))
		return
	}
	login := loginURL(o.url, code)
	fmt.Fprintf(o.out, "  login link to the console, valid for a minute: %s\n", login)
	if o.open {
		o.open = false
		o.removePage = openBrowser(ctx, o.out, login)
	}
}

// fill imports the sample content into every new Property and, after the first load, the given files.
func (o *devOptions) fill(ctx context.Context, lib library.Library) error {
	properties := lib.Properties()
	var samples []byte
	for _, p := range properties {
		if !o.samples || o.introduced["Property "+string(p)] {
			continue
		}
		if samples == nil {
			var content bytes.Buffer
			if err := sample.Write(&content, sample.Default); err != nil {
				return fmt.Errorf("make sample content: %w", err)
			}
			samples = bytes.ReplaceAll(content.Bytes(), []byte(sample.MediaURL), []byte(o.url+samplePath))
		}
		if err := o.load(ctx, p, "sample content", bytes.NewReader(samples)); err != nil {
			return err
		}
	}
	if len(o.imports) == 0 || o.introduced != nil {
		return nil
	}
	target := library.PropertyID(o.property)
	if target == "" {
		if len(properties) != 1 {
			return exit.Usagef("--import needs one Property, but the manifests declare %d valid Properties: select one with --property", len(properties))
		}
		target = properties[0]
	}
	if _, err := lib.Property(target); err != nil {
		return exit.Usagef("--property %s: no valid manifest declares this Property", target)
	}
	for _, name := range o.imports {
		in, err := openInput(nil, name)
		if err != nil {
			return err
		}
		err = o.load(ctx, target, name, in)
		in.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// samplePath is the URL path of the pictures in the sample content.
const samplePath = "/samples/"

// withSamplePictures returns a handler that also serves the pictures of the sample content.
func withSamplePictures(public http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, ok := strings.CutPrefix(r.URL.Path, samplePath)
		if !ok {
			public.ServeHTTP(w, r)
			return
		}
		picture := sample.Picture(path)
		if picture == nil {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "a picture can only be read", http.StatusMethodNotAllowed)
			return
		}
		h.Set("Content-Type", "image/svg+xml")
		h.Set("Content-Security-Policy", "default-src 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "public, max-age=86400")
		_, _ = w.Write(picture)
	})
}

// await waits until the server accepts a token. It is necessary even after the library has received the token, because the server reads new
// tokens with a delay.
func (o *devOptions) await(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if _, ok, err := o.api.Access(ctx, token); ok && err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server did not accept a new token in time: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// load imports one input into a Property. Existing items stay unchanged.
func (o *devOptions) load(ctx context.Context, p library.PropertyID, name string, in io.Reader) error {
	token := o.folder.Token(p)
	if err := o.await(ctx, token); err != nil {
		return err
	}
	c, err := client.New(client.Options{
		Server: "http://localhost", Token: token, Transport: o.transport(),
	})
	if err != nil {
		return err
	}
	start := time.Now()
	at, err := c.Import(ctx, in, client.ImportOptions{
		OnConflict: client.Skip, Unanswered: client.Stop,
		Failed: func(e client.LineError) { fmt.Fprintln(o.out, message.OneLine(e)) },
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("import %s: %w", name, err)
	}
	fmt.Fprintf(o.out, "%s: %s\n", name, summary(at, time.Since(start)))
	return nil
}

// transport returns a transport that connects to the server regardless of the host in a URL. Callers use the host localhost, because the
// client sends unencrypted tokens only to loopback, and the server may listen on another address of this machine.
func (o *devOptions) transport() *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, o.listener)
	}}
}
