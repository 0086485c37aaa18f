package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vitrine-dev/vitrine/internal/admin"
	"github.com/vitrine-dev/vitrine/internal/backup"
	"github.com/vitrine-dev/vitrine/internal/text"
)

func newBackup() *cobra.Command {
	var dataDir string
	var evenDamaged bool
	s := schedule{now: time.Now}
	cmd := &cobra.Command{
		Use:   "backup TARGET",
		Short: "Copy the store of a running server into a directory or a tar stream",
		Long: `Copy the complete store at one point in time, while the server continues to run. TARGET is a new directory, a file whose name
ends in .tar, or - for standard output. The command replaces an existing .tar file when the copy is complete, and leaves no
incomplete copy behind.

Before the server sends the copy, it opens the copy and indexes every item in it. The copy contains personal data and keys:
protect it like the store. The command connects to the server that uses the data directory.`,
		Example: example(`
# Copy the store of a pod to this machine
kubectl exec -n vitrine-system deploy/vitrine -- vitrine backup - > vitrine.tar

# Copy it to a directory
vitrine backup --data-dir ./data /backups/2026-11-21`),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := admin.NewClient(dataDir)
			if !cmd.Flags().Changed("every") && !cmd.Flags().Changed("keep") {
				return runBackup(cmd, c, dataDir, args[0], evenDamaged)
			}
			if s.every < time.Minute || s.keep < 1 || args[0] == "-" {
				return usagef("--every %s --keep %d %s: want at least 1m, at least 1, and a directory", s.every, s.keep, args[0])
			}
			if evenDamaged {
				return usagef("--even-damaged cannot be used with --every: copies of a damaged store would replace the earlier backups")
			}
			s.dir, s.log = args[0], cmd.ErrOrStderr()
			s.copy = func(path string) error { return runBackup(cmd, c, dataDir, path, false) }
			s.report = func(b admin.Backups) {
				ctx, cancel := context.WithTimeout(cmd.Context(), 10*time.Second)
				defer cancel()
				_ = c.ReportBackups(ctx, b) // without a server, the next backup fails and says so
			}
			return s.run(cmd.Context())
		},
	}
	bindDataDir(cmd.Flags(), &dataDir)
	cmd.Flags().DurationVar(&s.every, "every", 0, "make a backup in the directory TARGET this often, such as 24h, until the command is stopped; creates the directory if it is missing")
	cmd.Flags().IntVar(&s.keep, "keep", 7, "with --every, remove all but this many of the newest backups")
	cmd.Flags().BoolVar(&evenDamaged, "even-damaged", false, "copy the store as it is, even if it has items that cannot be read or indexed; the exit code is then 8. Not with --every")
	return cmd
}

func runBackup(cmd *cobra.Command, c *admin.Client, dataDir, target string, evenDamaged bool) error {
	for _, suffix := range []string{".gz", ".tgz", ".zst", ".xz", ".bz2", ".zip"} {
		if strings.HasSuffix(target, suffix) {
			return usagef("%s: backup does not compress: use a name that ends in .tar, or a pipe as in vitrine backup - | gzip > vitrine.tar.gz", target)
		}
	}
	ctx := cmd.Context()
	stream, w := io.Pipe()
	var damage error
	received := make(chan error, 1)
	go func() {
		var err error
		damage, err = c.Backup(ctx, w, evenDamaged)
		w.CloseWithError(err)
		received <- err
	}()
	defer stream.Close()
	p := newByteProgress(cmd.ErrOrStderr(), "copied")
	defer p.finish()
	var h backup.Header
	var err error
	summary := cmd.OutOrStdout()
	switch {
	case target == "-":
		h, err = checkCopy(ctx, stream, &recorder{out: cmd.OutOrStdout(), path: "standard output"}, p.bytes)
	case strings.HasSuffix(target, ".tar"):
		h, summary, err = backupFile(cmd, stream, target, p.bytes)
	default:
		h, err = backup.Extract(ctx, stream, target, p.bytes)
	}
	if err != nil {
		stream.Close()
		// A stream that ended early looks damaged. The error that ended it is more useful.
		if cut := <-received; cut != nil && !errors.Is(cut, io.ErrClosedPipe) {
			err = cut
		}
		return adminError(dataDir, err)
	}
	if err := <-received; err != nil {
		return adminError(dataDir, err)
	}
	p.finish()
	if target != "-" {
		fmt.Fprintf(summary, "%s bytes in %d files copied to %s\n", text.Thousands(h.Bytes), h.Files, target)
	}
	if damage != nil {
		return &codedError{exitDamaged, fmt.Errorf("the store that was copied is damaged: %w", damage)}
	}
	return nil
}

// checkCopy writes a stream and checks it. The error of a write takes precedence: to the check, the stream ends there.
func checkCopy(ctx context.Context, stream io.Reader, w *recorder, progress backup.Progress) (backup.Header, error) {
	h, err := backup.Check(ctx, io.TeeReader(stream, w), progress)
	if w.err != nil {
		return h, w.err
	}
	return h, err
}

// backupFile writes a stream to a target. summary is the stream of the command for a summary.
func backupFile(cmd *cobra.Command, stream io.Reader, path string, progress backup.Progress) (h backup.Header, summary io.Writer, err error) {
	f, err := createTarget(path, cmd.OutOrStdout(), cmd.ErrOrStderr())
	if err != nil {
		return h, nil, err
	}
	defer f.abandon()
	if h, err = checkCopy(cmd.Context(), stream, f.out, progress); err != nil {
		return h, nil, err
	}
	return h, f.summary, f.keep()
}

func newRestore() *cobra.Command {
	var dataDir string
	var ifEmpty bool
	cmd := &cobra.Command{
		Use:   "restore SOURCE",
		Short: "Restore a store from a backup, for a server that is not running",
		Long: `Create a store from a backup: a directory, a file, or - for standard input. The command puts the store in place only after it
has verified the checksum of every byte. It rejects a data directory that contains a store.`,
		Example: example(`
# Restore into a new data directory
vitrine restore --data-dir ./data vitrine.tar`),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := os.Stat(backup.DatabaseIn(dataDir)); err == nil && ifEmpty {
				fmt.Fprintf(cmd.OutOrStdout(), "%s already contains a store: nothing is restored\n", dataDir)
				return nil
			}
			source := io.NopCloser(cmd.InOrStdin())
			if args[0] != "-" {
				var err error
				if source, err = backup.Open(args[0]); err != nil {
					return err
				}
			}
			defer source.Close()
			p := newByteProgress(cmd.ErrOrStderr(), "restored")
			defer p.finish()
			h, err := backup.Restore(cmd.Context(), source, dataDir, p.bytes)
			if err != nil {
				return err
			}
			p.finish()
			fmt.Fprintf(cmd.OutOrStdout(), "%s bytes in %d files restored to %s, as of %s\n", text.Thousands(h.Bytes), h.Files, dataDir, h.Created.Format(time.RFC3339))
			return nil
		},
	}
	bindDataDir(cmd.Flags(), &dataDir)
	cmd.Flags().BoolVar(&ifEmpty, "if-empty", false, "succeed without restoring anything if the data directory contains a store, so that the command can run before every start")
	return cmd
}

// byteProgress is a progress that counts bytes instead of lines.
type byteProgress struct {
	*progress
	out  io.Writer
	verb string
}

func newByteProgress(out io.Writer, verb string) *byteProgress {
	return &byteProgress{out: out, verb: verb}
}

// bytes reports how far the command is. Its first call starts the progress.
func (p *byteProgress) bytes(done, total int64) {
	if p.progress == nil {
		p.progress = newProgress(p.out, p.verb, 0, 0, total)
		p.unit = "bytes"
	}
	p.set(done, done)
}

// finish removes the bar. The caller may call it again.
func (p *byteProgress) finish() {
	if p.progress != nil {
		p.progress.finish()
		p.progress = nil
	}
}
