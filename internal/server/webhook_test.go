package server

import (
	"strings"
	"testing"
)

func TestHostsOfTheWebhook(t *testing.T) {
	o := webhookOptions{address: "10.0.0.1:9443", url: "https://hook.example:9443", hosts: []string{"a.svc"}}
	if got := strings.Join(o.certificateHosts(), " "); got != "localhost 127.0.0.1 ::1 hook.example 10.0.0.1 a.svc" {
		t.Errorf("hosts of the certificate: %s", got)
	}
}
