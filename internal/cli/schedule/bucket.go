package schedule

import (
	"context"
	"io"
	"time"

	"github.com/vitrine-dev/vitrine/internal/s3"
)

// Bucket is a folder of a bucket, as the place of the backups of one schedule.
type Bucket struct {
	In *s3.Bucket
	// Folder is empty or ends with a slash.
	Folder string
}

func (f Bucket) String() string { return s3.Scheme + f.In.Name() + "/" + f.Folder }

// prepare removes incomplete uploads. Only one command makes scheduled backups of a store in this folder, so an incomplete upload of one
// belongs to a command that has ended.
func (f Bucket) prepare(ctx context.Context, _ time.Time, mine func(name string) bool) error {
	return f.In.RemoveIncomplete(ctx, f.Folder, mine)
}

func (f Bucket) list(ctx context.Context) ([]string, error) {
	return f.In.List(ctx, f.Folder)
}

func (f Bucket) read(ctx context.Context, name string) (io.ReadCloser, error) {
	return f.In.Read(ctx, f.Folder+name)
}

func (f Bucket) create(ctx context.Context, name string, content []byte) error {
	return f.In.Create(ctx, f.Folder+name, content)
}

func (f Bucket) replace(ctx context.Context, name string, content []byte) error {
	return f.In.Replace(ctx, f.Folder+name, content)
}

func (f Bucket) remove(ctx context.Context, name string) error {
	return f.In.Remove(ctx, f.Folder+name)
}
