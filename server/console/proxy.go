package console

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/problems"
)

// apiPath is the path below which the pages of the console access the API.
const apiPath = Path + "api"

// callAPI passes a request to the API with the token of the session, or in the name of its person. The API authenticates the token again.
func (c *console) callAPI(w http.ResponseWriter, r *http.Request) error {
	path := strings.TrimPrefix(r.URL.Path, apiPath)
	if !strings.HasPrefix(path, "/v1/") && !strings.HasPrefix(path, "/v2/") && path != "/openapi.json" {
		return &problem{problems.NotFound, "the console forwards only requests for /openapi.json and for paths below /v1/ and /v2/"}
	}
	if strings.HasSuffix(strings.TrimRight(path, "/"), "/events") {
		return &problem{problems.NotFound, "the console forwards no streams of events, because they would outlast the session: request the changes"}
	}
	s, _, err := c.admit(w, r, r.Header.Get(header))
	if err != nil {
		return err
	}
	ctx, end := c.during(r.Context(), s)
	defer end()
	if s.Person != nil {
		ctx = c.people.As(ctx, *s.Person)
	}
	call := r.Clone(ctx)
	call.URL.Path = path
	call.URL.RawPath = strings.TrimPrefix(r.URL.RawPath, apiPath)
	call.RequestURI = call.URL.RequestURI()
	// Remove the headers that are only for the console. Without them, the API checks only the token, so a property does not have to allow
	// the origin of the console.
	for _, name := range []string{"Authorization", "Cookie", "Origin", "Referer", header, background} {
		call.Header.Del(name)
	}
	if s.Person == nil {
		call.Header.Set("Authorization", "Bearer "+s.Token)
	}
	c.o.API.ServeHTTP(&passed{ResponseWriter: w}, call)
	return nil
}

// during returns the context of a request to the API. It ends at most a second after the session, because the API can wait for changes for a
// minute.
func (c *console) during(ctx context.Context, s session) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancel(ctx)
	go func() {
		defer end()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for !s.over(c.o.Clock()) && !c.begun.hasEnded(s.serial) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, end
}

// passed passes on a response of the API. Caches must not store the response, because it belongs to a session.
type passed struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader replaces the headers that control caching.
func (p *passed) WriteHeader(status int) {
	if !p.begun {
		p.begun = true
		h := p.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Vary", "Cookie, Accept-Encoding")
	}
	p.ResponseWriter.WriteHeader(status)
}

func (p *passed) Write(b []byte) (int, error) {
	if !p.begun {
		p.WriteHeader(http.StatusOK)
	}
	return p.ResponseWriter.Write(b)
}

// Unwrap returns the wrapped writer, so that http.ResponseController can find the connection.
func (p *passed) Unwrap() http.ResponseWriter { return p.ResponseWriter }
