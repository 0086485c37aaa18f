// Package s3 stores files in a bucket of Amazon S3, or of another store with the same interface.
//
// Invariants: a file is visible only after the upload of the whole file. An error names the bucket and its endpoint, and never a
// credential. The package imports nothing from this project.
package s3

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Options contains the settings for the connection to a store. The credentials come from the standard environment variables:
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the variables that a cloud sets for the identity of a pod.
type Options struct {
	// Endpoint is the URL of the store; "" means AWS.
	Endpoint string
	// Region is the region of the bucket. "" means the region in AWS_REGION or, if this variable is not set, us-east-1. Stores that have no
	// regions expect us-east-1 too.
	Region string
	// Addressing is the way in which requests name the bucket: Path, Virtual, or Auto.
	Addressing string
	// CAFile is the path of a file with the CA certificates, in PEM, that verify the certificate of the store; "" means the CA certificates
	// of the system.
	CAFile string
	// AllowHTTP permits http:// for addresses other than loopback addresses.
	AllowHTTP bool
}

// Values of Options.Addressing.
const (
	// Auto means Virtual for the endpoints of the large clouds, and Path for all other endpoints.
	Auto = "auto"
	// Path names the bucket in the path: https://endpoint/bucket.
	Path = "path"
	// Virtual names the bucket in the host: https://bucket.endpoint.
	Virtual = "virtual"
)

// AWS is the default endpoint.
const AWS = "https://s3.amazonaws.com"

// Scheme is the prefix of names that denote a file or a folder in a bucket, such as s3://bucket/folder.
const Scheme = "s3://"

// Bucket is a bucket of a store.
type Bucket struct {
	core     *minio.Core
	name     string
	endpoint string
}

// Open returns a bucket. It does not connect to the store.
func Open(name string, o Options) (*Bucket, error) {
	if o.Endpoint == "" {
		o.Endpoint = AWS
	}
	if o.Region == "" {
		o.Region = os.Getenv("AWS_REGION")
	}
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	lookup, ok := map[string]minio.BucketLookupType{Auto: minio.BucketLookupAuto, Path: minio.BucketLookupPath, Virtual: minio.BucketLookupDNS}[o.Addressing]
	if !ok {
		return nil, fmt.Errorf("unknown addressing %q: use %s, %s or %s", o.Addressing, Auto, Path, Virtual)
	}
	u, err := endpoint(o)
	if err != nil {
		return nil, err
	}
	transport, err := o.transport(u.Scheme == "https")
	if err != nil {
		return nil, err
	}
	provider, err := provider()
	if err != nil {
		return nil, err
	}
	core, err := minio.NewCore(u.Host, &minio.Options{
		Creds: credentials.New(provider), Secure: u.Scheme == "https", Transport: transport, Region: o.Region, BucketLookup: lookup,
	})
	if err != nil {
		return nil, fmt.Errorf("the S3 endpoint %s: %w", o.Endpoint, err)
	}
	return &Bucket{core, name, u.Scheme + "://" + u.Host}, nil
}

// endpoint parses and checks the URL of the store.
func endpoint(o Options) (*url.URL, error) {
	u, err := url.Parse(o.Endpoint)
	// Do not return the error of Parse, because it contains the URL, and the user may have put a password into it.
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, errors.New("the S3 endpoint must be a URL such as https://s3.example:9000, without a path and without credentials")
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "http" && u.Hostname() != "localhost" && !ip.IsLoopback() && !o.AllowHTTP {
		return nil, fmt.Errorf("the S3 endpoint %s must begin with https://, because http:// sends backups unencrypted, and backups contain personal data", o.Endpoint)
	}
	return u, nil
}

// responseTimeout is the maximum time until a store begins to respond to a request. It is long, because some stores copy all parts of a
// file before they respond to the request that completes an upload.
const responseTimeout = 10 * time.Minute

func (o Options) transport(secure bool) (*http.Transport, error) {
	t, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	t.ResponseHeaderTimeout = responseTimeout
	if o.CAFile == "" || !secure {
		return t, nil
	}
	text, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read the CA certificates for S3: %w", err)
	}
	t.TLSClientConfig.RootCAs = x509.NewCertPool()
	if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read the CA certificates for S3: %s contains no PEM certificate", o.CAFile)
	}
	return t, nil
}

// ErrNoCredentials means that the environment contains no credentials.
var ErrNoCredentials = errors.New("there are no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")

// provider returns the source of the credentials.
func provider() (credentials.Provider, error) {
	if os.Getenv("AWS_ACCESS_KEY_ID") != "" && os.Getenv("AWS_SECRET_ACCESS_KEY") != "" {
		return &credentials.EnvAWS{}, nil
	}
	// Use credentials.IAM only if one of these variables is set. Otherwise, it would send requests to the metadata service of EC2, which
	// most networks do not have.
	for _, name := range []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"} {
		if os.Getenv(name) != "" {
			return &credentials.IAM{}, nil
		}
	}
	return nil, ErrNoCredentials
}

// Name returns the name of the bucket.
func (b *Bucket) Name() string { return b.name }

// List returns the names of the files whose keys consist of prefix and a name without a slash.
func (b *Bucket) List(ctx context.Context, prefix string) ([]string, error) {
	var names []string
	for o := range b.core.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix}) {
		if o.Err != nil {
			return nil, b.failure("list", prefix, o.Err)
		}
		if name := strings.TrimPrefix(o.Key, prefix); !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	return names, nil
}

// Create writes a small file. If the file exists, Create fails with fs.ErrExist and changes nothing. A store that does not know conditional
// requests can replace a file that another process creates at the same time: read the file again to find out which one stayed.
func (b *Bucket) Create(ctx context.Context, key string, content []byte) error {
	var o minio.PutObjectOptions
	o.SetMatchETagExcept("*")
	err := b.put(ctx, key, content, o)
	var response minio.ErrorResponse
	switch {
	case !errors.As(err, &response):
		return err
	case response.StatusCode == http.StatusPreconditionFailed || response.StatusCode == http.StatusConflict:
		return b.failure("create", key, fs.ErrExist)
	case response.StatusCode == http.StatusNotImplemented:
		r, err := b.Read(ctx, key)
		if errors.Is(err, fs.ErrNotExist) {
			return b.Replace(ctx, key, content)
		}
		if err == nil {
			err = errors.Join(r.Close(), b.failure("create", key, fs.ErrExist))
		}
		return err
	}
	return err
}

// Replace writes a small file, and replaces an earlier one.
func (b *Bucket) Replace(ctx context.Context, key string, content []byte) error {
	return b.put(ctx, key, content, minio.PutObjectOptions{})
}

func (b *Bucket) put(ctx context.Context, key string, content []byte, o minio.PutObjectOptions) error {
	o.SendContentMd5 = true
	_, err := b.core.Client.PutObject(ctx, b.name, key, bytes.NewReader(content), int64(len(content)), o)
	return b.failure("write", key, err)
}

// Read returns the content of a file. If there is none, Read fails with fs.ErrNotExist.
func (b *Bucket) Read(ctx context.Context, key string) (io.ReadCloser, error) {
	r, _, _, err := b.core.GetObject(ctx, b.name, key, minio.GetObjectOptions{})
	if err != nil {
		return nil, b.failure("read", key, err)
	}
	return &reader{r, b, key}, nil
}

// reader names the bucket in the errors of a connection, so that callers do not mistake such an error for the end of the file.
type reader struct {
	io.ReadCloser
	bucket *Bucket
	key    string
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // readers return io.EOF itself, and not a wrapped error
		err = r.bucket.failure("read", r.key, err)
	}
	return n, err
}

// Remove removes a file. If the file does not exist, Remove returns nil.
func (b *Bucket) Remove(ctx context.Context, key string) error {
	return b.failure("remove", key, b.core.RemoveObject(ctx, b.name, key, minio.RemoveObjectOptions{}))
}

// abortTimeout is the time limit for removing the parts of an interrupted upload.
const abortTimeout = 10 * time.Second

// Write uploads a file in parts, and replaces an earlier file with the same key. most is the maximum size of the file. If r or the upload
// fails, Write removes the parts: no new file becomes visible, and an earlier file stays.
func (b *Bucket) Write(ctx context.Context, key string, r io.Reader, most int64) error {
	_, err := b.core.Client.PutObject(ctx, b.name, key, r, -1, minio.PutObjectOptions{
		ContentType: "application/x-tar", PartSize: partSize(most), SendContentMd5: true,
	})
	if ctx.Err() != nil { // PutObject removes the parts of a failed upload with ctx, so it cannot remove them after ctx has ended
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
		defer cancel()
		err = errors.Join(err, b.core.RemoveIncompleteUpload(ctx, b.name, key))
	}
	return b.failure("write", key, err)
}

const (
	// smallestPart is the minimum size of a part, and the size of the parts of most files. An upload has only one part in memory at a time.
	smallestPart = 16 << 20
	// mostParts is the maximum number of parts of a file in S3.
	mostParts = 10_000
)

// partSize returns the size of the parts of a file. All parts of a file except the last have this size, because some stores require parts
// of equal size.
func partSize(most int64) uint64 {
	const step = 1 << 20
	n := (most + mostParts - 1) / mostParts
	return uint64(max(smallestPart, (n+step-1)/step*step))
}

// RemoveIncomplete removes the parts of interrupted uploads. It removes only parts of files whose keys consist of prefix and a name for
// which matches returns true.
func (b *Bucket) RemoveIncomplete(ctx context.Context, prefix string, matches func(name string) bool) error {
	for u := range b.core.ListIncompleteUploads(ctx, b.name, prefix, true) {
		if u.Err != nil {
			return b.failure("list the incomplete uploads of", prefix, u.Err)
		}
		if !matches(strings.TrimPrefix(u.Key, prefix)) {
			continue
		}
		if err := b.core.AbortMultipartUpload(ctx, b.name, u.Key, u.UploadID); err != nil {
			return b.failure("remove the incomplete upload of", u.Key, err)
		}
	}
	return nil
}

// failure returns an error that names the key, the bucket and the endpoint, or nil if err is nil.
func (b *Bucket) failure(verb, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q in the bucket %s at %s: %w", verb, key, b.name, b.endpoint, explain(err))
}

// explain rewords an error of a store for users.
func explain(err error) error {
	var response minio.ErrorResponse
	var request *url.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		// Do not wrap the error: callers explain such an error as one of the server of Vitrine.
		return fmt.Errorf("the certificate of the store is not trusted: name its certificate authority with --s3-ca-file (%s)", certificate.Err.Error())
	case errors.As(err, &request):
		return request.Err // without the URL, because failure already names the endpoint
	case !errors.As(err, &response):
		return err
	case response.Code == minio.NoSuchBucket:
		return fmt.Errorf("the bucket does not exist: create it, or name another bucket (%w)", response)
	case response.Code == minio.NoSuchKey:
		return fmt.Errorf("%w (%w)", fs.ErrNotExist, response)
	case response.StatusCode == http.StatusForbidden:
		return fmt.Errorf("access denied: check the credentials and their permissions (%s: %w)", response.Code, response)
	default:
		return fmt.Errorf("HTTP %d, %s: %w", response.StatusCode, response.Code, response)
	}
}
