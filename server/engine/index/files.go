package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vitrine-dev/vitrine/server/engine/segment"
)

// extension is the suffix of segment files. While a file is being written, its name also has the suffix `temporary`.
const (
	extension = ".seg"
	temporary = ".tmp"
)

func (x *Index) path(file string) string { return x.o.FS.PathJoin(x.o.Dir, file) }

// openFile opens a segment file. It maps the file if x uses the file system of the operating system.
func (x *Index) openFile(file string) (*segment.Segment, error) {
	if x.o.FS == vfs.Default {
		return segment.Open(x.path(file), x.o.Room)
	}
	f, err := x.o.FS.Open(x.path(file), vfs.SequentialReadsOption)
	if err != nil {
		return nil, err
	}
	whole, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	s, err := segment.Parse(whole)
	if corrupt := (*segment.CorruptError)(nil); errors.As(err, &corrupt) {
		corrupt.Path = file
	}
	return s, err
}

// syncEvery is the number of bytes that are written to a file between two syncs.
const syncEvery = 1 << 20

// newFile returns a file name that no file has ever had.
func (x *Index) newFile() string {
	return fmt.Sprintf("%016x-%08x%s", x.nextFile.Add(1), x.opening, extension)
}

// write merges the inputs into a file. The file gets its name only when it is complete and durable.
func (x *Index) write(ctx context.Context, file string, inputs []segment.Part) (maps [][]uint32, err error) {
	fs, path := x.o.FS, x.path(file)
	f, err := fs.Create(path+temporary, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	// Sync in small steps, because one large fsync would delay the log of the store.
	f = vfs.NewSyncingFile(f, vfs.SyncingFileOptions{NoSyncOnClose: true, BytesPerSync: syncEvery})
	maps, err = segment.Merge(inputs, &cancelled{ctx, f})
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		if err = fs.Rename(path+temporary, path); err == nil {
			err = syncDir(fs, x.o.Dir)
		}
	}
	if err != nil {
		x.remove(file + temporary)
		return nil, err
	}
	return maps, nil
}

// syncDir makes the file names in a directory durable.
func syncDir(fs vfs.FS, name string) error {
	dir, err := fs.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// cancelled is a file that rejects writes after its context has ended.
type cancelled struct {
	ctx  context.Context
	file vfs.File
}

// Write implements io.Writer.
func (c *cancelled) Write(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.file.Write(b)
}

// hasFiles reports whether the directory contains a segment file. It also returns true if it cannot list the directory. It does not read
// the manifest.
func (x *Index) hasFiles() bool {
	names, err := x.o.FS.List(x.o.Dir)
	return err != nil || slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, extension) })
}

// removeOrphans removes the files that are not in the snapshot.
func (x *Index) removeOrphans(s *Snapshot) {
	names, err := x.o.FS.List(x.o.Dir)
	if err != nil {
		x.o.Logger.Warn("cannot list the files of the index", slog.Any("error", err))
	}
	for _, name := range names {
		if !strings.HasSuffix(name, extension) && !strings.HasSuffix(name, temporary) {
			continue
		}
		if slices.ContainsFunc(s.entries, func(e entry) bool { return e.file == name }) {
			continue
		}
		x.remove(name)
	}
}
