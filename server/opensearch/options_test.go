package opensearch

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/library"
)

// TestUnsupportedService checks that Open describes a service that is not a supported version of OpenSearch. For a service that may still
// be starting, Open must return ErrUnavailable.
func TestUnsupportedService(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status      int
		body        string
		want        string
		unavailable bool
	}{
		"a web page":      {200, "<html>", "not OpenSearch", false},
		"another product": {200, `{"version":{"number":"8.1.0"}}`, "not OpenSearch", false},
		"not found":       {404, "not found", "not OpenSearch", false},
		"too old":         {200, `{"version":{"distribution":"opensearch","number":"2.18.0"}}`, "2.19 or newer", false},
		"no rights":       {403, `{"error":{"type":"security_exception","reason":"no permissions"},"status":403}`, "cluster:monitor/main", false},
		"starting":        {503, `{"error":{"type":"cluster_manager_not_discovered_exception","reason":"x"},"status":503}`, "503", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			}))
			defer s.Close()
			_, err := Open(t.Context(), Options{URLs: []string{s.URL}, Timeout: time.Second})
			if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, library.ErrUnavailable) != test.unavailable {
				t.Errorf("%v, want %q, unavailable: %v", err, test.want, test.unavailable)
			}
		})
	}
}

// TestOptions checks that invalid options are rejected before any request is sent. No error may repeat the password in a URL.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{
		{},
		{URLs: []string{"http://search.example:9200"}},
		{URLs: []string{"ftp://127.0.0.1"}},
		{URLs: []string{"nothing"}},
		{URLs: []string{"https://search.example:9200/path"}},
		{URLs: []string{"https://me:hunter2@search.example:9200"}},
		{URLs: []string{"https://me:hunter2@search.example:port"}},
		{URLs: []string{"https://search.example"}, PasswordFile: "password"},
		{URLs: []string{"https://search.example"}, Prefix: "Capital"},
		{URLs: []string{"https://search.example"}, Prefix: "a-items-b"},
		{URLs: []string{"https://search.example"}, ReadTimeout: -time.Second},
		{URLs: []string{"https://search.example"}, ReadTimeout: time.Minute + 1},
	} {
		var refused *OptionsError
		if err := o.Check(); !errors.As(err, &refused) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, o := range []Options{
		{URLs: []string{"https://search.example:9200", "https://search.example:9201/"}},
		{URLs: []string{"http://127.0.0.1:9200"}},
		{URLs: []string{"http://search.example:9200"}, AllowHTTP: true},
	} {
		if err := o.Check(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
