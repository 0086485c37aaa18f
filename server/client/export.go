package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// ErrTruncated says that an export ended in the middle: what was written is not the whole.
var ErrTruncated = errors.New("the export ended early")

// ErrNoPropertyNamed says that a server does not name the property of a token, as servers before this version do not.
var ErrNoPropertyNamed = errors.New("the server does not say which property the access token belongs to: is it older than this client?")

// Property returns the property that the token belongs to, as the namespace/name of its manifest. It needs a READ-WRITE token:
// another one is a *Problem with the status 403.
func (c *Client) Property(ctx context.Context) (string, error) {
	nothing := url.Values{"q": {"id:0"}}
	resp, err := c.send(ctx, call{method: http.MethodGet, path: "/v2/content/bulk", query: nothing}, nil) //nolint:bodyclose // drain closes it
	if err != nil {
		return "", err
	}
	defer drain(resp.Body)
	name := resp.Header.Get("X-Vitrine-Property")
	if name == "" {
		return "", ErrNoPropertyNamed
	}
	return name, nil
}

// Export writes every item that matches a query ("" for all), by id, as one line of NDJSON each: what Import takes. It
// needs a READ-WRITE token, as submissions and tags are part of a line. progress, unless nil, is called now and then with
// the lines and bytes written so far. It returns the number of lines; an error after the first byte leaves part of the
// export written and is not tried again.
func (c *Client) Export(ctx context.Context, w io.Writer, query string, progress func(lines, bytes int64)) (int64, error) {
	v := url.Values{}
	if query != "" {
		v.Set("q", query)
	}
	resp, err := c.send(ctx, call{method: http.MethodGet, path: "/v2/content/bulk", query: v}, nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var lines, written int64
	var last byte = '\n'
	buf := make([]byte, 128<<10)
	for {
		n, rerr := resp.Body.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return lines, fmt.Errorf("write the export: %w", err)
			}
			lines += int64(bytes.Count(buf[:n], []byte{'\n'}))
			written += int64(n)
			last = buf[n-1]
			if progress != nil {
				progress(lines, written)
			}
		}
		switch {
		case errors.Is(rerr, io.EOF) && last == '\n':
			return lines, nil
		case errors.Is(rerr, io.EOF):
			return lines, fmt.Errorf("%w in line %d", ErrTruncated, lines+1)
		case rerr != nil:
			return lines, fmt.Errorf("%w after line %d: %w", ErrTruncated, lines, rerr)
		}
	}
}
