package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/vitrine-dev/vitrine/internal/backup"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/internal/s3"
)

// s3Flags are the flags of backup and restore for a store with the interface of Amazon S3.
type s3Flags struct{ options s3.Options }

func (f *s3Flags) bind(fs *pflag.FlagSet) {
	o := &f.options
	fs.StringVar(&o.Endpoint, "s3-endpoint", s3.AWS, "https URL of the S3-compatible store")
	fs.StringVar(&o.Region, "s3-region", "", "region of the bucket (default: $AWS_REGION, or us-east-1)")
	fs.StringVar(&o.Addressing, "s3-addressing", s3.Auto, "where URLs contain the bucket: path, virtual (in the host name), or auto (virtual for Amazon, Google and Alibaba Cloud, otherwise path)")
	fs.StringVar(&o.CAFile, "s3-ca-file", "", "PEM file of CA certificates that verify the S3 store (default: the system's CA certificates)")
	fs.BoolVar(&o.AllowHTTP, "s3-allow-plaintext", false, "accept an http URL that is not on loopback: backups are sent unencrypted")
}

// open returns the bucket and the key for a name such as s3://bucket/folder/vitrine.tar. For a name without s3.Scheme, it returns a nil
// bucket.
func (f *s3Flags) open(name string) (bucket *s3.Bucket, key string, err error) {
	rest, ok := strings.CutPrefix(name, s3.Scheme)
	if !ok {
		return nil, "", nil
	}
	of, key, _ := strings.Cut(rest, "/")
	if of == "" {
		return nil, "", exit.Usagef("%s: name a bucket, as in s3://backups/vitrine.tar", name)
	}
	if bucket, err = s3.Open(of, f.options); err != nil {
		return nil, "", exit.Usagef("%s: %w", name, err)
	}
	return bucket, key, nil
}

// asFolder returns the prefix of the keys in a folder; "" is the whole bucket.
func asFolder(key string) string {
	if key = strings.TrimRight(key, "/"); key != "" {
		key += "/"
	}
	return key
}

// upload writes a stream to a bucket and checks it. The file becomes visible only if the stream is complete and intact.
func upload(ctx context.Context, stream io.Reader, bucket *s3.Bucket, key string, progress backup.Progress) (backup.Header, error) {
	in := bufio.NewReader(stream)
	h, err := backup.Peek(in)
	if err != nil {
		return h, err
	}
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := bucket.Write(ctx, key, r, h.MaxSize())
		r.CloseWithError(err)
		ended <- err
	}()
	h, err = backup.Check(ctx, io.TeeReader(in, w), progress)
	w.CloseWithError(err) // with a nil error, the file ends here and is complete
	// If the check fails, the upload fails with the error of the check. If the upload fails first, return the error of the upload, because
	// the error of the check would not contain the cause.
	if failed := <-ended; failed != nil && !(err != nil && errors.Is(failed, err)) {
		return h, failed
	}
	return h, err
}
