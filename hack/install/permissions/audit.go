package permissions

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Policy returns an audit policy that makes the API server record every request of an account.
func Policy(user string) string {
	return fmt.Sprintf(`apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: Metadata, users: [%q]}
  - {level: None}
`, user)
}

// Call is a request in an audit log.
type Call struct {
	Grant Grant
	// Name is the name of the object; empty for lists, watches and creations.
	Name      string
	Namespace string
	Status    int32
}

// Forbidden reports whether the API server rejected the request as forbidden.
func (c Call) Forbidden() bool { return c.Status == http.StatusForbidden }

// Calls returns the requests for resources in an audit log, in order. It omits requests that every account may send, such as discovery.
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
