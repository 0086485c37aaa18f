// Package admin provides operations on a running server for callers that may write to its data directory: confirming a held sweep, purging
// a property, backing up the store, and copying the library to OpenSearch. It uses HTTP over a Unix socket in that directory, so that
// commands that run in the pod (kubectl exec) can use it. Calls need no token, because the mode of the socket file controls access.
//
// Invariants: at its final path, the socket is at all times readable and writable only for its owner. A GET request changes nothing. The
// package may import internal/backup, library and transfer.
package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/vitrine-dev/vitrine/internal/backup"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

// SocketPath returns the path of the socket of a data directory.
func SocketPath(dataDir string) string { return filepath.Join(dataDir, "admin.sock") }

// Sweep describes the state of the guarded sweep.
type Sweep struct {
	// Kubernetes is false if the server watches no cluster and therefore never sweeps.
	Kubernetes bool `json:"kubernetes"`
	// Held is true if a sweep waits for confirmation. This sweep would remove Remove of Total definitions.
	Held   bool `json:"held"`
	Remove int  `json:"remove"`
	Total  int  `json:"total"`
	// Message describes in one sentence whether the server follows its cluster.
	Message string `json:"message"`
}

// Operations are the operations that a server offers on the socket.
type Operations interface {
	// Sweep returns the state of the sweep.
	Sweep(ctx context.Context) (Sweep, error)
	// ConfirmSweep runs a held sweep and returns the number of removed definitions.
	ConfirmSweep(ctx context.Context) (int, error)
	// Stored returns every property with stored data, each with its number of items.
	Stored(ctx context.Context) (map[library.PropertyID]int64, error)
	// Purge erases a property that no manifest declares.
	Purge(ctx context.Context, p library.PropertyID) error
	// Census identifies the store and describes its current state in numbers. It fails if the library cannot be backed up.
	Census(ctx context.Context) (backup.Census, error)
	// Backup writes a consistent copy of the store as a stream. If Backup fails, the stream is not a valid backup. If the store is damaged,
	// Backup fails, unless BackupOptions.EvenDamaged is true: it then copies the store as it is, and damage describes the damage.
	Backup(ctx context.Context, w io.Writer, o BackupOptions) (damage, err error)
	// ReportBackups records the state of the scheduled backups, for the metrics of the server.
	ReportBackups(ctx context.Context, b Backups) error
	// Migrate copies the library to OpenSearch (see transfer.Copy). If it fails, the library may stay frozen.
	Migrate(ctx context.Context, to OpenSearch, progress func(transfer.Progress)) (*transfer.Report, error)
	// CancelMigration makes a frozen library accept writes again, and prevents the copy from being opened. It fails while Migrate runs. The
	// result describes the state of the copy in a sentence for users.
	CancelMigration(ctx context.Context) (aboutCopy string, err error)
}

// BackupOptions are the options of a backup.
type BackupOptions struct {
	// EvenDamaged copies a store even if it is damaged.
	EvenDamaged bool
	// Store is the id of the store to back up, as in Census. If the server has another store, the backup fails. "" means any store.
	Store string
}

// Backups is the state of the scheduled backups. A separate process, vitrine backup --every, makes them.
type Backups struct {
	// Store is the id of the store whose backups these are; "" if the process could not determine it.
	Store string `json:"store,omitempty"`
	// Newest is the time of the newest backup, or zero if there is none.
	Newest time.Time `json:"newest,omitzero"`
	// Failures counts the failed attempts since the command started.
	Failures int64 `json:"failures"`
}

// OpenSearch contains the connection settings of the OpenSearch cluster to which the server copies its library. The fields have the same
// meaning as in opensearch.Options. The server reads the files.
type OpenSearch struct {
	URLs         []string `json:"urls"`
	UsernameFile string   `json:"username_file,omitempty"`
	PasswordFile string   `json:"password_file,omitempty"`
	CAFile       string   `json:"ca_file,omitempty"`
	AllowHTTP    bool     `json:"allow_http,omitempty"`
	Prefix       string   `json:"prefix"`
}

// Listen creates the socket in a data directory. It replaces the socket of a server that has stopped. The caller must hold the store's
// lock, so that Listen never replaces the socket of a running server.
func Listen(dataDir string) (net.Listener, error) {
	// Create the socket in a directory that no other user may enter, set the mode of the socket, and only then move it to its path.
	dir, err := os.MkdirTemp(dataDir, ".admin-")
	if err != nil {
		return nil, fmt.Errorf("create the admin socket: %w", err)
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("create the admin socket: %w; if its path is too long, use a shorter --data-dir", err)
	}
	l.SetUnlinkOnClose(false)
	path := SocketPath(dataDir)
	if err := errors.Join(os.Chmod(made, 0o600), os.Rename(made, path)); err != nil {
		return nil, errors.Join(fmt.Errorf("create the admin socket: %w", err), l.Close())
	}
	return &listener{l, path}, nil
}

// listener removes its socket when it is closed, so that clients immediately detect that no server runs.
type listener struct {
	net.Listener
	path string
}

// Close implements net.Listener.
func (l *listener) Close() error {
	os.Remove(l.path)
	return l.Listener.Close()
}

// answer is the body of the responses to all requests except backups and migrations.
type answer struct {
	Error   string                       `json:"error,omitempty"`
	Sweep   *Sweep                       `json:"sweep,omitempty"`
	Removed int                          `json:"removed"`
	Stored  map[library.PropertyID]int64 `json:"stored,omitempty"`
	Census  *backup.Census               `json:"census,omitempty"`
	Copy    string                       `json:"copy,omitempty"`
}

// event is a line of the response to a migration. The last line has a report or an error.
type event struct {
	Progress *transfer.Progress `json:"progress,omitempty"`
	Report   *transfer.Report   `json:"report,omitempty"`
	Error    string             `json:"error,omitempty"`
}

// Handler serves the operations. It overrides the timeouts of the http.Server, because an operation may take any amount of time, and a
// backup may have any size. It closes a connection only if the client accepts no data for the duration stall.
func Handler(ops Operations, stall time.Duration) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, f func(r *http.Request) (answer, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			a, err := f(r)
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(stall))
			if err != nil {
				a = answer{Error: err.Error()}
				w.WriteHeader(http.StatusConflict)
			}
			_ = json.NewEncoder(w).Encode(a) // an error means that the client has disconnected
		})
	}
	handle("GET /sweep", func(r *http.Request) (answer, error) {
		s, err := ops.Sweep(r.Context())
		return answer{Sweep: &s}, err
	})
	handle("POST /sweep", func(r *http.Request) (answer, error) {
		n, err := ops.ConfirmSweep(r.Context())
		return answer{Removed: n}, err
	})
	handle("GET /properties", func(r *http.Request) (answer, error) {
		stored, err := ops.Stored(r.Context())
		return answer{Stored: stored}, err
	})
	handle("GET /store", func(r *http.Request) (answer, error) {
		census, err := ops.Census(r.Context())
		return answer{Census: &census}, err
	})
	handle("DELETE /properties/{namespace}/{name}", func(r *http.Request) (answer, error) {
		return answer{}, ops.Purge(r.Context(), library.PropertyID(r.PathValue("namespace")+"/"+r.PathValue("name")))
	})
	handle("PUT /backups", func(r *http.Request) (answer, error) {
		var b Backups
		if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
			return answer{}, fmt.Errorf("read the request: %w", err)
		}
		return answer{}, ops.ReportBackups(r.Context(), b)
	})
	handle("DELETE /migration", func(r *http.Request) (answer, error) {
		copied, err := ops.CancelMigration(r.Context())
		return answer{Copy: copied}, err
	})
	mux.HandleFunc("POST /migration", migrate(ops, stall))
	mux.HandleFunc("POST /backup", backUp(ops, stall))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn := http.NewResponseController(w)
		// Remove both deadlines: the read deadline, too, would cancel the context of a long request. Ignore an error, which means that the
		// connection supports no deadlines.
		_, _ = conn.SetReadDeadline(time.Time{}), conn.SetWriteDeadline(time.Time{})
		mux.ServeHTTP(w, r)
	})
}

// backUp responds with a backup, and reports problems in trailers.
func backUp(ops Operations, stall time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", backupError+", "+backupDamage)
		conn := http.NewResponseController(w)
		damage, err := ops.Backup(r.Context(), &steady{w, conn, stall}, BackupOptions{
			EvenDamaged: r.URL.Query().Has(evenDamagedQuery), Store: r.URL.Query().Get(storeQuery),
		})
		_ = conn.SetWriteDeadline(time.Now().Add(stall))
		if damage != nil {
			w.Header().Set(backupDamage, damage.Error())
		}
		if err != nil {
			// Clients detect an incomplete stream by its missing last entry. This trailer tells them the reason.
			w.Header().Set(backupError, err.Error())
		}
	}
}

// migrate responds with the progress of a migration, one event per line, and finally with its report or error.
func migrate(ops Operations, stall time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn := http.NewResponseController(w)
		lines := json.NewEncoder(&steady{w, conn, stall})
		say := func(e event) { _ = errors.Join(lines.Encode(e), conn.Flush()) } // a disconnect ends the request's context
		var to OpenSearch
		if err := json.NewDecoder(r.Body).Decode(&to); err != nil {
			say(event{Error: "read the request: " + err.Error()})
			return
		}
		report, err := ops.Migrate(r.Context(), to, func(p transfer.Progress) { say(event{Progress: &p}) })
		if err != nil {
			say(event{Error: err.Error()})
			return
		}
		say(event{Report: report})
	}
}

// steady is a writer that sets a new write deadline before each write.
type steady struct {
	io.Writer
	conn  *http.ResponseController
	stall time.Duration
}

// Write implements io.Writer.
func (s *steady) Write(p []byte) (int, error) {
	_ = s.conn.SetWriteDeadline(time.Now().Add(s.stall))
	return s.Writer.Write(p)
}

const (
	// backupError is the trailer with the reason why a backup ended early.
	backupError = "Vitrine-Error"
	// backupDamage is the trailer that describes the damage of the store that was copied.
	backupDamage = "Vitrine-Damage"
	// evenDamagedQuery is the query parameter that requests a backup even if the store is damaged.
	evenDamagedQuery = "even-damaged"
	// storeQuery is the query parameter with the id of the store to back up.
	storeQuery = "store"
)

// ErrNoServer means that no running server uses the data directory.
var ErrNoServer = errors.New("no running server uses the data directory")

// Client calls the operations of the server that uses a data directory.
type Client struct{ http *http.Client }

var _ Operations = (*Client)(nil)

// NewClient returns a client for the server that uses dataDir. Each call opens a connection. It fails with ErrNoServer if no running server
// uses dataDir.
func NewClient(dataDir string) *Client {
	path := SocketPath(dataDir)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", path)
	}
	return &Client{http: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Sweep implements Operations.
func (c *Client) Sweep(ctx context.Context) (Sweep, error) {
	a, err := c.do(ctx, http.MethodGet, "/sweep", nil)
	if err != nil || a.Sweep == nil {
		return Sweep{}, err
	}
	return *a.Sweep, nil
}

// ConfirmSweep implements Operations.
func (c *Client) ConfirmSweep(ctx context.Context) (int, error) {
	a, err := c.do(ctx, http.MethodPost, "/sweep", nil)
	return a.Removed, err
}

// Stored implements Operations.
func (c *Client) Stored(ctx context.Context) (map[library.PropertyID]int64, error) {
	a, err := c.do(ctx, http.MethodGet, "/properties", nil)
	return a.Stored, err
}

// Purge implements Operations.
func (c *Client) Purge(ctx context.Context, p library.PropertyID) error {
	_, err := c.do(ctx, http.MethodDelete, (&url.URL{Path: "/properties/" + string(p)}).EscapedPath(), nil)
	return err
}

// Census implements Operations.
func (c *Client) Census(ctx context.Context) (backup.Census, error) {
	a, err := c.do(ctx, http.MethodGet, "/store", nil)
	if err != nil || a.Census == nil {
		return backup.Census{}, err
	}
	return *a.Census, nil
}

// Backup implements Operations.
func (c *Client) Backup(ctx context.Context, w io.Writer, o BackupOptions) (damage, err error) {
	query := url.Values{}
	if o.EvenDamaged {
		query.Set(evenDamagedQuery, "")
	}
	if o.Store != "" {
		query.Set(storeQuery, o.Store)
	}
	resp, err := c.send(ctx, http.MethodPost, "/backup?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(w, resp.Body); err != nil {
		return nil, fmt.Errorf("the backup is incomplete, because the connection to the server ended early: %w; run the command again", err)
	}
	if reason := resp.Trailer.Get(backupError); reason != "" {
		return nil, errors.New(reason)
	}
	if reason := resp.Trailer.Get(backupDamage); reason != "" {
		damage = errors.New(reason)
	}
	return damage, nil
}

// ReportBackups implements Operations.
func (c *Client) ReportBackups(ctx context.Context, b Backups) error {
	body, err := json.Marshal(b)
	if err != nil {
		return err
	}
	_, err = c.do(ctx, http.MethodPut, "/backups", bytes.NewReader(body))
	return err
}

// Migrate implements Operations.
func (c *Client) Migrate(ctx context.Context, to OpenSearch, progress func(transfer.Progress)) (*transfer.Report, error) {
	body, err := json.Marshal(to)
	if err != nil {
		return nil, err
	}
	resp, err := c.send(ctx, http.MethodPost, "/migration", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	for lines := json.NewDecoder(resp.Body); ; {
		var e event
		switch err := lines.Decode(&e); {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, fmt.Errorf("the connection to the server ended early: %w; to continue, run the same command again", err)
		case e.Error != "":
			return nil, errors.New(e.Error)
		case e.Report != nil:
			return e.Report, nil
		case e.Progress != nil:
			progress(*e.Progress)
		}
	}
}

// CancelMigration implements Operations.
func (c *Client) CancelMigration(ctx context.Context) (string, error) {
	a, err := c.do(ctx, http.MethodDelete, "/migration", nil)
	return a.Copy, err
}

func (c *Client) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://vitrine"+path, body)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, ErrNoServer
	}
	if err != nil {
		return nil, fmt.Errorf("reach the server: %w", err)
	}
	return resp, nil
}

func (c *Client) do(ctx context.Context, method, path string, body io.Reader) (answer, error) {
	resp, err := c.send(ctx, method, path, body)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	var a answer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return answer{}, fmt.Errorf("read the server's response (HTTP %d): %w", resp.StatusCode, err)
	}
	if a.Error != "" {
		return answer{}, errors.New(a.Error)
	}
	return a, nil
}
