package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// controlGroup creates a control group, of either version, with a memory limit. If the control group cannot be created, controlGroup
// returns "" as dir, and the reason as why.
func controlGroup(t *testing.T, bytes int) (dir, why string) {
	t.Helper()
	var errs []error
	for _, at := range []struct{ parent, limit string }{
		{"/sys/fs/cgroup", "memory.max"}, {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
	} {
		dir := filepath.Join(at.parent, fmt.Sprintf("vitrine-test-%d", os.Getpid()))
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			t.Cleanup(func() { _ = os.Remove(dir) })
			// This file exists only if the kernel has the memory controller of this version. Do not create it.
			var f *os.File
			if f, err = os.OpenFile(filepath.Join(dir, at.limit), os.O_WRONLY, 0); err == nil {
				_, err = fmt.Fprint(f, bytes)
				err = errors.Join(err, f.Close())
			}
		}
		if err == nil {
			return dir, ""
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...).Error()
}

// TestMemoryLimit runs the server in a control group whose limit the kernel enforces, and sends more items to the server than fit into the
// limit.
func TestMemoryLimit(t *testing.T) {
	const limit = 160 << 20
	group, why := controlGroup(t, limit)
	if group == "" {
		t.Logf("not tried: no control group with a memory limit can be made here: %s", why)
		return
	}
	s := startBy(t, newStore(t), func(cmd *exec.Cmd) *exec.Cmd {
		in := exec.Command("/bin/sh", append([]string{"-c", `echo $$ > "$0/cgroup.procs" && exec "$@"`, group}, cmd.Args...)...)
		in.Env = cmd.Env
		return in
	}, "--http-bind-address", "127.0.0.1:0")
	search := func(query string) (int, string) {
		return get(t, "http://"+s.addresses["http"]+"/v2/content/items?page_size=2&q="+query+"&access_token="+secret)
	}
	s.environment(t)
	_, metrics := get(t, "http://"+s.addresses["metrics"]+"/metrics")
	share := 0.8
	if want := fmt.Sprintf("vitrine_memory_limit_bytes %g", float64(int64(share*limit))); !strings.Contains(metrics, want) {
		t.Errorf("no %q in the metrics", want)
	}
	const parts, each = 4, 1500
	for part := range parts {
		var b strings.Builder
		for id := part*each + 1; id <= (part+1)*each; id++ {
			fmt.Fprintf(&b, `{"id":%d,"approval_status":"app","created_on":"2026-11-15T20:38:13Z",`+
				`"content":{"content_type":"text","text":"item number %d","social_platform":"direct"},"submission":{"first":"%[1]d"`, id, id)
			for note := range 8 {
				fmt.Fprintf(&b, `,"note%d":"%s"`, note, strings.Repeat(fmt.Sprint(id, note, " "), 400))
			}
			b.WriteString("}}\n")
		}
		vitrine(t.Context(), b.String(), "import", "-").want(t, 0, "1,500 added")
		for _, query := range []string{"number", "id:1", "submission.note3:1*"} {
			if code, body := search(query); code != 200 {
				t.Fatalf("%d %.300s", code, body)
			}
		}
	}
	if code, body := search("*:*"); code != 200 || !strings.Contains(body, fmt.Sprintf(`"total_results":%d,`, parts*each)) {
		t.Errorf("%d %.300s", code, body)
	}
}
