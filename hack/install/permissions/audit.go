package permissions

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Policy is an audit policy that has the API server write down every request of an account.
func Policy(user string) string {
	return fmt.Sprintf(`apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: Metadata, users: [%q]}
  - {level: None}
`, user)
}

// Call is a request that stands in an audit log.
type Call struct {
	Grant Grant
	// Name of the object; empty for lists, watches and creations.
	Name      string
	Namespace string
	Status    int32
}

// Forbidden reports whether the API server refused it.
func (c Call) Forbidden() bool { return c.Status == http.StatusForbidden }

// Calls reads an audit log: the requests about resources, in order. Questions that every account may ask, such as which
// resources there are, are left out.
func Calls(log io.Reader) ([]Call, error) {
	var out []Call
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e auditv1.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("read a line of the audit log: %w", err)
		}
		if e.ObjectRef == nil || e.ObjectRef.Resource == "" || e.ResponseStatus == nil {
			continue
		}
		resource := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		out = append(out, Call{
			Grant: grant(e.Verb, resource, e.ObjectRef.APIGroup), Name: e.ObjectRef.Name, Namespace: e.ObjectRef.Namespace, Status: e.ResponseStatus.Code,
		})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return out, nil
}
