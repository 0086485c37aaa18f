package httpapi_test

import (
	"encoding/json"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/httpapi"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/library/librarytest"
)

// TestHistory checks what the history of an item contains for callers with different rights.
func TestHistory(t *testing.T) {
	a := newApp(t)
	a.apply(tokenDefinition(shop, "moderator", library.Token{ReadWrite: true, Allow: []library.Action{library.Moderate, library.TagItems, library.Import}}))
	a.known("moderator")
	const at = "/v2/content/items/1002/history"
	reason := url.QueryEscape("Größe unklar\n東京 & <more>")
	a.steps(
		call{url: at, token: "rw", contains: []string{`{"ugc_id":1002,"entries":[{"time":"2026-11-21T12:00:00Z","by":{"token":""},"action":"create","changes":[]}]`},
			want: map[string]string{"Cache-Control": "private, no-store"}},
		call{method: "PATCH", url: "/v2/content/1002?reason=" + reason, token: "moderator", body: `{"approval_status":"rej"}`},
		call{method: "PATCH", url: "/v2/content/1002?reason=asked+for", token: "rw", body: `{"submission":{"age":"77","email":"new@mail.example"}}`},
		call{method: "PATCH", url: "/v2/content/1002", token: "rw", body: `{"featured":true,"submission":{"age":"78"}}`},
		call{method: "POST", url: "/v1/tags/", token: "moderator", body: `{"ugc_ids":[1002,1003],"namespace":"vibe","key":"late"}`, status: 201},
		call{method: "DELETE", url: "/v1/tags/vibe/late/1002", token: "rw", status: 204},
	)
	common := []string{
		`"by":{"token":"shop/rw"},"action":"untag","changes":[{"member":"tags","from":"vibe:late","to":null}]`,
		`"by":{"token":"shop/moderator"},"action":"tag","changes":[{"member":"tags","from":null,"to":"vibe:late"}]`,
		`{"member":"featured","from":"false","to":"true"}`,
		`"by":{"token":"shop/moderator"},"action":"change","reason":"Größe unklar\n東京 & \u003cmore\u003e","changes":[{"member":"approval_status","from":"`,
	}
	a.do(call{url: at, token: "rw", contains: append(common, `"reason":"asked for","changes":[{"member":"submission.age","from":null,"to":null},{"member":"submission.email"`),
		lacks: []string{"mail.example", "77", "78"}})
	a.do(call{url: at, token: "moderator", contains: common, lacks: []string{"submission", "asked for", "mail.example"}})
	a.do(call{url: "/v2/content/items/1003/history", token: "rw", contains: []string{`"action":"tag"`}})
	a.do(call{method: "POST", url: "/v2/content/bulk?on_conflict=replace", token: "moderator", body: `{"id":1003,"content":{"content_type":"text","text":"replaced"}}`})
	a.do(call{url: "/v2/content/items/1003/history", token: "rw", contains: []string{`"entries":[{"time":"2026-11-21T12:00:00Z","by":{"token":"shop/moderator"},"action":"replace","changes":[{`, `"to":"replaced"`}})
	tag := a.do(call{url: at, token: "rw"}).header.Get("ETag")
	a.do(call{url: at, token: "rw", header: map[string]string{"If-None-Match": tag}, status: 304})
	a.steps(
		call{url: "/v2/content/items/999999/history", token: "rw", status: 404},
		call{url: "/v2/content/items/0/history", token: "rw", status: 404},
		call{url: "/v2/content/items/x/history", token: "rw", status: 400},
		call{url: at, token: "other-rw", status: 404},
		call{url: at, token: "ro", status: 403},
		call{method: "DELETE", url: "/v2/content/1002", token: "rw", status: 204},
		call{url: at, token: "rw", status: 404},
	)
	if strings.Contains(a.log.String(), "unklar") || strings.Contains(a.log.String(), "asked") {
		t.Error("the log contains a reason")
	}
}

// TestReason checks the parameter reason of a patch.
func TestReason(t *testing.T) {
	a := newApp(t)
	patch := func(reason string) call {
		return call{method: "PATCH", url: "/v2/content/1002?reason=" + url.QueryEscape(reason), token: "rw", body: `{"campaign":77}`}
	}
	refused := func(reason, why string) call {
		c := patch(reason)
		c.status, c.contains = 400, []string{`"parameter":"reason"`, why}
		return c
	}
	a.steps(
		refused(strings.Repeat("é", 501), "at most 500 characters"),
		refused("a\x00b", "control characters"),
		call{url: "/v2/content/items/1002/history", token: "rw", lacks: []string{"campaign"}},
		patch(" "+strings.Repeat("é", 500)+" "),
		call{url: "/v2/content/items/1002/history", token: "rw", contains: []string{`"reason":"` + strings.Repeat("é", 500) + `"`}},
		call{url: "/v2/content/1002", token: "rw", contains: []string{`"campaign":77`}, lacks: []string{"reason"}},
	)
}

// TestRequiredReason checks that a property can require a reason for each rejection, and for nothing else.
func TestRequiredReason(t *testing.T) {
	a := newApp(t)
	patch := func(query, body string) call {
		return call{method: "PATCH", url: "/v2/content/1002" + query, token: "rw", body: body}
	}
	refused := func(query, body string) call {
		c := patch(query, body)
		c.status, c.contains = 400, []string{`"parameter":"reason"`, "requires a reason for each rejection"}
		return c
	}
	const rejected, history = `{"approval_status":"rej"}`, "/v2/content/items/1002/history"
	a.steps(call{url: statusURL, token: "rw", lacks: []string{"rejection_reason"}}, patch("", rejected), patch("", `{"approval_status":"app"}`))
	a.apply(property(shop, "default", library.Property{PlatformPageID: 4711, RejectionReason: true}))
	a.eventually("the property requires a reason", func() bool {
		return strings.Contains(string(a.send(call{url: statusURL, token: "rw"}).body), `"rejection_reason":"Required"`)
	})
	a.steps(
		refused("", rejected),
		refused("?reason=", rejected),
		refused("?reason=+%0A+", rejected),
		refused("", `{"featured":true,"approval_status":"rej","content":{"text":null}}`),
		call{url: "/v2/content/1002", token: "rw", contains: []string{`"approval_status":"app"`}},
		patch("", `{"approval_status":"pen","featured":true}`),
		patch("", `{"approval_status":"app"}`),
		patch("?reason=Blurred", rejected),
		call{url: history, token: "rw", contains: []string{`"reason":"Blurred","changes":[{"member":"approval_status","from":"app","to":"rej"}]`}},
		patch("", `{"campaign":3}`),
		call{method: "POST", url: "/v2/content", token: "rw", body: `{"content_type":"text","caption":"x","approval_status":"rej"}`, status: 201},
		call{method: "POST", url: "/v2/content/bulk?on_conflict=replace", token: "rw", body: `{"id":1002,"approval_status":"rej","content":{"content_type":"text","text":"replaced"}}`,
			contains: []string{`"status":200`}},
	)
	a.do(call{method: "PATCH", url: "/v2/content/7001", token: "other-rw", body: rejected})
}

// TestAudit checks the lines in the log about changed items.
func TestAudit(t *testing.T) {
	log := &librarytest.Output{}
	a := newApp(t, func(o *httpapi.Options) { o.Logger = slog.New(slog.NewJSONHandler(log, nil)) })
	a.steps(
		call{method: "PATCH", url: "/v2/content/1002?reason=secret-reason", token: "rw", body: `{"campaign":7654321,"activate_units":[],"submission":{"age":"7654322"}}`},
		call{method: "PATCH", url: "/v2/content/1002", token: "rw", body: `{"campaign":"x"}`, status: 400},
		call{method: "PATCH", url: "/v2/content/1002", token: "ro", body: `{"campaign":1}`, status: 403},
		call{method: "POST", url: "/v1/tags/", token: "rw", body: `{"ugc_ids":[1002,1003],"namespace":"vibe","key":"late"}`, status: 201},
		call{method: "DELETE", url: "/v1/tags/vibe/late/1002", token: "rw", status: 204},
		call{method: "POST", url: "/v2/content/bulk?on_conflict=replace", token: "rw", body: `{"id":1003,"content":{"content_type":"text","text":"a"}}` + "\n" +
			`{"content":{"content_type":"text","text":"b"}}` + "\n{}\n"},
		call{method: "POST", url: "/v2/content/", token: "rw", body: `{"content_type":"text","caption":"secret caption"}`, status: 201},
		call{method: "DELETE", url: "/v2/content/1002", token: "rw", status: 204},
	)
	var got []string
	for line := range strings.Lines(log.String()) {
		if !strings.Contains(line, "items changed") {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		for _, name := range []string{"request", "time", "part"} {
			delete(fields, name)
		}
		shown, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Replace(string(shown), `,"level":"INFO"`, "", 1))
	}
	const who = `"msg":"items changed","property":"shop/default","token":"AccessToken shop/rw"}`
	want := []string{
		`{"action":"change","item":1002,"members":["campaign","submission","activate_units"],` + who,
		`{"action":"tag","count":2,"items":[1002,1003],"members":["tags"],` + who,
		`{"action":"untag","count":1,"items":[1002],"members":["tags"],` + who,
		`{"action":"import","created":1,` + strings.Replace(who, `"token"`, `"refused":1,"replaced":1,"token"`, 1),
		`{"action":"create","item":1062,` + who,
		`{"action":"erase","item":1002,` + who,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, secret := range []string{"secret", "7654321", "7654322"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log contains %s", secret)
		}
	}
}
