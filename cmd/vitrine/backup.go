package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/internal/admin"
	"github.com/vitrine-dev/vitrine/internal/backup"
	"github.com/vitrine-dev/vitrine/internal/cli/output"
	"github.com/vitrine-dev/vitrine/internal/cli/schedule"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/server"
	"github.com/vitrine-dev/vitrine/internal/text"
	"github.com/vitrine-dev/vitrine/server/store/synced"
)

func newBackup() *cobra.Command {
	var dataDir string
	var evenDamaged bool
	var flags s3Flags
	s := schedule.Schedule{Now: time.Now}
	cmd := &cobra.Command{
		Use:   "backup TARGET",
		Short: "Copy the store of a running server into a directory, a tar stream or an S3 bucket",
		Long: `Copy the complete store at one point in time, while the server continues to run. TARGET is a new directory, a file whose name
ends in .tar, such a file in a bucket (s3://BUCKET/NAME.tar), or - for standard output. The command replaces an existing .tar
file only when the copy is complete. If it fails, it leaves no incomplete copy behind.

For a bucket, the command takes the credentials from the environment variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or
from the pod's identity in a cloud.

The server verifies the copy before it sends it: it opens the copy and indexes every item. The copy contains personal data and
keys, so protect it like the store. The command connects to the server that uses the data directory.

With --every, TARGET belongs to one store: the first backup claims it, and the command refuses the folder of another store. If the
store has lost items since one of its backups, the command makes and removes no backup.`,
		Example: example(`
# Copy the store of a pod to this machine
kubectl exec -n vitrine-system deploy/vitrine -- vitrine backup - > vitrine.tar

# Copy it to a directory
vitrine backup --data-dir ./data /backups/2026-11-21

# Make a backup in a bucket every day, and keep thirty
vitrine backup --data-dir ./data --every 24h --keep 30 --s3-endpoint https://s3.example s3://backups/vitrine`),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := admin.NewClient(dataDir)
			if !cmd.Flags().Changed("every") && !cmd.Flags().Changed("keep") {
				if s.TakeOver != "" {
					return exit.Usagef("--take-over can be used only with --every")
				}
				_, err := runBackup(cmd, c, dataDir, args[0], flags, admin.BackupOptions{EvenDamaged: evenDamaged})
				return err
			}
			if evenDamaged {
				return exit.Usagef("--even-damaged cannot be used with --every: copies of a damaged store would replace the earlier backups")
			}
			return runBackups(cmd, c, dataDir, args[0], flags, s)
		},
	}
	server.BindDataDir(cmd.Flags(), &dataDir)
	cmd.Flags().DurationVar(&s.Every, "every", 0, "make a backup at this interval, such as 24h, until the command is stopped; TARGET is then a directory, which the command creates if it is missing, or s3://BUCKET/FOLDER")
	cmd.Flags().IntVar(&s.Keep, "keep", 7, "with --every, number of backups to keep; the command removes older backups")
	cmd.Flags().StringVar(&s.TakeOver, "take-over", "", "with --every, id of a store that no server uses any longer: if TARGET belongs to that store, it belongs to this store from now on; the backups of the other store stay")
	flags.bind(cmd.Flags())
	cmd.Flags().BoolVar(&evenDamaged, "even-damaged", false, "copy the store as it is, even if it has items that cannot be read or indexed; the exit code is then 8; cannot be used with --every")
	return cmd
}

// runBackups makes backups on a schedule until the command is stopped.
func runBackups(cmd *cobra.Command, c *admin.Client, dataDir, target string, flags s3Flags, s schedule.Schedule) error {
	if err := checkStoreID("take-over", s.TakeOver); err != nil {
		return err
	}
	if s.Every < time.Minute || s.Keep < 1 || target == "-" {
		return exit.Usagef("--every %s --keep %d %s: --every must be at least 1m, --keep must be at least 1, and TARGET must not be -", s.Every, s.Keep, target)
	}
	bucket, key, err := flags.open(target)
	if err != nil {
		return err
	}
	s.Place, s.Log = schedule.Directory(target), cmd.ErrOrStderr()
	if bucket != nil {
		s.Place = schedule.Bucket{In: bucket, Folder: asFolder(key)}
	}
	s.Census = func(ctx context.Context) (backup.Census, error) {
		census, err := c.Census(ctx)
		return census, adminError(dataDir, err)
	}
	s.Copy = func(name, store string) (backup.Header, error) {
		return runBackup(cmd, c, dataDir, strings.TrimRight(target, "/")+"/"+name, flags, admin.BackupOptions{Store: store})
	}
	s.Report = func(b admin.Backups) {
		ctx, cancel := context.WithTimeout(cmd.Context(), 10*time.Second)
		defer cancel()
		_ = c.ReportBackups(ctx, b) // ignore the error: if no server runs, the next backup reports it
	}
	return s.Run(cmd.Context())
}

func runBackup(cmd *cobra.Command, c *admin.Client, dataDir, target string, flags s3Flags, o admin.BackupOptions) (h backup.Header, err error) {
	for _, suffix := range []string{".gz", ".tgz", ".zst", ".xz", ".bz2", ".zip"} {
		if strings.HasSuffix(target, suffix) {
			return h, exit.Usagef("%s: vitrine backup does not compress: use a name that ends in .tar, or a pipe, as in vitrine backup - | gzip > vitrine.tar.gz", target)
		}
	}
	bucket, key, err := flags.open(target)
	if err != nil {
		return h, err
	}
	if bucket != nil && !strings.HasSuffix(key, ".tar") {
		return h, exit.Usagef("%s: the name of a backup in a bucket must end in .tar; to name a folder, use --every", target)
	}
	ctx := cmd.Context()
	stream, w := io.Pipe()
	var damage error
	received := make(chan error, 1)
	go func() {
		var err error
		damage, err = c.Backup(ctx, w, o)
		w.CloseWithError(err)
		received <- err
	}()
	defer stream.Close()
	p := &output.LaterProgress{Out: cmd.ErrOrStderr(), Verb: "copied", Unit: "bytes"}
	defer p.Finish()
	summary := cmd.OutOrStdout()
	switch {
	case target == "-":
		h, err = checkCopy(ctx, stream, output.NewRecorder(cmd.OutOrStdout(), "standard output"), p.Show)
	case bucket != nil:
		h, err = upload(ctx, stream, bucket, key, p.Show)
	case strings.HasSuffix(target, ".tar"):
		h, summary, err = backupFile(cmd, stream, target, p.Show)
	default:
		h, err = backup.Extract(ctx, stream, target, p.Show)
	}
	if err != nil {
		stream.Close()
		// If the connection failed, the stream ended early, and err only reports a damaged stream. Return the error of the connection,
		// which is more useful.
		if cut := <-received; cut != nil && !errors.Is(cut, io.ErrClosedPipe) {
			err = cut
		}
		return h, adminError(dataDir, err)
	}
	if err := <-received; err != nil {
		return h, adminError(dataDir, err)
	}
	p.Finish()
	if target != "-" {
		fmt.Fprintf(summary, "%s bytes in %d files copied to %s\n", text.Thousands(h.Bytes), h.Files, target)
	}
	if damage != nil {
		return h, exit.With(exit.Damaged, fmt.Errorf("the copy is complete, but the store is damaged: %w", damage))
	}
	return h, nil
}

// checkCopy writes a stream to w and checks it. If a write to w fails, checkCopy returns the error of the write, because the error of the
// check would not contain the cause.
func checkCopy(ctx context.Context, stream io.Reader, w *output.Recorder, progress backup.Progress) (backup.Header, error) {
	h, err := backup.Check(ctx, io.TeeReader(stream, w), progress)
	return h, cmp.Or(w.Failure(), err)
}

// backupFile writes a stream to the file at path. It also returns the writer to which the command prints its summary.
func backupFile(cmd *cobra.Command, stream io.Reader, path string, progress backup.Progress) (h backup.Header, summary io.Writer, err error) {
	f, err := output.Create(path, cmd.OutOrStdout(), cmd.ErrOrStderr())
	if err != nil {
		return h, nil, err
	}
	defer f.Abandon()
	if h, err = checkCopy(cmd.Context(), stream, f.Recorder, progress); err != nil {
		return h, nil, err
	}
	return h, f.Summary, f.Keep()
}

func newRestore() *cobra.Command {
	var dataDir string
	var ifEmpty bool
	var from string
	var flags s3Flags
	cmd := &cobra.Command{
		Use:   "restore SOURCE",
		Short: "Restore a store from a backup into a data directory that contains no store",
		Long: `Create a store from a backup. SOURCE is a directory, a file, a file in a bucket (s3://BUCKET/NAME.tar), a folder of a bucket
(s3://BUCKET/FOLDER/) for its newest scheduled backup, or - for standard input. The command puts the store in place only after
it has verified the checksum of every file. It rejects a data directory that contains a store. The restored store is another
store than the original: it gets its own id, so that it never makes scheduled backups in the folder of the original.

For a bucket, the command takes the credentials from the environment variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or
from the pod's identity in a cloud.`,
		Example: example(`
# Restore into a new data directory
vitrine restore --data-dir ./data vitrine.tar

# Restore the newest scheduled backup in a bucket
vitrine restore --data-dir ./data --s3-endpoint https://s3.example s3://backups/vitrine/`),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := os.Stat(backup.DatabaseIn(dataDir)); err == nil && ifEmpty {
				fmt.Fprintf(cmd.OutOrStdout(), "%s already contains a store: nothing is restored\n", dataDir)
				return nil
			}
			if err := checkStoreID("from-store", from); err != nil {
				return err
			}
			source, from, err := openBackup(cmd, args[0], flags, from)
			if err != nil {
				return err
			}
			defer source.Close()
			in := bufio.NewReader(source)
			if err := checkOrigin(in, from); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			p := &output.LaterProgress{Out: cmd.ErrOrStderr(), Verb: "restored", Unit: "bytes"}
			defer p.Finish()
			h, err := backup.Restore(cmd.Context(), in, dataDir, p.Show)
			if err != nil {
				return err
			}
			if err := synced.Seal(vfs.Default, backup.DatabaseIn(dataDir)); err != nil {
				return exit.With(exit.Damaged, fmt.Errorf("the restored store is damaged: %w", err))
			}
			p.Finish()
			fmt.Fprintf(cmd.OutOrStdout(), "%s bytes in %d files restored to %s, as of %s\n", text.Thousands(h.Bytes), h.Files, dataDir, h.Created.Format(time.RFC3339))
			fmt.Fprintf(cmd.OutOrStdout(), "this was a backup of %s; the restored store gets an id of its own\n", origin(h))
			return nil
		},
	}
	server.BindDataDir(cmd.Flags(), &dataDir)
	cmd.Flags().BoolVar(&ifEmpty, "if-empty", false, "succeed without restoring anything if the data directory contains a store, so that the command can run before every start")
	cmd.Flags().StringVar(&from, "from-store", "", "restore only a backup of the store with this id; in a folder, choose the newest one of this store (default: the store in the name of the file, or the owner of the folder)")
	flags.bind(cmd.Flags())
	return cmd
}

// checkStoreID returns an error for the value of a flag that is neither empty nor the id of a store.
func checkStoreID(flag, value string) error {
	if value != "" && !schedule.IsStoreID(value) {
		return exit.Usagef("--%s %q: the id of a store has 32 hexadecimal digits", flag, value)
	}
	return nil
}

// checkOrigin returns an error if a stream is not a backup of the given store; "" is any store. It consumes none of the stream.
func checkOrigin(in *bufio.Reader, store string) error {
	h, err := backup.Peek(in)
	switch {
	case err != nil:
		return err
	case store == "" || h.Store == store:
		return nil
	case h.Store == "":
		return fmt.Errorf("this is a backup of %s, and not of the store %s: if you want to restore it anyway, give the file another name, and do not pass --from-store", origin(h), store)
	}
	return fmt.Errorf("this is a backup of %s, and not of the store %s: if you want to restore it anyway, pass --from-store=%s", origin(h), store, h.Store)
}

// origin describes where a backup comes from.
func origin(h backup.Header) string {
	if h.Store == "" {
		return fmt.Sprintf("an unknown store (Vitrine %s)", h.Vitrine)
	}
	return fmt.Sprintf("the store %s (Vitrine %s, %s, %s)", h.Store, h.Vitrine, h.Created.UTC().Format(time.RFC3339), text.Plural(h.Items, "item"))
}

// openBackup opens the backup that the command restore reads. It also returns the id of the store that the backup must be of, or "" if it
// can be of any store. This is the store from, if it is not "", or the store in the name of the file, or the owner of the folder.
func openBackup(cmd *cobra.Command, name string, flags s3Flags, from string) (source io.ReadCloser, store string, err error) {
	if name == "-" {
		return io.NopCloser(cmd.InOrStdin()), from, nil
	}
	bucket, key, err := flags.open(name)
	if err != nil {
		return nil, "", err
	}
	if bucket != nil && key == asFolder(key) {
		c, err := schedule.Newest(cmd.Context(), schedule.Bucket{In: bucket, Folder: key}, from)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", name, err)
		}
		key += c.Name()
	}
	c, _ := schedule.ParseCopy(path.Base(cmp.Or(key, filepath.ToSlash(name))))
	store = cmp.Or(from, c.Store)
	if bucket == nil {
		source, err = backup.Open(name)
	} else {
		source, err = bucket.Read(cmd.Context(), key)
	}
	return source, store, err
}
