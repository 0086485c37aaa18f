package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/httpapi"
)

// FuzzRequest sends requests with a token of any class, or without a token. No request may cause a server error, and openapi.json must
// describe every response.
func FuzzRequest(f *testing.F) {
	for _, r := range httpapi.Routes() {
		path := strings.NewReplacer("{filter_uuid}", "4242", "{namespace}", "marketer_tags", "{key}", "summer", "{ugc_id}", "1001", "{id}", "1001", "{collection_id}", "12", "{code}", "code1001").Replace(r[1])
		f.Add(r[0], path, "q=beach AND -sunset&ugc_id=1001&filter_id=4242", `{"q":"a","sort_by":"id:asc","name":"n"}`, uint8(0))
		f.Add(r[0], path+"/", "q=*:*&sort_by=random&page=2&page_size=3&favorite_tag=hero&additional_query=id:1001&info=1", `{"content_type":"text","caption":"c","tags":{"a":["b"]}}`, uint8(1))
		f.Add(r[0], path, "order=date_asc&approval_status=app,rej&namespace=a&tags_required=b&cursor=x&on_conflict=replace", `{"ugc_ids":[1001],"namespace":"a","key":"b"}`, uint8(2))
	}
	f.Add("GET", "/v2/content/changes", "q=beach&page_size=3&since=AAAA", "", uint8(1))
	f.Add("GET", "/v2/content/changes", "filter=4242&wait=0&page_size=501", "", uint8(2))
	f.Add("GET", "/v2/content/items", "q=created_on:[now-30d/d TO *}&sort_by=_score:desc", "", uint8(1))
	f.Add("POST", "/v2/content/bulk", "", "{\"id\":5,\"content\":{\"content_type\":\"text\",\"text\":\"a\"}}\nnot json\n\n", uint8(0))
	a := newApp(f)
	tokens := []string{"rw", "ro", "walled", "", "never-issued"}
	f.Fuzz(func(t *testing.T, method, path, rawQuery, body string, as uint8) {
		u := &url.URL{Path: path, RawQuery: rawQuery}
		if unescaped, err := url.PathUnescape(path); err == nil {
			u.Path, u.RawPath = unescaped, path
		}
		if u.Query().Get("wait") != "" || strings.Contains(u.Path, "/events") {
			return // a request that waits takes as long as it says, and a stream of events stays open
		}
		r := httptest.NewRequest(http.MethodGet, "/", strings.NewReader(body))
		r.Method, r.URL = method, u
		if with := tokens[int(as)%len(tokens)]; with != "" {
			r.Header.Set("Authorization", "Bearer "+token(with))
		}
		w := httptest.NewRecorder()
		late := time.AfterFunc(20*time.Second, func() { panic(fmt.Sprintf("%s %s %q: no answer", method, u, body)) })
		a.server.ServeHTTP(w, r)
		late.Stop()
		if w.Code/100 == 3 && w.Code != http.StatusNotModified && !strings.HasPrefix(u.Path, "/i/") {
			t.Fatalf("%s %s: a redirect to %s", method, u, w.Header().Get("Location"))
		}
		if w.Code >= 500 {
			t.Fatalf("%s %s: status %d: %s\n%s", method, u, w.Code, w.Body, a.log)
		}
		if r.Header.Get("Authorization") != "" && w.Code == http.StatusOK && int(as)%len(tokens) == 1 && strings.Contains(w.Body.String(), "@mail.example") {
			t.Fatalf("%s %s: a READ-ONLY token sees a submission: %s", method, u, w.Body)
		}
	})
}
